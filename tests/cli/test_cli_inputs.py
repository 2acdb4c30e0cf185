"""From files of every kind to documents."""

import json
import os

import pytest
from support.corpus import text, write_jsonl


def test_fields_of_other_names_are_named_by_options(cli, empty, tmp_path):
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": "a", "key": 17, "body": text(1)}])

    added = cli("add", empty, file, "--id-field", "key", "--text-field", "body", "--verbose")

    assert [record["id"] for record in added.records] == ["17"]


def test_what_is_told_of_others_names_moves_no_cursor(cli, empty, tmp_path):
    file = tmp_path / "a\x1b]0;title\x07b.jsonl"
    file.write_bytes(b"not json\n")

    refused, missing = cli("add", empty, file), cli("add", empty, f"{file}.not there")

    assert (refused.code, missing.code) == (3, 1)
    for told in (refused.err, missing.err):
        assert "\x1b" not in told
        assert "\\x1b]0;title\\x07b.jsonl" in told


def test_a_corpus_without_the_field_is_refused_with_the_fields_it_has_and_in_few_lines(cli, empty, tmp_path):
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": i, "title": "t", "body": text(i)} for i in range(50)])
    table, advice = tmp_path / "a.csv", "it has id, title, body: name the right one with --text-field"
    table.write_text("id,title,body\n1,2,3")

    added, of_table = cli("add", empty, file), cli("add", empty, table)

    refused = [line for line in added.err.splitlines() if "is missing" in line]
    assert (added.code, len(refused)) == (3, 4)
    assert refused[0] == f"{file}:1: refused: the field 'text' is missing; {advice}"
    assert refused[3] == "47 more records were refused: 47 × the field 'text' is missing; --rejects FILE keeps them all"
    assert f"{table}: refused: the header row has no column 'text'; {advice}" in of_table.err


def test_records_that_are_refused_for_many_reasons_are_counted_by_reason(cli, empty, tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text("".join('{"id":"","text":"x"}\n[]\n{"text":null}\n' for _ in range(30)))

    added = cli("add", empty, file)

    assert added.err.count(": refused: ") == 9
    for reason in ("the id is empty", "the line is not a JSON object", "the field 'text' is not a string but null"):
        assert f"27 × {reason}" in added.err


def test_files_of_two_folders_with_one_name_are_refused_with_the_way_out(cli, tmp_path):
    for number, folder in enumerate(("a", "b")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text(text(number))

    apart = cli("dedup", tmp_path / "a", tmp_path / "b")

    assert apart.code == 3
    assert f"{tmp_path / 'b' / 'x.txt'}: refused: the id 'x.txt' came before in this input; " in apart.err
    assert "name a folder above all of them" in apart.err


NOT_UTF_8 = os.fsdecode(b"\xff")


def test_a_file_whose_name_is_not_utf_8_is_refused_and_the_rest_goes_on(cli, empty, tmp_path):
    folder, rejects, results = tmp_path / "folder", tmp_path / "rejects", tmp_path / "results"
    folder.mkdir()
    (folder / "good.txt").write_text(text(1))
    (folder / f"bad{NOT_UTF_8}.txt").write_text(text(2))

    decided = cli("dedup", empty, folder, "--rejects", rejects, "--results", results)

    assert decided.code == 3
    assert json.loads(results.read_text())["id"] == "good.txt"
    assert "bad\\xff.txt: refused: the file's name is not UTF-8" in decided.err
    assert json.loads(rejects.read_text())["file"] == f"{folder}/bad\\xff.txt"


@pytest.mark.parametrize("words", [["get", "file:a", NOT_UTF_8], ["query", "file:a", "--text", NOT_UTF_8]])
def test_an_argument_that_is_not_utf_8_is_wrong_usage(cli, words):
    assert cli(*words).usage_error == "the argument \\xff is not UTF-8"


@pytest.mark.parametrize("create", [True, False])
def test_standard_input_keeps_its_name_where_it_is_read_twice(cli, empty, tmp_path, standard_input, create):
    lines = [json.dumps({"text": text(1)}), "broken", json.dumps({"text": text(2)})]
    standard_input("\n".join(lines).encode())
    url, words = (f"file:{tmp_path / 'i'}", ("--create",)) if create else (empty, ())

    done = cli("dedup", url, "-", *words, "--rejects", tmp_path / "rejects")

    assert done.code == 3
    assert [record["id"] for record in done.records] == ["-:1", "-:3"]
    assert "\nstandard input:2: refused: " in "\n" + done.err
    assert json.loads((tmp_path / "rejects").read_text())["file"] == "-"
