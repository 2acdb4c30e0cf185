"""``dedup`` that warns: figures by source."""

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
