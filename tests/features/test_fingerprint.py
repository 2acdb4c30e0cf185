"""Fingerprints and hashes of features: worked examples, published values, the fast way against the obvious one."""

import math
import pickle
from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support import plain_schema as plain
from support.words import by_features, by_the_kernel, idf_of

from simhash_hbase import create_index
from simhash_hbase.api import WeakHashWarning
from simhash_hbase.errors import EmptyDocument, InvalidArgument, InvalidProfile
from simhash_hbase.features.analyzers import JiebaAnalyzer, LearnedAnalyzer, ShingleAnalyzer, WeightedAnalyzer
from simhash_hbase.features.fingerprints import (
    HASHES,
    MAX_TOTAL,
    SCALE,
    Fingerprinter,
    count_features,
    fingerprint,
    hash_features,
    integer_weights,
)
from simhash_hbase.features.idf import learn
from simhash_hbase.kernel.texts import Weights
from simhash_hbase.report.explain import cosine

LANXIANG = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理，出任CEO，走上人生巅峰。"
TABLE = idf_of([["the", "我", "索引"], ["the", "a"], ["the", "a"]])


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        pytest.param([0xDEADBEEF] * 100, 0xDEADBEEF, id="a hundred equal features: their hash"),
        pytest.param([0b01, 0b10], 0, id="a tie gives zero bits"),
        pytest.param([(0b01, -1.0)], 0xFFFFFFFFFFFFFFFE, id="a negative weight votes against"),
        pytest.param([(0b01, 0.0), (0b10, 1.0)], 0b10, id="no weight, no vote"),
        pytest.param([0b01, 0b10, 0b10], 0b10, id="plain features add up"),
    ],
)
def test_worked_examples(features, expected):
    assert fingerprint(features, hash="none") == expected


def test_jenkins_equals_the_readme_of_yanyiwu_simhash():
    features = JiebaAnalyzer(top=5).features(LANXIANG)

    assert fingerprint(features, hash="jenkins") == 17831459094038722629
    assert Fingerprinter(JiebaAnalyzer(top=5), hash="jenkins").fingerprint(LANXIANG) == 17831459094038722629


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(-100, 100)), min_size=1), st.randoms())
def test_the_order_of_features_changes_nothing(features, chance):
    turned = chance.sample(features, len(features))
    fingerprinter = Fingerprinter(WeightedAnalyzer())

    one, other = (fingerprinter.fingerprint_features_many([each]) for each in (features, turned))
    assert [*map(list, one)] == [*map(list, other)]


@pytest.mark.parametrize("weight", ["3", None, b"3", [3], 1j, 10**400])
def test_a_weight_that_is_no_number_is_refused(weight):
    with pytest.raises(InvalidArgument, match=r"weight .*: wanted a finite number"):
        fingerprint([("a", weight)])


@pytest.mark.parametrize("weight", [math.nan, math.inf, -math.inf, 1e10])
def test_an_absurd_weight_is_refused(weight):
    with pytest.raises(InvalidArgument, match="weight"):
        fingerprint([("a", weight)])


@pytest.mark.parametrize(
    "features",
    [
        [("apple", 0)],
        [("apple", 0.0), ("pear", -0.0)],
        [("x", 3), ("x", -3)],
        [("x", 0.5), "y", ("x", -0.5), ("y", -1)],
        [("x", 1e-6)],
        [("x", 1 / 131_072), ("y", -1 / 131_072)],
    ],
)
def test_weights_that_decide_no_bit_are_an_empty_document(features):
    with pytest.raises(EmptyDocument, match="weights of the features"):
        fingerprint(features)

    assert count_features(features) == 0
    simhashes, counts = Fingerprinter(WeightedAnalyzer()).fingerprint_features_many([features, [("x", 1)]])
    assert (simhashes[0], counts.tolist()) == (0, [0, 1])


def test_no_feature_is_an_empty_document():
    with pytest.raises(EmptyDocument, match="no usable words"):
        fingerprint([])


