"""The kernel's tokens against those of jieba itself."""

import random
import re

import pytest
from hypothesis import example, given, settings, strategies as st
from support.corpora import first_texts
from support.hostile import HOSTILE
from support.plain_jieba import jieba
from support.words import tokens

from simhash_hbase.kernel import COMPILED
from simhash_hbase.kernel.tables import dictionary_digest
from simhash_hbase.kernel.texts import cut

PIECES = [
    "的", "是", "上", "常", "在", "年", "不", "去", "说", "一个", "我们", "中国", "数据", "索引", "恤", "型", "盘",
    "超", "江南", "卡拉", "语言", "射线", "a", "B", "T", "C", "c#", "C++", "c++", "AT&T", "AT", "&", "+", "#", "1",
    "12", "12.1.2", "TF-IDF", "OK", "style", "Style", "word.", "%", "-", "_", "，", "。", "《", "é", "Я", "あ", "γ",
    "㐀", "鿿", "豈", "😀", "\u3000", "\U00020000",
]  # fmt: skip
SPACES = [" ", "\n", "\r\n", "\r", "\t", "\x00", "\x1c", "\u2028"]
POOL = (
    "我来到北京的一是不在有这和中国人常在年T恤卡拉OKAA制3D打印VIP，。（）“” \r\n\t\u3000abcXYZ012.%+#&_-"
    "—é\u0301\u034fかカ한ไ😀\ud800\U00020000\u9fd5\u9fd6\u3400１２Ａａ"
)
LONG = ("hexadecimal digits", "base64", "one character", "Han with ties")
mixtures = st.lists(st.sampled_from(PIECES + SPACES), max_size=12).map("".join)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "", "我爱北京天安门", "用TF-IDF算权重，版本12.1.2", "买T恤，去卡拉OK，学C语言和C++", "他，买T恤",
        "的是abc的是", "，的是abc", "abc的是，", "他用C++的是", "一上a一上", "不上不中a", "不上不中a常在",
        "a不中不上", "，一上a", "a一上，", "我们一上a", "a一上我们", "a我们一上", "一上我们a", "杭研我们一上a",
        "a一上我们杭研", "称兵不着a", "C++一上", "a一上\r\n", "\r\n一上a", "手扶拖拉机专业常在", "一上我们常在",
        "龦字㐀字鿿字豈", "\x00a\x00的", "行\r\n行\r行\n", "中a国", "常在的", "常在年底，我们",
        "中国人民常在此地\ud800", "我们\u034f都是\u034f\u034f中国人",
        # Two paths through the dictionary weigh the same.
        "一缸水疱", "交租金玟", "共轴管絃", "他有一缸水疱a",
        # And two that do but for the order in which logarithms are rounded.
        "击倒伏", "巴斯丁醇", "聚义颌", "古今风驰", "\ud83d卡拉OK\udc00厅",
        *(pytest.param(HOSTILE[kind][:10_000], id=kind) for kind in LONG),
    ],
)  # fmt: skip
def test_a_text_is_cut_as_jieba_does(text):
    assert cut(text) == jieba.lcut(text)


@pytest.mark.slow
@given(mixtures | st.text(max_size=30))
@settings(max_examples=1000 if COMPILED else 300, derandomize=True)
def test_any_text_is_cut_as_jieba_does(text):
    assert cut(text) == jieba.lcut(text)


@pytest.mark.slow
@given(
    st.text(
        alphabet=st.sampled_from("常在不是年上我们说龦龥一二三四仨俩鿕中国人民a，")
        | st.characters(min_codepoint=0x4E00, max_codepoint=0x9FD5),
        min_size=1,
    )
)
# Two ways through the model weigh the same where it does not know a character: one text for each pair of states.
@example("渏不蔊虂")
@example("綛蹨穚犇")
@example("一拪螬")
@example("疜蛗人")
@example("刏絬")
@settings(max_examples=1000 if COMPILED else 300, derandomize=True)
def test_runs_of_han_are_cut_as_jieba_does(run):
    assert cut(run) == jieba.lcut(run)


def random_texts(count, seed):
    """Join words of the dictionary, words without their last character, and characters of all kinds."""
    jieba.initialize()
    chance = random.Random(seed)
    words = [word for word, frequency in jieba.dt.FREQ.items() if frequency]
    for _ in range(count):
        parts = []
        for _ in range(chance.randint(1, 30)):
            drawn = chance.random()
            if drawn < 0.4:
                parts.append(chance.choice(words))
            elif drawn < 0.9:
                parts += chance.choices(POOL, k=chance.randint(1, 4))
            else:
                parts.append(chance.choice(words)[:-1])
        yield "".join(parts)


@pytest.mark.slow
def test_random_texts_are_cut_as_jieba_does():
    assert not [text for text in random_texts(2_000 if COMPILED else 200, seed=5) if cut(text) != jieba.lcut(text)]


def test_random_texts_of_chinese_and_ascii_have_the_tokens_of_jieba_in_an_index():
    others = re.compile(r"[^\x00-\x7f\u4e00-\u9fd5\u3000，。（）“”—]")
    texts = [others.sub("", text) for text in random_texts(500 if COMPILED else 100, seed=6)]

    assert not [text for text in texts if tokens(text) != jieba.lcut(text)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lctt_zh_edit", "laws_tw_versions", "laws_tw_en_versions", "graph_zh_v1_beta"])
def test_real_documents_are_cut_as_jieba_does(name):
    assert not [text[:40] for text in first_texts(name, 100 if COMPILED else 4) if cut(text) != jieba.lcut(text)]


def test_the_dictionary_digest_is_that_of_jieba_0_42_1():
    assert dictionary_digest() == "abb0fde2fd1e81ed00bf609b85ac28bf"
