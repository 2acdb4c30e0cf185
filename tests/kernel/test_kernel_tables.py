"""Tables of the kernel: others have another version; from the cache they are taken only whole and from this user."""

import os
from concurrent.futures import ThreadPoolExecutor
from fcntl import LOCK_EX, flock
from hashlib import blake2b
from pathlib import Path
from threading import Barrier
from unicodedata import unidata_version
from unittest.mock import Mock

import numpy as np
import pytest
from support.patience import END_S

from simhash_hbase.features.idf import _jieba_tables
from simhash_hbase.kernel import COMPILED, tables as kernel
from simhash_hbase.kernel.tables import VERSION, make_tables, words_of

NAME = "0123abcd"


def made_tables(size=1000):
    return {
        "keys": np.arange(size, dtype=np.uint64) << np.uint64(32),
        "emitted": np.linspace(-1, 1, 44).reshape(4, 11),
        "kinds": np.array([1, 255, 7], np.uint8),
        "unknown": np.float64(-3.5).reshape(()),
        "none": np.zeros((0, 3), np.int32),
    }


def assert_right(tables, size=1000):
    wanted = made_tables(size)
    assert list(tables) == list(wanted)
    for name, array in wanted.items():
        assert (tables[name].dtype, tables[name].shape) == (array.dtype, array.shape)
        assert np.array_equal(tables[name], array)


def times_made(name=NAME, size=1000):
    """Ask for tables, check them, and return how often they were made."""
    make = Mock(side_effect=lambda: made_tables(size))
    assert_right(kernel.cached_tables(name, make), size)
    return make.call_count


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Return where the tables are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "simhash-hbase" / "tables" / NAME


@pytest.fixture
def kept(file):
    """Return the file of tables that are kept."""
    kernel.cached_tables(NAME, made_tables)
    return file


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return array is not None


def test_the_second_time_they_are_not_made(file):
    make = Mock(side_effect=made_tables)
    first, second = kernel.cached_tables(NAME, make), kernel.cached_tables(NAME, make)

    make.assert_called_once_with()
    for tables in (first, second):
        assert_right(tables)
        assert is_mapped(tables["keys"])
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert os.listdir(file.parent) == [NAME]
    assert times_made("other", 7) == 1
    assert times_made() == 0


def test_arrays_are_aligned_to_64_bytes(kept):
    for array in kernel.cached_tables(NAME, made_tables).values():
        assert array.ctypes.data % 64 == 0


def test_what_is_written_into_an_array_stays_in_the_process(kept):
    tables = kernel.cached_tables(NAME, made_tables)
    before = kept.read_bytes()

    assert all(array.flags.writeable for array in tables.values())
    tables["keys"][0] = 99
    assert kept.read_bytes() == before
    assert_right(kernel.cached_tables(NAME, made_tables))


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

    tables = kernel.cached_tables(NAME, made_tables)

    assert_right(tables)
    assert not is_mapped(tables["keys"])
    assert kept.stat() == before


def raising(error):
    def call(*_):
        raise error

    return call


@pytest.mark.parametrize("place", ["relative", "no home", "a file, no folder"])
def test_without_a_place_to_keep_them_they_are_made_in_memory(file, place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    match place:
        case "relative":
            monkeypatch.setenv("XDG_CACHE_HOME", "cache")
        case "no home":
            monkeypatch.delenv("XDG_CACHE_HOME")
            monkeypatch.setattr(Path, "home", raising(RuntimeError("Could not determine home directory.")))
        case _:
            file.parents[2].touch()

    assert [times_made(), times_made()] == [1, 1]
    assert not (tmp_path / "cache").is_dir()


def test_a_failed_write_leaves_nothing(file, monkeypatch):
    monkeypatch.setattr(kernel.os, "replace", raising(OSError(28, "No space left on device")))

    assert_right(kernel.cached_tables(NAME, made_tables))
    assert os.listdir(file.parent) == []


def test_two_that_make_them_together_do_not_disturb_each_other(file):
    together = Barrier(3)

    def make_slowly():
        together.wait(END_S)  # Each has seen that there are none.
        together.wait(END_S)
        return made_tables(500_000)

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(kernel.cached_tables, NAME, make_slowly) for _ in range(2)]
        together.wait(END_S)
        before = kernel.cached_tables(NAME, lambda: made_tables(500_000))
        together.wait(END_S)

    for tables in (before, *(each.result() for each in both)):
        assert_right(tables, 500_000)
    assert times_made(size=500_000) == 0
    assert os.listdir(file.parent) == [NAME]


def test_only_what_a_killed_process_left_is_removed(file, kept):
    whole = file.read_bytes()
    file.unlink()
    for number, content in enumerate((b"", whole[:1000], whole)):
        file.with_name(f"{NAME}-{number:016x}").write_bytes(content)
    written = file.with_name(f"{NAME}-{9:016x}")

    with written.open("wb") as opened:
        flock(opened, LOCK_EX)
        assert [times_made(), times_made()] == [1, 0]
        assert sorted(os.listdir(file.parent)) == [NAME, written.name]


CHARACTERS = (
    "kinds",
    *(f"{form}{end}" for form in ("folded", "folded_hans", "normal", "normal_hans") for end in ("", "_lists")),
)
DIGESTS = {
    "characters of Unicode 14": "5ab3fddb12448916",
    "jieba and bins": "8bf3fce41fb4d25c",
    "idf": "52a25ac7c9446dc0",
}


def digest(arrays):
    whole = blake2b(digest_size=8)
    for name, array in sorted(arrays.items()):
        # The last bits of a logarithm are those of the platform.
        numbers = np.round(array, 6) if array.dtype == float else array
        whole.update(f"{name} {array.dtype.str} {array.shape} ".encode() + numbers.tobytes())
    return whole.hexdigest()


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="interpreted, they take half a minute to make")
def test_who_changes_a_table_changes_the_version_too():
    made = make_tables()
    characters = {name: made.pop(name) for name in CHARACTERS}
    digests = {"jieba and bins": digest(made), "idf": digest(_jieba_tables(0))}
    if unidata_version == "14.0.0":
        digests["characters of Unicode 14"] = digest(characters)

    # Where they differ, give `VERSION` its next number, and write down both.
    assert (VERSION, {**DIGESTS, **digests}) == (15, DIGESTS)


def test_a_file_of_words_is_read_to_the_last_digit():
    points, starts, stops, numbers = words_of("é 13.900677652\n数据库 7 nz\n\U00020000a 0.1".encode())

    words = ["".join(map(chr, points[start:stop])) for start, stop in zip(starts, stops, strict=True)]
    assert (words, numbers.tolist()) == (["é", "数据库", "\U00020000a"], [13.900677652, 7.0, 0.1])


@pytest.mark.parametrize("number", ["-1", "1e3", "1234567890123456", "n"])
def test_a_word_without_a_number_is_an_error(number):
    with pytest.raises(ValueError, match="line 2 has no number"):
        words_of(f"一 1\n二 {number}\n".encode())
