"""``dedup --report``: what the page says of all kinds of runs."""

import json
import math
import os
import re
from collections import Counter
from time import monotonic

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from support.corpus import near_copies, text, write_jsonl
from support.reports import read_report, texts_of
from support.sites import Site

from simhash_hbase import api
from simhash_hbase.cli.screen import output
from simhash_hbase.report import pairs, write
from simhash_hbase.report.write import write_report

SHINGLES = ("--create", "--analyzer", "shingle")


@pytest.fixture
def page(tmp_path):
    return tmp_path / "report.html"


def decided(result, records):
    """Return the figures that the JSON lines have."""
    sizes = {record["id"]: len(record["text"].encode()) for record in records}
    duplicates = [line for line in result.records if line["status"] == "duplicate"]
    return {
        "kept": len(result.records) - len(duplicates),
        "duplicates": len(duplicates),
        "clusters": len({line["of"] for line in duplicates}),
        "bytes": sum(sizes[line["id"]] for line in result.records),
        "duplicate bytes": sum(sizes[line["id"]] for line in duplicates),
        "distances": Counter(line["distance"] for line in duplicates),
    }


def said(report):
    """Return the same figures as the page has them."""
    small = report.small_print("bytes").replace(",", "").split()
    return {
        "kept": report.count("kept"),
        "duplicates": report.count("duplicates"),
        "clusters": int(report.small_print("duplicates").split()[-2].replace(",", "")),
        "bytes": int(small[2]),
        "duplicate bytes": int(small[0]),
        "distances": Counter(
            {int(label.split()[1]): count for label, count in report.histogram("distances").items() if count}
        ),
    }


def test_documents_a_second_are_those_of_the_decisions_without_the_report(cli, url, page, corpus_file, monkeypatch):
    later = 0.0

    def slowly(*given, **named):
        nonlocal later
        later += 1e6
        return write_report(*given, **named)

    monkeypatch.setattr(write, "write_report", slowly)
    monkeypatch.setattr(output, "monotonic", lambda: monotonic() + later)

    done = cli("dedup", url, corpus_file, *SHINGLES, "--report", page)

    [seconds] = re.findall(r"([\d.]+) s, [\d,]+ a second", done.err)
    assert float(seconds) < 1e6


TITLES = {"a": "The ferry  is\nback", "b": None, "c": "Ferry back", "d": "x" * 200, "e": "Other things"}


def titled(form):
    """Return documents of one cluster, and another one, some with a title, and the name of their file."""
    texts = {name: text(1, changed=at) for at, name in enumerate("abcd")} | {"e": text(2)}
    records = [{"id": name, "text": texts[name], "title": title} for name, title in TITLES.items()]
    if form == "fields":
        records[1].pop("title")
        records[4]["title"] = math.nan
    return records


@pytest.mark.parametrize("form", ["fields", "csv", "parquet"])
def test_clusters_and_pairs_show_titles_where_the_input_has_any(cli, url, page, tmp_path, form):
    records = titled(form)
    path = tmp_path / f"in.{form.replace('fields', 'jsonl')}"
    if form == "fields":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif form == "csv":
        pa_csv.write_csv(pa.Table.from_pylist(records), path)
    else:
        pq.write_table(pa.Table.from_pylist(records), path)

    assert cli("dedup", url, path, *SHINGLES, "--report", page).code == 0

    [cluster] = read_report(page).clusters
    assert (cluster["id"], cluster["title"]) == ("a", "The ferry is back")
    assert [member[0] for member in cluster["members"]] == ["b", "c", "d"]
    assert [member[4:] for member in cluster["members"]] == [[], ["Ferry back"], ["x" * 119 + "…"]]
    assert {pair["id"]: pair["titles"][1] for pair in read_report(page).pairs}["c"] == "Ferry back"


def test_pages_show_their_own_titles(cli, url, page, tmp_path):
    folder = tmp_path / "pages"
    folder.mkdir()
    heads = {"a": "<title>Rain &amp; wind</title>", "b": '<meta property="og:title" content="Rain"><title>x</title>'}
    for name, head in {**heads, "c": ""}.items():
        (folder / f"{name}.html").write_text(f"<html><head>{head}</head><body><p>{text(1)}</p></body></html>")

    assert cli("dedup", url, folder, *SHINGLES, "--report", page).code == 0

    [cluster] = read_report(page).clusters
    assert cluster["title"] == "Rain & wind"
    assert [member[4:] for member in cluster["members"]] == [["Rain"], []]


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_the_figures_are_those_of_the_json_lines(cli, url, page, corpus, corpus_file, keep):
    done = cli("dedup", url, corpus_file, *SHINGLES, "--keep", keep, "--report", page)

    report = read_report(page)
    assert done.code == 0
    assert f"the report is in {page}" in done.err
    assert said(report) == decided(done, corpus)
    assert report.count("read") == 60
    assert sum(report.histogram("similarities").values()) == 40
    assert f"of near copies the {keep} is kept" in report.text
    duplicates = {(line["of"], line["id"], line["distance"], line["similarity"]) for line in done.records if line["of"]}
    listed = {(c["id"], *member[:3]) for c in report.clusters for member in c["members"]}
    shown = {(pair["of"], pair["id"], pair["distance"], pair["similarity"]) for pair in report.pairs}
    assert listed == shown == duplicates
    assert [cluster["size"] for cluster in report.clusters] == [2] * 20
    for place, cluster in enumerate(report.clusters):
        for member in cluster["members"]:
            pair = report.pairs[member[3]]
            assert (pair["id"], pair["cluster"]) == (member[0], place)


