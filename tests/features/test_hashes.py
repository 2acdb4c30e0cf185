"""Hashes of features: published values, ranges, refusals; `rows/test_schema_vectors.py` has more values."""

import numpy as np
import pytest
from support import plain_schema as plain

from simhash_hbase import create_index
from simhash_hbase.api import WeakHashWarning
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.features.fingerprints import HASHES, hash_features


def one(feature, name, seed=0):
    return int(hash_features([feature], hash=name, seed=seed)[0])


def test_jenkins_gives_the_values_that_lookup3_prints_in_its_own_test():
    assert one("", "jenkins") == 0xDEADBEEF_DEADBEEF
    assert one("Four score and seven years ago", "jenkins") == 0x17770551_CE7226E6


def test_jenkins_is_that_of_the_second_implementation_at_every_length_around_its_blocks():
    texts = ["abc天地玄黄 of more than two blocks"[:length] for length in range(31)]

    assert [one(text, "jenkins") for text in texts] == [plain.feature_hash(text, "jenkins", 0) for text in texts]


def test_none_passes_integers_of_64_bits():
    assert hash_features([0, (1 << 64) - 1], hash="none").tolist() == [0, (1 << 64) - 1]


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
