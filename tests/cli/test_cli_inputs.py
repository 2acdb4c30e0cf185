"""From files of every kind to documents."""

import json
import os

import pytest
from support.corpus import near_copies, text, write_jsonl


def test_features_whose_weights_decide_nothing_are_refused_and_are_no_duplicates(cli, tmp_path):
    file = tmp_path / "features.jsonl"
    weightless = [[["apple", 0]], [["whale", 0]], [["x", 3], ["x", -3]], [["x", 1e-6]]]
    lines = [{"id": i, "levels": pairs} for i, pairs in enumerate([*weightless, [["blue", 5]]])]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    url = f"file:{tmp_path / 'a'}"

    weighted = ("--create", "--analyzer", "weighted", "--features-field", "levels")
    done = cli("dedup", url, file, *weighted, "--rejects", tmp_path / "rejects")
    rejects = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]

    assert [record["id"] for record in done.records] == ["4"]
    assert [reject["line"] for reject in rejects] == [1, 2, 3, 4]
    assert all("the weights of the features are 0" in reject["reason"] for reject in rejects)


@pytest.mark.parametrize("kept", [{"id": "a", "name": "id and text"}, {"key": "a", "body": ""}])
def test_fields_of_other_names_are_named_by_options(cli, empty, tmp_path, kept):
    file = write_jsonl(tmp_path / "a.jsonl", [{**kept, "key": 17, "body": text(1)}])

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


ADVICE = "it has id, title, body: name the right one with --text-field"


def test_a_corpus_without_the_field_is_refused_with_the_fields_it_has_and_in_few_lines(cli, empty, tmp_path):
    file = write_jsonl(tmp_path / "a.jsonl", [{"id": i, "title": "t", "body": text(i)} for i in range(50)])

    added = cli("add", empty, file)

    refused = [line for line in added.err.splitlines() if "refused" in line]
    assert added.code == 3
    assert refused[0] == f"{file}:1: refused: the field 'text' is missing; {ADVICE}"
    assert refused[3] == "47 more records were refused: 47 × the field 'text' is missing; --rejects FILE keeps them all"
    assert len([line for line in refused if "is missing" in line]) == 4


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.tsv", "\t")])
def test_a_table_without_the_column_is_refused_with_the_columns_it_has(cli, empty, tmp_path, name, mark):
    file = tmp_path / name
    file.write_text("\n".join([mark.join(("id", "title", "body")), mark.join("123")]))

    added = cli("add", empty, file)

    assert f"{file}: refused: the header row has no column 'text'; {ADVICE}" in added.err


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
    url = f"file:{tmp_path / 'i'}"

    apart = cli("dedup", url, "--create", tmp_path / "a", tmp_path / "b")

    assert apart.code == 3
    assert f"{tmp_path / 'b' / 'x.txt'}: refused: the id 'x.txt' came before in this input; " in apart.err
    assert "name a folder above all of them" in apart.err


NOT_UTF_8 = os.fsdecode(b"\xff")


def test_a_file_whose_name_is_not_utf_8_is_refused_and_the_rest_goes_on(cli, empty, tmp_path):
    folder, rejects = tmp_path / "folder", tmp_path / "rejects"
    folder.mkdir()
    (folder / "good.txt").write_text(text(1))
    (folder / f"bad{NOT_UTF_8}.txt").write_text(text(2))

    added = cli("add", empty, folder, "--verbose", "--rejects", rejects)

    assert added.code == 3
    assert [record["id"] for record in added.records] == ["good.txt"]
    assert "bad\\xff.txt: refused: the file's name is not UTF-8" in added.err
    assert json.loads(rejects.read_text())["file"] == f"{folder}/bad\\xff.txt"


def test_such_a_file_is_no_obstacle_to_a_checkpoint(cli, empty, tmp_path):
    (tmp_path / f"{NOT_UTF_8}.jsonl").write_text("")
    write_jsonl(tmp_path / "a.jsonl", near_copies(1, 1))

    done = cli("dedup", empty, tmp_path / "*.jsonl", "--results", tmp_path / "results")

    assert done.code == 3
    assert len((tmp_path / "results").read_text().splitlines()) == 1


@pytest.mark.parametrize("words", [["get", NOT_UTF_8], ["query", "--text", NOT_UTF_8], ["add", NOT_UTF_8]])
def test_an_argument_that_is_not_utf_8_is_wrong_usage(cli, empty, words):
    command, *rest = words

    refused = cli(command, empty, *rest)

    assert refused.usage_error == "the argument \\xff is not UTF-8"


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
