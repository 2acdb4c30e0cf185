"""``dedup --output`` of a crawl: the records of the originals, byte for byte, and revisits in place of duplicates."""

import gzip
import io
import json
from contextlib import redirect_stdout

import pytest
from cdxj_indexer.main import CDXJIndexer
from support.corpus import text, write_jsonl
from support.crawls import DATE, Crawl, crawl_of_copies, page
from warcio.archiveiterator import ArchiveIterator
from warcio.cli import main as warcio

from simhash_hbase.inputs import InputOptions, scan


@pytest.fixture
def kept_of(cli, empty, tmp_path):
    """Return what decides a crawl and returns the file of what it keeps, and what the command said."""

    def kept(crawl, name="kept.warc.gz", *words, compressed=True):
        path = tmp_path / ("a.warc.gz" if compressed else "a.warc")
        path.write_bytes(crawl.bytes())
        done = cli("dedup", empty, path, "--output", tmp_path / name, *words)
        assert done.code == 0, done.err
        return tmp_path / name, done

    return kept


def crawl_of(groups, copies=3, *, compressed=True):
    """Make a crawl with a request before each answer; of each group of near copies the first is kept."""
    crawl = Crawl(compressed=compressed)
    crawl.info()
    for group in range(groups):
        for copy in range(copies):
            crawl.request(f"https://a.example/{group}/{copy}")
            crawl.answer(f"https://a.example/{group}/{copy}", page(text(group, changed=copy)))
    return crawl


def originals_of(crawl, decisions, copies=3):
    """Return the records of the originals, as they are in the file."""
    data = crawl.bytes()
    numbers = [at for at, decision in enumerate(decisions) if decision["status"] == "original"]
    assert len(numbers) == len(decisions) // copies
    return b"".join(data[slice(*crawl.place(2 + 2 * number))] for number in numbers)


@pytest.mark.parametrize("keep", ["first", "longest"])
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("name", ["kept.warc", "kept.warc.gz"])
def test_originals_of_a_crawl_are_copied_as_whole_records(kept_of, compressed, name, keep):
    crawl = crawl_of(5, compressed=compressed)

    path, done = kept_of(crawl, name, "--keep", keep, compressed=compressed)

    kept, wanted = path.read_bytes(), originals_of(crawl, done.records)
    if compressed == name.endswith(".gz"):
        assert kept == wanted
    elif compressed:
        assert kept == gzip.decompress(wanted)
    else:
        assert gzip.decompress(kept) == wanted
    again = list(scan([str(path)], InputOptions(keep_raw=True)))
    assert [found.id for found in again] == done.originals
    # A gzip member each: any of them is found again by its place.
    assert b"".join(found.raw for found in again) == kept
    first, *_, passed, _ = done.err.splitlines()
    assert first == "--output keeps whole records of originals; warcinfo, requests and other records are left out"
    assert passed == "16 records are no pages and were passed over: 15 × request record, 1 × warcinfo record"


def test_records_that_share_a_gzip_member_come_out_as_members_of_their_own(cli, empty, tmp_path):
    crawl, path, kept = crawl_of(4, 1, compressed=False), tmp_path / "a.warc.gz", tmp_path / "kept.warc.gz"
    path.write_bytes(gzip.compress(crawl.bytes()))

    done = cli("dedup", empty, path, "--output", kept)

    assert gzip.decompress(kept.read_bytes()) == originals_of(crawl, done.records, 1)


def test_a_last_record_without_blank_lines_can_be_followed_by_another(cli, empty, tmp_path):
    for name in "ab":
        crawl = crawl_of(1, 1, compressed=False)
        (tmp_path / f"{name}.warc").write_bytes(
            crawl.bytes().removesuffix(b"\r\n\r\n").replace(b"a.example", name.encode() + b".example")
        )

    done = cli("dedup", empty, tmp_path / "a.warc", tmp_path / "b.warc", "--output", tmp_path / "kept.warc")

    assert [record["status"] for record in done.records] == ["original", "duplicate"]
    assert (tmp_path / "kept.warc").read_bytes().endswith(b"\r\n\r\n")


def test_an_address_captured_twice_is_decided_by_its_first_capture(cli, empty, tmp_path):
    crawl, path, kept = Crawl(), tmp_path / "a.warc.gz", tmp_path / "kept.warc.gz"
    for seed in (1, 2):
        crawl.answer("https://a.example/", page(text(seed)))
    path.write_bytes(crawl.bytes())

    done = cli("dedup", empty, path, "--output", kept)
    added = cli("add", empty, path, "--verbose")

    assert (done.code, done.record["status"]) == (3, "original")
    assert f"{path}:2: refused: the id 'https://a.example/' came before in this input" in done.err
    assert kept.read_bytes() == crawl.bytes()[slice(*crawl.place(0))]
    # To add, the last capture is what the address holds now.
    assert cli("get", empty, "https://a.example/").record["simhash"] == added.records[-1]["simhash"]
    assert "1 with another text" in added.err


PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
WORDS = ("--duplicates", "revisit", "--quiet")


def records_of(path):
    """Read all records with warcio: type, address, headers, HTTP's headers, and the content."""
    with path.open("rb") as file:
        for record in ArchiveIterator(file):
            headers = dict(record.rec_headers.headers)
            http = record.http_headers.headers if record.http_headers else None
            yield record.rec_type, headers["WARC-Target-URI"], headers, http, record.content_stream().read()


