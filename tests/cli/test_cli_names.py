"""Names and arguments that are not UTF-8, and standard input, which has no name."""

import io
import json
import os
import sys

import pytest
from support.corpus import near_copies, text, write_jsonl

SHINGLES = ("--create", "--analyzer", "shingle")
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

    assert (refused.code, refused.out) == (2, b"")
    assert refused.sentence == "the argument \\xff is not UTF-8"


@pytest.mark.parametrize("create", [True, False])
def test_standard_input_keeps_its_name_where_it_is_read_twice(cli, empty, tmp_path, monkeypatch, create):
    lines = [json.dumps({"text": text(1)}), "broken", json.dumps({"text": text(2)})]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode())))
    url, words = (f"file:{tmp_path / 'i'}", ("--create",)) if create else (empty, ())

    done = cli("dedup", url, "-", *words, "--rejects", tmp_path / "rejects")

    assert done.code == 3
    assert [record["id"] for record in done.records] == ["-:1", "-:3"]
    assert "\nstandard input:2: refused: " in "\n" + done.err
    assert json.loads((tmp_path / "rejects").read_text())["file"] == "-"
