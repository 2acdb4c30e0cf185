"""jieba's dictionary comes from the file that jieba ships, and from nowhere else."""

import marshal
import os
import subprocess
import sys

import rjieba
from plain_jieba import jieba

from simhash_hbase.words import dictionary
from simhash_hbase.words.installed import jieba_file

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
    assert dictionary.dictionary().facts["total"] == total


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


def test_a_dictionary_of_another_shape_is_read_by_jieba(tmp_path, monkeypatch):
    file = tmp_path / "dict.txt"
    file.write_text("云计算 5\n李小福 2 nr\n", encoding="utf-8")
    monkeypatch.setattr(dictionary, "jieba_file", lambda *_names: file)

    words, facts = dictionary._made(file.read_bytes())

    assert words == {"云计算": "5", "李小福": "2"}
    assert (facts["total"], facts["words"]) == (7, 7)


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
