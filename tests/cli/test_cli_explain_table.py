"""`explain --format table`: two documents side by side, for people."""

import re

import pytest
from support.bruteforce import entries
from support.corpus import text, write_jsonl

from simhash_hbase.cli.screen.tables import ComparedPair
from simhash_hbase.compare.explain import Side, compare
from simhash_hbase.profile import Profile

STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(params=[80, 100, 200])
def columns(request, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(request.param))
    return request.param


def explain(cli, a, b, *words):
    return cli("explain", "--analyzer", "shingle", a, b, "--format", "table", *words).out.decode()


def record(cli, a, b, *words):
    return cli("explain", "--analyzer", "shingle", a, b, *words).record


def bits_of(shown, label):
    """Put the blocks of one document together again."""
    rows = [line[3:].split() for line in shown.splitlines() if re.fullmatch(rf"{label}  [01 ]+", line)]
    return "".join(bits for row in rows for bits in row)


PAIR = (text(1, count=60), text(1, count=60, changed=3))


@pytest.mark.parametrize("scheme", ["5x2", "4x1", "8x5", "10x7"])
def test_both_fingerprints_are_drawn_block_by_block_and_differing_bits_marked(cli, columns, monkeypatch, scheme):
    monkeypatch.setenv("FORCE_COLOR", "1")

    drawn = STYLE.sub("", explain(cli, *PAIR, "--scheme", scheme))

    found = record(cli, *PAIR, "--scheme", scheme)
    assert bits_of(drawn, "a") == f"{int(found['a']['simhash'], 16):064b}"
    assert bits_of(drawn, "b") == f"{int(found['b']['simhash'], 16):064b}"
    assert drawn.count("^") == found["distance"] > 0
    assert max(map(len, drawn.splitlines())) <= columns


def test_a_mark_stands_below_each_bit_that_differs_and_a_line_below_each_block_that_agrees(cli):
    lines = explain(cli, *PAIR).splitlines()

    at = next(number for number, line in enumerate(lines) if line.startswith("a  ") and number > 2)
    a, b, marks = (lines[at + row].ljust(80) for row in range(3))
    columns = range(3, len(a.rstrip()))
    assert [x for x in columns if marks[x] == "^"] == [x for x in columns if a[x] != b[x]]
    agreeing = [a[match.start() : match.end()] for match in re.finditer("=+", marks)]
    assert agreeing
    assert all(len(block) in (12, 13) for block in agreeing)


def test_the_tables_that_join_them_are_named_with_their_blocks(cli):
    drawn = explain(cli, *PAIR)

    found = record(cli, *PAIR)
    assert re.search(r"Joined by (\d+) of 10 tables", drawn)[1] == str(len(found["tables"]))
    assert [int(flag) for flag in re.findall(r"(\d+) \(blocks", drawn)] == found["tables"]


def test_unrelated_texts_are_said_not_to_find_each_other_and_why(cli):
    drawn = " ".join(explain(cli, text(1), text(10)).split())

    assert "No table joins them" in drawn
    assert "does not find the other: no table joins them, no band either, more than 7 bits differ," in drawn
    assert "bits differ, the similarity is below 0.7817." in drawn


def test_near_copies_are_said_to_find_each_other(cli):
    assert record(cli, text(1), text(1, changed=1))["found"] is True
    assert "A query for one finds the other." in explain(cli, text(1), text(1, changed=1))


def test_what_explain_says_is_what_a_query_does(cli, filled):
    for a, b in (("group 0 copy 0", "group 0 copy 2"), ("group 0 copy 0", "group 1 copy 0")):
        found = cli("explain", filled, a, b).record["found"]
        assert found is (b in {match["id"] for match in cli("query", filled, "--id", a).record["matches"]})


def test_the_feature_that_was_exchanged_pulls_most(cli):
    a, b = "kanora " * 3 + text(1, count=60), "vitelo " * 3 + text(1, count=60)

    found = record(cli, a, b, "--shingle", "6")

    names = [name for name, *_ in found["pulls"][:6]]
    assert {"kanora", "vitelo"} & set(names)
    assert all(share > 0 for *_, share in found["pulls"])
    drawn = explain(cli, a, b, "--shingle", "6")
    assert "What pulls them apart" in drawn
    assert all(name in drawn for name in names)


def test_stored_documents_have_no_features_and_the_table_says_so(cli, filled):
    drawn = cli("explain", filled, "group 0 copy 0", "group 0 copy 1", "--format", "table").out.decode()

    assert "The index keeps no texts" in drawn
    assert "pulls them apart." in drawn


IN_FOUR_BLOCKS = 1 | 1 << 12 | 1 << 25 | 1 << 38


@pytest.fixture
def decided(empty, cli, tmp_path):
    """Return the address of an index of an original and two copies, one 6 bits from it and one 3."""
    texts = {name: text(1, count=60, changed=changed) for name, changed in [("original", 0), ("far", 6), ("near", 1)]}
    file = write_jsonl(tmp_path / "three.jsonl", [{"id": name, "text": words} for name, words in texts.items()])
    done = cli("dedup", empty, file)
    assert [record["distance"] for record in done.records] == [None, 6, 3]
    return empty


