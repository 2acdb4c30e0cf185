"""``dedup --output`` of documents that are whole files: the kept ones in a folder."""

import gzip

import pytest
import zstandard
from support.corpus import text

PACKERS = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}


@pytest.fixture
def source(tmp_path):
    """Return a folder of texts in several folders and codecs; every second is a copy of the one before."""
    folder = tmp_path / "source"
    for number, suffix in enumerate(PACKERS):
        for copy in range(2):
            file = folder / f"part {number}" / f"{copy}.txt{suffix}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(PACKERS[suffix](text(number, changed=copy).encode()))
    return folder


def held(folder):
    opened = {"": bytes, ".gz": gzip.decompress, ".zst": zstandard.decompress}
    files = {path for path in folder.rglob("*") if path.is_file()}
    return {str(f.relative_to(folder)): opened[f.suffix.replace(".txt", "")](f.read_bytes()) for f in files}


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_the_kept_files_are_as_they_came_under_the_same_names(cli, empty, source, tmp_path, keep):
    done = cli("dedup", empty, source, "--output", tmp_path / "kept", "--keep", keep)

    assert done.code == 0
    assert len(done.originals) == 3
    assert held(tmp_path / "kept") == {name: data for name, data in held(source).items() if name in done.originals}


def test_a_restart_ends_with_the_same_files(cli, empty, source, tmp_path):
    words = ("dedup", empty, source, "--output", tmp_path / "kept", "--results", tmp_path / "results", "--resume")
    assert cli(*words).code == 0
    before = held(tmp_path / "kept")
    for name in ("results", "results.checkpoint"):
        (tmp_path / name).unlink()

    assert cli(*words).code == 0

    assert held(tmp_path / "kept") == before


@pytest.mark.parametrize("name", ["kept", "kept/mine"], ids=["a file", "a folder with something in it"])
def test_what_is_there_already_is_left_alone(cli, empty, source, tmp_path, name):
    mine = tmp_path / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")

    refused = cli("dedup", empty, source, "--output", tmp_path / "kept")

    assert (refused.code, refused.out) == (2, b"")
    assert mine.read_text() == "mine"


def test_no_file_is_written_outside_of_the_folder(cli, source, tmp_path):
    file, kept = source / "part 0" / "0.txt", tmp_path / "kept"

    refused = cli("dedup", f"file:{tmp_path / 'i'}", file, "--input-format", "folder", "--create", "--output", kept)

    assert "leads elsewhere" in refused.usage_error
    assert not (tmp_path / "i").exists()
    assert not kept.exists()


def test_a_file_named_by_itself_below_the_present_folder_is_kept(cli, empty, source, tmp_path, monkeypatch):
    monkeypatch.chdir(source)
    words = ("part 0/0.txt", "part 0/1.txt", "--input-format", "folder", "--output", tmp_path / "kept")

    assert cli("dedup", empty, *words).code == 0

    assert list(held(tmp_path / "kept")) == ["part 0/0.txt"]
