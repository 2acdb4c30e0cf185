"""jieba's dictionary comes from the file that jieba ships, and from nowhere else."""

import marshal
import os
import subprocess
import sys

import rjieba

from simhash_hbase.words import dictionary
from simhash_hbase.words.dictionary import jieba_file, jieba_tokenizer

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


def test_the_dictionary_is_the_one_that_jieba_reads():
    tokenizer = jieba_tokenizer()
    with jieba_file("dict.txt").open("rb") as file:
        frequencies, total = tokenizer.gen_pfdict(file)

    assert (frequencies, total) == (tokenizer.FREQ, tokenizer.total)


def test_a_dictionary_of_another_shape_is_read_by_jieba(tmp_path, monkeypatch):
    file = tmp_path / "dict.txt"
    file.write_text("云计算 5\n李小福 2 nr\n", encoding="utf-8")
    monkeypatch.setattr(dictionary, "jieba_file", lambda *_names: file)

    tokenizer = dictionary._loaded_tokenizer.__wrapped__()

    assert tokenizer.total == 7
    assert tokenizer.FREQ == {"云": 0, "云计": 0, "云计算": 5, "李": 0, "李小": 0, "李小福": 2}


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
    frequencies = jieba_tokenizer().FREQ
    words = {word for word, frequency in frequencies.items() if frequency}

    assert {word for word in frequencies if rjieba.has_word(word)} == words
    # What it suggests is the frequency or a little more, and more than that for words of frequent parts only.
    assert not [word for word in words if rjieba.suggest_freq(word) < frequencies[word]]
    some = sorted(words)[::40]
    most = {word: jieba_tokenizer().suggest_freq(word) + 1 for word in some}
    assert not [word for word in some if rjieba.suggest_freq(word) > most[word]]
