"""Nearness of two documents at the edges of each rule."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support.bruteforce import crowd, entries, matches, shares_block_row, written_entries

from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import MatchRule, Sketches, accept, distances, estimated_similarity, hamming, judge

# At a similarity of 3/4, 64 of 512 bits differ.
VERIFIED = MatchRule(match="verified", distance=3, similarity=0.75, radius=7)


def sketches(*differing):
    """Make sketches that differ from that of zeros in so many bits; None: there is no sketch."""
    packed = [None if bits is None else ((1 << bits) - 1).to_bytes(64, "big") + b"\0\0\0\1" for bits in differing]
    return Sketches.unpacked([b"" if sketch is None else sketch for sketch in packed], 0)


@pytest.mark.parametrize(("differing", "wanted"), [(0, 1.0), (1, 255 / 256), (128, 0.5), (256, 0.0), (512, 0.0)])
def test_a_similarity_is_never_below_nothing(differing, wanted):
    [found] = estimated_similarity(sketches(0).words, sketches(differing).words)
    assert found == wanted


@pytest.mark.parametrize(
    ("rule", "reach", "band_reach", "farthest"),
    [
        (MatchRule(match="distance", distance=3, similarity=1.0, radius=0), 3, None, 3),
        (MatchRule(match="distance", distance=3, radius=7, band_distance=(24,)), 3, None, 3),
        (VERIFIED, 7, None, 7),
        (MatchRule(match="verified", distance=9, radius=7), 9, None, 7),
        (MatchRule(match="verified", band_distance=(16, 24)), 7, (16, 24), 24),
    ],
)
def test_a_rule_reaches_as_far_as_it_may_accept(rule, reach, band_reach, farthest):
    assert (rule.reach, rule.band_reach, rule.farthest) == (reach, band_reach, farthest)
    assert MatchRule() == Profile().rule


# What a block row joins is asked for more too, beyond the free bits.
@pytest.mark.parametrize(
    ("rule", "distance", "bits", "is_near"),
    [
        (VERIFIED, 0, 64, True),
        (VERIFIED, 3, 65, False),
        (VERIFIED, 7, 64, True),
        (VERIFIED, 7, 65, False),
        (VERIFIED, 8, 0, False),
        (MatchRule(radius=12, free_distance=10), 12, 56, True),
        (MatchRule(radius=12, free_distance=10), 12, 57, False),
    ],
)
def test_two_documents_are_judged_as_pairs_are(rule, distance, bits, is_near):
    one, other = entries({"a": 0}, sketches=[0]), entries({"b": (1 << distance) - 1}, sketches=[(1 << bits) - 1])
    assert accept(rule, distance, one, other, by_blocks=True) == (is_near, 1 - bits / 256)


@pytest.mark.parametrize(
    ("distance", "bits", "accepted"),
    [(10, 58, True), (10, 59, False), (11, 57, True), (11, 58, False), (16, 52, True), (16, 53, False), (17, 0, False)],
)
def test_each_bit_beyond_the_free_ones_asks_for_one_more_of_the_sketch(distance, bits, accepted):
    rule = Profile.resolve().rule
    one = entries({"a": 0}, sketches=[0], bands=[(1, 2, 3, 4, 5, 6)])
    other = entries({"b": (1 << distance) - 1}, sketches=[(1 << bits) - 1], bands=[(1, 0, 0, 0, 0, 0)])
    for a, b in ((one, other), (other, one)):
        assert accept(rule, distance, a, b, by_blocks=False) == (accepted, 1 - bits / 256)


@pytest.mark.parametrize(
    ("limits", "shared", "farthest"),
    [((16, 22, 32), 0, -1), ((16, 22, 32), 1, 16), ((16, 22, 32), 2, 22), ((16, 22, 32), 3, 32), ((16, 22, 32), 6, 32),
     ((24,), 1, 24), ((24,), 6, 24), ((0, 5), 1, 0), ((0, 64), 2, 64)],
)  # fmt: skip
def test_the_more_sketch_rows_two_documents_share_the_farther_they_may_be(limits, shared, farthest):
    rule = MatchRule(band_distance=limits)
    segments = (1,) * shared + (0,) * (6 - shared)
    one = entries({"a": 0}, sketches=[0], bands=[(1,) * 6])
    for distance in {0, max(farthest, 0), min(farthest + 1, 64)}:
        other = entries({"b": (1 << distance) - 1}, sketches=[0], bands=[segments])
        for a, b in ((one, other), (other, one)):
            assert accept(rule, distance, a, b, by_blocks=False)[0] == (distance <= farthest)


@pytest.mark.slow
@given(
    seed=st.integers(0, 1_000),
    rule=st.builds(
        MatchRule,
        match=st.sampled_from(["distance", "verified"]),
        distance=st.integers(0, 9),
        radius=st.integers(0, 12),
        similarity=st.sampled_from([0.5, 0.77, 0.9]),
        band_distance=st.none() | st.lists(st.integers(0, 64), min_size=1, max_size=7).map(sorted).map(tuple),
        free_distance=st.none() | st.integers(0, 64),
    ),
)
def test_pairs_are_judged_as_the_rule_is_written_down(seed, rule):
    documents = crowd(24, seed=seed)
    [own, *others] = documents.values()
    made = written_entries(documents, 6)
    apart = distances(made.simhashes[1:], made.simhashes[0])
    by_blocks = np.array([shares_block_row(own.simhash, other.simhash) for other in others])
    first, rest = (Sketches.of_entries(made).at(np.array(rows)) for rows in ([0], range(1, 24)))

    accepted, _ = judge(rule, apart, first, rest, by_blocks=by_blocks)

    assert accepted.tolist() == [matches(own, other, rule) for other in others]


def test_two_bare_fingerprints_have_no_similarity():
    assert accept(VERIFIED, 3, entries({"a": 5}), entries({"b": 2}), by_blocks=True) == (True, None)


def test_a_distance_counts_the_lower_64_bits_alone():
    assert hamming(1 << 64, 0) == 0
    assert hamming(1 << 63, 0) == hamming(1, 0) == 1
    assert distances(np.array([1 << 63], np.uint64), np.array([0], np.uint64)).tolist() == [1]


def test_sketches_are_written_as_they_are_read_with_their_segments():
    packed = [bytes(range(68)) + bytes([0, 0, 1, 2, 0xFF, 0, 0, 0]), b"", b"\xff" * 76]
    read = Sketches.unpacked(packed, 2)

    assert read.packed() == packed
    assert Sketches.unpacked([one[:68] for one in packed], 0).packed() == [one[:68] for one in packed]
    assert (read.words[0, 0], read.words[0, -1]) == (0x0001020304050607, 0x38393A3B3C3D3E3F)
    assert read.shingles.tolist() == [0x40414243, 0, 0xFFFFFFFF]
    assert read.segments.tolist() == [[0x0102, 0xFF000000], [0, 0], [0xFFFFFFFF] * 2]
    assert read.present.tolist() == [True, False, True]
    assert read.at(np.array([2, 0])).packed() == [packed[2], packed[0]]