def test_hashes_that_cancel_in_every_bit_are_an_empty_document():
    with pytest.raises(EmptyDocument, match="weights of the features"):
        fingerprint([0, 2**64 - 1], hash="none")


@pytest.mark.parametrize("weight", [1 / 131_071, -1 / 131_071, 1 / 65_536])
def test_the_unit_of_a_weight_is_one_65536th(weight):
    assert [abs(units) for units in integer_weights([("x", weight)])[1]] == [1]


class OwnIdf:
    """Weights of the test's own, and that of every other word."""

    def __init__(self, weights, other=0.0):
        self._weights, self._other = weights, other

    def weight(self, word):
        return self._weights.get(word, self._other)

    def weights(self, seed):
        return Weights.of_words(list(self._weights), list(self._weights.values()), other=self._other, seed=seed)


ONE_UNIT_MORE = {"apple": 2 / SCALE, "pear": 1 / SCALE}


@pytest.mark.parametrize(
    "weights", [{}, {"apple": 1e-6}, {"apple": 1.0}, {"apple": 1.0, "pear": 1e-6}, ONE_UNIT_MORE], ids=str
)
def test_the_fast_way_leaves_out_words_without_weight(weights):
    analyzer = LearnedAnalyzer(idf=OwnIdf(weights))
    texts = ["apple pear", "pear plum", "apple " * 9, "apple " * 3]
    expected = [[(name, weight) for name, weight in analyzer.features(text) if weight > 1 / 131_072] for text in texts]

    assert by_the_kernel(analyzer, texts) == [
        (fingerprint(features) if features else 0, len(features)) for features in expected
    ]


@pytest.mark.parametrize("text", ["", " \n", "。，！", "的"])
def test_a_text_without_features_is_an_empty_document(text):
    fingerprinter = Fingerprinter(JiebaAnalyzer())

    assert by_the_kernel(fingerprinter.analyzer, [text]) == [(0, 0)]
    with pytest.raises(EmptyDocument, match="no usable words"):
        fingerprinter.fingerprint(text)


def test_the_cosine_goes_from_0_without_common_words_to_1_of_equal_texts():
    one = ["我", "喜欢", "看", "电视", "不", "喜欢", "看", "电影"]

    assert cosine(one, one) == pytest.approx(1)
    assert cosine(one, ["没有"]) == cosine(one, []) == 0


class LettersAnalyzer:
    """Lists features alone, and does not count for the kernel."""

    def features(self, text):
        return sorted(Counter(text).items())


MANY_WORDS = " ".join(f"w{number}" for number in range(200))


@pytest.mark.parametrize(
    ("analyzer", "texts"),
    [
        pytest.param(JiebaAnalyzer(), ["数据库 " * 200_000 + "索引"], id="a word very often"),
        # The sums of these weights are not exact as floats.
        pytest.param(LearnedAnalyzer(idf=OwnIdf({"a": 1e9}, other=1e9 - 1 / SCALE)), ["a " + MANY_WORDS], id="large"),
        pytest.param(LettersAnalyzer(), ["abc", "", "aab"], id="features alone"),
    ],
)
def test_weights_are_summed_exactly_in_both_ways(analyzer, texts):
    assert by_the_kernel(analyzer, texts) == by_features(analyzer, texts)


@pytest.mark.slow
def test_too_much_weight_is_refused_in_both_ways():
    weight = float(1 << 29)  # 2**45 units: 2**17 words reach the total.
    words = [f"w{number}" for number in range(MAX_TOTAL >> 45)]
    analyzer = LearnedAnalyzer(idf=OwnIdf({}, other=weight))
    below, at = " ".join(words[1:]), " ".join(words)

    assert by_the_kernel(analyzer, [below]) == by_features(analyzer, [below])
    for compute in (by_the_kernel, by_features):
        with pytest.raises(InvalidArgument, match="64 bits"):
            compute(analyzer, [at])
        with pytest.raises(InvalidArgument):
            compute(LearnedAnalyzer(idf=OwnIdf({}, other=1e11)), ["a"])


