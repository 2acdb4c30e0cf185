"""What a command writes is never what it reads."""

import gzip
import io
import os
import sys

import pytest
from support.corpus import text

SHINGLES = ("--create", "--analyzer", "shingle")


@pytest.mark.parametrize("option", ["--output", "--clusters", "--results", "--rejects"])
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


ROWS = b"id,text\r\n" + b"".join(b'%d,"%s"\r\n' % (i, text(i // 2, changed=i % 2).encode()) for i in range(6))


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("source", ["file", "standard input"])
def test_kept_rows_of_csv_have_their_header(cli, empty, tmp_path, monkeypatch, source, create):
    kept, file = tmp_path / ("kept.csv.gz" if create else "kept.csv"), tmp_path / "a.csv"
    file.write_bytes(ROWS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ROWS)))
    words = [file] if source == "file" else ["-", "--input-format", "csv"]
    url = f"file:{tmp_path / 'i'}" if create else empty

    done = cli("dedup", url, *words, *(SHINGLES if create else ()), "--output", kept)

    data = gzip.decompress(kept.read_bytes()) if create else kept.read_bytes()
    lines = ROWS.splitlines()
    assert done.code == 0
    assert data.splitlines() == [lines[0], lines[1], lines[3], lines[5]]
    assert len(cli("fingerprint", "--analyzer", "shingle", kept).records) == 3


def test_a_restart_does_not_repeat_the_header(cli, empty, tmp_path):
    file, kept, results = tmp_path / "a.csv", tmp_path / "kept.csv", tmp_path / "results"
    file.write_bytes(ROWS)
    words = ("dedup", empty, file, "--output", kept, "--results", results)
    cli(*words)
    before = kept.read_bytes()

    assert cli(*words, "--resume").code == 0

    assert kept.read_bytes() == before
    assert before.count(b"id,text") == 1


def test_lines_and_files_or_other_headers_do_not_go_to_one_place(cli, empty, tmp_path):
    folder, one, two = tmp_path / "folder", tmp_path / "1.csv", tmp_path / "2.csv"
    folder.mkdir()
    (folder / "a.txt").write_text(text(1))
    one.write_bytes(ROWS)
    two.write_bytes(ROWS.replace(b"id,text", b"id,text,more"))

    mixed = cli("dedup", empty, folder, one, "--output", tmp_path / "kept")
    differ = cli("dedup", empty, one, two, "--output", tmp_path / "kept")

    assert (mixed.code, differ.code) == (2, 2)
    assert "are not alike" in mixed.sentence
    assert f"those of {one} and {two} differ" in differ.sentence
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("option", ["--output", "--clusters", "--report", "--results", "--rejects"])
def test_a_folder_that_is_not_there_is_named_before_an_index_is_made(cli, tmp_path, corpus_file, option):
    missing = tmp_path / "nodir"

    refused = cli("dedup", f"file:{tmp_path / 'i'}", corpus_file, *SHINGLES, option, missing / "x.html")

    assert (refused.code, refused.out) == (1, b"")
    assert refused.sentence == f"{option} {missing / 'x.html'}: there is no folder {missing}: make it first"
    assert not (tmp_path / "i").exists()
