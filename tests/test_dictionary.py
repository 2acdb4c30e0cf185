"""jieba's dictionary comes from the file that jieba ships, and from nowhere else."""

import marshal
import math
import os
import subprocess
import sys
from itertools import pairwise

import pytest
import rjieba
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_jieba import jieba

from simhash_hbase.words import dictionary, few, lexicon
from simhash_hbase.words.exceptions import mixed_words, unlikely_words
from simhash_hbase.words.installed import jieba_file
from simhash_hbase.words.lexicon import Lexicon

CUT = """
import sys
from simhash_hbase.words.segment import segmenter
sys.stdout.reconfigure(encoding="utf-8")
for name in ("fast", "jieba"):
    print(*segmenter(name)("手扶拖拉机专业的，用了C++20和TF2"), sep="|")
"""


def cut_with_temporary_folder(folder):
    """Cut by a process of its own, to which `folder` is the system's temporary folder."""
    variables = {**os.environ, "TMPDIR": str(folder), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", CUT], capture_output=True, env=variables, check=True, encoding="utf-8")
    assert done.stderr == ""
    return done.stdout


def frequencies():
    return {word: int(frequency) for word, frequency in dictionary.dictionary().all().items()}


def test_the_dictionary_is_the_one_that_jieba_reads():
    with jieba_file("dict.txt").open("rb") as file:
        read, total = jieba.Tokenizer().gen_pfdict(file)

    assert frequencies() == {word: frequency for word, frequency in read.items() if frequency}
    assert dictionary.total() == total
    assert sum(frequencies().values()) == few.WEIGHT


def test_jieba_sees_of_its_table_all_that_a_text_can_lead_to():
    with jieba_file("dict.txt").open("rb") as file:
        read, _ = jieba.Tokenizer().gen_pfdict(file)
    cutter = dictionary._Cutter()
    text = "手扶拖拉机专业，卡拉OK和中华人民共和国"

    cutter.cut("中华")
    cutter.cut(text)

    parts = {text[start:stop] for start in range(len(text)) for stop in range(start + 1, len(text) + 1)}
    seen = cutter._tokenizer.FREQ
    # A single character that begins a word counts as one that begins none.
    assert {part for part in parts & set(read) if len(part) > 1 or read[part]} <= set(seen)
    assert {word: frequency for word, frequency in seen.items() if read.get(word) != frequency} == {}


def test_words_are_asked_for_again_after_very_many(monkeypatch):
    monkeypatch.setattr(dictionary, "_MAX_ASKED", 3)
    cutter = dictionary._Cutter()

    assert [cutter.cut(text) for text in ("手扶拖拉机", "京都", "手扶拖拉机")] == [
        ["手扶拖拉机"],
        ["京都"],
        ["手扶拖拉机"],
    ]


def test_the_frequencies_of_another_dictionary_are_summed(monkeypatch):
    monkeypatch.setattr(dictionary, "dictionary_bytes", "云计算 5\n\n李小福 2 nr\n李小福 1 nr\n".encode)
    monkeypatch.setattr(dictionary, "dictionary_digest", lambda: "another")

    assert dictionary.total.__wrapped__() == 8


def is_unlikely(word, table, total):
    """Ask the rule about one word, by exact numbers."""
    if len(word) not in (2, 3) or not all("\u4e00" <= character <= "\u9fd5" for character in word):
        return False
    chance = math.prod(table.get(character) or 1 for character in word)
    return table[word] > 0 and table[word] * total ** (len(word) - 1) * (10**6 - 1) <= chance * 10**6


def test_unlikely_words_are_those_of_exact_numbers():
    table = frequencies()

    found = dictionary.unlikely()

    assert len(found) == 8_096
    assert found == {word for word in table if is_unlikely(word, table, dictionary.total())}
    few = dictionary.FewUnlikely()
    some = [*sorted(found)[::9], *sorted(table)[::99], "", "a", "没有这个", "\ud800天", "天上人间"]
    assert [word in few for word in some] == [word in found for word in some]
    assert 3 not in few


def test_words_that_hold_ascii_give_their_borders():
    lines = "天上 1 n\nT恤 3 n\n卡拉OK 3 n\na 5\nc++ 2 n\né 1\n阿Q正 1 nr\n一 9".encode()

    borders, ascii_words = mixed_words(Lexicon(lines))

    assert borders == {"T恤", "拉O", "阿Q", "Q正"}
    assert ascii_words == ("c++",)


@given(st.dictionaries(st.text("天恤Ta+é\x01\x7f", min_size=1, max_size=4), st.integers(0, 3)), st.booleans())
@settings(deadline=None)
def test_words_that_hold_ascii_are_found_wherever_they_stand(table, has_end):
    content = "\n".join(f"{word} {number}" for word, number in table.items()) + "\n" * has_end
    some = [word for word, number in table.items() if number and len(word) > 1 and set(word) & set("Ta+")]
    borders = {
        first + second for word in some for first, second in pairwise(word) if (first in "Ta+") != (second in "Ta+")
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexicon, "_PIECE", 4)

        assert mixed_words(Lexicon(content.encode())) == (
            borders,
            tuple(sorted(w for w in some if set(w) <= set("Ta+"))),
        )


def test_of_another_dictionary_the_last_line_of_a_word_counts(monkeypatch):
    words = Lexicon("天 1000\n上 1000\n天上 1\n天上 900\n地上 900\n地上 1\nc++ 0\n地 1000\nT恤 0".encode())
    monkeypatch.setattr(dictionary, "dictionary", lambda: words)
    monkeypatch.setattr(dictionary, "dictionary_digest", lambda: "another")
    monkeypatch.setattr(dictionary, "total", lambda: 5_000)
    dictionary._is_unlikely.cache_clear()

    try:
        assert dictionary.unlikely.__wrapped__() == {"地上"}
        assert mixed_words(words) == (frozenset(), ())
    finally:
        dictionary._is_unlikely.cache_clear()


def test_a_small_dictionary_has_unlikely_words_to_its_last_line():
    words = Lexicon("一 1000\n二 1000\n一二 1\n二一 900\né二 1\n一二二 1".encode())

    assert unlikely_words(words, 3_000) == {"一二", "一二二"}


def test_a_cache_that_somebody_left_in_the_temporary_folder_is_not_read(tmp_path):
    expected = cut_with_temporary_folder(tmp_path)
    cache = tmp_path / "jieba.cache"
    frequencies = {"手扶拖拉机专业的"[:stop]: 0 for stop in range(1, 8)} | {"手扶拖拉机专业的": 9_000_000}
    cache.write_bytes(marshal.dumps((frequencies, 60_101_967)))

    assert cut_with_temporary_folder(tmp_path) == expected
    assert expected.startswith("手扶拖拉机|专业|的|")


def test_nothing_is_left_in_the_temporary_folder(tmp_path):
    cut_with_temporary_folder(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_rjieba_has_the_words_of_the_dictionary_and_their_frequencies():
    tokenizer = jieba.Tokenizer()
    with jieba_file("dict.txt").open("rb") as file:
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(file)
    tokenizer.initialized = True
    words = frequencies()

    assert {word for word in tokenizer.FREQ if rjieba.has_word(word)} == set(words)
    # What it suggests is the frequency or a little more, and more than that for words of frequent parts only.
    assert not [word for word, frequency in words.items() if rjieba.suggest_freq(word) < frequency]
    some = sorted(words)[::40]
    most = {word: tokenizer.suggest_freq(word) + 1 for word in some}
    assert not [word for word in some if rjieba.suggest_freq(word) > most[word]]
