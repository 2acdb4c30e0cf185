"""Block schemes: whatever differs in at most k bits shares a table, for every scheme and every choice of bits."""

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support.bruteforce import ALL_BITS, flip

from simhash_hbase.errors import InvalidProfile
from simhash_hbase.rows.blocks import Scheme

SCHEMES = {
    "5x2": (13, 13, 13, 13, 12),
    "4x1": (16, 16, 16, 16),
    "6x3": (11, 11, 11, 11, 10, 10),
    "7x4": (10, 9, 9, 9, 9, 9, 9),
    "7x3": (10, 9, 9, 9, 9, 9, 9),
    "8x4": (8,) * 8,
    "6x1": (11, 11, 11, 11, 10, 10),
    "2x1": (32, 32),
    "64x1": (1,) * 64,
    # As many tables as there are flags for; of "10x5" there would be 252.
    "10x4": (7, 7, 7, 7, 6, 6, 6, 6, 6, 6),
}
fingerprints = st.integers(0, ALL_BITS)


@pytest.mark.parametrize("text", SCHEMES)
def test_a_scheme_cuts_64_bits_evenly_and_flags_count_the_choices_of_blocks_from_one(text):
    scheme = Scheme.parse(text)
    assert (str(scheme), scheme.widths, sum(scheme.widths)) == (text, SCHEMES[text], 64)
    chosen = list(combinations(range(scheme.blocks), scheme.choose))
    assert [(table.flag, table.blocks) for table in scheme.tables] == list(enumerate(chosen, 1))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        *((text, "scheme") for text in ("", "5", "x", "5x", "5x2x1", "5×2", "-5x2", "5x0", "2x2", "1x1", "65x1")),
        (" 5x2", "scheme"),
        ("5x2\n", "scheme"),
        ("10x5", "252"),
    ],
)
def test_what_is_no_scheme_or_has_too_many_tables_is_refused(text, told):
    with pytest.raises(InvalidProfile, match=told):
        Scheme.parse(text)


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


@given(a=fingerprints, b=fingerprints, text=st.sampled_from([*SCHEMES]))
def test_a_table_joins_what_agrees_in_its_blocks(a, b, text):
    scheme = Scheme.parse(text)
    differing = set(scheme.differing_blocks(a, b))
    joined = set(scheme.agreeing(a, b))

    for table in scheme.tables:
        if differing.isdisjoint(table.blocks):
            assert table in joined
        elif sum(scheme.widths[i] for i in table.blocks) <= 32:
            assert table not in joined


@given(simhash=fingerprints, text=st.sampled_from([*SCHEMES]))
def test_a_segment_is_the_chosen_bits_left_aligned_in_32(simhash, text):
    scheme = Scheme.parse(text)
    bits, blocks = f"{simhash:064b}", []
    for width in scheme.widths:
        blocks.append(bits[:width])
        bits = bits[width:]

    [prefixes] = scheme.prefixes(np.array([simhash], dtype=np.uint64)).tolist()
    for table, prefix in zip(scheme.tables, prefixes, strict=True):
        segment = "".join(blocks[i] for i in table.blocks)[:32]
        assert f"{prefix >> 8:032b}" == segment.ljust(32, "0")
        assert prefix & 0xFF == table.flag
        assert table.bits == len(segment)


def test_the_expected_rows_are_those_of_the_write_ups():
    assert Scheme.parse("4x1").expected_rows(2**30) == 65_536
    assert Scheme.parse("5x2").expected_rows(2**34) == 3_584
    assert Scheme.parse("5x2").expected_rows(0) == 0
