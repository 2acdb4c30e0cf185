"""The fast segmenter against jieba."""

import pytest
from bagging import all_tokens, cut_blocks
from corpora import sample
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plain_jieba import jieba

from simhash_hbase.errors import InvalidProfile, MissingExtra
from simhash_hbase.words import dictionary, segment
from simhash_hbase.words import fast as fastsegment
from simhash_hbase.words.dictionary import dictionary_digest
from simhash_hbase.words.fast import FastSegmenter
from simhash_hbase.words.model import WordModel
from simhash_hbase.words.runs import ASCII_RUN, ascii_runs
from simhash_hbase.words.segment import Wording, bag, block_cutter, cut, segmenter

plain = segmenter("jieba")

PIECES = [
    "的",
    "是",
    "上",
    "常",
    "在",
    "年",
    "不",
    "去",
    "说",
    "一个",
    "我们",
    "中国",
    "数据",
    "索引",
    "恤",
    "型",
    "盘",
    "超",
    "江南",
    "卡拉",
    "语言",
    "射线",
    "a",
    "B",
    "T",
    "C",
    "c#",
    "C++",
    "c++",
    "AT&T",
    "AT",
    "&",
    "+",
    "#",
    "1",
    "12",
    "12.1.2",
    "TF-IDF",
    "OK",
    "style",
    "Style",
    "word.",
    "%",
    "-",
    "_",
    "，",
    "。",
    "《",
    "é",
    "Я",
    "あ",
    "γ",
    "㐀",
    "鿿",
    "豈",
    "😀",
    "\u3000",
    "\U00020000",
]
SPACES = [" ", "\n", "\r\n", "\r", "\t", "\x00", "\x1c", "\u2028"]
mixtures = st.lists(st.sampled_from(PIECES + SPACES), max_size=12).map("".join)


def words(tokens):
    return sorted(token for token in tokens if any(c == "_" or c.isalnum() for c in token))


def bagged(text):
    """Cut a text into a bag, and the bag's blocks into tokens."""
    return words(all_tokens(bag(text, Wording(words=None), letters=True)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "我爱北京天安门",
        "用TF-IDF算权重，版本12.1.2",
        "买T恤，去卡拉OK，学C语言和C++",
        "他，买T恤",
        "的是abc的是",
        "，的是abc",
        "abc的是，",
        "他用C++的是",
        "一上a一上",
        "不上不中a",
        "不上不中a常在",
        "a不中不上",
        "，一上a",
        "a一上，",
        "我们一上a",
        "a一上我们",
        "a我们一上",
        "一上我们a",
        "杭研我们一上a",
        "a一上我们杭研",
        "称兵不着a",
        "C++一上",
        "a一上\r\n",
        "\r\n一上a",
        "手扶拖拉机专业常在",
        "一上我们常在",
        "龦字㐀字鿿字豈",
        "\x00a\x00的",
        "行\r\n行\r行\n",
        "中a国",
        "常在的",
        "常在年底，我们",
        "中国人民常在此地\ud800",
        "\ud83d卡拉OK\udc00厅",
    ],
)
def test_fast_cuts_as_jieba_does(text):
    assert cut(text) == plain(text)
    assert bagged(text) == words(plain(text))


@given(mixtures)
@settings(max_examples=1500, deadline=None, derandomize=True)
def test_fast_cuts_mixed_scripts_as_jieba_does(text):
    assert cut(text) == plain(text)


@given(st.text(max_size=30))
@settings(max_examples=300, deadline=None)
def test_fast_cuts_any_unicode_as_jieba_does(text):
    assert cut(text) == plain(text)


@given(st.text(alphabet="常在不是年上我们说中国人民a，", min_size=1, max_size=80).map(lambda text: text + "常在"))
@settings(max_examples=500, deadline=None, derandomize=True)
def test_fast_cuts_what_the_model_cannot_decide_as_jieba_does(text):
    assert cut(text) == plain(text)
    assert bagged(text) == words(plain(text))


@given(
    st.text(
        alphabet=st.sampled_from("常在不是年上我们说龦龥一二三四仨俩鿕")
        | st.characters(min_codepoint=0x4E00, max_codepoint=0x9FD5),
        min_size=1,
    )
)
# Two paths weigh the same where the model does not know a character: one text for each comparison of two letters.
@example("渏不蔊虂")
@example("綛蹨穚犇")
@example("一拪螬")
@example("疜蛗人")
@example("刏絬")
@settings(max_examples=1000, deadline=None, derandomize=True)
def test_the_model_cuts_as_that_of_jieba_does(run):
    assert WordModel().cut(run) == list(jieba.finalseg.cut(run))


