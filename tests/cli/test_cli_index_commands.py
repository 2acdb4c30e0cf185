"""Every command that keeps, finds and shows documents: what it prints and how it ends."""

import re

import pytest
from support.corpus import near_copies, text, write_jsonl

from simhash_hbase import CorruptIndex, __version__, open_index
from simhash_hbase.rows.keys import document_row, id_digest, row_flag
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FLAG_MEMBERS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell
from simhash_hbase.testing.rows import all_cells

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_create_prints_the_profile(cli, url):
    analyzer = ("--analyzer", "shingle", "--shingle", 3, "--binary")
    others = ("--scheme", "6x3", "--match", "distance", "--ttl", 30, "--max-members", 7, "--short-characters", 300)

    made = cli("create", url, *analyzer, *others)

    wanted = {"analyzer": "shingle", "shingle": 3, "binary": True, "scheme": "6x3", "match": "distance", "ttl_days": 30,
              "max_members": 7, "short_characters": 300, "distance": 3, "similarity": 0.77, "hash": "murmur3",
              "fingerprints": 1}  # fmt: skip
    assert wanted.items() <= made.record.items()


def test_create_takes_an_existing_index_of_the_same_profile_on_demand(cli, filled):
    words = ("create", filled, "--analyzer", "shingle")

    again, same = cli(*words), cli(*words, "--if-not-exists")
    other = cli(*words, "--scheme", "4x1", "--if-not-exists")

    there, advice = again.failure.split(": open_index opens it, and ")
    assert there == f"there is an index at {filled} already"
    assert advice == "--if-not-exists takes it if its profile is the same"
    assert (same.code, same.record["scheme"]) == (0, "5x2")
    assert "'5x2'" in other.failure
    assert "'4x1'" in other.failure


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--scheme", "65x1"], "scheme"),
        (["--distance", "4"], "add --scheme 6x2"),
        (["--band-distance", "16,x"], "several with commas between them"),
        (["--near", "topic"], "subject"),
        (["--near", "text", "--band-distance", "32"], "near text decides band_distance and free_distance"),
        (["--near", "text", "--bands", "0"], "near text: it goes with bands"),
        (["--near", "text", "--no-sketch"], "near text: it goes with bands"),
    ],
)
def test_create_refuses_what_cannot_be_as_wrong_usage(cli, tmp_path, url, options, sentence):
    assert sentence in cli("create", url, *options).usage_error
    assert list(tmp_path.iterdir()) == []


def test_add_prints_ids_and_fingerprints_only_with_verbose(cli, empty, corpus_file, corpus):
    silent = cli("add", empty, corpus_file)
    verbose = cli("add", empty, corpus_file, "--verbose")

    assert (silent.code, silent.out) == (0, b"")
    assert silent.err.startswith("add: 60 documents")
    assert [record["id"] for record in verbose.records] == [document["id"] for document in corpus]
    assert all(re.fullmatch("[0-9a-f]{16}", record.pop("simhash")) for record in verbose.records)
    assert "60 known" in verbose.err


def test_get_and_export_print_documents(cli, filled, corpus):
    got, exported = cli("get", filled, "group 2 copy 1", "nobody", "group 0 copy 0"), cli("export", filled)

    assert (got.code, got.sentence, exported.code) == (1, "the index does not hold a document of the id 'nobody'", 0)
    assert [record["id"] for record in got.records] == ["group 2 copy 1", "group 0 copy 0"]
    record = got.records[0]
    assert {"id", "simhash", "state", "added", "seen", "length", "features"} == set(record)
    assert (record["state"], record["length"]) == ("added", len(text(2, changed=1)))
    assert TIME.fullmatch(record["added"])
    assert record in exported.records
    assert sorted(r["id"] for r in exported.records) == sorted(document["id"] for document in corpus)


def test_export_goes_on_past_damaged_cells(cli, filled, corpus):
    rows = [document_row(id_digest(document["id"])) for document in corpus[:3]]
    with open_index(filled) as index:
        [other] = index.store.get(FAMILY_DOCUMENTS, [(rows[2], STATE_QUALIFIER)])
        index.store.put(FAMILY_DOCUMENTS, [Cell(rows[0], STATE_QUALIFIER, b"\xc1")])
        index.store.put(FAMILY_DOCUMENTS, [Cell(rows[1], STATE_QUALIFIER, other.value)])
        with pytest.raises(CorruptIndex):
            list(index.export())

    exported = cli("export", filled)

    assert exported.code == 3
    assert len(exported.records) == 58
    assert f"simhash-hbase: row {rows[0].hex()}: a document cell does not decode" in exported.err
    assert f"simhash-hbase: row {rows[1].hex()}: a document cell is not in the row of its id" in exported.err
    assert "export: 58 documents, 2 refused" in exported.err