def test_a_pickled_fingerprinter_gives_the_same():
    fingerprinter = Fingerprinter(LearnedAnalyzer(idf=TABLE), seed=3)
    before = fingerprinter.fingerprint(LANXIANG)
    data = pickle.dumps(fingerprinter)

    assert pickle.loads(data).fingerprint(LANXIANG) == before
    assert len(data) < 1000


def test_own_features_are_fingerprinted_as_they_are():
    fingerprinter = Fingerprinter(WeightedAnalyzer(), hash="none")

    simhashes, counts = fingerprinter.fingerprint_features_many([[(5, 2.0), 6], [], [7], [0]])

    # A fingerprint of 0 is one where every bit was decided.
    assert simhashes.tolist() == [5, 0, 7, 0]
    assert counts.tolist() == [2, 0, 1, 1]


def test_words_are_not_hashes():
    with pytest.raises(InvalidProfile, match="integers"):
        Fingerprinter(JiebaAnalyzer(), hash="none")


@pytest.mark.parametrize(
    ("hash", "seed", "words"),
    [("sha1", 0, "murmur3"), ("md5", 1, "seed"), ("murmur3", -1, "seed"), ("murmur3", 1 << 32, "seed")],
)
def test_a_hash_that_cannot_be_is_refused_before_any_feature_is_hashed(hash, seed, words):
    for refused in (partial(Fingerprinter, JiebaAnalyzer()), partial(fingerprint, []), partial(hash_features, ["a"])):
        with pytest.raises(InvalidProfile, match=words):
            refused(hash=hash, seed=seed)


def one(feature, name, seed=0):
    return int(hash_features([feature], hash=name, seed=seed)[0])


def test_jenkins_gives_the_values_that_lookup3_prints_in_its_own_test():
    assert one("", "jenkins") == 0xDEADBEEF_DEADBEEF
    assert one("Four score and seven years ago", "jenkins") == 0x17770551_CE7226E6


def test_jenkins_equals_a_second_implementation_at_lengths_around_its_blocks():
    texts = ["abc天地玄黄 of more than two blocks"[:length] for length in range(31)]

    assert [one(text, "jenkins") for text in texts] == [plain.feature_hash(text, "jenkins", 0) for text in texts]


@pytest.mark.parametrize(("feature", "name"), [(-1, "none"), (1 << 64, "none"), ("a", "none"), (1, "murmur3")])
def test_a_feature_that_does_not_suit_the_hash_is_refused(feature, name):
    with pytest.raises(InvalidArgument, match="64 bits" if name == "none" else "string"):
        hash_features([feature], hash=name)


@pytest.mark.parametrize("name", sorted(set(HASHES) - {"none"}))
def test_a_lone_surrogate_can_be_hashed(name):
    assert hash_features(["\ud800"], hash=name).dtype == np.uint64


def test_times33_is_warned_of_where_an_index_is_made_with_it():
    with pytest.warns(WeakHashWarning, match="times33 leaves about 30 of 64 bits constant"):
        create_index("memory:", analyzer="shingle", hash="times33").close()


@pytest.mark.parametrize("name", ["murmur3", "md5", "jenkins"])
def test_of_other_hashes_nobody_is_warned(name):
    # A warning is an error in these tests.
    create_index("memory:", analyzer="shingle", hash=name).close()


def test_a_string_of_a_subclass_counts_as_its_characters():
    class Other(str):
        __slots__ = ()
        __str__ = encode = lambda *_: b"other"
        __len__ = lambda _: 0  # noqa: E731

    assert fingerprint([Other("a"), (Other("b"), 2)]) == fingerprint(["a", ("b", 2)])
    assert Fingerprinter(ShingleAnalyzer()).fingerprint(Other("a text")) == fingerprint(["atex", "text"])
    assert learn([Other("a b"), Other("b")]).idf == learn(["a b", "b"]).idf


def test_a_sample_to_learn_from_holds_strings_only():
    with pytest.raises(InvalidArgument, match="text 2 of the sample is of type bytes"):
        learn(["a", b"b"])
