"""Signals that end a command: nothing temporary stays, and no traceback is printed."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.corpus import near_copies, write_jsonl
from support.results import command, finish, start
from support.serving import wait_for

from simhash_hbase.api import IN_MEMORY_BYTES
from simhash_hbase.files.local import placed_database

ROOT = Path(__file__).parents[2]
SLOW_IMPORT = """
import pathlib, time
pathlib.Path({marker!r}).touch()
time.sleep(600)
"""

# Numpy looks in Python for a type that structured arrays have in common, and replaces any error by one of its own.
SIGNAL_IN_NUMPY = """
import signal
import numpy as np
from simhash_hbase.cli import main
from simhash_hbase.corpus import documents

def compare(*_, **__):
    np._core._internal._promote_fields = lambda *_: signal.raise_signal({number})
    return np.zeros(2, "i4,i4") == np.zeros(2, "i8,i4")

documents.analyse = compare
main({words})
"""


def temporary(folder):
    """Make an own folder for temporary files; returns it and the environment that names it."""
    folder = folder / "temporary"
    folder.mkdir()
    return folder, {**os.environ, "TMPDIR": str(folder)}


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("number", "message"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "ended by SIGTERM"), (signal.SIGHUP, "ended by SIGHUP")],
)
def test_the_copy_of_standard_input_is_removed(tmp_path, number, message):
    folder, env = temporary(tmp_path)
    words = ("dedup", f"file:{tmp_path / 'i'}", "-", "--create", "--analyzer", "shingle")
    process = start(*words, stdin=subprocess.PIPE, env=env)
    wait_for(lambda: process.poll() is not None or list(folder.rglob("stdin")))

    process.send_signal(number)
    ended = finish(process)

    assert ended.code == 128 + number
    # The line that ^C stands on in a terminal is ended first.
    assert ended.err.lstrip().startswith(f"simhash-hbase: {message}; what was acknowledged stays")
    assert len(ended.err.split("\n")) == 3
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("dedup URL FILE --create --results RESULTS", "stays: repeat the command with --resume to go on"),
        ("dedup URL FILE --create --results RESULTS --resume", "stays: repeat the command to go on"),
        ("dedup URL FILE --create --dry-run --results RESULTS", "stays: remove RESULTS to begin anew"),
        ("add URL FILE", "stays: repeat the command to go on"),
        ("claim URL FILE", "stays: repeat the command to go on"),
        ("load URL FILE", "stays: repeat the command to go on"),
        ("remove URL --from FILE", "stays: repeat the command to go on"),
        ("dedup FILE", "the temporary index is gone: repeat the command to begin anew"),
        ("claim FILE", "the temporary index is gone: repeat the command to begin anew"),
        ("dedup FILE --results RESULTS", "the temporary index is gone: remove RESULTS to begin anew"),
    ],
)
def test_an_interrupted_command_says_how_to_go_on(cli, empty, monkeypatch, corpus_file, line, advice):
    words = line.split()
    places = {"URL": empty, "FILE": str(corpus_file), "RESULTS": f"{corpus_file}.results"}

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    for module in ("corpus.documents.analyse", "bulk.Spool.fill", "index.local.LocalIndex.remove_many"):
        monkeypatch.setattr(f"simhash_hbase.{module}", interrupt)
    ended = cli(*(places.get(word, word) for word in words), "--quiet")

    assert ended.code == 130
    # The line that ^C stands on in a terminal is ended first.
    [sentence] = ended.err.split("\n")[-2:-1]
    assert sentence.startswith("simhash-hbase: interrupted; ")
    assert sentence.endswith(advice.replace("RESULTS", places["RESULTS"]))


@pytest.mark.parametrize(
    ("number", "message"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "ended by SIGTERM"), (signal.SIGHUP, "ended by SIGHUP")],
)
def test_a_signal_that_a_library_turns_into_an_error_of_its_own_ends_as_a_signal(tmp_path, number, message):
    words = [f"file:{tmp_path / 'i'}", str(write_jsonl(tmp_path / "a.jsonl", near_copies(3, 2))), "--create", "--quiet"]
    script = SIGNAL_IN_NUMPY.format(number=int(number), words=["dedup", *words])

    # In a process of its own: numpy keeps the function that it has found once.
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert ended.returncode == 128 + number
    assert ended.stderr.splitlines()[-1].startswith(f"simhash-hbase: {message}; ")


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGINT, []), (signal.SIGTERM, []), (signal.SIGHUP, ["file:i", "--create", "--dry-run"])],
)
def test_partial_and_temporary_files_and_a_temporary_index_are_removed(tmp_path, number, words):
    folder, env = temporary(tmp_path)
    # The lines fill the pipe, which is not read, so that the command runs when the signal comes; the input is too large
    # for an index in memory.
    padding = "x" * (IN_MEMORY_BYTES // 9_000)
    simhashes = ((i + 1) * 0x9E3779B97F4A7C15 % 2**64 for i in range(10_000))
    records = [{"id": str(i), "simhash": f"{value:016x}", "padding": padding} for i, value in enumerate(simhashes)]
    write_jsonl(tmp_path / "a.jsonl", records)
    more = ("a.jsonl", "--simhash-field", "simhash", "--workers", "1", "--report", "report.html")
    process = start("dedup", *words, *more, env=env, cwd=tmp_path)
    process.stdout.readline()
    assert list(tmp_path.glob("report.html.partial-*"))
    assert list(folder.iterdir())

    process.send_signal(number)
    ended = finish(process)

    assert ended.code == 128 + number
    assert "Traceback" not in ended.err
    assert list(folder.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "temporary"]


@pytest.mark.slow
def test_a_signal_that_the_parent_had_ignored_stays_ignored(tmp_path):
    folder, env = temporary(tmp_path)
    words = ("dedup", f"file:{tmp_path / 'i'}", "-", "--create", "--analyzer", "shingle")
    ignoring = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *command(*words)]
    process = subprocess.Popen(ignoring, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    wait_for(lambda: process.poll() is not None or list(folder.rglob("stdin")))

    process.send_signal(signal.SIGHUP)
    data = "".join(json.dumps(record) + "\n" for record in near_copies(3, 2)).encode()
    ended = finish(process, data)

    assert ended.code == 0
    assert len(ended.records) == 6


def test_ctrl_c_while_modules_are_imported_is_a_sentence(tmp_path):
    modules, marker = tmp_path / "modules", tmp_path / "marker"
    modules.mkdir()
    (modules / "click.py").write_text(SLOW_IMPORT.format(marker=str(marker)))
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    module, _, name = scripts["simhash-hbase"].partition(":")
    program = [sys.executable, "-c", f"from {module} import {name}; {name}()", "--help"]
    environment = {**os.environ, "PYTHONPATH": f"{modules}{os.pathsep}{ROOT}"}
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    wait_for(lambda: process.poll() is not None or marker.exists())

    process.send_signal(signal.SIGINT)
    ended = finish(process)

    assert (ended.code, ended.out, ended.err) == (130, b"", "simhash-hbase: interrupted\n")


@pytest.mark.parametrize(
    "wrong", [["--create", "--report", "no such folder/r.html"], []], ids=["no folder", "no index"]
)
def test_a_failed_run_leaves_no_results_in_the_way_of_the_corrected_command(cli, url, tmp_path, corpus_file, wrong):
    results = tmp_path / "results"
    words = ("dedup", url, corpus_file, "--results", results)

    assert cli(*words, *wrong).code == 1
    assert not results.exists()
    assert cli(*words, "--create").code == 0
    assert results.read_bytes().count(b"\n") == 60


def test_results_of_a_run_that_decided_something_stay_for_resume(cli, url, tmp_path, monkeypatch):
    file, results = write_jsonl(tmp_path / "a.jsonl", near_copies(5, 2)), tmp_path / "results"
    words = ("dedup", url, file, "--create", "--results", results, "--clusters", tmp_path / "clusters")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("simhash_hbase.corpus.checkpoint.write_clusters", full)
        failed = cli(*words)
    resumed = cli(*words, "--resume")

    assert (failed.code, resumed.code) == (1, 0)
    assert results.read_bytes().count(b"\n") == 10


@pytest.mark.parametrize("option", ["--output", "--clusters", "--rejects", "--report"])
def test_a_full_disk_names_the_file(cli, tmp_path, option):
    file = write_jsonl(tmp_path / "a.jsonl", [*near_copies(5, 2), {"id": "no text"}])

    failed = cli("dedup", file, "--analyzer", "shingle", option, "/dev/full")

    assert failed.code == 1
    assert failed.err.splitlines()[-1] == "simhash-hbase: /dev/full: no space left on device"


def test_a_full_folder_for_temporary_files_is_named(tmp_path):
    database = sqlite3.connect(tmp_path / "a")
    database.execute("PRAGMA max_page_count = 2")
    database.execute("CREATE TABLE a (b)")
    with pytest.raises(OSError, match="No space left on device") as raised, placed_database(tmp_path):
        database.executemany("INSERT INTO a VALUES (?)", [("x" * 4_000,)] * 9)
    database.close()

    assert raised.value.filename == str(tmp_path)
