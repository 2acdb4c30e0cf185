"""Files that commands write: no link of another user is followed, no pipe waited for in vain, no record torn."""

import os
import subprocess
import sys
from threading import Thread

import pytest
from support.corpus import text, write_jsonl

from simhash_hbase.files import local

TORN = """
import resource, sys
from simhash_hbase.files.local import open_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with open_whole(sys.argv[1], "a+b") as file:
    for _ in range(3):
        file.write(b"x" * 399 + b"\\n")
"""
is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")


@pytest.fixture
def source(tmp_path):
    return write_jsonl(tmp_path / "in.jsonl", ({"id": str(n), "text": text(n // 2)} for n in range(6)))


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl.gz", "report.html"])
def test_a_link_with_the_name_of_a_partial_file_is_not_followed(cli, empty, source, tmp_path, name):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / f"{name}.partial").symlink_to(tmp_path / "mine")
    option = "--report" if name == "report.html" else "--output"

    done = cli("dedup", empty, source, option, tmp_path / name)

    assert (tmp_path / "mine").read_text() == "mine"
    assert done.code == (0 if name == "out.jsonl.gz" else 1)
    assert done.code == 0 or f"{name}.partial: it is in the way" in done.err


def test_a_partial_file_that_a_crash_left_is_written_anew(cli, empty, source, tmp_path):
    (tmp_path / "out.csv.partial").write_text("a crash left this")

    assert cli("dedup", empty, source, "--output", tmp_path / "out.csv").code == 0

    assert (tmp_path / "out.csv").read_text().startswith("id,text")
    assert not (tmp_path / "out.csv.partial").exists()


@is_root
@pytest.mark.parametrize("option", ["--output", "--rejects", "--clusters", "--results", "--report"])
def test_a_link_of_another_user_is_not_followed(cli, empty, source, tmp_path, option):
    mine, link = tmp_path / "mine", tmp_path / "out.jsonl"
    mine.write_text("mine" if option != "--results" else "")
    link.symlink_to(mine)
    os.lchown(link, 12_345, 12_345)

    done = cli("dedup", empty, source, option, link, *(["--resume"] if option == "--results" else []))

    assert "a link that another user has made" in done.failure
    assert mine.read_text() in {"mine", ""}


def test_a_pipe_that_is_read_takes_the_output(cli, empty, source, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    taken = []
    reader = Thread(target=lambda: taken.append((tmp_path / "pipe").read_bytes()))
    reader.start()

    assert cli("dedup", empty, source, "--output", tmp_path / "pipe").code == 0
    reader.join(60)
    assert taken[0].count(b"\n") == 3


def test_a_pipe_that_nobody_reads_is_a_failure(cli, empty, source, tmp_path, monkeypatch):
    monkeypatch.setattr(local, "READER_S", 0.1)
    os.mkfifo(tmp_path / "pipe")

    assert "a pipe that nobody reads" in cli("dedup", empty, source, "--output", tmp_path / "pipe").failure


def test_a_full_disk_leaves_whole_records(tmp_path):
    done = subprocess.run([sys.executable, "-c", TORN, tmp_path / "out"], capture_output=True, text=True, check=False)

    assert "File too large" in done.stderr
    assert (tmp_path / "out").read_bytes() == (b"x" * 399 + b"\n") * 2
