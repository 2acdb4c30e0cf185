"""Probes that were passed: remembered as long as nothing has changed."""

import os
from pathlib import Path

import pytest

from simhash_hbase import create_index
from simhash_hbase.features import keeping, passed
from simhash_hbase.features.passed import is_passed, key_of, note_passed
from simhash_hbase.profile import Profile

JIEBA, SHINGLE = (Profile.resolve(analyzer=name).encode() for name in ("jieba", "shingle"))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "simhash-hbase" / "probes"


def test_a_probe_counts_for_its_profile_and_its_dictionary():
    note_passed(key_of(JIEBA, whole=False))

    assert is_passed(key_of(JIEBA, whole=False))
    assert not is_passed(key_of(JIEBA, whole=True))
    assert not is_passed(key_of(SHINGLE, whole=False))


def test_a_changed_library_or_code_is_probed_again(monkeypatch):
    files = [file.name for file in [*passed._own_files(), *passed._library_files()]]
    assert {"dict.txt", "idf.txt", "prob_emit.py", "rjieba.abi3.so", "fast.py", "sketch.py", "classes.txt"} <= set(
        files
    )
    before = key_of(JIEBA, whole=False)
    plain = keeping.identity
    monkeypatch.setattr(keeping, "identity", lambda file: [*plain(file), file.name == "rjieba.abi3.so"])

    passed._machine.cache_clear()
    changed = key_of(JIEBA, whole=False)
    monkeypatch.undo()
    passed._machine.cache_clear()

    assert changed != before == key_of(JIEBA, whole=False)


def test_only_the_last_ones_are_remembered(monkeypatch):
    monkeypatch.setattr(passed, "_MOST", 2)
    for key in "abc":
        note_passed(key)

    assert [is_passed(key) for key in "abc"] == [False, True, True]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"{}"])
def test_damaged_notes_are_none(cache, content):
    note_passed("a")
    (cache / "passed.json").write_bytes(content)

    assert not is_passed("a")
    note_passed("b")
    assert is_passed("b")


@pytest.mark.parametrize("which", [".", "passed.json"])
def test_notes_that_others_may_write_do_not_count(cache, which):
    note_passed("a")
    (cache / which).chmod(0o722)

    assert not is_passed("a")


def test_kept_files_are_this_users_alone(cache):
    note_passed("a")

    assert (cache.stat().st_mode & 0o777, (cache / "passed.json").stat().st_mode & 0o777) == (0o700, 0o600)


def test_nothing_is_opened_in_a_folder_that_others_may_write(cache, monkeypatch):
    note_passed("a")
    cache.chmod(0o777)
    monkeypatch.setattr(type(cache), "open", lambda *_: pytest.fail("a pipe in its place would have to be waited for"))

    assert keeping.own_bytes(cache / "passed.json") is None


def test_what_another_user_owns_is_not_taken_and_not_replaced(cache, monkeypatch):
    note_passed("a")
    before = (cache / "passed.json").read_bytes()
    user = os.geteuid() + 1
    monkeypatch.setattr(keeping.os, "geteuid", lambda: user)

    assert not is_passed("a")
    note_passed("b")
    assert (cache / "passed.json").read_bytes() == before


def test_a_write_that_fails_leaves_nothing(cache, monkeypatch):
    def full(_name, _place):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(keeping.os, "replace", full)
    note_passed("a")

    assert list(cache.iterdir()) == []


def test_a_relative_folder_is_not_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    note_passed("a")

    assert not (tmp_path / "cache").exists()


def test_without_a_home_nothing_is_remembered(monkeypatch):
    def homeless():
        raise RuntimeError

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    note_passed("a")

    assert not is_passed("a")


def test_without_a_folder_nothing_is_remembered(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    note_passed("a")

    assert not is_passed("a")


def test_many_new_indexes_of_one_profile_are_one_note(tmp_path):
    note_passed("other")
    for number in range(3):
        create_index(f"file:{tmp_path / str(number)}", analyzer="shingle").close()
    create_index(f"file:{tmp_path / 'weighted'}", analyzer="weighted").close()

    noted = passed._read()
    assert (len(noted), noted[0]) == (2, "other")
