"""What a command writes is never what it reads."""

import os

import pytest
from support.corpus import text

SHINGLES = ("--create", "--analyzer", "shingle")


@pytest.mark.parametrize("option", ["--output", "--clusters", "--report", "--results", "--rejects"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_file_of_the_input_is_not_written_over(cli, tmp_path, corpus_file, option, linked):
    before, named = corpus_file.read_bytes(), corpus_file
    if linked:
        named = tmp_path / "link.jsonl"
        os.link(corpus_file, named)

    refused = cli("dedup", f"file:{tmp_path / 'i'}", corpus_file, *SHINGLES, option, named)

    assert (refused.code, refused.out) == (2, b"")
    assert f"{option} {named} is a file of the input" in refused.sentence
    assert corpus_file.read_bytes() == before
    assert not (tmp_path / "i").exists()


@pytest.mark.parametrize("command", ["add", "query", "fingerprint"])
def test_rejects_are_not_written_over_the_input(cli, filled, tmp_path, corpus_file, command):
    before = corpus_file.read_bytes()
    words = ["--analyzer", "shingle"] if command == "fingerprint" else [filled]

    refused = cli(command, *words, tmp_path / "corp*.jsonl", "--rejects", corpus_file)

    assert refused.code == 2
    assert "is a file of the input" in refused.sentence
    assert corpus_file.read_bytes() == before


def test_two_outputs_go_to_two_files(cli, tmp_path, corpus_file):
    url, one = f"file:{tmp_path / 'i'}", tmp_path / "one"

    refused = cli("dedup", url, corpus_file, *SHINGLES, "--output", one, "--clusters", f"{tmp_path}/./one")
    checkpoint = cli("dedup", url, corpus_file, *SHINGLES, "--results", one, "--output", f"{one}.checkpoint")

    assert (refused.code, checkpoint.code) == (2, 2)
    assert f"--output and --clusters both name {tmp_path}/./one" in refused.sentence
    assert f"--output and the checkpoint both name {one}.checkpoint" in checkpoint.sentence
    assert not one.exists()


def test_a_device_may_take_several_outputs(cli, tmp_path, corpus_file):
    done = cli(
        "dedup", f"file:{tmp_path / 'i'}", corpus_file, *SHINGLES, "--clusters", "/dev/null", "--rejects", "/dev/null"
    )

    assert done.code == 0
    assert len(done.records) == 60


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the present folder, with two texts in it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(2):
        (folder / f"{number}.txt").write_text(text(number))
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("option", ["--output", "--clusters", "--report", "--results", "--rejects"])
@pytest.mark.parametrize("place", ["new", "below/new"])
def test_nothing_is_written_into_a_folder_that_is_read(cli, tmp_path, folder, option, place):
    before = sorted(folder.rglob("*"))

    refused = cli("dedup", f"file:{tmp_path / 'i'}", ".", *SHINGLES, option, place)

    assert (refused.code, refused.out) == (2, b"")
    assert refused.sentence.startswith(f"{option} {place} is in ., which is read")
    assert sorted(folder.rglob("*")) == before
    assert not (tmp_path / "i").exists()


@pytest.mark.parametrize("made", [False, True])
def test_an_index_in_a_folder_that_is_read_is_not_read_as_documents(cli, folder, made):
    if made:
        assert cli("create", "file:x.index", "--analyzer", "shingle").code == 0

    refused = cli("dedup", "file:x.index", ".", *SHINGLES)

    assert (refused.code, refused.out) == (2, b"")
    assert "the index x.index is in ., which is read" in refused.sentence
    assert (folder / "x.index").exists() == made


def test_what_is_hidden_from_reading_may_be_written_there(cli, folder):
    done = cli("dedup", "file:.x.index", ".", *SHINGLES, "--output", ".kept", "--report", "/dev/null")

    assert done.code == 0
    assert [record["id"] for record in done.records] == ["0.txt", "1.txt"]
    assert len(list((folder / ".kept").iterdir())) == 2


@pytest.mark.parametrize("option", ["--output", "--clusters", "--report", "--results", "--rejects"])
def test_a_folder_that_is_not_there_is_named_before_an_index_is_made(cli, tmp_path, corpus_file, option):
    missing = tmp_path / "nodir"

    refused = cli("dedup", f"file:{tmp_path / 'i'}", corpus_file, *SHINGLES, option, missing / "x.html")

    assert (refused.code, refused.out) == (1, b"")
    assert refused.sentence == f"{option} {missing / 'x.html'}: there is no folder {missing}: make it first"
    assert not (tmp_path / "i").exists()


def test_rejects_go_to_a_folder_that_is_there(cli, filled, tmp_path, corpus_file):
    refused = cli("add", filled, corpus_file, "--rejects", tmp_path / "nodir" / "rejects")

    assert (refused.code, refused.out) == (1, b"")
    assert str(tmp_path / "nodir") in refused.sentence
