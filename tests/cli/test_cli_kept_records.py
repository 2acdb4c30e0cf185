"""``dedup --output`` of a crawl: the records of the originals, byte for byte."""

import gzip
import json

import pytest
from support.corpus import text
from support.crawls import Crawl, crawl_of_copies, page

from simhash_hbase.inputs import InputOptions, Page, scan


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
def test_whole_records_are_copied_and_members_stay_members(cli, empty, tmp_path, compressed, name, keep):
    crawl = crawl_of(5, compressed=compressed)
    path = tmp_path / ("a.warc.gz" if compressed else "a.warc")
    path.write_bytes(crawl.bytes())

    done = cli("dedup", empty, path, "--output", tmp_path / name, "--keep", keep)

    kept, wanted = (tmp_path / name).read_bytes(), originals_of(crawl, done.records)
    assert done.code == 0
    if compressed == name.endswith(".gz"):
        assert kept == wanted
    elif compressed:
        assert kept == gzip.decompress(wanted)
    else:
        assert gzip.decompress(kept) == wanted
    again = list(scan([str(tmp_path / name)], InputOptions(keep_raw=True)))
    assert [found.id for found in again] == [d["id"] for d in done.records if d["status"] == "original"]
    # A gzip member each: any of them is found again by its place.
    assert b"".join(found.raw for found in again) == kept


def test_what_is_not_kept_is_said_before_the_work_begins_and_what_was_passed_over_after_it(cli, empty, tmp_path):
    path = tmp_path / "a.warc.gz"
    path.write_bytes(crawl_of(2).bytes())

    done = cli("dedup", empty, path, "--output", tmp_path / "kept.warc.gz")

    first, *_, passed, _ = done.err.splitlines()
    assert first == "--output keeps whole records of originals; warcinfo, requests and other records are left out"
    assert passed == "7 records are no pages and were passed over: 6 × request record, 1 × warcinfo record"


def test_records_that_share_a_gzip_member_come_out_as_members_of_their_own(cli, empty, tmp_path):
    crawl = crawl_of(4, 1, compressed=False)
    path = tmp_path / "a.warc.gz"
    path.write_bytes(gzip.compress(crawl.bytes()))

    done = cli("dedup", empty, path, "--output", tmp_path / "kept.warc.gz")

    assert gzip.decompress((tmp_path / "kept.warc.gz").read_bytes()) == originals_of(crawl, done.records, 1)


def test_a_last_record_without_blank_lines_can_be_followed_by_another(cli, empty, tmp_path):
    for name in "ab":
        crawl = crawl_of(1, 1, compressed=False)
        (tmp_path / f"{name}.warc").write_bytes(
            crawl.bytes().removesuffix(b"\r\n\r\n").replace(b"a.example", name.encode() + b".example")
        )

    done = cli("dedup", empty, tmp_path / "a.warc", tmp_path / "b.warc", "--output", tmp_path / "kept.warc")

    assert [record["status"] for record in done.records] == ["original", "duplicate"]
    assert (tmp_path / "kept.warc").read_bytes().endswith(b"\r\n\r\n")


def test_pages_from_standard_input_are_kept_too(empty, tmp_path):
    from support.results import run  # noqa: PLC0415 - of a process of its own

    crawl = crawl_of(3)
    kept = tmp_path / "kept.warc.gz"

    done = run("dedup", empty, "-", "--input-format", "warc", "--output", kept, "--quiet", data=crawl.bytes())

    assert done.code == 0
    assert kept.read_bytes() == originals_of(crawl, done.records)


def test_a_crawl_and_lines_cannot_go_into_one_place(cli, empty, tmp_path, corpus_file):
    (tmp_path / "a.warc.gz").write_bytes(crawl_of(1).bytes())

    done = cli("dedup", empty, tmp_path / "a.warc.gz", corpus_file, "--output", tmp_path / "kept")

    assert (done.code, done.out) == (2, b"")
    assert "are not alike" in done.sentence


@pytest.mark.parametrize("duplicates", ["drop", "revisit"])
def test_a_restart_ends_with_the_same_bytes(cli, tmp_path, monkeypatch, stopped, duplicates):
    path = tmp_path / "a.warc.gz"
    path.write_bytes((crawl_of(40) if duplicates == "drop" else crawl_of_copies(30)).bytes())
    monkeypatch.setattr("simhash_hbase.pipeline.analyse.CHUNK_DOCUMENTS", 50)
    words = ("--create", "--analyzer", "shingle", "--workers", 1, "--quiet", "--duplicates", duplicates)

    def run(name, *more):
        url, results, kept = f"file:{tmp_path / name}", tmp_path / f"{name}.jsonl", tmp_path / f"{name}.warc.gz"
        return cli("dedup", url, path, *words, "--results", results, "--output", kept, *more).code

    assert run("whole") == 0
    with stopped(50):
        assert run("parts") == 1
    with (tmp_path / "parts.warc.gz").open("ab") as file:
        file.write(b"\x1f\x8b torn")

    assert run("parts", "--resume") == 0

    whole = (tmp_path / "whole.warc.gz").read_bytes()
    assert (tmp_path / "parts.warc.gz").read_bytes() == whole
    assert gzip.decompress(whole).count(b"WARC-Type: revisit") == (0 if duplicates == "drop" else 30)
    assert (tmp_path / "parts.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_an_address_captured_twice_is_decided_by_its_first_capture(cli, empty, tmp_path):
    crawl = Crawl()
    crawl.answer("https://a.example/", page(text(1)))
    crawl.answer("https://a.example/", page(text(2)))
    path = tmp_path / "a.warc.gz"
    path.write_bytes(crawl.bytes())

    done = cli("dedup", empty, path, "--rejects", tmp_path / "rejects", "--output", tmp_path / "kept.warc.gz")
    added = cli("add", empty, path, "--verbose")

    refused = json.loads((tmp_path / "rejects").read_text())
    start, stop = crawl.place(0)
    assert (done.code, done.record["status"]) == (3, "original")
    assert (refused["line"], refused["reason"]) == (2, "the id 'https://a.example/' came before in this input")
    assert (tmp_path / "kept.warc.gz").read_bytes() == crawl.bytes()[start:stop]
    # To add, the last capture is what the address holds now.
    assert cli("get", empty, "https://a.example/").record["simhash"] == added.records[-1]["simhash"]
    assert [isinstance(found, Page) for found in scan([str(path)])] == [True, True]
