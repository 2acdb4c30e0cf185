"""Probes that were passed: remembered as long as nothing has changed."""

import pytest

from simhash_hbase.features import passed
from simhash_hbase.features.passed import is_passed, key_of, note_passed
from simhash_hbase.profile import Profile
from simhash_hbase.words import keeping

JIEBA, SHINGLE = (Profile.resolve(analyzer=name).encode() for name in ("jieba", "shingle"))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "simhash-hbase" / "words"


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


def test_without_a_folder_nothing_is_remembered(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    note_passed("a")

    assert not is_passed("a")