def test_fast_cuts_every_unlikely_word_beside_ascii_as_jieba_does():
    unlikely = sorted(dictionary.unlikely())

    texts = [text for word in unlikely for text in (f"a{word}", f"{word}a", f"C++{word}c#")]

    assert not [text for text in texts if cut(text) != plain(text)]
    assert not [text for text in texts if bagged(text) != words(plain(text))]


def test_no_longer_word_is_unlikelier_than_its_characters():
    words = dictionary.dictionary()
    frequencies, total = {word: int(frequency) for word, frequency in words.all().items()}, dictionary.total()

    def likely(word):
        product = 1.0
        for character in word:
            product *= (frequencies.get(character) or 1) / total
        return product >= frequencies[word] / total * (1 - 1e-6)

    longer = [word for word, frequency in frequencies.items() if frequency and len(word) > 3]

    assert not [word for word in longer if likely(word)]


@pytest.mark.parametrize("name", ["lctt_zh_edit", "laws_tw_versions", "laws_tw_en_versions", "graph_zh_v1_beta"])
def test_fast_cuts_real_documents_as_jieba_does(name):
    wrong = [text[:40] for text in sample(name, 25) if cut(text) != plain(text)]

    assert not wrong


@given(mixtures)
@settings(max_examples=500, deadline=None, derandomize=True)
def test_a_bag_holds_the_tokens_with_word_characters(text):
    assert bagged(text) == words(plain(text))


def test_blocks_that_are_cut_by_one_call_are_cut_as_if_alone():
    # Of Han, of ASCII, mixed, with a pair of paths that weigh the same, and with words of mixed script.
    blocks = ["我爱北京", "C++", "AT&T-12.5%", "的", "手扶拖拉机专业常在", "买T恤", "用TF-IDF算", "-", "%1", "常在a"]
    found = cut_blocks(blocks)

    assert {block: sorted(found[block]) for block in blocks} == {block: sorted(plain(block)) for block in blocks}


@pytest.mark.parametrize(
    ("block", "parts"),
    [
        ("用TF-IDF算", ["用", "TF-IDF", "算"]),
        ("C我们", ["C", "我们"]),
        ("他买T恤", None),  # A word of the dictionary.
        ("我们一上a", None),  # Two characters that jieba cuts by its model there.
        ("a一上我们", None),
        ("abc", None),
        ("我们", None),
    ],
)
def test_mixed_blocks_are_divided_where_nothing_depends_on_what_is_beside(block, parts):
    assert block_cutter().divided([block]) == ({} if parts is None else {block: parts})


@given(st.text() | mixtures)
def test_ascii_runs_are_those_of_the_expression(text):
    assert ascii_runs(text) == ASCII_RUN.findall(text)


def test_without_rjieba_jieba_itself_cuts(monkeypatch):
    for module in (fastsegment, segment):
        monkeypatch.setattr(module, "fast_available", lambda: False)

    with pytest.raises(MissingExtra, match="rjieba"):
        FastSegmenter()
    assert segmenter("fast")("买T恤") == ["买", "T恤"]
    assert bag("买T恤", Wording(words=None), letters=False).tokens == ["买", "T恤"]


def test_runs_are_remembered_up_to_a_number_and_a_length(monkeypatch):
    monkeypatch.setattr(fastsegment, "_MAX_CACHED_RUNS", 2)
    fast = FastSegmenter()
    for run in ("a" * 41, "b", "c", "d"):
        fast.cut_run(run)

    assert list(fast._runs) == ["b", "c"]


def test_an_unknown_segmenter_is_refused():
    with pytest.raises(InvalidProfile, match="fast, jieba"):
        segmenter("hanlp")


def test_words_added_to_jieba_change_nothing():
    before = plain("蓝瘦香菇")
    jieba.add_word("蓝瘦香菇")

    assert cut("蓝瘦香菇") == plain("蓝瘦香菇") == before


def test_the_dictionary_digest_is_that_of_jieba_0_42_1():
    assert dictionary_digest() == "abb0fde2fd1e81ed00bf609b85ac28bf"