def test_what_the_sketch_of_a_copy_would_decide_is_not_known(cli, decided):
    copy = cli("get", decided, "far").record

    compared = cli("explain", decided, "original", "far").record

    assert (compared["distance"], compared["similarity"], compared["found"], compared["bands"]) == (6, None, None, None)
    assert compared["b"] == {name: copy[name] for name in ("id", "simhash", "of", "distance", "similarity")}
    assert "of" not in compared["a"]
    drawn = cli("explain", decided, "original", "far", "--format", "table").out.decode()
    assert "b was decided a duplicate of original (distance 6, similarity 0.89).\n" in drawn
    assert "Whether a query for one finds the other is not known: a copy keeps no sketch.\n" in drawn
    assert "name files of texts instead" in drawn
    assert "does not find" not in drawn
    assert "No band" not in drawn
    drawn = cli("explain", decided, "far", "near", "--format", "table").out.decode()
    assert "a was decided a duplicate of original (distance 6, similarity 0.89).\n" in drawn
    assert "b was decided a duplicate of original (distance 3, similarity 0.97).\n" in drawn


def test_a_copy_within_the_distance_is_found_without_its_sketch(cli, decided):
    compared = cli("explain", decided, "original", "near").record

    assert (compared["similarity"], compared["found"], compared["bands"]) == (None, True, None)
    assert [match["id"] for match in cli("query", decided, "--id", "near").record["matches"]] == ["original"]


@pytest.mark.parametrize(
    ("bands", "differing", "reason"),
    [
        (6, IN_FOUR_BLOCKS, None),
        (6, (1 << 32) - 1, None),
        (6, (1 << 33) - 1, "more than 32 bits differ"),
        (0, (1 << 7) - 1, None),
        (0, (1 << 8) - 1, "more than 7 bits differ"),
        (0, IN_FOUR_BLOCKS, "no table joins them"),
        (0, (1 << 39) - 1, "no table joins them, more than 7 bits differ"),
    ],
)
def test_a_copy_that_no_sketch_could_join_is_not_found(bands, differing, reason):
    profile = Profile.resolve(analyzer="shingle", bands=bands)
    a = Side.of_entries("a", entries({"a": 0}, sketches=[0], bands=[(1,) * bands]))
    copy = {"of": "a", "distance": 8, "similarity": 0.8}
    b = Side.of_entries("b", entries({"b": differing}), copy)

    compared = compare(a, b, profile)

    assert compared["found"] is (None if reason is None else False)
    drawn = [*map(str, ComparedPair(a, b, compared, profile).drawn(80))]
    verdict = f"A query for one does not find the other: {reason}."
    assert (verdict in drawn) is (reason is not None)


def test_without_colours_the_marks_are_left(cli, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = explain(cli, *PAIR)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = explain(cli, *PAIR)

    assert "\x1b[32m" in coloured
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", plain)
    assert STYLE.sub("", plain) == STYLE.sub("", coloured)
    monkeypatch.delenv("FORCE_COLOR")
    assert "\x1b" not in explain(cli, *PAIR)


def test_a_name_cannot_move_the_terminal_s_cursor(cli, tmp_path):
    file = tmp_path / "a\x1b[2Jb.txt"
    file.write_text(text(1))

    drawn = explain(cli, file, text(1))

    assert "\x1b" not in drawn
    assert "a\\x1b[2Jb.txt" in drawn


def test_a_name_that_is_too_long_is_cut_not_broken(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    folder = tmp_path / ("long" * 20)
    folder.mkdir()
    file = folder / "a.txt"
    file.write_text(text(1))

    heads = STYLE.sub("", explain(cli, file, text(1))).splitlines()[:2]

    assert heads[0].endswith("…")
    assert len(heads[0]) <= 80


@pytest.mark.parametrize(
    ("bits", "shared", "told"),
    [
        (16, 1, ""),
        (17, 1, "more than 16 bits differ, for which 2 bands have to join them"),
        (23, 1, "more than 16 bits differ, for which 3 bands have to join them"),
        (33, 1, "more than 16 bits differ"),
        (23, 2, "more than 22 bits differ, for which 3 bands have to join them"),
        (33, 6, "more than 32 bits differ"),
    ],
)
def test_a_pair_that_too_few_bands_join_is_told_how_many_it_takes(bits, shared, told):
    profile = Profile.resolve(analyzer="shingle", free_distance=64)
    segments = (1,) * shared + (2,) * (6 - shared)
    a = Side.of_entries("a", entries({"a": 0}, sketches=[0], bands=[(1,) * 6]))
    b = Side.of_entries("b", entries({"b": (1 << 64) - (1 << 64 - bits)}, sketches=[0], bands=[segments]))

    drawn = map(str, ComparedPair(a, b, compare(a, b, profile), profile).drawn(80))

    [verdict] = [line for line in drawn if line.startswith("A query for")]
    assert verdict == (
        f"A query for one does not find the other: {told}." if told else "A query for one finds the other."
    )
