"""The contract of every store: block rows."""

import numpy as np
import pytest
from support.rows import LAST_PREFIX, LAST_SIMHASH, all_pairs, found_by, pairs_of, rows_of, uint64s

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import BlockRows, block_rows

EDGES = [
    (0, 0), (0, LAST_SIMHASH), (1, 0), (255, LAST_SIMHASH), (256, 0),
    (LAST_PREFIX - 1, LAST_SIMHASH), (LAST_PREFIX, 0), (LAST_PREFIX, LAST_SIMHASH),
]  # fmt: skip


@pytest.mark.parametrize("prefix", sorted({prefix for prefix, _ in EDGES}))
def test_a_scan_finds_all_rows_of_its_prefix_to_the_last_key_and_no_other(store, prefix):
    store.put_rows(rows_of(*EDGES), timestamp=1)

    assert found_by(store, prefix) == [pair for pair in EDGES if pair[0] == prefix]


def test_answers_are_unsigned_64_bit_numbers(store):
    store.put_rows(rows_of(*EDGES), timestamp=1)

    found = store.scan(uint64s(0), limit=1)

    assert {array.dtype for array in (*found.rows, found.truncated)} == {np.dtype(np.uint64)}


def test_a_scan_of_many_prefixes_returns_sorted_rows_of_those_that_are_there(store):
    simhashes = np.random.default_rng(1).integers(0, 1 << 64, 500, dtype=np.uint64)
    rows = block_rows(Scheme(5, 2), simhashes)
    store.put_rows(rows, timestamp=1)
    wanted = np.unique(np.concatenate([rows.prefixes[::3], rows.prefixes[::3] + np.uint64(1 << 20)]))

    found = store.scan(wanted, limit=1000)

    present = np.isin(rows.prefixes, wanted)
    assert pairs_of(found.rows) == pairs_of(BlockRows(rows.prefixes[present], rows.simhashes[present]))


def test_rows_come_in_numeric_order_whatever_the_order_of_writing(store):
    simhashes = [1 << bit for bit in range(64)]
    for simhash in simhashes[::-1]:
        store.put_rows(rows_of((5, simhash)), timestamp=1)

    assert found_by(store, 5) == [(5, simhash) for simhash in simhashes]


@pytest.mark.parametrize(("limit", "kept", "truncated"), [(1, 1, [9]), (3, 3, [9]), (4, 4, []), (5, 4, [])])
def test_a_prefix_with_more_rows_than_the_limit_is_cut_and_named(store, limit, kept, truncated):
    store.put_rows(rows_of((8, 1), (9, 10), (9, 20), (9, 30), (9, LAST_SIMHASH), (10, 1)), timestamp=1)

    found = store.scan(uint64s(8, 9, 10), limit=limit)

    of_nine = [simhash for prefix, simhash in pairs_of(found.rows) if prefix == 9]
    assert of_nine == [10, 20, 30, LAST_SIMHASH][:kept]
    assert found.truncated.tolist() == truncated
    assert len(found.rows.prefixes) == kept + 2


def test_every_prefix_above_the_limit_is_named_in_order(store):
    store.put_rows(rows_of(*((prefix, simhash) for prefix in range(20) for simhash in range(prefix))), timestamp=1)

    found = store.scan(uint64s(*range(20)), limit=16)

    assert found.truncated.tolist() == [17, 18, 19]
    assert pairs_of(found.rows) == [(p, s) for p in range(20) for s in range(min(p, 16))]


def test_a_row_written_twice_is_one_row(store):
    store.put_rows(rows_of((5, 1), (6, 2)), timestamp=1)
    store.put_rows(rows_of((5, 1), (5, 2), (6, 2)), timestamp=2)

    assert all_pairs(store) == [(5, 1), (5, 2), (6, 2)]
    assert store.scan(uint64s(5), limit=2).truncated.tolist() == []


def test_deleted_rows_are_gone_and_their_neighbours_stay(store):
    store.put_rows(rows_of(*EDGES), timestamp=1)
    store.delete_rows(rows_of(EDGES[0], EDGES[-1], (3, 3)), timestamp=2)

    assert all_pairs(store) == EDGES[1:-1]


@pytest.mark.parametrize("page", [1, 2, 3, 8, 9])
def test_a_range_read_in_pages_gives_each_row_once_in_order(store, page):
    store.put_rows(rows_of(*EDGES), timestamp=1)

    pages = [pairs_of(rows) for rows in store.scan_range(0, 1 << 40, page=page)]

    assert [pair for rows in pages for pair in rows] == EDGES
    assert {1 <= len(rows) <= page for rows in pages} == {True}


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 1), (1, 1), (1, 256), (255, 256), (257, LAST_PREFIX), (LAST_PREFIX, LAST_PREFIX + 1)]
)
def test_a_range_is_half_open(store, start, stop):
    store.put_rows(rows_of(*EDGES), timestamp=1)

    assert all_pairs(store, start, stop, page=2) == [pair for pair in EDGES if start <= pair[0] < stop]


def test_rows_can_be_deleted_while_their_range_is_read(store):
    store.put_rows(rows_of(*((7, simhash) for simhash in range(50))), timestamp=1)

    seen = []
    for rows in store.scan_range(0, 1 << 40, page=4):
        seen += pairs_of(rows)
        store.delete_rows(rows, timestamp=2)

    assert seen == [(7, simhash) for simhash in range(50)]
    assert all_pairs(store) == []


@pytest.mark.parametrize("number", [0, -1])
def test_limits_and_pages_below_one_are_refused(store, number):
    with pytest.raises(InvalidArgument, match="limit is"):
        store.scan(uint64s(1), limit=number)
    with pytest.raises(InvalidArgument, match="page is"):
        store.scan_range(0, 1, page=number)
    with pytest.raises(InvalidArgument, match="limit is"):
        store.get_rows("d", [b"row"], limit=number)
    with pytest.raises(InvalidArgument, match="page is"):
        store.scan_cells("d", b"", None, page=number)


def test_rows_are_told_from_their_neighbours_by_the_whole_key(store):
    there = [(0, 0), (7, 5), (7, LAST_SIMHASH), (8, 1), (LAST_PREFIX, LAST_SIMHASH)]
    asked = [(0, 0), (0, 1), (6, 5), (7, 4), (7, 5), (7, 6), (7, LAST_SIMHASH), (8, 0), (8, 1), (LAST_PREFIX, 0)]
    store.put_rows(rows_of(*there), timestamp=1)

    found = store.has_rows(rows_of(*asked))

    assert found.dtype == np.bool_
    assert found.tolist() == [pair in there for pair in asked]
    assert store.has_rows(rows_of()).tolist() == []


def test_many_rows_are_looked_up_at_once(store):
    chosen = np.random.default_rng(3)
    rows = block_rows(Scheme.parse("5x2"), chosen.integers(0, 1 << 64, 1_200, dtype=np.uint64))
    half = BlockRows(rows.prefixes[::2], rows.simhashes[::2])
    store.put_rows(half, timestamp=1)

    assert store.has_rows(rows).tolist() == [n % 2 == 0 for n in range(len(rows.prefixes))]
