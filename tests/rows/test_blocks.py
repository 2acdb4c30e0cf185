"""Block schemes: whatever differs in at most k bits shares a table, for every scheme and every choice of bits."""

import random
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support.bruteforce import ALL_BITS, flip

from simhash_hbase.errors import InvalidProfile
from simhash_hbase.rows.blocks import Scheme

SCHEMES = ["5x2", "4x1", "6x3", "7x4", "7x3", "8x4", "6x1", "2x1", "64x1"]
fingerprints = st.integers(0, ALL_BITS)


def prefixes(scheme, simhash):
    return scheme.prefixes(np.array([simhash], dtype=np.uint64))[0].tolist()


@pytest.mark.parametrize(
    ("text", "widths", "tables"),
    [
        ("5x2", (13, 13, 13, 13, 12), 10),
        ("4x1", (16, 16, 16, 16), 4),
        ("6x3", (11, 11, 11, 11, 10, 10), 20),
        ("7x4", (10, 9, 9, 9, 9, 9, 9), 35),
        ("7x3", (10, 9, 9, 9, 9, 9, 9), 35),
        ("8x4", (8,) * 8, 70),
        ("6x1", (11, 11, 11, 11, 10, 10), 6),
        ("64x1", (1,) * 64, 64),
    ],
)
def test_a_scheme_cuts_64_bits_into_blocks_as_even_as_can_be(text, widths, tables):
    scheme = Scheme.parse(text)

    assert scheme.widths == widths
    assert sum(scheme.widths) == 64
    assert len(scheme.tables) == tables
    assert str(scheme) == text


@pytest.mark.parametrize("text", SCHEMES)
def test_flags_count_the_choices_of_blocks_from_one(text):
    scheme = Scheme.parse(text)

    assert [table.flag for table in scheme.tables] == list(range(1, comb(scheme.blocks, scheme.choose) + 1))
    assert [table.blocks for table in scheme.tables] == list(combinations(range(scheme.blocks), scheme.choose))


@pytest.mark.parametrize(
    "text", ["", "5", "x", "5x", "5x2x1", "5×2", "-5x2", "5x0", "2x2", "1x1", "65x1", " 5x2", "5x2\n"]
)
def test_what_is_no_scheme_is_refused(text):
    with pytest.raises(InvalidProfile, match="scheme"):
        Scheme.parse(text)


def test_more_tables_than_flags_are_refused_with_the_number():
    assert len(Scheme.parse("10x4").tables) == 210

    with pytest.raises(InvalidProfile, match="252"):
        Scheme.parse("10x5")


@pytest.mark.parametrize("text", SCHEMES)
@pytest.mark.parametrize("base", [0, ALL_BITS, 0x9E3779B97F4A7C15])
def test_fingerprints_within_k_share_a_table(text, base):
    scheme = Scheme.parse(text)
    chosen = random.Random(1)

    for _ in range(300):
        other = flip(base, chosen.sample(range(64), min(scheme.distance, 64)))
        assert scheme.agreeing(base, other)


def test_for_every_choice_of_three_blocks_a_table_of_the_others_is_left():
    scheme = Scheme.parse("5x2")
    starts = [sum(scheme.widths[i + 1 :]) for i in range(5)]

    for broken in combinations(range(5), 3):
        other = flip(0, [starts[i] for i in broken])
        assert scheme.differing_blocks(0, other) == broken
        [table] = scheme.agreeing(0, other)
        assert set(table.blocks) == set(range(5)) - set(broken)


@given(a=fingerprints, b=fingerprints, text=st.sampled_from(SCHEMES))
def test_a_table_joins_what_agrees_in_its_blocks(a, b, text):
    scheme = Scheme.parse(text)
    differing = set(scheme.differing_blocks(a, b))
    joined = set(scheme.agreeing(a, b))

    for table in scheme.tables:
        if differing.isdisjoint(table.blocks):
            assert table in joined
        elif sum(scheme.widths[i] for i in table.blocks) <= 32:
            assert table not in joined


@given(simhash=fingerprints, text=st.sampled_from(SCHEMES))
def test_a_segment_is_the_chosen_bits_left_aligned_in_32(simhash, text):
    scheme = Scheme.parse(text)
    bits, blocks = f"{simhash:064b}", []
    for width in scheme.widths:
        blocks.append(bits[:width])
        bits = bits[width:]

    for table, prefix in zip(scheme.tables, prefixes(scheme, simhash), strict=True):
        segment = "".join(blocks[i] for i in table.blocks)[:32]
        assert f"{prefix >> 8:032b}" == segment.ljust(32, "0")
        assert prefix & 0xFF == table.flag
        assert table.bits == len(segment)


def test_the_expected_rows_are_those_of_the_write_ups():
    assert Scheme.parse("4x1").expected_rows(2**30) == 65_536
    assert Scheme.parse("5x2").expected_rows(2**34) == 3_584
    assert Scheme.parse("5x2").expected_rows(0) == 0
