"""``dedup`` that warns: figures by source, and nothing written where too much would be removed."""

import csv
import json
import re
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.corpus import near_copies, write_jsonl
from support.fresh_clone import assert_printed, blocks, run, split

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


def write_table(path, records):
    """Write records as the suffix of a path says."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    elif path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(records[0]))
            writer.writeheader()
            writer.writerows(records)
    else:
        write_jsonl(path, records)


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


def test_a_guard_by_a_field_that_no_document_has_writes_nothing(cli, source, tmp_path):
    kept = tmp_path / "kept.jsonl"

    refused = cli("dedup", source, *SHINGLES, "--by", "sorce", "--fail-above", ".99", "--output", kept)

    assert (refused.code, refused.out, kept.exists()) == (2, b"", False)
    assert "no document names a source in the field 'sorce', by which --fail-above is to judge" in refused.err


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
def test_sources_are_read_from_columns(cli, tmp_path, suffix):
    table = tmp_path / f"sites.{suffix}"
    write_table(table, sites())

    done = cli("dedup", table, *SHINGLES, "--by", "url")

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
    said = (
        "100.0% of the 18 documents of 'copyist.example' would be removed, and too much of 1 other source: --fail-above"
    )
    assert said in judged.err.splitlines()[-1]


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


def originals(done):
    return [record["id"] for record in done.records if record["status"] == "original"]


@pytest.mark.parametrize(("suffix", "more"), [("jsonl", ()), ("csv", ("--keep", "best:-n")), ("parquet", ("--exact",))])
def test_near_copies_of_two_sources_are_both_kept(cli, tmp_path, suffix, more):
    table = tmp_path / f"sites.{suffix}"
    write_table(table, sites())

    done = cli("dedup", table, *SHINGLES, "--agree", "url", *more)

    assert done.code == 0, done.err
    wire, copyist = ([f"group {group} copy {copy}" for group in range(10)] for copy in (0, 1))
    # Two documents of the last group name no source, so they are copies of the first.
    assert sorted(originals(done)) == sorted([*wire, *copyist[:-1]])


def write_bytes_table(path, records):
    """Write a table as Hive, Impala and old Spark do, which mark no column as a string."""
    table = pa.Table.from_pylist(records)
    kinds = [pa.binary() if pa.types.is_string(field.type) else field.type for field in table.schema]
    pq.write_table(table.cast(pa.schema(zip(table.schema.names, kinds, strict=True))), path)


def test_hosts_in_columns_of_bytes_are_those_of_strings(cli, tmp_path):
    write_bytes_table(tmp_path / "a.parquet", sites())
    write_table(tmp_path / "b.parquet", sites())

    of_bytes, plain = (
        cli("dedup", tmp_path / name, *SHINGLES, "--agree", "url", "--by", "url") for name in ("a.parquet", "b.parquet")
    )

    assert originals(of_bytes) == originals(plain)
    assert of_bytes.err.splitlines()[1:-1] == plain.err.splitlines()[1:-1]
    assert "'wire.example': 10 documents" in of_bytes.err


def test_every_command_compares_the_field(cli, url, source, tmp_path):
    assert cli("create", url, *SHINGLES, "--agree", "url").records[0]["agree"] == "url"
    first, second, third = (write_jsonl(tmp_path / f"{at}.jsonl", sites()[at:3:3]) for at in range(3))

    cli("add", url, first)
    [claimed] = cli("claim", url, second).records
    [answer] = cli("query", url, third).records
    stored = {record["id"]: record["metadata"] for record in cli("export", url).records}
    [explained] = cli("explain", url, "group 0 copy 0", "group 0 copy 1").records
    shown = cli("explain", url, "group 0 copy 0", "group 0 copy 1", "--format", "table").out.decode()

    assert claimed["status"] == "original"
    assert [match["id"] for match in answer["matches"]] == ["group 0 copy 1"]
    assert stored["group 0 copy 0"] == {"url": "https://wire.example/0"}
    assert (explained["agrees"], explained["found"]) == (False, False)
    assert "they do not agree about 'url'" in shown


def test_only_files_that_have_the_field_are_compared_by_it(cli, url, tmp_path):
    cli("create", url, *SHINGLES, "--agree", "url")
    first, second, third = (write_jsonl(tmp_path / f"{at}.jsonl", [each]) for at, each in enumerate(sites()[:3]))

    [apart] = cli("explain", url, first, second).records
    [joined] = cli("explain", url, second, third).records
    [unknown] = cli("explain", url, second, sites()[0]["text"]).records
    drawn = cli("explain", url, first, second, "--format", "table").out.decode()

    assert [(each["agrees"], each["found"]) for each in (apart, joined, unknown)] == [
        (False, False),
        (True, True),
        (None, True),
    ]
    assert not any(apart["found_near"].values())
    assert " does not find the other: they do not agree about 'url'." in drawn
    assert "--near" not in drawn


def test_copies_by_passages_that_do_not_agree_have_no_second_reason(cli, url, tmp_path):
    cli("create", url, *SHINGLES, "--match", "copied", "--agree", "url")
    first, second = (write_jsonl(tmp_path / f"{at}.jsonl", [each]) for at, each in enumerate(sites()[:2]))

    [compared] = cli("explain", url, first, second).records
    drawn = cli("explain", url, first, second, "--format", "table").out.decode()

    assert (compared["passages"]["is_copied"], compared["agrees"], compared["found"]) == (True, False, False)
    assert "does not find the other: they do not agree about 'url'." in " ".join(drawn.split())


def test_pages_agree_by_their_addresses(cli, url, tmp_path):
    folder = tmp_path / "pages"
    for site in ("a.example", "b.example"):
        (folder / site).mkdir(parents=True)
        for name in ("1.html", "2.html"):
            head = f'<head><title>{site}</title><link rel="canonical" href="https://{site}/{name}"></head>'
            (folder / site / name).write_text(f"<html>{head}<body><p>{sites()[0]['text']}</p></body></html>", "utf-8")

    done = cli("dedup", url, "--create", folder, *SHINGLES, "--input-format", "html", "--agree", "url")
    kept = {record["id"]: record["metadata"]["url"] for record in cli("export", url).records}

    assert [name.rpartition("/")[2] for name in originals(done)] == ["1.html", "1.html"]
    assert sorted(kept.values()) == sorted(f"https://{name.partition('pages/')[2] or name}" for name in kept)


def test_a_field_of_agreement_that_no_document_has_is_warned_of(cli, source):
    done = cli("dedup", source, *SHINGLES, "--agree", "sorce")

    assert "warning: no document of this run has the field 'sorce', by which near copies agree" in done.err
    assert "warning" not in cli("dedup", source, *SHINGLES, "--agree", "url").err


def test_commands_that_join_no_near_copies_do_not_read_the_field(cli, url, tmp_path):
    cli("create", url, *SHINGLES, "--passages", 32, "--agree", "url")
    record, long = {"id": "a", "text": sites()[0]["text"]}, f"https://wire.example/{'a' * 2_000}"
    lines = [write_jsonl(tmp_path / f"{len(more)}.jsonl", [record | more]) for more in ({}, {"url": long})]

    for words in (("find", url), ("passages", url), ("fingerprint", "--profile-of", url)):
        for path in lines:
            done = cli(*words, path)
            assert (done.code, "warning" in done.err) == (0, False), done.err


def test_another_field_of_agreement_is_another_index(cli, url, source):
    cli("create", url, *SHINGLES, "--agree", "url")

    refused = cli("dedup", url, source, "--create", *SHINGLES, "--agree", "site")

    assert refused.code != 0
    assert "made with agree='url'; asked for was agree='site'" in refused.err


def counted(cli, source, kept, *more):
    """Decide and count copies in the kept records."""
    done = cli("dedup", source, *SHINGLES, "--output", kept, "--counts", "copies", *more)
    assert done.code == 0, done.err
    return done


def test_what_was_written_with_counts_is_not_continued_without_them(cli, url, source, tmp_path):
    places = ("--results", tmp_path / "done.jsonl", "--output", tmp_path / "kept.jsonl")
    cli("dedup", url, source, *SHINGLES, "--create", "--counts", "copies", *places)
    written = (tmp_path / "kept.jsonl").read_bytes()

    refused = cli("dedup", url, source, *places, "--resume")

    assert refused.code == 2
    assert "is from a run with other options" in refused.err
    assert (tmp_path / "kept.jsonl").read_bytes() == written


def test_numbers_in_a_column_that_is_called_row_are_written(cli, tmp_path):
    write_table(tmp_path / "all.parquet", sites())
    kept = tmp_path / "kept.parquet"

    cli("dedup", tmp_path / "all.parquet", *SHINGLES, "--output", kept, "--counts", "row")

    assert pq.read_table(kept)["row"].to_pylist() == [2] * 10


def test_a_table_that_is_removed_meanwhile_is_named(cli, tmp_path, monkeypatch):
    table = tmp_path / "all.parquet"
    write_table(table, sites())
    monkeypatch.setattr("simhash_hbase.corpus.run.check_removed", lambda *_: table.unlink())

    failed = cli("dedup", table, *SHINGLES, "--output", tmp_path / "kept.jsonl", "--fail-above", ".9")

    assert failed.code == 1
    assert f"{table} was changed, replaced or removed" in failed.err


def test_a_line_keeps_its_own_bytes_where_an_encoding_has_two_forms(cli, tmp_path):
    source, kept = tmp_path / "a.jsonl", tmp_path / "kept.jsonl"
    # Two codes of the Roman numeral one in Microsoft's Shift_JIS.
    text = "計画の第一部".encode("cp932") + b"\xfa\x4a\x87\x54"
    source.write_bytes(b'{"text": "' + text * 5 + b'"}\n')

    counted(cli, source, kept, "--encoding", "cp932", "--counts", "copies")

    assert kept.read_bytes() == b'{"text": "' + text * 5 + b'","copies":0}\n'


@pytest.mark.parametrize("workers", [1, 2])
def test_kept_records_get_the_number_of_their_copies_and_sources(cli, source, tmp_path, monkeypatch, workers):
    monkeypatch.setattr("simhash_hbase.corpus.options.Reading.part_bytes", 20_000)
    lines = {json.loads(line)["id"]: line for line in source.read_text("utf-8").splitlines()}
    kept = tmp_path / "kept.jsonl"

    done = counted(cli, source, kept, "--by", "url", "--workers", workers)

    assert kept.read_text("utf-8").splitlines() == [
        f'{lines[name][:-1]},"copies":2,"copies_sources":2}}' for name in done.originals
    ]


def test_copies_of_an_original_that_only_the_index_holds_are_counted_nowhere(cli, url, source, tmp_path):
    cli("create", url, *SHINGLES)
    cli("add", url, write_jsonl(tmp_path / "before.jsonl", near_copies(1, 1)))
    kept = tmp_path / "kept.jsonl"

    cli("dedup", url, source, "--id-prefix", "file", "--output", kept, "--counts", "copies")

    records = [json.loads(line) for line in kept.read_text("utf-8").splitlines()]
    assert [record["copies"] for record in records] == [2] * 9


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_rows_of_csv_get_columns_in_their_own_encoding(cli, tmp_path, encoding):
    source, kept = tmp_path / "a.csv", tmp_path / "kept.csv"
    rows = [f'{each["id"]},"{each["text"]}\n""end"""\r\n' for each in near_copies(3, 2)]
    source.write_bytes(("\ufeffid,text\r\n" + "".join(rows)).encode(encoding))

    counted(cli, source, kept, "--counts", "copies, removed")

    kept_rows = "".join(f"{row[:-2]},1\r\n" for row in rows[::2])
    assert kept.read_bytes().decode(encoding) == f'\ufeffid,text,"copies, removed"\r\n{kept_rows}'


