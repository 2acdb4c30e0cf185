"""Blocks of Han and ASCII that are cut without jieba, against jieba."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_jieba import jieba

from simhash_hbase.words.dictionary import dictionary, jieba_cut, unlikely
from simhash_hbase.words.imported import imported_jieba
from simhash_hbase.words.mixed import cut_block
from simhash_hbase.words.model import LEAST, WordModel

MODEL = WordModel()
MIXED = sorted(word for word in dictionary().all() if not word.isascii() and any(map(str.isascii, word)))
HAN = ["的", "是", "上", "常", "在", "年", "我", "中国", "一个", "研究生", "卡拉", "鿕", *sorted(unlikely())[::200]]
PARTS = [*MIXED, *HAN, *"a1TB+#&._%-", "C++", "3.5%", "c++", "AT", "OK"]
blocks = st.lists(st.sampled_from(PARTS), min_size=1, max_size=9).map("".join)


@given(blocks)
@settings(max_examples=1_000, deadline=None, derandomize=True)
def test_a_block_is_cut_as_jieba_cuts_it(block):
    assert cut_block(block, MODEL) == jieba_cut(block)


def test_every_word_of_both_scripts_is_cut_as_jieba_cuts_it():
    texts = [text for word in MIXED for text in (word, f"我{word}", f"{word}的", f"a{word}b", f"1{word}是")]

    assert [cut_block(text, MODEL) for text in texts] == list(map(jieba_cut, texts))


def test_the_logarithm_of_nothing_is_that_of_jieba():
    assert jieba.finalseg.MIN_FLOAT == LEAST


def test_few_texts_are_cut_without_jieba():
    program = "import sys; from simhash_hbase.words.segment import cut\n"
    program += "print(len(cut('买T恤，河边常在，a上的')), 'jieba' in sys.modules, 'jieba.finalseg' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split()[1:] == ["False", "False"]


@pytest.fixture
def resources(tmp_path):
    """A folder with a package that says when it is imported."""
    (tmp_path / "pkg_resources.py").write_text("print('imported')")
    return tmp_path


def test_jieba_is_imported_without_what_it_has_no_need_of(resources):
    program = "from simhash_hbase.words.imported import imported_jieba\n"
    program += "print(imported_jieba().__name__)\nimport pkg_resources"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(resources)}
    )

    assert done.stdout == "jieba\nimported\n"
    assert imported_jieba() is jieba