@pytest.mark.parametrize("name", ["kept.warc", "kept.warc.gz"])
def test_copies_in_a_crawl_become_revisits_or_metadata(kept_of, name):
    original, revisit, metadata = records_of(kept_of(crawl_of_copies(), name, *WORDS)[0])

    kinds = [(kind, url) for kind, url, *_ in (original, revisit, metadata)]
    assert kinds == [(k, f"https://{s}.example/0") for k, s in (("response", "a"), ("revisit", "b"), ("metadata", "c"))]
    headers = revisit[2]
    assert (headers["WARC-Profile"], headers["WARC-Date"]) == (PROFILE, DATE)
    assert (headers["WARC-Refers-To-Target-URI"], headers["WARC-Refers-To-Date"]) == ("https://a.example/0", DATE)
    assert headers["WARC-Payload-Digest"] == original[2]["WARC-Payload-Digest"]
    assert (revisit[3], revisit[4]) == (original[3], b"")
    assert metadata[2]["Content-Type"] == "application/warc-fields"
    fields = dict(line.split(": ") for line in metadata[4].decode().splitlines())
    assert fields.keys() == {"near-duplicate-of", "distance", "similarity"}
    assert fields["near-duplicate-of"] == "https://a.example/0"
    assert 0.7 < float(fields["similarity"]) < 1


def test_other_tools_read_what_is_written(kept_of, tmp_path):
    path, _ = kept_of(crawl_of_copies(3), "kept.warc.gz", *WORDS)
    again = tmp_path / "again.warc.gz"

    with redirect_stdout(io.StringIO()), pytest.raises(SystemExit) as checked:
        warcio(["check", "-v", str(path)])
    warcio(["recompress", str(path), str(again)])
    listed = io.StringIO()
    CDXJIndexer(listed, [str(path)], sort=True).process_all()

    assert not checked.value.code
    assert [record[:2] for record in records_of(again)] == [record[:2] for record in records_of(path)]
    lines = [json.loads(line.split(" ", 2)[2]) for line in listed.getvalue().splitlines()]
    assert {line["url"]: line["mime"] for line in lines if line["mime"] == "warc/revisit"} == {
        f"https://b.example/{group}": "warc/revisit" for group in range(3)
    }
    of = {line["url"][8]: {other["digest"] for other in lines if other["url"][8] == line["url"][8]} for line in lines}
    assert of["a"] == of["b"]


@pytest.mark.parametrize(
    ("earlier", "written"),
    [("https://a.example/0", b"https://a.example/0"), ("a\r\nsimilarity: 7\nb", b"a%0D%0Asimilarity: 7%0Ab")],
)
def test_what_an_earlier_run_kept_has_no_revisit_since_the_record_is_not_there(
    cli, kept_of, empty, tmp_path, earlier, written
):
    cli("dedup", empty, write_jsonl(tmp_path / "earlier.jsonl", [{"id": earlier, "text": text(0)}]))
    later = Crawl()
    later.answer("https://d.example/0", page(text(0)))

    [record] = records_of(kept_of(later, "later.warc", *WORDS)[0])

    assert record[0] == "metadata"
    assert record[4].startswith(b"near-duplicate-of: " + written + b"\r\ndistance: 0\r\n")


def test_an_address_that_ends_with_a_bracket_stays_whole(kept_of):
    crawl, url = Crawl(), "https://a.example/?tag=<b>"
    for address, seed in ((url, 0), ("https://a.example/?tag=<b", 1), ("<https://wget.example/>", 0)):
        crawl.answer(address, page(text(seed)))

    first, _, revisit = records_of(kept_of(crawl, "kept.warc.gz", *WORDS)[0])

    assert first[1] == revisit[2]["WARC-Refers-To-Target-URI"] == url
    assert revisit[1] == "https://wget.example/"


@pytest.mark.parametrize("words", [[], ["--output", "kept.jsonl"]])
def test_only_the_records_of_a_crawl_have_revisits(cli, empty, corpus_file, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)

    refused = cli("dedup", empty, corpus_file, *WORDS, *words).usage_error

    assert refused.endswith("--duplicates revisit needs --output FILE, and crawls as the input")


@pytest.mark.parametrize("words", [["dedup"], ["dedup", "--workers", "2"], ["add"], ["load"]])
def test_pages_of_which_a_crawl_has_only_the_beginning_are_counted_at_the_end(cli, empty, tmp_path, words):
    for name in "ab":
        crawl = Crawl()
        crawl.answer(f"https://{name}.example/1", page(text(1)), more=[("WARC-Truncated", "length")])
        crawl.answer(f"https://{name}.example/2", page(text(2)), more=[("WARC-Truncated", "time")])
        crawl.answer(f"https://{name}.example/3", page(text(3)))
        (tmp_path / f"{name}.warc.gz").write_bytes(crawl.bytes())

    command, *more = words
    done = cli(command, empty, tmp_path / "a.warc.gz", tmp_path / "b.warc.gz", *more)

    warning = "warning: 4 pages have only their beginnings in the crawl (WARC-Truncated): 2 × length, 2 × time"
    assert (done.code, done.err.count(warning)) == (0, 1)