@pytest.mark.parametrize(
    ("origin", "target"),
    [("jsonl", "csv"), ("jsonl", "parquet"), ("csv", "jsonl"), ("parquet", "csv"), ("parquet", "parquet")],
)
def test_counts_are_numbers_in_every_form_that_has_fields(cli, tmp_path, origin, target):
    table, kept = tmp_path / f"all.{origin}", tmp_path / f"kept.{target}"
    write_table(table, sites())

    counted(cli, table, kept, "--by", "url")

    if target == "parquet":
        rows = [list(row.values()) for row in pq.read_table(kept).to_pylist()]
    elif target == "csv":
        rows = [list(map(int, line.split(",")[-2:])) for line in kept.read_text("utf-8").splitlines()[1:]]
    else:
        rows = [list(json.loads(line).values()) for line in kept.read_text("utf-8").splitlines()]
    assert [row[-2:] for row in rows] == [[2, 2]] * 10


@pytest.mark.parametrize("name", ["jsonl", "csv", "parquet"])
def test_a_field_that_records_have_already_is_not_written_over(cli, url, tmp_path, name):
    table = tmp_path / f"all.{name}"
    write_table(table, sites())
    cli("create", url, *SHINGLES)
    before = written(tmp_path)

    refused = cli("dedup", url, table, "--output", tmp_path / f"kept.{name}", "--counts", "url")

    assert (refused.code, refused.out) == (1 if name == "jsonl" else 2, b"")
    assert "'url' already: name another one with --counts FIELD" in refused.err.splitlines()[-1]
    assert written(tmp_path) == before


def test_files_of_text_have_no_field_for_counts(cli, tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("a text", "utf-8")

    refused = cli("dedup", tmp_path / "texts", *SHINGLES, "--output", tmp_path / "kept", "--counts", "copies")

    assert refused.code == 2
    assert "--counts writes a field, which JSON lines, CSV, TSV, Parquet have: the input is files" in refused.err


def test_the_commands_of_the_page_print_what_it_shows(tmp_path):
    for command, shown in split(blocks()["guards"]).items():
        assert_printed(shown, run(tmp_path, f"PATH={Path(sys.executable).parent}:$PATH\n{command}"))
    assert not (tmp_path / "guarded.jsonl").exists()
