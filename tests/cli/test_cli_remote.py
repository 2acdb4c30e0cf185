"""Inputs and outputs in an object store and inputs from web servers, real and on this machine."""

import gzip
import json
import secrets
import ssl
import subprocess
import sys
from random import Random

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.certificates import make_certificate
from support.corpus import write_jsonl
from support.crawls import crawl_of
from support.fresh_clone import blocks, split
from support.listening import free_port
from support.remote_servers import RECORDS, WEB, object_store, web
from support.results import python

from simhash_hbase.files.remote import PAUSE_S, chunks, created
from simhash_hbase.inputs import Sources, total_bytes

pytestmark = pytest.mark.slow

DATA = WEB * 20


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr("simhash_hbase.files.remote.PAUSE_S", PAUSE_S / 100)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("s3")
    with object_store(folder) as variables:
        yield folder / "data", variables


@pytest.fixture
def bucket(store, monkeypatch):
    """Return an empty bucket: its folder on this machine, and its address."""
    folder, variables = store
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    name = f"test-{secrets.token_hex(6)}"
    (folder / name).mkdir()
    fsspec.filesystem("s3").invalidate_cache()
    return folder / name, f"s3://{name}"


def test_a_folder_of_all_formats_reads_as_it_does_on_this_machine(cli, bucket, tmp_path):
    folder, url = bucket
    for place in (folder / "in", tmp_path / "in"):
        (place / "more").mkdir(parents=True)
        write_jsonl(place / "a.jsonl.gz", RECORDS[:9])
        pq.write_table(pa.Table.from_pylist(RECORDS[9:30]), place / "more" / "b.parquet", row_group_size=7)
        (place / "c.warc.gz").write_bytes(crawl_of(3).bytes())
        (place / "d.md").write_text("a text of some words in a file of its own")
        (place / ".hidden").write_text("not read")
    words = ("--analyzer", "shingle", "--workers", 1)

    here = cli("fingerprint", tmp_path / "in", *words)
    there = cli("fingerprint", f"{url}/in/", *words)
    pattern = cli("fingerprint", f"{url}/in/*.jsonl.gz", f"{url}/in/more/b.parquet", *words)

    assert (here.code, there.code, pattern.code) == (0, 0, 0)
    assert there.records == here.records
    assert len(there.records) == 9 + 21 + 3 + 1
    assert [record["id"] for record in pattern.records] == [record["id"] for record in RECORDS[:30]]
    read = [path for path in (folder / "in").rglob("*") if path.is_file() and not path.name.startswith(".")]
    assert total_bytes(Sources([f"{url}/in/"])) == sum(path.stat().st_size for path in read) > 0


def test_an_output_that_is_not_finished_is_not_there(bucket):
    _, url = bucket

    def stop_within():
        with created(f"{url}/large") as file:
            file.write(bytes(12 << 20))  # Parts of this are on the server by then.
            raise RuntimeError

    with pytest.raises(RuntimeError):
        stop_within()

    fsspec.filesystem("s3").invalidate_cache()
    assert fsspec.filesystem("s3").ls(url) == []


def test_an_object_that_changes_between_two_reads_is_not_read_on(bucket):
    _, url = bucket
    store = fsspec.filesystem("s3")
    store.pipe(f"{url}/a", b"1" * (1 << 20))

    reading = chunks(f"{url}/a", 1 << 16)
    assert next(reading) == b"1" * (1 << 16)
    store.pipe(f"{url}/a", b"2" * (1 << 20))

    with pytest.raises(OSError, match="the file has changed while it was read"):
        assert set(b"".join(reading)) == set(b"1")


