"""``query``: what is asked, and what the answers say."""

import json
import re

import pytest
from support.corpus import text, write_jsonl

BASE = 0x9E3779B97F4A7C15
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_query_prints_matches_nearest_first(cli, filled):
    found = cli("query", filled, "--text", text(3))

    answer = found.record
    assert found.code == 0
    assert set(answer) == {"query", "matches", "truncated", "complete", "short"}
    assert (answer["query"], answer["truncated"], answer["complete"], answer["short"]) == (text(3), False, False, False)
    assert all(set(m) == {"id", "distance", "similarity", "containment", "exact", "added"} for m in answer["matches"])
    first, *others = answer["matches"]
    assert (first["id"], first["distance"], first["similarity"], first["exact"]) == ("group 3 copy 0", 0, 1, True)
    assert {m["id"] for m in others} == {"group 3 copy 1", "group 3 copy 2"}
    assert not any(m["exact"] for m in others)
    assert all(TIME.fullmatch(m["added"]) for m in answer["matches"])


def test_query_takes_texts_ids_fingerprints_and_files_in_that_order(cli, filled, corpus_file, corpus):
    texts = ("--text", text(0), "--text", text(2))
    simhashes = ("--simhash", "0x0", "--simhash", "18446744073709551615")

    asked = cli("query", filled, corpus_file, *simhashes, *texts, "--id", "group 1 copy 0")

    names = [record["query"] for record in asked.records]
    assert names[:5] == [text(0), text(2), "group 1 copy 0", "0" * 16, "f" * 16]
    assert names[5:] == [document["id"] for document in corpus]
    assert asked.err.startswith("query: 60 documents, 60 with matches")


@pytest.mark.parametrize(
    ("words", "sentence"), [([], "--text"), (["--simhash", "xyz"], "'xyz' is not a fingerprint: 16 hex digits")]
)
def test_query_for_nothing_and_for_no_fingerprint_is_wrong_usage(cli, filled, words, sentence):
    asked = cli("query", filled, *words)

    assert sentence in asked.usage_error


def test_query_for_a_text_without_features_fails_in_a_sentence(cli, filled):
    asked = cli("query", filled, "--text", "…!?")

    assert asked.code == 1
    assert "has no usable words, so it has no fingerprint" in asked.sentence


def test_own_fingerprints_go_into_any_index_and_are_judged_by_distance(cli, empty, simhash_file):
    file = simhash_file("own.jsonl", {"a": BASE, "b": BASE ^ 7, "c": BASE ^ 15})

    added = cli("add", empty, file, "--simhash-field", "simhash", "--verbose")
    answer = cli("query", empty, "--simhash", f"{BASE:016x}").record
    answers = cli("query", empty, file, "--simhash-field", "simhash").records

    assert [record["simhash"] for record in added.records] == [f"{s:016x}" for s in (BASE, BASE ^ 7, BASE ^ 15)]
    assert [(m["id"], m["distance"], m["similarity"]) for m in answer["matches"]] == [("a", 0, None), ("b", 3, None)]
    assert [[m["id"] for m in record["matches"]] for record in answers] == [["b"], ["c", "a"], ["b"]]


def test_query_as_a_table_has_a_row_for_each_match_and_one_where_nothing_is_near(cli, filled):
    asked = cli("query", filled, "--id", "group 1 copy 0", "--simhash", "0", "--format", "table")

    rows = [line for line in asked.out.decode().splitlines() if line.startswith("│")]
    assert len(rows) == 3
    assert {row.split("│")[2].strip() for row in rows[:2]} == {"group 1 copy 1", "group 1 copy 2"}
    assert "0000000000000000" in rows[2]
    assert "nothing near" in rows[2]
    assert b"there are more" not in asked.out
    assert b"there are more" in cli("query", filled, "--id", "group 1 copy 0", "--limit", 1, "--format", "table").out


def test_a_copy_near_which_nothing_is_found_is_said_to_be_one(cli, empty, tmp_path):
    texts = {name: text(1, count=60, changed=changed) for name, changed in [("original", 0), ("copy", 6)]}
    file = write_jsonl(tmp_path / "two.jsonl", [{"id": name, "text": words} for name, words in texts.items()])
    assert [record["status"] for record in cli("dedup", empty, file).records] == ["original", "duplicate"]

    asked = {name: cli("query", empty, "--id", name) for name in texts}
    by_text = cli("query", empty, "--text", texts["copy"])

    assert [found.record["matches"] for found in asked.values()] == [[], []]
    assert asked["original"].err == ""
    assert asked["copy"].err.startswith("copy was decided a duplicate of original: the index keeps no sketch")
    assert [match["id"] for match in by_text.record["matches"]] == ["original"]
    assert cli("query", empty, "--id", "copy", "--quiet").err == ""
    assert cli("query", empty, "--id", "copy", "--match", "distance").err == ""


@pytest.mark.parametrize(("length", "short"), [(299, True), (300, False)])
def test_short_may_mean_under_a_number_of_characters(cli, tmp_path, length, short):
    url, file = f"file:{tmp_path / 'some.index'}", tmp_path / "a.jsonl"
    file.write_text(json.dumps({"id": "a", "text": "0123456789" * 29 + "x" * (length - 290)}))
    options = ["--analyzer", "shingle", "--short", "0", "--short-characters", "300"]
    cli("create", url, *options)

    assert cli("claim", url, file).record["short"] is short
    assert cli("query", url, file).record["short"] is short
    assert cli("query", url, "--id", "a").record["short"] is short
    assert cli("dedup", f"{url}2", file, "--create", *options).record["short"] is short
