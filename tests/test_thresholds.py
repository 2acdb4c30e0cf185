"""What ``scripts/evaluate --thresholds`` computes: one wide search, judged by many rules."""

import random

import pytest
from bruteforce import Written, flip, matches, shares_block_row, similarity, sketch_near
from thresholds import BANDINGS, LEAST, OWN, accepted

from simhash_hbase.profile.near import MatchRule

RULES = [
    MatchRule(similarity=least, band_distance=far, free_distance=free) for far, free in BANDINGS for least in LEAST
]
CHOSEN = random.Random(12)
APART = (1, 3, 5, 7, 10, 15, 16, 17, 19, 21, 24, 25, 28, 30)
BASE = Written(CHOSEN.getrandbits(64), CHOSEN.getrandbits(512), (1, 2, 3))
# Up to 30 bits apart, similarities from .74 to .9; some share a sketch row, a block row, both or none.
OTHERS = [
    Written(
        flip(BASE.simhash, CHOSEN.sample(range(64), CHOSEN.choice(APART))),
        sketch_near(BASE.sketch, CHOSEN.randint(25, 66), seed=number) if number % 10 else None,
        (CHOSEN.choice((1, 9)), CHOSEN.choice((2, 9)), CHOSEN.choice((3, 9))) if number % 10 else (0, 0, 0),
    )
    for number in range(1_500)
]


@pytest.fixture(scope="module")
def found():
    """Return what the widest of the rules brings."""
    widest = MatchRule(similarity=min(LEAST), band_distance=(64,))
    return {(0, at): told(other) for at, other in enumerate(OTHERS) if matches(BASE, other, widest)}


def told(other):
    apart = (BASE.simhash ^ other.simhash).bit_count()
    shared = sum(a == b for a, b in zip(BASE.segments, other.segments, strict=True))
    return apart, similarity(BASE.sketch, other.sketch), shares_block_row(BASE.simhash, other.simhash), shared


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.band_distance}-{r.free_distance}-{r.similarity}")
def test_what_is_kept_of_a_wide_search_is_what_the_rule_itself_finds(found, rule):
    assert accepted(found, rule) == {(0, at) for at, other in enumerate(OTHERS) if matches(BASE, other, rule)}


def test_every_rule_keeps_something_else_and_that_of_a_new_index_is_among_them(found):
    assert OWN in RULES
    assert len({frozenset(accepted(found, rule)) for rule in RULES}) == len(RULES)