@pytest.mark.parametrize(
    "case",
    [
        (["{url}/none.jsonl"], "{url}/none.jsonl does not exist"),
        (["{url}/*.csv"], "{url}/*.csv: there is no such file"),
        (["{url}/in/", "--output", "{url}/in/kept.jsonl"], "is in {url}/in/, which is read"),
        (["{url}/in/a.jsonl", "--output", "{url}/in/a.jsonl"], "is a file of the input"),
        (["{url}/in/", "--clusters", "{url}/clusters"], "only --output can be written to an object store"),
        (["{url}/in/", "--output", "{url}/kept", "--results", "done"], "leave out --results, or name a local file"),
        (["{url}/in/", "--output", "https://127.0.0.1:1/kept"], "https://127.0.0.1:1/kept cannot be written"),
        (["{url}/in/a.jsonl", "--output", "{url}/kept/"], "{url}/kept/ is a folder: name a file in it"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_read(cli, empty, bucket, case):
    (folder, url), (words, sentence) = bucket, case
    (folder / "in").mkdir()
    write_jsonl(folder / "in" / "a.jsonl", RECORDS)

    refused = cli("dedup", empty, *(word.format(url=url) for word in words))

    assert refused.code in (1, 2)
    assert refused.out == b""
    assert sentence.format(url=url) in refused.sentence


def test_the_commands_of_the_page_work_in_a_store(bucket, store, tmp_path):
    folder, _ = bucket
    target = folder.with_name("corpora") / "news"
    target.mkdir(parents=True)
    write_jsonl(target / "monday.jsonl.gz", RECORDS[:60])
    write_jsonl(target / "tuesday.jsonl.gz", RECORDS[60:])
    shown = [command for command in split(blocks()["objects"]) if "install" not in command]
    program = f"{sys.executable} -m simhash_hbase"

    for command in shown:
        words = command.replace("simhash-hbase", program)
        subprocess.run(["bash", "-euc", words], cwd=tmp_path, check=True, capture_output=True)

    kept = gzip.decompress((target.parent / "clean.jsonl.gz").read_bytes()).splitlines()
    assert [json.loads(line) for line in kept] == RECORDS[::3]


def test_without_ranges_the_rest_is_refused(cli):
    with web(data=DATA, cut=len(DATA) // 3, ranges=False) as (url, _):
        done = cli("fingerprint", url, "--analyzer", "shingle", "--workers", 1)

    assert done.code == 3
    assert 0 < len(done.records) < 20 * len(RECORDS)
    assert "the server has no ranges, so reading cannot continue" in done.err
    assert "secret" not in done.err


def test_a_page_that_is_not_there_is_told_from_a_server_that_is_not(cli):
    with web() as (url, _):
        absent = cli("fingerprint", url.replace("news", "none"))
    gone = cli("fingerprint", url)

    assert absent.sentence.endswith("/none.jsonl does not exist")
    assert "cannot be reached: Cannot connect" in gone.sentence
    assert "secret" not in absent.err + gone.err


def test_a_server_with_tls_is_read_by_its_certificate(tmp_path):
    certificate, key = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    with web(context=context) as (url, _):
        words = f"['fingerprint', '--analyzer', 'shingle', '--workers', '1', {url!r}]"
        trusted = f"import os; os.environ['SSL_CERT_FILE'] = {str(certificate)!r};"
        done = python(f"{trusted} from simhash_hbase.cli.app import main; main({words})")
        unknown = python(f"from simhash_hbase.cli.app import main; main({words})")

    assert [record["id"] for record in done.records] == [record["id"] for record in RECORDS]
    assert unknown.code == 1
    assert "CERTIFICATE_VERIFY_FAILED" in unknown.sentence


@pytest.mark.parametrize(
    ("module", "url", "command"),
    [
        ("fsspec", "s3://a/b.jsonl", "pip install 'simhash-hbase[remote]'"),
        ("s3fs", "s3://a/b.jsonl", "pip install 'simhash-hbase[remote]'"),
        ("gcsfs", "gs://a/b.jsonl", "pip install 'simhash-hbase[remote]' gcsfs"),
        ("huggingface_hub", "hf://datasets/a/b.jsonl", "pip install 'simhash-hbase[remote]' huggingface_hub"),
    ],
)
def test_what_is_not_installed_is_named_with_its_command(module, url, command):
    blocked = f"import sys; sys.modules[{module!r}] = None; from simhash_hbase.cli.app import main;"

    failed = python(blocked + f"main(['fingerprint', {url!r}])")

    assert failed.sentence.endswith(command)


@pytest.mark.parametrize("compared", [True, False])
@pytest.mark.parametrize(
    "said",
    [
        [{"ETag": '"a"'}, {"ETag": '"b"'}],
        [{"ETag": 'W/"a"'}, {"ETag": 'W/"b"'}],
        [{"Last-Modified": "Sun, 22 Nov 2026 10:00:00 GMT"}, {"Last-Modified": "Sun, 22 Nov 2026 10:00:01 GMT"}],
    ],
)
def test_a_file_that_changes_is_not_read_on(cli, said, compared):
    with web(data=DATA, cut=len(DATA) // 3, said=said, compared=compared) as (url, handler):
        done = cli("fingerprint", url, "--analyzer", "shingle", "--workers", 1)

    assert done.code == 3
    assert 0 < len(done.records) < 20 * len(RECORDS)
    assert "the file has changed while it was read (after" in done.err
    assert len(handler.asked) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"said": [{"ETag": '"a"'}] * 3 + [{"ETag": '"b"'}]},
        {"said": [{"Last-Modified": f"Sun, 22 Nov 2026 10:00:0{second} GMT"} for second in (0, 0, 0, 1)]},
        {"grown": 3},
    ],
    ids=str,
)
def test_a_parquet_file_that_changes_or_grows_is_refused_from_there_on(cli, tmp_path, change):
    with web(data=_parquet(tmp_path / "a.parquet"), **change) as (url, handler):
        done = cli("fingerprint", url.replace(".jsonl", ".parquet"), "--analyzer", "shingle", "--workers", 1)

    assert done.code == 3
    assert 0 < len(done.records) < len(RECORDS)
    assert "the file has changed while it was read (after" in done.err
    assert all("-" in wanted and not wanted.endswith("-") for wanted in handler.asked)


def _parquet(path):
    """Write rows that take several answers of a megabyte."""
    noise = Random(3)
    rows = [record | {"text": record["text"] + noise.randbytes(100_000).hex()} for record in RECORDS]
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2, compression="NONE")
    return path.read_bytes()


@pytest.mark.parametrize(("tags", "condition"), [({"ETag": '"a"'}, '"a"'), ({"ETag": 'W/"a"'}, ""), ({}, "")])
def test_a_file_that_stays_is_read_on_after_a_broken_connection_under_a_strong_tag(tags, condition):
    # What was only in the client's buffers when the connection broke is fetched again: they hold less than a third.
    with web(data=DATA, cut=len(DATA) // 3, said=[tags]) as (url, handler):
        read = b"".join(chunks(url, 1 << 16))

    assert read == DATA
    first, *others = handler.asked
    assert (first, {asked[:6] for asked in others}) == ("", {"bytes="})
    assert set(handler.conditions[1:]) == {condition}


@pytest.mark.parametrize(
    "page", ["/500.jsonl?sig=a%2Fb%2Btopsecret", "/500.jsonl?sig=a'b)topsecret", "/moved?x=topsecret"]
)
@pytest.mark.parametrize("user", ["", "me:topsecret@"])
def test_what_a_server_refuses_is_said_without_secrets(cli, page, user):
    with web() as (url, _):
        done = cli("fingerprint", url.replace("http://", f"http://{user}").replace("/news.jsonl?key=secret", page))

    assert "500" in done.failure or "403" in done.failure
    assert "topsecret" not in done.err


def test_a_parquet_file_that_cannot_be_read_is_said_without_secrets(cli, tmp_path):
    rejects = tmp_path / "rejects"
    with web(reads=500) as (url, _):
        address = url.replace("news.jsonl", "a.parquet")
        done = cli("fingerprint", address, "--analyzer", "shingle", "--workers", 1, "--rejects", rejects)

    assert done.code == 3
    assert "500" in done.err
    assert "a.parquet" in rejects.read_text()
    assert "secret" not in done.err + rejects.read_text()


def test_the_report_names_an_address_without_secrets(cli, empty, tmp_path):
    page = tmp_path / "report.html"
    with web() as (url, _):
        done = cli("dedup", empty, url, "--report", page, "--workers", 1)

    assert done.code == 0
    assert "/news.jsonl against" in page.read_text()
    assert "secret" not in page.read_text() + done.err


@pytest.mark.parametrize("place", ["bucket/[a.jsonl", "[x/a.jsonl", "]/a.jsonl", "/a.jsonl"])
def test_an_output_that_no_store_takes_is_a_failure_in_a_sentence(cli, empty, corpus_file, place, monkeypatch):
    for name, value in {"ENDPOINT_URL": f"http://127.0.0.1:{free_port()}", "ACCESS_KEY_ID": "a",
                        "SECRET_ACCESS_KEY": "b", "MAX_ATTEMPTS": "1"}.items():  # fmt: skip
        monkeypatch.setenv(f"AWS_{name}", value)
    fsspec.filesystem("s3").clear_instance_cache()

    done = cli("dedup", empty, corpus_file, "--quiet", "--output", f"s3://{place}")

    assert done.code == 1
    assert done.sentence.startswith(f"s3://{place} cannot be reached: ")