def test_the_error_about_a_damaged_cell_names_the_command_that_lists_damage(cli, filled, corpus):
    name = corpus[0]["id"]
    with open_index(filled) as index:
        index.store.put(FAMILY_DOCUMENTS, [Cell(document_row(id_digest(name)), STATE_QUALIFIER, b"\xc1")])

    got = cli("get", filled, name)

    assert got.code == 1
    assert "a document cell does not decode" in got.err
    assert got.err.endswith(": simhash-hbase verify names all that is damaged\n")


def test_export_prints_a_document_without_its_damaged_member(cli, filled):
    with open_index(filled) as index:
        [cell] = [cell for cell in all_cells(index.store) if row_flag(cell.row) == FLAG_MEMBERS][:1]
        index.store.put(FAMILY_DOCUMENTS, [cell._replace(value=cell.value[:-1], timestamp=None)])

    exported = cli("export", filled)

    assert (exported.code, len(exported.records)) == (3, 60)
    assert f"simhash-hbase: row {cell.row.hex()}: a member cell does not decode" in exported.err
    assert [len(record) for record in exported.records].count(5) == 1


def test_remove_says_of_each_id_that_is_named_or_in_a_file_whether_it_was_there(cli, filled, tmp_path):
    ids = tmp_path / "gone.txt"
    ids.write_bytes("\ufeffgroup 1 copy 0\r\ngroup 1 copy 1\n汉字\n\n".encode())

    named = cli("remove", filled, "group 1 copy 0", "nobody", "group 1 copy 0")
    listed = cli("remove", filled, "--from", ids)

    told = [[(record["id"], record["removed"]) for record in done.records] for done in (named, listed)]
    assert told == [
        [("group 1 copy 0", True), ("nobody", False), ("group 1 copy 0", False)],
        [("group 1 copy 0", False), ("group 1 copy 1", True), ("汉字", False)],
    ]
    assert (named.code, listed.code, cli("remove", filled).code) == (0, 0, 2)
    assert cli("get", filled, "group 1 copy 0").code == 1
    assert "group 1 copy 0" not in {m["id"] for m in cli("query", filled, "--text", text(1)).record["matches"]}
    assert cli("verify", filled).code == 0


def test_backup_is_an_index_with_the_same_answers(cli, filled, tmp_path):
    copied = cli("backup", filled, tmp_path / "copy.index")

    assert (copied.code, copied.record) == (0, {"backup": f"file:{tmp_path / 'copy.index'}"})
    cli("remove", filled, "group 0 copy 0")
    copy = copied.record["backup"]
    assert cli("verify", copy).record["documents"] == 60
    assert cli("query", copy, "--id", "group 0 copy 0").record["matches"]
    assert cli("backup", filled, tmp_path / "copy.index").usage_error


def fields_of(table):
    """Return the fields of a table of two columns, with their values."""
    rows = [line.split("│")[1:3] for line in table.splitlines() if line.count("│") == 3]
    return {field.strip(): value.strip() for field, value in rows}


def test_stats_print_format_version_profile_and_the_time_of_a_noted_backup(cli, filled):
    new = cli("stats", filled).record
    noted = cli("backup", filled, "--taken", "2026-11-21T09:30:00Z")
    table = cli("stats", filled, "--format", "table").out.decode()

    assert (new["format"], new["version"], new["last_backup"]) == (4, __version__, None)
    assert new["made_with"]["unicode"]
    assert new["profile"]["scheme"] == "5x2"
    assert (noted.code, noted.record) == (0, {"last_backup": "2026-11-21T09:30:00.000Z"})
    assert fields_of(table).items() >= {
        "last backup": "2026-11-21T09:30:00.000Z", "version": __version__, "profile: analyzer": "shingle"
    }.items()  # fmt: skip


def test_stats_are_one_page_that_loads_nothing(cli, filled):
    done = cli("stats", filled, "--format", "html")

    page = done.out.decode()
    assert (done.code, done.err) == (0, "")
    assert page.startswith("<!DOCTYPE html>")
    assert page.endswith("</html>\n")
    assert filled in page
    assert '<dt>documents</dt><dd class="number">60</dd>' in page
    assert all(f'id="{name}"' in page for name in ("days", "crowding", "hottest"))
    assert not re.search("src=|http(?!-equiv)", page)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "name DEST, or the time of a backup by --taken"),
        (["copy", "--taken", "1h"], "name DEST, or the time of a backup by --taken"),
        (["--taken", "yesterday"], "taken is 'yesterday': wanted a date or a time"),
    ],
)
def test_a_backup_has_one_place_or_one_time(cli, filled, words, sentence):
    assert sentence in cli("backup", filled, *words).usage_error
    assert cli("stats", filled).record["last_backup"] is None


