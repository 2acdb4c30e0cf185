"""Words kept in the user's cache: whatever is wrong with it, texts are cut alike."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.words import keeping
from simhash_hbase.words.keeping import kept_digest, lexicon_of
from simhash_hbase.words.lexicon import Lexicon, beginnings_in, encoded

WORDS = {"天": "1", "天上": "2", "天上人间": "3", "人间": "4", "a": "5", "\U00020000字": "6"}
PROGRAM = """
import sys
from simhash_hbase.words.segment import segmenter
sys.stdout.reconfigure(encoding="utf-8")
print(*segmenter("fast")("手扶拖拉机专业的，用了C++20和TF2，买T恤"), sep="|")
"""
TOKENS = "手扶拖拉机|专业|的|，|用|了|C++|20|和|TF2|，|买|T恤\n"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(keeping, "_opened", {})
    return tmp_path / "cache" / "simhash-hbase" / "words"


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("天 天上", encoding="utf-8")
    return file


class Maker(list):
    """Makes a lexicon of blank-separated words, and counts how often it had to."""

    def __call__(self, content):
        self.append(content)
        words = content.decode().split()
        return dict.fromkeys(words, "1"), {"count": len(words)}

    def words_of(self, source):
        return lexicon_of(source, self).all()


@pytest.fixture
def maker():
    return Maker()


def test_a_lexicon_has_the_words_of_a_text():
    lexicon = Lexicon(encoded(WORDS, {"count": 6}))

    assert lexicon.all() == WORDS
    assert lexicon.facts == {"count": 6}
    assert lexicon.words(beginnings_in("上天上人")) == {"天": "1", "天上": "2", "天上人间": "3"}
    assert lexicon.words(["\U00020000字", "无"]) == {"\U00020000字": "6"}
    assert [lexicon.get(word) for word in ("天上人间", "天上人", "人", "a", "", "\ud800")] == [
        "3",
        None,
        None,
        "5",
        None,
        None,
    ]


def test_a_lexicon_of_no_words_has_none():
    assert Lexicon(encoded({}, {})).all() == {}
    assert Lexicon(encoded({}, {})).get("天") is None


def test_each_damaged_byte_is_noticed():
    data = encoded(WORDS, {"count": 6})

    for at in range(len(data)):
        with pytest.raises(CorruptIndex):
            Lexicon(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(CorruptIndex):
            Lexicon(data[:at])


def test_a_later_process_reads_what_the_first_one_kept(cache, source, maker):
    first = maker.words_of(source)

    assert maker.words_of(source) == first == {"天": "1", "天上": "1"}
    assert len(maker) == 1
    [kept] = cache.iterdir()
    assert (cache.stat().st_mode & 0o777, kept.stat().st_mode & 0o777) == (0o700, 0o600)


def test_the_digest_is_that_of_the_file_kept_or_not(cache, source, maker):
    before = kept_digest(source)
    maker.words_of(source)

    assert kept_digest(source) == before == keeping.digest(source.read_bytes())


@pytest.mark.parametrize("same_time", [False, True])
def test_a_changed_file_is_read_anew(cache, source, maker, same_time):
    maker.words_of(source)
    before = source.stat()
    source.write_text("天 地下", encoding="utf-8")
    if same_time:
        os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert kept_digest(source) == keeping.digest(source.read_bytes())
    assert maker.words_of(source) == {"天": "1", "地下": "1"}
    assert len(list(cache.iterdir())) == 1


def test_a_file_made_by_another_version_is_made_anew(cache, source, maker, monkeypatch):
    maker.words_of(source)
    monkeypatch.setattr(keeping, "MAKING", keeping.MAKING + 1)

    maker.words_of(source)

    assert len(maker) == 2


@pytest.mark.parametrize("damage", [b"", b"x", bytes(100), None])
def test_a_damaged_file_is_made_anew(cache, source, maker, damage):
    maker.words_of(source)
    [kept] = cache.iterdir()
    kept.write_bytes(kept.read_bytes()[:-1] + b"x" if damage is None else damage)

    assert maker.words_of(source) == {"天": "1", "天上": "1"}
    assert maker.words_of(source) == {"天": "1", "天上": "1"}
    assert len(maker) == 2


@pytest.mark.parametrize("which", ["file", "folder"])
@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_what_others_may_write_is_not_taken(cache, source, maker, which, mode):
    maker.words_of(source)
    [kept] = cache.iterdir()
    (kept if which == "file" else cache).chmod(mode)

    maker.words_of(source)

    assert len(maker) == 2


def test_nothing_is_opened_in_a_folder_that_others_may_write(cache, source, maker, monkeypatch):
    maker.words_of(source)
    [kept] = cache.iterdir()
    cache.chmod(0o777)
    monkeypatch.setattr(type(kept), "open", lambda *_: pytest.fail("a pipe in its place would have to be waited for"))

    assert keeping.own_bytes(kept) is None


def test_what_another_user_owns_is_not_taken_and_not_replaced(cache, source, maker, monkeypatch):
    maker.words_of(source)
    [kept] = cache.iterdir()
    before = kept.read_bytes(), kept.stat().st_ino
    user = os.geteuid() + 1
    monkeypatch.setattr(keeping.os, "geteuid", lambda: user)

    assert maker.words_of(source) == {"天": "1", "天上": "1"}
    assert len(maker) == 2
    assert (kept.read_bytes(), kept.stat().st_ino) == before


@pytest.mark.parametrize("place", ["/proc/none", "/dev/null"])
def test_without_a_folder_words_are_made_each_time(place, source, maker, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", place)

    assert maker.words_of(source) == maker.words_of(source) == {"天": "1", "天上": "1"}
    assert len(maker) == 2


def test_without_a_home_words_are_made_each_time(source, maker, monkeypatch):
    def homeless():
        raise RuntimeError

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)

    assert maker.words_of(source) == {"天": "1", "天上": "1"}


def test_a_relative_folder_is_not_written(source, maker, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")

    assert maker.words_of(source) == maker.words_of(source) == {"天": "1", "天上": "1"}
    assert not (tmp_path / "cache").exists()


def test_a_write_that_fails_leaves_nothing(cache, source, maker, monkeypatch):
    def full(_name, _place):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(keeping.os, "replace", full)

    assert maker.words_of(source) == {"天": "1", "天上": "1"}
    assert list(cache.iterdir()) == []


def start(cache_folder):
    variables = {**os.environ, "XDG_CACHE_HOME": str(cache_folder), "PYTHONWARNINGS": "ignore"}
    return subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, env=variables)


def test_processes_that_make_the_words_at_once_cut_alike_and_leave_whole_files(tmp_path):
    running = [start(tmp_path) for _ in range(2)]

    assert [process.communicate()[0].decode() for process in running] == [TOKENS] * 2
    [kept] = (tmp_path / "simhash-hbase" / "words").iterdir()
    assert len(Lexicon(kept.read_bytes()).all()) == 349_045
    later = start(tmp_path)
    assert later.communicate()[0].decode() == TOKENS


def test_a_process_without_a_folder_cuts_alike():
    assert start("/proc/none").communicate()[0].decode() == TOKENS
