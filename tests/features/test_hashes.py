"""Hashes of features: published values, ranges, refusals."""

from itertools import product

import mmh3
import numpy as np
import pytest

from simhash_hbase import create_index
from simhash_hbase.errors import InvalidArgument, InvalidProfile
from simhash_hbase.features.fingerprints import HASHES, hash_features
from simhash_hbase.opening import WeakHashWarning


def one(feature, name, seed=0):
    return int(hash_features([feature], hash=name, seed=seed)[0])


def test_murmur3_is_the_first_word_of_the_128_bits():
    digest = mmh3.hash128("喜欢", 7, x64arch=True, signed=False)

    assert one("喜欢", "murmur3", 7) == digest & 0xFFFFFFFFFFFFFFFF


def test_murmur3_of_nothing_is_zero():
    assert one("", "murmur3") == 0


def test_jenkins_gives_the_values_that_lookup3_prints_in_its_own_test():
    assert one("", "jenkins") == 0xDEADBEEF_DEADBEEF
    assert one("Four score and seven years ago", "jenkins") == 0x17770551_CE7226E6


@pytest.mark.parametrize("length", [1, 4, 11, 12, 13, 24, 25])
def test_jenkins_tells_texts_around_its_block_length_apart(length):
    assert one("a" * length, "jenkins") != one("a" * (length + 1), "jenkins")


def test_times33_starts_at_5381_and_wraps_at_64_bits():
    assert one("", "times33") == 5381
    assert one("ab", "times33") == (5381 * 33 + 97) * 33 + 98
    assert one("z" * 100, "times33") < 1 << 64


def test_md5_is_the_first_eight_bytes_big_endian():
    assert one("", "md5") == 0xD41D8CD98F00B204


def test_none_passes_integers_of_64_bits():
    assert hash_features([0, (1 << 64) - 1], hash="none").tolist() == [0, (1 << 64) - 1]


@pytest.mark.parametrize("feature", [-1, 1 << 64, "a"])
def test_none_refuses_what_is_no_integer_of_64_bits(feature):
    with pytest.raises(InvalidArgument, match="64 bits"):
        hash_features([feature], hash="none")


def test_an_integer_is_refused_where_strings_are_hashed():
    with pytest.raises(InvalidArgument, match="string"):
        hash_features([1], hash="murmur3")


def test_an_unknown_hash_is_refused_with_the_known_ones():
    with pytest.raises(InvalidProfile, match="murmur3"):
        hash_features(["a"], hash="sha1")


@pytest.mark.parametrize(("name", "seed"), [("md5", 1), ("murmur3", -1), ("murmur3", 1 << 32)])
def test_a_seed_is_refused_out_of_range_or_where_there_is_none(name, seed):
    with pytest.raises(InvalidProfile, match="seed"):
        hash_features(["a"], hash=name, seed=seed)


@pytest.mark.parametrize("name", sorted(set(HASHES) - {"none"}))
def test_a_lone_surrogate_can_be_hashed(name):
    assert hash_features(["\ud800"], hash=name).dtype == np.uint64


def test_another_seed_gives_another_hash():
    assert one("a", "murmur3", 1) != one("a", "murmur3", 2)


def test_times33_is_warned_of_where_an_index_is_made_with_it():
    with pytest.warns(WeakHashWarning, match="times33 leaves about 30 of 64 bits constant"):
        create_index("memory:", analyzer="shingle", hash="times33").close()


@pytest.mark.parametrize("name", ["murmur3", "md5", "jenkins"])
def test_of_other_hashes_nobody_is_warned(name):
    # A warning is an error in these tests.
    create_index("memory:", analyzer="shingle", hash=name).close()


@pytest.mark.parametrize(("name", "constant"), [("murmur3", False), ("times33", True)])
def test_times33_leaves_bits_of_ordinary_words_constant(name, constant):
    words = ["".join(word) for word in product("天地玄黄宇宙洪荒日月盈昃", repeat=2)]
    hashes = hash_features(words, hash=name)

    always, never = np.bitwise_and.reduce(hashes), ~np.bitwise_or.reduce(hashes)
    assert (int(np.bitwise_count(always | never)) >= 16) is constant
