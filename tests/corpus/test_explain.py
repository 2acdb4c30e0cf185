"""`explain` names the features that pull two fingerprints apart: compared with a computation bit by bit."""

from math import sqrt

import pytest
from hypothesis import assume, given, strategies as st

from simhash_hbase.features.fingerprints import fingerprint
from simhash_hbase.report.explain import pulls

WEIGHTS = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(1, 20).map(float), min_size=1, max_size=9)


def expected(a, b):
    """Sum each feature's part in the gaps of the differing bits; its hash is the fingerprint of itself."""
    lengths = [sqrt(sum(weight * weight for weight in side.values())) for side in (a, b)]
    differing = fingerprint(a.items()) ^ fingerprint(b.items())
    differences = {name: a.get(name, 0) / lengths[0] - b.get(name, 0) / lengths[1] for name in {**a, **b}}
    hashes = {name: fingerprint([name]) for name in differences}
    shares, total = dict.fromkeys(differences, 0.0), 0.0
    for bit in (bit for bit in range(64) if differing >> bit & 1):
        parts = {name: part if hashes[name] >> bit & 1 else -part for name, part in differences.items()}
        gap = sum(parts.values())
        total += abs(gap)
        for name, part in parts.items():
            shares[name] += part if gap > 0 else -part
    return {name: share / total for name, share in shares.items()}


@pytest.mark.slow
@given(WEIGHTS, WEIGHTS)
def test_shares_are_each_feature_s_part_in_the_gaps_of_the_differing_bits(a, b):
    differing = fingerprint(a.items()) ^ fingerprint(b.items())
    assume(differing)
    found = pulls([*a.items()], [*b.items()], differing)

    shares = {name: share for name, *_, share in found}
    wanted = expected(a, b)
    assert shares == pytest.approx({name: wanted[name] for name in shares})
    assert [*shares.values()] == sorted(shares.values(), reverse=True)
    assert all(share > 0 for share in shares.values())
    assert all(weights == [a.get(name, 0.0), b.get(name, 0.0)] for name, *weights, _ in found)
    assert all(wanted[name] <= 1e-9 for name in wanted.keys() - shares.keys())
    assert sum(wanted.values()) == pytest.approx(1)


def test_equal_fingerprints_are_not_pulled_apart():
    assert pulls([("a", 1.0)], [("a", 2.0)], 0) == []


@pytest.mark.parametrize("hash", ["murmur3", "md5"])
def test_every_feature_pulls_where_one_side_has_nothing_else(hash):
    a, b = [("one", 2.0)], [("two", 1.0)]
    differing = fingerprint(a, hash=hash) ^ fingerprint(b, hash=hash)

    # At each differing bit both pull in full, whatever their weights; another hash's signs would not add up.
    assert pulls(a, b, differing, hash=hash) == [("one", 2.0, 0.0, 0.5), ("two", 0.0, 1.0, 0.5)]
