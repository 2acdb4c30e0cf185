"""``dedup`` that warns: figures by source, and nothing written where too much would be removed."""

import json
import re

import pytest
from support.corpus import near_copies, write_jsonl

SHINGLES = ("--analyzer", "shingle")


def sites():
    """Return 30 documents in ten groups of three: "wire" has each text first, "copyist" twice more; some name none."""
    names = {"0": "https://wire.example/", "1": "http://me@copyist.example:80/", "2": "https://Copyist.example/"}
    documents = near_copies(10, 3)
    for at, document in enumerate(documents):
        document["n"] = at
        document["url"] = f"{names[document['id'][-1]]}{at}"
    del documents[-1]["url"], documents[-2]["url"]
    return documents


@pytest.fixture
def source(tmp_path):
    return write_jsonl(tmp_path / "sites.jsonl", sites())


@pytest.mark.parametrize("more", [(), ("--keep", "best:-n"), ("--workers", 2)])
def test_figures_by_source_are_printed_after_the_summary(cli, source, more):
    done = cli("dedup", source, *SHINGLES, "--by", "url", *more)

    assert done.err.splitlines()[1:-1] == [
        "  'copyist.example': 18 documents, 0 kept, 18 removed (100.0%), largest cluster 2",
        "  'wire.example': 10 documents, 10 kept, 0 removed (0.0%), largest cluster 1",
        "  no url: 2 documents, 0 kept, 2 removed (100.0%), largest cluster 2",
    ]


