"""Analyzers: which features a text has, and what they weigh."""

import pytest
from support.corpora import sample
from support.plain_jieba import jieba
from support.words import idf_of

from simhash_hbase.errors import InvalidArgument, InvalidProfile
from simhash_hbase.features.analyzers import JiebaAnalyzer, LearnedAnalyzer, ShingleAnalyzer, WeightedAnalyzer
from simhash_hbase.features.idf import jieba_idf

TABLE = idf_of([["the", "我"], ["the"], ["the", "hbase"]])
TEXT = "我爱 HBase，我用 the HBase 和 of X\r\n搜索引擎 TF-IDF 版本12.1 很快的"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lctt_zh_edit", "laws_tw_en_versions", "graph_zh_v1_beta"])
def test_the_jieba_analyzer_keeps_the_words_that_extract_tags_keeps(name):
    for text in [TEXT, *sample(name, 4)]:
        weights = dict(JiebaAnalyzer(top=None).features(text))
        tags = dict(jieba.analyse.extract_tags(text, topK=None, withWeight=True))
        total = sum(weight / jieba_idf().weight(word) for word, weight in weights.items())

        assert weights == pytest.approx({word: weight * total for word, weight in tags.items()})


def test_ties_of_the_heaviest_come_in_the_order_of_words():
    features = JiebaAnalyzer(top=3).features("zz yy xx ww zz")

    assert [word for word, weight in features] == ["zz", "ww", "xx"]


def test_the_learned_analyzer_counts_every_token_with_a_word_character_lower_cased():
    features = dict(LearnedAnalyzer(idf=TABLE).features("The 我, HBASE hbase é！_"))

    assert features == {
        "the": TABLE.weight("the"),
        "我": TABLE.weight("我"),
        "hbase": 2 * TABLE.weight("hbase"),
        "é": TABLE.weight("é"),
        "_": TABLE.weight("_"),
    }


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("早 安", ["早安"]),
        ("Ｇｏ, on!", ["goon"]),
        ("_ __ ___ 早_安", ["早安"]),
        ("今天下雨了", ["今天下雨了"]),
        ("今天下雨了吗", ["了", "今天", "下雨", "吗"]),
        ("_ __", ["_", "__"]),
        ("…", []),
    ],
)
def test_a_text_of_five_characters_is_one_feature_where_the_profile_says_so(text, features):
    analyzer = LearnedAnalyzer(idf=TABLE, whole=5)

    assert sorted(word for word, weight in analyzer.features(text)) == sorted(features)
    assert analyzer.features(text + " " + TEXT) == LearnedAnalyzer(idf=TABLE).features(text + " " + TEXT)


SEXY = [(shingle, 1.0) for shingle in ("honi", "isse", "niss", "onis", "pyth", "sexy", "ssex", "thon", "ytho")]


@pytest.mark.parametrize(
    ("analyzer", "text", "features"),
    [
        pytest.param(ShingleAnalyzer(size=4), "Python is sexy", SEXY, id="four letters"),
        pytest.param(ShingleAnalyzer(size=2), "ababa", [("ab", 2.0), ("ba", 2.0)], id="counted"),
        pytest.param(ShingleAnalyzer(size=2, binary=True), "ababa", [("ab", 1.0), ("ba", 1.0)], id="binary"),
        pytest.param(ShingleAnalyzer(size=4), "Ａ b!", [("ab", 1.0)], id="shorter than a shingle"),
        pytest.param(ShingleAnalyzer(size=4), " ,", [], id="no letter"),
    ],
)
def test_shingles_of_a_text(analyzer, text, features):
    assert sorted(analyzer.features(text)) == features


def test_a_text_has_no_weighted_features():
    with pytest.raises(InvalidArgument, match="features, not text"):
        WeightedAnalyzer().features("text")


@pytest.mark.parametrize(
    "make", [lambda: JiebaAnalyzer(top=0), lambda: LearnedAnalyzer(idf=TABLE, top=-1), lambda: ShingleAnalyzer(size=0)]
)
def test_options_out_of_range_are_refused(make):
    with pytest.raises(InvalidProfile):
        make()
