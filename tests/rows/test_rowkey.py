"""Row keys: schemes whose tables bring together what is near; bytes of rows, their order, and the ends of ranges."""

from itertools import combinations

import pytest
from hypothesis import given, strategies as st
from support.bruteforce import ALL_BITS

from simhash_hbase.errors import InvalidProfile
from simhash_hbase.rows import keys as rowkey
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.testing.rows import uint64s

fingerprints = st.lists(st.integers(0, ALL_BITS), max_size=20)


@given(values=fingerprints, scheme=st.sampled_from(["5x2", "4x1", "7x3", "8x4"]))
def test_block_rows_are_the_sorted_distinct_ones_of_every_fingerprint(values, scheme):
    parsed = Scheme.parse(scheme)
    packed = rowkey.pack_rows(rowkey.block_rows(parsed, uint64s(*values)))
    keys = [packed[i : i + 13] for i in range(0, len(packed), 13)]
    assert keys == sorted({key for simhash in values for key in rowkey.row_keys(parsed, simhash)})


@given(values=st.lists(st.integers(0, (1 << 40) - 1), max_size=20))
def test_the_order_of_prefixes_as_numbers_is_their_order_as_bytes(values):
    packed = rowkey.pack_prefixes(uint64s(*sorted(values)))
    assert packed == sorted(packed) == [rowkey.pack_prefix(prefix) for prefix in sorted(values)]
    assert [int.from_bytes(prefix, "big") for prefix in packed] == sorted(values)
    assert rowkey.unpack_prefixes(b"".join(packed)).tolist() == sorted(values)


@given(prefix=st.integers(0, (1 << 40) - 1), other=st.integers(0, (1 << 40) - 1))
def test_a_prefix_ends_between_its_last_key_and_the_next_prefix(prefix, other):
    [start, different] = rowkey.pack_prefixes(uint64s(prefix, other))
    stop = rowkey.prefix_stop(start)
    assert start <= start + bytes(8) < start + b"\xff" * 8 < stop
    if other != prefix:
        assert not start <= different + bytes(8) < stop
        assert not start <= different + b"\xff" * 8 < stop
    assert stop[:5] == start


# One row at a time and many at once are packed differently.
@given(values=st.one_of(fingerprints, st.lists(st.integers(0, ALL_BITS), min_size=60, max_size=70)))
def test_a_members_row_is_the_fingerprint_s_own(values):
    rows = rowkey.member_rows(uint64s(*values))
    assert rows == [rowkey.member_row(simhash) for simhash in values]
    assert rows == [s.to_bytes(8, "big")[:4] + b"\0" + s.to_bytes(8, "big") for s in values]
    assert [rowkey.row_simhash(row) for row in rows] == values


@pytest.mark.parametrize(
    ("row", "prefix"),
    [(b"", 0), (b"\x80", 0x80 << 32), (b"\1\2\3\4\5", 0x0102030405), (b"\1\2\3\4\5\xff", 0x0102030405)],
)
def test_the_prefix_of_a_row_is_read_from_short_keys_too(row, prefix):
    assert rowkey.row_prefix(row) == prefix


@pytest.mark.parametrize(
    ("start", "stop", "bounds"),
    [
        (0, 1, (bytes(5), b"\0\0\0\0\1")),
        (0x0102030405, (1 << 40) - 1, (b"\1\2\3\4\5", b"\xff" * 5)),
        (7, 1 << 40, (b"\0\0\0\0\7", None)),
    ],
)
def test_the_rows_of_a_range_of_prefixes_lie_between_two_keys(start, stop, bounds):
    assert rowkey.row_bounds(start, stop) == bounds


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
one_fingerprint = st.integers(0, ALL_BITS)


@pytest.mark.parametrize("text", SCHEMES)
def test_a_scheme_cuts_64_bits_evenly(text):
    scheme = Scheme.parse(text)
    assert (str(scheme), scheme.widths, sum(scheme.widths)) == (text, SCHEMES[text], 64)


@pytest.mark.parametrize("text", SCHEMES)
def test_flags_number_the_choices_of_blocks_from_one(text):
    scheme = Scheme.parse(text)
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


@given(a=one_fingerprint, b=one_fingerprint, text=st.sampled_from([*SCHEMES]))
def test_a_table_joins_what_agrees_in_its_blocks(a, b, text):
    scheme = Scheme.parse(text)
    differing = set(scheme.differing_blocks(a, b))
    joined = set(scheme.agreeing(a, b))

    for table in scheme.tables:
        if differing.isdisjoint(table.blocks):
            assert table in joined
        elif sum(scheme.widths[i] for i in table.blocks) <= 32:
            assert table not in joined