def test_figures_by_source_are_those_of_one_process_where_several_read_parts(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("simhash_hbase.corpus.options.Reading.part_bytes", 20_000)
    records = [{**record, "site": f"s{at % 7}"} for at, record in enumerate(near_copies(40, 3))]
    source = write_jsonl(tmp_path / "many.jsonl", records)

    one, two = (cli("dedup", source, *SHINGLES, "--by", "site", "--workers", n).err.splitlines()[1:-1] for n in (1, 2))

    assert len(one) == 7
    assert one == two


def test_small_sources_are_summed_up(cli, tmp_path):
    records = [{**record, "site": at} for at, record in enumerate(near_copies(25, 1))]

    done = cli("dedup", write_jsonl(tmp_path / "many.jsonl", records), *SHINGLES, "--by", "site")

    assert done.err.splitlines()[1] == "  '0': 1 document, 1 kept, 0 removed (0.0%), largest cluster 1"
    assert done.err.splitlines()[-2] == "  5 more sources of 5 documents, 0 removed"


def test_a_field_that_no_document_has_is_named(cli, source):
    assert "no document names a source in the field 'sorce'" in cli("dedup", source, *SHINGLES, "--by", "sorce").err


def test_figures_by_source_cannot_be_resumed(cli, url, source, tmp_path):
    results = ("--results", tmp_path / "done.jsonl", "--resume")

    refused = cli("dedup", url, source, *SHINGLES, "--create", "--by", "url", *results)

    assert refused.code == 2
    assert "--resume cannot be combined with --by" in refused.err


def test_the_report_lists_the_sources(cli, source, tmp_path):
    report = tmp_path / "report.html"

    cli("dedup", source, *SHINGLES, "--by", "url", "--report", report)

    [section] = re.findall('<section id="sources">.*?</section>', report.read_text("utf-8"), re.DOTALL)
    rows = [re.findall("<td>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", section)]
    assert "Documents by <bdi>url</bdi>" in section
    assert rows[1:] == [
        ["<bdi>copyist.example</bdi>", "18", "0", "18", "100.0%", "2"],
        ["<bdi>wire.example</bdi>", "10", "10", "0", "0.0%", "1"],
        ["none", "2", "0", "2", "100.0%", "2"],
    ]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_sources_are_read_from_columns(cli, source, tmp_path, suffix):
    table = tmp_path / f"sites.{suffix}"
    cli("dedup", source, *SHINGLES, "--output", table, "--similarity", "1")
    records = [json.loads(line) for line in source.read_text("utf-8").splitlines()]

    done = cli("dedup", table, *SHINGLES, "--by", "url")

    assert len(records) == 30
    assert "'wire.example': 10 documents, 10 kept" in done.err


def written(folder):
    """Return all files below a folder, with their bytes; LMDB's lock changes when a folder is opened."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "lock.mdb"}


EVERYTHING = {"output": "jsonl", "clusters": "jsonl", "results": "jsonl", "rejects": "jsonl", "report": "html"}


def places(folder):
    return [word for name in EVERYTHING for word in (f"--{name}", folder / f"{name}.{EVERYTHING[name]}")]


@pytest.mark.parametrize("made", ["temporary", "new", "old"])
@pytest.mark.parametrize("guard", [("--fail-above", ".6"), ("--fail-above", ".9", "--by", "url")], ids=["all", "one"])
def test_nothing_is_written_where_more_would_be_removed_than_may_be(cli, url, source, tmp_path, made, guard):
    source.write_text(source.read_text("utf-8") + '{"id": "no text"}\n', "utf-8")
    where = {"temporary": (*SHINGLES,), "new": (url, "--create", *SHINGLES), "old": (url,)}[made]
    if made == "old":
        cli("create", url, *SHINGLES)
        cli("add", url, write_jsonl(tmp_path / "before.jsonl", near_copies(1, 1)))
    before = written(tmp_path)

    done = cli("dedup", *where, source, *guard, *places(tmp_path))

    assert done.code == 4
    assert done.out == b""
    whose = "18 documents of 'copyist.example'" if "--by" in guard else "30 documents"
    assert f" of the {whose}" in done.err.splitlines()[-1]
    assert done.err.endswith("nothing was written\n")
    assert written(tmp_path) == before


@pytest.mark.parametrize(
    ("made", "keep"), [("temporary", "first"), ("new", "longest"), ("old", "first"), ("dry", "longest")]
)
def test_what_may_be_removed_is_written_as_without_a_guard(cli, source, tmp_path, made, keep):
    source.write_text(source.read_text("utf-8") + '{"id": "no text"}\n', "utf-8")
    results = []
    for name, guard in (("plain", ()), ("guarded", ("--fail-above", ".99"))):
        folder = tmp_path / name
        folder.mkdir()
        address = f"file:{folder / 'some.index'}"
        if made == "old":
            cli("create", address, *SHINGLES)
            cli("add", address, write_jsonl(tmp_path / "before.jsonl", near_copies(2, 1)))
        where = {"temporary": SHINGLES, "old": (address,), "dry": (address, "--create", "--dry-run", *SHINGLES)}
        words = where.get(made, (address, "--create", *SHINGLES))
        done = cli("dedup", *words, source, "--keep", keep, *guard, *places(folder))
        stored = () if made in ("temporary", "dry") else cli("export", address).records
        kept = [{name: value for name, value in each.items() if name not in ("added", "seen")} for each in stored]
        files = {name: (folder / f"{name}.jsonl").read_bytes() for name in EVERYTHING if name != "report"}
        results.append((done.code, done.out, kept, files, (folder / "report.html").exists()))

    assert results[0] == results[1]
    assert results[1][0] == 3


def test_small_sources_are_judged_unless_they_are_left_out(cli, source):
    judged = cli("dedup", source, *SHINGLES, "--by", "url", "--fail-above", ".7", "--fail-from", "2")
    left_out = cli("dedup", source, *SHINGLES, "--by", "url", "--fail-above", ".7", "--fail-from", "19")

    assert (judged.code, left_out.code) == (4, 0)
    assert judged.err.splitlines()[1].startswith("  'wire.example': 10 documents, 10 kept")
    assert judged.err.splitlines()[-1].startswith(
        "simhash-hbase: 100.0% of the 18 documents of 'copyist.example' (and more than"
    )


@pytest.mark.parametrize("share", ["1", "-.1", "nan"])
def test_a_share_that_can_guard_nothing_is_refused(cli, source, share):
    refused = cli("dedup", source, *SHINGLES, "--fail-above", share)

    assert refused.code == 2
    assert "wanted a share from 0 to below 1" in refused.err


def test_a_guard_reads_standard_input(cli, source, standard_input):
    standard_input(source.read_bytes())
    stopped = cli("dedup", "-", *SHINGLES, "--fail-above", ".5")
    standard_input(source.read_bytes())
    passed = cli("dedup", "-", *SHINGLES, "--fail-above", ".7")

    assert (stopped.code, stopped.out, passed.code) == (4, b"", 0)
    assert len(passed.records) == 30
