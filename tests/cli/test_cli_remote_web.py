"""Web servers that change a file while it is read, and secrets of addresses, which no message and no page has."""

from random import Random

import fsspec
import pytest
from hypothesis import given, strategies as st
from support.listening import free_port
from support.remote_servers import RECORDS, WEB, web

from simhash_hbase.files.remote import PAUSE_S, chunks, shown, without_secrets


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr("simhash_hbase.files.remote.PAUSE_S", PAUSE_S / 100)


DATA = WEB * 20


@pytest.mark.slow
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


@pytest.mark.slow
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
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    noise = Random(3)
    rows = [record | {"text": record["text"] + noise.randbytes(100_000).hex()} for record in RECORDS]
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2, compression="NONE")
    return path.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(("tags", "condition"), [({"ETag": '"a"'}, '"a"'), ({"ETag": 'W/"a"'}, ""), ({}, "")])
def test_a_file_that_stays_is_read_on_after_a_broken_connection_under_a_strong_tag(tags, condition):
    # What was only in the client's buffers when the connection broke is fetched again: they hold less than a third.
    with web(data=DATA, cut=len(DATA) // 3, said=[tags]) as (url, handler):
        read = b"".join(chunks(url, 1 << 16))

    assert read == DATA
    first, *others = handler.asked
    assert (first, {asked[:6] for asked in others}) == ("", {"bytes="})
    assert set(handler.conditions[1:]) == {condition}


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["/500.jsonl?sig=a%2Fb%2Btopsecret", "/500.jsonl?sig=a'b)topsecret", "/moved?x=topsecret"]
)
@pytest.mark.parametrize("user", ["", "me:topsecret@"])
def test_what_a_server_refuses_is_said_without_secrets(cli, page, user):
    with web() as (url, _):
        done = cli("fingerprint", url.replace("http://", f"http://{user}").replace("/news.jsonl?key=secret", page))

    assert "500" in done.failure or "403" in done.failure
    assert "topsecret" not in done.err


@pytest.mark.slow
def test_a_parquet_file_that_cannot_be_read_is_said_without_secrets(cli, tmp_path):
    pytest.importorskip("pyarrow")
    rejects = tmp_path / "rejects"
    with web(reads=500) as (url, _):
        address = url.replace("news.jsonl", "a.parquet")
        done = cli("fingerprint", address, "--analyzer", "shingle", "--workers", 1, "--rejects", rejects)

    assert done.code == 3
    assert "500" in done.err
    assert "a.parquet" in rejects.read_text()
    assert "secret" not in done.err + rejects.read_text()


@pytest.mark.slow
def test_the_report_names_an_address_without_secrets(cli, empty, tmp_path):
    page = tmp_path / "report.html"
    with web() as (url, _):
        done = cli("dedup", empty, url, "--report", page, "--workers", 1)

    assert done.code == 0
    assert "/news.jsonl against" in page.read_text()
    assert "secret" not in page.read_text() + done.err


# Passwords with signs that should have been percent-encoded.
PASSWORDS = st.lists(st.sampled_from(["topsecret", *"/?#@:[]%+&=*~ '", "80", "\u5bc6"]), min_size=1).map("".join)


@given(password=PASSWORDS, scheme=st.sampled_from(["s3", "gs", "hf", "http", "https"]))
def test_an_address_is_shown_without_its_password_whatever_signs_it_has(password, scheme):
    said = shown(f"{scheme}://me:{password}@place/a.jsonl?x=1")

    assert "topsecret" not in said
    assert said.startswith(f"{scheme}://")
    assert said == f"{scheme}://…" or said.removesuffix("?x=1").endswith("place/a.jsonl")


@pytest.mark.parametrize(
    "url",
    [
        "s3://me:topsecret/x@b/a.jsonl",
        "gs://topsecret@b/a",
        "hf://me:[topsecret@b/a",
        "https://me:topsecret@0.0.0.0:1/x",
    ],
)
@pytest.mark.parametrize("words", [("--output",), ("--clusters",), ("--report",), ("--results",), ()])
def test_no_message_has_the_password_of_an_address(cli, empty, corpus_file, url, words):
    done = cli("dedup", empty, *([corpus_file] if words else []), *words, url)

    assert done.code in {1, 2}
    assert "topsecret" not in done.sentence
    assert words or url.startswith("https") or "give them in the environment" in done.usage_error


@pytest.mark.slow
@pytest.mark.parametrize("place", ["bucket/[a.jsonl", "[x/a.jsonl", "]/a.jsonl", "/a.jsonl"])
def test_an_output_that_no_store_takes_is_a_failure_in_a_sentence(cli, empty, corpus_file, place, monkeypatch):
    for name, value in {"ENDPOINT_URL": f"http://127.0.0.1:{free_port()}", "ACCESS_KEY_ID": "a",
                        "SECRET_ACCESS_KEY": "b", "MAX_ATTEMPTS": "1"}.items():  # fmt: skip
        monkeypatch.setenv(f"AWS_{name}", value)
    fsspec.filesystem("s3").clear_instance_cache()

    done = cli("dedup", empty, corpus_file, "--quiet", "--output", f"s3://{place}")

    assert done.code == 1
    assert done.sentence.startswith(f"s3://{place} cannot be reached: ")


def test_addresses_in_a_message_lose_what_may_be_secret():
    said = "see 'HTTP://a:b@c.org/d?e=f', (https://g.org/h#i) and s3://j/k?.gz: no ftp://l:m@n/o."

    assert without_secrets(said) == "see 'HTTP://c.org/d', (https://g.org/h) and s3://j/k?.gz: no ftp://n/o."
