"""Hashes of features: published values, ranges, refusals; `rows/test_schema_vectors.py` has more values."""

import numpy as np
import pytest

from simhash_hbase import create_index
from simhash_hbase.api import WeakHashWarning
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.features.fingerprints import HASHES, hash_features


def one(feature, name, seed=0):
    return int(hash_features([feature], hash=name, seed=seed)[0])


def test_jenkins_gives_the_values_that_lookup3_prints_in_its_own_test():
    assert one("", "jenkins") == 0xDEADBEEF_DEADBEEF
    assert one("Four score and seven years ago", "jenkins") == 0x17770551_CE7226E6


@pytest.mark.parametrize("length", [1, 4, 11, 12, 13, 24, 25])
def test_jenkins_tells_texts_around_its_block_length_apart(length):
    assert one("a" * length, "jenkins") != one("a" * (length + 1), "jenkins")


def test_none_passes_integers_of_64_bits():
    assert hash_features([0, (1 << 64) - 1], hash="none").tolist() == [0, (1 << 64) - 1]


@pytest.mark.parametrize(
    ("feature", "name", "words"), [(-1, "none", "64 bits"), (1 << 64, "none", "64 bits"), ("a", "none", "64 bits"),
                                   (1, "murmur3", "string")],
)  # fmt: skip
def test_a_feature_that_does_not_suit_the_hash_is_refused(feature, name, words):
    with pytest.raises(InvalidArgument, match=words):
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
