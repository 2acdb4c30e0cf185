"""``query`` and ``copies``: what is asked, and what the answers say."""

import re

import pytest
from support.corpus import text, write_jsonl

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_query_prints_matches_nearest_first(cli, filled):
    answer = cli("query", filled, "--text", text(3)).record

    assert set(answer) == {"query", "matches", "truncated", "complete", "short"}
    assert (answer["query"], answer["truncated"], answer["complete"], answer["short"]) == (text(3), False, False, False)
    assert all(set(m) == {"id", "distance", "similarity", "containment", "exact", "added"} for m in answer["matches"])
    first, *others = answer["matches"]
    assert (first["id"], first["distance"], first["similarity"], first["exact"]) == ("group 3 copy 0", 0, 1, True)
    assert {(m["id"], m["exact"]) for m in others} == {("group 3 copy 1", False), ("group 3 copy 2", False)}
    assert all(TIME.fullmatch(m["added"]) for m in answer["matches"])


def test_query_takes_texts_ids_fingerprints_and_files_in_that_order(cli, filled, corpus_file, corpus):
    texts = ("--text", text(0), "--text", text(2))
    simhashes = ("--simhash", "0x0", "--simhash", "18446744073709551615")

    asked = cli("query", filled, corpus_file, *simhashes, *texts, "--id", "group 1 copy 0")

    first = [text(0), text(2), "group 1 copy 0", "0" * 16, "f" * 16]
    assert [record["query"] for record in asked.records] == first + [document["id"] for document in corpus]
    assert asked.err.startswith("query: 60 documents, 60 with matches")


def test_query_with_nothing_to_look_for_is_wrong_usage(cli, filled):
    assert "--text" in cli("query", filled).usage_error


def test_query_for_a_malformed_fingerprint_is_wrong_usage(cli, filled):
    assert "'xyz' is not a fingerprint: 16 hex digits" in cli("query", filled, "--simhash", "xyz").usage_error


def test_query_for_a_text_without_words_is_a_failure(cli, filled):
    assert "has no usable words, so it has no fingerprint" in cli("query", filled, "--text", "…!?").failure


def test_query_as_a_table_has_a_row_for_each_match(cli, filled):
    words = ("query", filled, "--id", "group 1 copy 0", "--format", "table")

    drawn, cut = cli(*words, "--simhash", "0").out.decode(), cli(*words, "--limit", 1).out.decode()

    rows = [line for line in drawn.splitlines() if line.startswith("│")]
    assert {row.split("│")[2].strip() for row in rows[:2]} == {"group 1 copy 1", "group 1 copy 2"}
    [nothing] = rows[2:]
    assert "0000000000000000" in nothing
    assert "nothing near" in nothing
    assert ["there are more" in shown for shown in (drawn, cut)] == [False, True]


def test_a_copy_near_which_nothing_is_found_is_said_to_be_one(cli, empty, tmp_path):
    texts = {name: text(1, count=60, changed=changed) for name, changed in [("original", 0), ("copy", 6)]}
    file = write_jsonl(tmp_path / "two.jsonl", [{"id": name, "text": words} for name, words in texts.items()])
    cli("dedup", empty, file)

    original, copy = (cli("query", empty, "--id", name) for name in texts)
    by_text = cli("query", empty, "--text", texts["copy"])

    assert (original.record["matches"], copy.record["matches"], original.err) == ([], [], "")
    assert copy.err.startswith("copy was decided a duplicate of original: the index keeps no sketch")
    assert [match["id"] for match in by_text.record["matches"]] == ["original"]
    for more in (["--quiet"], ["--match", "distance"]):
        assert cli("query", empty, "--id", "copy", *more).err == ""


def test_short_may_mean_under_a_number_of_characters(cli, url, tmp_path):
    options, words = ("--analyzer", "shingle", "--short", 0, "--short-characters", 300), "0123456789" * 29
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": f"{n}", "text": words + "x" * (n - 290)} for n in (299, 300)])
    cli("create", url, *options)

    for command in (["claim", url, file], ["query", url, file], ["query", url, "--id", "299", "--id", "300"],
                    ["dedup", "memory:", "--create", *options, file]):  # fmt: skip
        assert [record["short"] for record in cli(*command).records] == [True, False]


@pytest.fixture
def decided(cli, empty, tmp_path):
    """Return the address of an index with an original, two copies of it and another document."""
    first = [{"id": "wire", "text": text(1)}, {"id": "other", "text": text(2)}]
    copies = [{"id": f"paper {n}", "text": text(1) + " and" * n, "source": f"feed {n}"} for n in range(2)]
    assert cli("claim", empty, write_jsonl(tmp_path / "first.jsonl", first)).code == 0
    claimed = cli("claim", empty, write_jsonl(tmp_path / "copies.jsonl", copies), "--metadata-field", "source")
    assert [record["of"] for record in claimed.records] == ["wire", "wire"]
    return empty


def test_copies_prints_one_line_for_each_id(cli, decided):
    asked = cli("copies", decided, "wire", "nobody", "paper 1", "other")

    assert (asked.code, asked.err) == (1, "simhash-hbase: the index does not hold a document of the id 'nobody'\n")
    wire, paper, other = asked.records
    assert list(wire) == ["id", "of", "of_removed", "count", "first", "last", "truncated", "copies"]
    assert (wire["id"], wire["of"], wire["count"], wire["truncated"]) == ("wire", "wire", 2, False)
    assert [(copy["id"], copy["metadata"]) for copy in wire["copies"]] == [
        ("paper 0", {"source": "feed 0"}),
        ("paper 1", {"source": "feed 1"}),
    ]
    assert (wire["copies"][0]["distance"], wire["copies"][0]["similarity"]) == (0, 1.0)
    assert (wire["first"], wire["last"]) == (wire["copies"][0]["added"], wire["copies"][-1]["seen"])
    assert {**paper, "id": "wire"} == wire
    assert (other["of"], other["count"], other["first"], other["copies"]) == ("other", 0, None, [])


def test_copies_names_the_original_first_in_a_table(cli, decided):
    lines = cli("copies", decided, "paper 1", "--format", "table").out.decode().splitlines()

    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")]
    assert [row[:2] for row in rows] == [["wire", "2 copies"], ["wire", "paper 0"], ["wire", "paper 1"]]
    assert "source feed 1" in rows[2]


@pytest.mark.parametrize(("since", "count"), [("1d", 1), ("2999-01-01T00:00Z", 0)])
def test_query_since_answers_what_was_seen_since(cli, decided, tmp_path, since, count):
    file = write_jsonl(tmp_path / "asked.jsonl", [{"id": "asked", "text": text(1)}])

    asked = cli("query", decided, file, "--text", text(1), "--id", "paper 1", "--since", since)

    assert [[match["id"] for match in record["matches"]] for record in asked.records] == [["wire"][:count]] * 3
