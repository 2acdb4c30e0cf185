"""Tables in the user's cache: taken only whole and from this user, made in memory where none can be kept."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simhash_hbase.kernel import tables as kernel

NAME = "0123abcd"


class Maker:
    """Makes tables, and counts how often."""

    def __init__(self, size=1000):
        self.size, self.times = size, 0

    def __call__(self):
        self.times += 1
        return {
            "keys": np.arange(self.size, dtype=np.uint64) << np.uint64(32),
            "emitted": np.linspace(-1, 1, 44).reshape(4, 11),
            "kinds": np.array([1, 255, 7], np.uint8),
            "unknown": np.float64(-3.5).reshape(()),
            "none": np.zeros((0, 3), np.int32),
        }


def assert_right(tables, size=1000):
    wanted = Maker(size)()
    assert list(tables) == list(wanted)
    for name, array in wanted.items():
        assert (tables[name].dtype, tables[name].shape) == (array.dtype, array.shape)
        assert np.array_equal(tables[name], array)


def times_made(name=NAME, size=1000):
    """Ask for tables, check them, and tell how often they were made."""
    maker = Maker(size)
    assert_right(kernel.cached_tables(name, maker), size)
    return maker.times


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Return where the tables are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "simhash-hbase" / "tables" / NAME


@pytest.fixture
def kept(file):
    """Return the file of tables that are kept."""
    kernel.cached_tables(NAME, Maker())
    return file


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return array is not None


def test_the_second_time_they_are_not_made(file):
    maker = Maker()
    first, second = kernel.cached_tables(NAME, maker), kernel.cached_tables(NAME, maker)

    assert maker.times == 1
    for tables in (first, second):
        assert_right(tables)
        assert is_mapped(tables["keys"])
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert os.listdir(file.parent) == [NAME]


def test_arrays_are_aligned_and_writable_and_what_is_written_stays_in_the_process(kept):
    tables = kernel.cached_tables(NAME, Maker())
    before = kept.read_bytes()

    for array in tables.values():
        assert array.flags.writeable
        assert array.ctypes.data % 64 == 0
    tables["keys"][0] = 99
    assert kept.read_bytes() == before
    assert_right(kernel.cached_tables(NAME, Maker()))


def test_another_name_is_another_file(kept):
    assert times_made("other", 7) == 1
    assert times_made() == 0


def with_one_bit_changed(content):
    places = [0, 15, 16, 23, 24, 60, len(content) // 2, len(content) - 1]
    return [content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :] for place in places]


def test_damaged_files_are_made_anew(kept):
    content = kept.read_bytes()
    cut = [content[:size] for size in (0, 10, 16, 4096, len(content) - 1)]
    # The digest of the sixteen zeros is right.
    damaged = [*cut, content + b"\0", bytes(16), bytes(len(content)), *with_one_bit_changed(content)]

    for bad in damaged:
        kept.write_bytes(bad)
        assert times_made() == 1
        assert kept.read_bytes() == content


@pytest.mark.parametrize("mode", [0o660, 0o602])
def test_a_file_that_others_may_write_is_replaced(kept, mode):
    kept.chmod(mode)

    assert times_made() == 1
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user, which only root may")
def test_a_file_of_another_user_in_the_own_folder_is_replaced(kept):
    os.chown(kept, 65534, 65534)

    assert times_made() == 1
    assert kept.stat().st_uid == os.geteuid()


@pytest.mark.parametrize("mode", [0o770, 0o707, None])
def test_a_folder_of_another_user_or_that_others_may_write_is_not_used(kept, mode, monkeypatch):
    if mode is not None:
        kept.parent.chmod(mode)
    else:
        user = os.geteuid() + 1
        monkeypatch.setattr(kernel.os, "geteuid", lambda: user)
        # Who would read a pipe waits for ever.
        kept.unlink()
        os.mkfifo(kept)
    before = kept.stat()

    tables = kernel.cached_tables(NAME, Maker())

    assert_right(tables)
    assert not is_mapped(tables["keys"])
    assert kept.stat() == before


def test_a_relative_cache_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")

    assert_right(kernel.cached_tables(NAME, Maker()))
    assert os.listdir(tmp_path) == []


def test_without_a_home_they_are_made_in_memory(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)

    assert_right(kernel.cached_tables(NAME, Maker()))


def test_where_nothing_can_be_written_they_are_made_in_memory(file):
    file.parents[2].write_text("a file, no folder")

    assert [times_made(), times_made()] == [1, 1]


def test_a_failed_write_leaves_nothing(file, monkeypatch):
    def full(_old, _new):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kernel.os, "replace", full)

    assert_right(kernel.cached_tables(NAME, Maker()))
    assert os.listdir(file.parent) == []


PROCESS = """
import sys
from kernel.test_kernel_cache import NAME, Maker, assert_right
from simhash_hbase.kernel import tables as kernel

class Waiting(Maker):
    def __call__(self):
        print("made", flush=True)
        sys.stdin.readline()
        return super().__call__()

assert_right(kernel.cached_tables(NAME, Waiting(500_000)), 500_000)
"""


@pytest.mark.slow
def test_two_processes_that_start_together_do_not_disturb_each_other(file):
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'tests'}"}
    words = [sys.executable, "-W", "ignore", "-c", PROCESS]
    both = [
        subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    # Each has seen that there are none, and makes them.
    assert [process.stdout.readline() for process in both] == ["made\n"] * 2
    before = kernel.cached_tables(NAME, Maker(500_000))
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()

    assert [process.communicate() and process.returncode for process in both] == [0, 0]
    assert_right(before, 500_000)
    assert times_made(size=500_000) == 0
    assert os.listdir(file.parent) == [NAME]