def test_stats_of_a_sample_are_said_to_be_estimates(cli, filled, monkeypatch):
    whole = cli("stats", filled, "--format", "table").out.decode()
    monkeypatch.setattr("simhash_hbase.index.upkeep.stats.READ_WHOLE", 0)

    figures = cli("stats", filled).record
    table = cli("stats", filled, "--format", "table").out.decode()
    page = cli("stats", filled, "--format", "html").out.decode()

    sampled = {"documents", "states", "prefixes", "rows_per_prefix", "truncated_prefixes", "truncated_fingerprints",
               "days", "distances"}  # fmt: skip
    assert (figures["exact"], set(figures["sampled"])) == (False, sampled)
    assert isinstance(figures["documents"], int)
    assert "about" not in whole
    about = {name: value.startswith("about ") for name, value in fields_of(table).items()}
    assert {name.partition(":")[0].replace(" ", "_") for name, is_about in about.items() if is_about} <= sampled
    assert (about["documents"], about["rows"], about["bytes"]) == (True, False, False)
    assert '<dt>documents</dt><dd class="number">about ' in page


def test_verify_names_each_damaged_cell_by_its_row_and_id(cli, url):
    cli("create", url, "--analyzer", "shingle")
    with open_index(url) as index:
        index.add("train", "the train from the north is late today", metadata={"source": "north"})
        [cell] = [cell for cell in all_cells(index.store) if b"north" in cell.value]
        index.store.put(FAMILY_DOCUMENTS, [cell._replace(value=cell.value.replace(b"north", b"nprtj"))])

    found = cli("verify", url)

    assert (found.code, found.record["wrong_checksums"]) == (1, 1)
    assert f"simhash-hbase: row {cell.row.hex()}: the checksum of a member cell is wrong: 'train'\n" in found.err


def test_vacuum_deletes_what_was_removed(cli, url, corpus_file):
    cli("create", url, "--analyzer", "shingle", "--grace", 0)
    cli("add", url, corpus_file)
    cli("remove", url, *(f"group {i} copy {j}" for i in range(10) for j in range(3)))

    swept = cli("vacuum", url)

    assert swept.code == 0
    assert swept.record["removed"] == 30
    assert swept.record["rows"] > 200
    verified = cli("verify", url).record
    wrong = ("missing_members", "incomplete", "stale_members", "orphan_rows", "malformed_rows", "undecodable")
    assert [verified[name] for name in ("documents", "members", *wrong)] == [30, 30, *[0] * 6]
    assert cli("stats", url).record["states"] == {"added": 30}
    assert cli("vacuum", url).record == dict.fromkeys(swept.record, 0)


def test_create_learns_from_several_files(cli, tmp_path):
    files = [write_jsonl(tmp_path / f"{i}.jsonl", near_copies(i + 1, 2)) for i in range(3)]
    one, two, three = (f"file:{tmp_path / name}" for name in "abc")

    # As a shell leaves a pattern behind one --learn-from.
    behind = cli("create", one, "--learn-from", *files).record
    repeated = cli("create", two, *(word for file in files for word in ("--learn-from", file))).record

    assert behind["idf_documents"] == 12
    assert behind["idf"] == repeated["idf"]
    assert "--learn-from" in cli("create", three, *files).usage_error
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("content", ["", '{"id": "a", "text": 5}\n'])
def test_nothing_to_learn_from_is_a_failure_of_the_input(cli, tmp_path, url, content):
    file = tmp_path / "a.jsonl"
    file.write_text(content)

    for words in (["create", url, "--learn-from", file], ["dedup", url, file, "--create"]):
        failed = cli(*words)
        assert failed.code == 1
        assert "simhash-hbase: there is no document to learn the idf from" in failed.err
        assert ("a.jsonl:1: the field 'text' is not a string but a number" in failed.err) == bool(content)
    assert not (tmp_path / "new.index").exists()


def test_times33_is_warned_of_in_one_line(cli, url):
    done = cli("create", url, "--analyzer", "shingle", "--hash", "times33")

    [line] = done.err.splitlines()
    assert (done.code, line.partition(" leaves")[0]) == (0, "warning: hash times33")