def test_the_field_about_which_near_copies_agree_is_named(cli, url, page, corpus_file):
    done = cli("dedup", url, corpus_file, *SHINGLES, "--agree", "a (site)", "--report", page)

    assert done.code == 0, done.err
    assert "analyzer shingle, scheme 5x2, agree a (site)); of near copies" in read_report(page).text


def test_the_first_refused_records_are_named_with_their_reasons(cli, url, page, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(pairs, "SHOWN_REJECTS", 4)
    lines = [json.dumps(record) for record in corpus[:6]]
    broken = ["broken", '{"id": "blank", "text": "  "}', '{"id": "signs", "text": "!!!"}', lines[0], "broken"]
    source = tmp_path / "some.jsonl"
    source.write_text("\n".join([*lines[:3], *broken, *lines[3:]]) + "\n")

    done = cli("dedup", url, source, *SHINGLES, "--report", page)

    report = read_report(page)
    assert (done.code, report.count("read"), report.count("refused")) == (3, 11, 5)
    assert {f"{place}: refused: {reason}" for place, reason in report.refused.items()} <= set(done.err.splitlines())
    assert len(report.refused) == 4
    assert "the first 4 of 5" in report.text
    assert said(report) == decided(done, corpus[:6])


def test_a_corpus_without_duplicates_is_said_to_have_none_but_short_documents(cli, url, page, tmp_path):
    source = write_jsonl(tmp_path / "some.jsonl", [*near_copies(4, 1), {"id": "a", "text": "only a few words"}])

    cli("dedup", url, source, *SHINGLES, "--report", page)

    report = read_report(page)
    assert (report.count("kept"), report.count("duplicates")) == (5, 0)
    assert "There are no duplicates." in report.text
    assert "1 document is so short that edited copies of it may have been missed" in report.text
    assert not re.search('id="search"|class="chart"', report.html)


@pytest.mark.slow
def test_a_dry_run_has_the_same_report(cli, url, page, corpus_file, tmp_path):
    words = ("dedup", url, corpus_file, *SHINGLES, "--report")

    cli(*words, tmp_path / "dry.html", "--dry-run")
    cli(*words, page)

    report = read_report(tmp_path / "dry.html")
    assert report.data == read_report(page).data
    assert "dry run" in report.text


def test_own_fingerprints_have_pairs_without_texts(cli, url, page, simhash_file):
    source = simhash_file("own.jsonl", {"a": 1, "b": 3, "c": 2**64 - 1})

    done = cli("dedup", url, source, "--create", "--simhash-field", "simhash", "--report", page)

    report = read_report(page)
    assert done.code == 0
    assert (report.count("kept"), report.count("duplicates"), report.figure("bytes")) == (2, 1, "unknown")
    [pair] = report.pairs
    assert (pair["of"], pair["id"], pair["distance"], pair["similarity"]) == ("a", "b", 1, None)
    assert ("no texts" in pair["note"], "rows" in pair) == (True, False)
    assert "Of 1 duplicate the similarity is unknown" in report.text
    assert 'id="similarities"' not in report.html


def test_originals_that_only_the_index_knows_have_no_text(cli, url, page, corpus, corpus_file, tmp_path):
    rest = write_jsonl(tmp_path / "rest.jsonl", [record for at, record in enumerate(corpus) if at % 3])
    cli("dedup", url, corpus_file, *SHINGLES)
    cli("remove", url, "group 0 copy 0")

    done = cli("dedup", url, rest, "--report", page)

    report = read_report(page)
    assert report.count("kept") == 0
    assert said(report) == decided(done, corpus)
    assert "2 documents are a duplicate of one that was removed" in report.text
    pair = report.pairs[0]
    assert "not available" in pair["note"]
    [begins] = [record["text"] for record in corpus if record["id"] == pair["id"]]
    assert texts_of(pair) == ("", begins[:2000])


@pytest.mark.slow
def test_every_form_of_input_is_read_again(cli, page, corpus, corpus_file, tmp_path, standard_input):
    lines = "".join(json.dumps(record) + "\n" for record in corpus)
    standard_input(lines.encode())
    table, wide, folder = tmp_path / "a.csv", tmp_path / "a.jsonl", tmp_path / "folder"
    table.write_text("id,text\n" + "".join(f"{record['id']},{record['text']}\n" for record in corpus))
    wide.write_text(lines, encoding="utf-16")
    folder.mkdir()
    for record in corpus:
        (folder / record["id"]).write_text(record["text"])

    reports = []
    for source in (corpus_file, "-", table, wide, folder):
        assert cli("dedup", source, "--analyzer", "shingle", "--report", page).code == 0
        # A folder has an order of its own.
        reports.append({pair["id"]: (pair["of"], pair["distance"], pair["rows"]) for pair in read_report(page).pairs})

    assert all(report == reports[0] for report in reports)


@pytest.mark.slow
def test_the_report_compares_the_main_texts_of_pages(cli, url, page, corpus, tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    for number, record in enumerate(corpus[:6]):
        html = Site(number % 2, "en").page(record["text"], f"Article {number}")
        (folder / f"{record['id']}.html").write_text(html)
    (folder / "empty.html").write_text("<html><body></body></html>")

    done = cli("dedup", url, folder, *SHINGLES, "--report", page)

    report = read_report(page)
    assert done.code == 3
    assert report.refused == {f"{folder}/empty.html": "the text is empty"}
    duplicates = [line["id"] for line in done.records if line["of"]]
    sizes = {name: (folder / name).stat().st_size for name in duplicates}
    assert len(duplicates) == 4
    assert report.small_print("bytes").startswith(f"{sum(sizes.values()):,} of ")
    assert "bytes of texts and pages" in report.small_print("bytes")
    texts = {f"{record['id']}.html": f"Article {at} {record['text']}" for at, record in enumerate(corpus)}
    for pair in report.pairs:
        shown, whole = "".join(texts_of(pair)[1].split()), "".join(texts[pair["id"]].split())
        # Long equal passages between them are left out.
        assert (shown[:200], shown[-200:]) == (whole[:200], whole[-200:])


def test_a_long_id_and_a_long_reason_are_cut(cli, url, page, tmp_path):
    ids = ["a" * 5000, "b" * 5000, "a" * 5000]
    source = write_jsonl(tmp_path / "some.jsonl", [{"id": name, "text": text(1)} for name in ids])

    cli("dedup", url, source, *SHINGLES, "--report", page)

    report = read_report(page)
    [pair], [reason] = report.pairs, report.refused.values()
    assert pair["of"] == "a" * 299 + "…"
    assert reason.startswith("the id 'aaa")
    assert len(reason) == 300


def test_a_secret_in_the_address_stays_out(cli, page, corpus_file, monkeypatch):
    monkeypatch.setattr(api, "open_local_index", lambda *_, **__: api.create_index("memory:", analyzer="shingle"))

    done = cli("dedup", "redis://user:hunter2@127.0.0.1:6379/0", corpus_file, "--report", page)

    assert done.code == 0
    assert "against redis://…@127.0.0.1:6379/0," in read_report(page).text
    assert "hunter2" not in page.read_text()


@pytest.mark.parametrize("good_first", [False, True])
def test_a_refused_record_with_the_id_of_a_good_one_keeps_its_own_place_and_text(cli, url, page, tmp_path, good_first):
    original, copy = near_copies(1, 2)
    good, bad = {**copy, "id": "twice"}, {"id": "twice", "text": "……！？"}
    order = [good, bad] if good_first else [bad, good]
    file = write_jsonl(tmp_path / "a.jsonl", [original, *order, {"id": "last", "text": text(7)}])

    done = cli("dedup", url, file, *SHINGLES, "--report", page)

    assert done.code == 3
    report = read_report(page)
    [pair] = report.pairs
    left, right = texts_of(pair)
    assert (pair["id"], left[:200], right[:200]) == ("twice", original["text"][:200], copy["text"][:200])
    assert list(report.refused) == [f"{file}:{2 + good_first}"]
    assert report.count("duplicates") == 1


@pytest.mark.parametrize("option", ["--report", "--create"])
def test_a_pipe_with_a_name_is_refused_where_it_would_be_read_twice(cli, url, tmp_path, option):
    os.mkfifo(tmp_path / "pipe.jsonl")
    words = [option, tmp_path / "report.html"] if option == "--report" else [option]

    assert "pass it as standard input" in cli("dedup", url, tmp_path / "pipe.jsonl", *words).usage_error


def test_a_run_that_fails_leaves_an_older_report_alone(cli, url, corpus_file, page, tmp_path):
    page.write_text("older")

    done = cli("dedup", url, corpus_file, "--report", page)

    assert (done.code, page.read_text()) == (1, "older")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.jsonl", "report.html"]


def test_a_link_or_device_that_takes_a_report_stays_one(cli, url, corpus_file, page, tmp_path):
    (tmp_path / "link.html").symlink_to(page)

    cli("dedup", url, corpus_file, *SHINGLES, "--report", tmp_path / "link.html")
    again = cli("dedup", url, corpus_file, "--report", "/dev/null")

    assert (tmp_path / "link.html").is_symlink()
    assert read_report(page).count("read") == 60
    assert again.code == 0
    assert not os.path.isfile("/dev/null")
