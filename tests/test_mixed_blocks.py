"""Blocks of Han and ASCII that are cut without jieba, against jieba."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_jieba import jieba

from simhash_hbase.words import imported
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
    program += "print(len(cut('买T恤，河边常在，a上的')), [name for name in sys.modules if 'jieba' in name])"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "9 []\n"


@pytest.fixture
def resources(tmp_path):
    """A folder with a package that says when it is imported."""
    (tmp_path / "pkg_resources.py").write_text("print('imported')")
    return tmp_path


def test_jieba_is_imported_without_what_it_has_no_need_of(resources):
    program = "from simhash_hbase.words.imported import imported_jieba\n"
    program += "print(imported_jieba().__version__)\nimport pkg_resources"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(resources)}
    )

    assert done.stdout == f"{jieba.__version__}\nimported\n"


WHAT_OTHERS_DO = """
import re, sys, warnings
warnings.simplefilter("ignore")
from simhash_hbase.words.segment import segmenter
cuts = [segmenter(name) for name in ("jieba", "fast")]
texts = ["杭研大厦", "a杭研大厦，买T恤", "云计算 专业的", "买T恤去杭研"]
before = [cut(text) for cut in cuts for text in texts] if "first" in sys.argv else None
import jieba, rjieba
for word in ("大厦，", "云计算", "专业的"):
    rjieba.add_word(word, 10**8, "n")
jieba.setLogLevel("ERROR")
for word in ("杭研", "研究生"):
    jieba.del_word(word)
jieba.add_word("云计算", 10**6)
jieba.suggest_freq(("手扶", "拖拉机"), True)
jieba.re_han_default = jieba.finalseg.re_han = re.compile("(.+)", re.DOTALL)
after = [cut(text) for cut in cuts for text in texts]
assert before in (None, after)
segmenter("fast")("文" * 30_000)
assert after == [cut(text) for cut in cuts for text in texts]
sys.stdout.reconfigure(encoding="utf-8")
print(after[:4] == after[4:], *after[1], *after[2], *after[3], sep="|")
"""


@pytest.mark.parametrize("when", ["first", "later"])
def test_what_others_do_to_their_jieba_changes_nothing(when):
    done = subprocess.run(
        [sys.executable, "-c", WHAT_OTHERS_DO, when], capture_output=True, encoding="utf-8", check=True
    )

    assert done.stdout == "True|a|杭研|大厦|，|买|T恤|云|计算| |专业|的|买|T恤|去|杭研\n"
    assert done.stderr == ""


def test_jieba_is_forgotten_where_its_import_fails(monkeypatch, tmp_path):
    (tmp_path / "broken.py").write_text("raise KeyboardInterrupt")
    monkeypatch.setattr(imported, "jieba_file", lambda _name: tmp_path / "broken.py")
    monkeypatch.setattr(imported, "OWN", "simhash_hbase.words.broken")

    with pytest.raises(KeyboardInterrupt):
        imported_jieba.__wrapped__()

    assert imported.OWN not in sys.modules
