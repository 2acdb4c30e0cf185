"""What a command writes is never what it reads."""

import os

import pytest
from support.corpus import text

SHINGLES = ("--create", "--analyzer", "shingle")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the present folder, with two texts in it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(2):
        (folder / f"{number}.txt").write_text(text(number))
    os.link(folder / "0.txt", tmp_path / "link.txt")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("option", ["--output", "--clusters", "--report", "--results", "--rejects"])
@pytest.mark.parametrize(
    "case",
    [
        ("0.txt", "./0.txt", 2, " is a file of the input: name another one"),
        ("0.txt", "../link.txt", 2, " is a file of the input: name another one"),
        (".", "new", 2, " is in ., which is read: name a place outside of it"),
        (".", "below/new", 2, " is in ., which is read: name a place outside of it"),
        ("0.txt", "nodir/x.html", 1, ": there is no folder nodir: make it first"),
    ],
)
def test_what_is_read_is_not_written_over_and_no_index_is_made(cli, url, folder, option, case):
    read, place, code, said = case
    before = {path: path.read_bytes() for path in folder.rglob("*")}

    refused = cli("dedup", url, read, *SHINGLES, option, place)

    assert (refused.code, refused.out, refused.sentence) == (code, b"", f"{option} {place}{said}")
    assert {path: path.read_bytes() for path in folder.rglob("*")} == before
    assert not (folder.parent / "new.index").exists()


@pytest.mark.parametrize("command", ["add", "query", "fingerprint"])
def test_rejects_are_not_written_over_the_input(cli, filled, tmp_path, corpus_file, command):
    before = corpus_file.read_bytes()
    words = ["--analyzer", "shingle"] if command == "fingerprint" else [filled]

    refused = cli(command, *words, tmp_path / "corp*.jsonl", "--rejects", corpus_file)

    assert "is a file of the input" in refused.usage_error
    assert corpus_file.read_bytes() == before


def test_two_outputs_go_to_two_files_or_to_one_device(cli, url, tmp_path, corpus_file):
    dedup, one = ("dedup", url, corpus_file, *SHINGLES), tmp_path / "one"

    refused = cli(*dedup, "--output", one, "--clusters", f"{tmp_path}/./one")
    checkpoint = cli(*dedup, "--results", one, "--output", f"{one}.checkpoint")

    assert f"--output and --clusters both name {tmp_path}/./one" in refused.usage_error
    assert f"--output and the checkpoint both name {one}.checkpoint" in checkpoint.usage_error
    assert not one.exists()
    assert len(cli(*dedup, "--clusters", "/dev/null", "--rejects", "/dev/null").records) == 60


@pytest.mark.parametrize("made", [False, True])
def test_an_index_in_a_folder_that_is_read_is_not_read_as_documents(cli, folder, made):
    if made:
        assert cli("create", "file:x.index", "--analyzer", "shingle").code == 0

    refused = cli("dedup", "file:x.index", ".", *SHINGLES)

    assert "the index x.index is in ., which is read" in refused.usage_error
    assert (folder / "x.index").exists() == made


def test_what_is_hidden_from_reading_may_be_written_there(cli, folder):
    done = cli("dedup", "file:.x.index", ".", *SHINGLES, "--output", ".kept", "--report", "/dev/null")

    assert [record["id"] for record in done.records] == ["0.txt", "1.txt"]
    assert len(list((folder / ".kept").iterdir())) == 2
