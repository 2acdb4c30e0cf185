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


@pytest.fixture
def edges(store):
    """Return a store with a row at each edge."""
    store.put_rows(rows_of(*EDGES), timestamp=1)
    return store


def test_a_scan_finds_all_rows_of_its_prefix_to_the_last_key_and_no_other_as_unsigned_numbers(edges):
    found = edges.scan(uint64s(0), limit=1)
    assert {array.dtype for array in (*found.rows, found.truncated)} == {np.dtype(np.uint64)}
    for prefix in {prefix for prefix, _ in EDGES}:
        assert found_by(edges, prefix) == [pair for pair in EDGES if pair[0] == prefix]


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


@pytest.mark.parametrize("prefixes", [range(8, 11), range(20)], ids=["few", "many"])
def test_every_prefix_with_more_rows_than_the_limit_is_cut_and_named_in_order(store, prefixes):
    ends = {prefix: [(prefix, LAST_SIMHASH - back) for back in range(prefix)][::-1] for prefix in range(20)}
    store.put_rows(rows_of(*(pair for pairs in ends.values() for pair in pairs)), timestamp=1)

    for limit in (1, 8, 9, 16):
        found = store.scan(uint64s(*prefixes), limit=limit)

        assert found.truncated.tolist() == [prefix for prefix in prefixes if prefix > limit]
        assert pairs_of(found.rows) == [pair for prefix in prefixes for pair in ends[prefix][:limit]]


def test_a_row_written_twice_is_one_row(store):
    store.put_rows(rows_of((5, 1), (6, 2)), timestamp=1)
    store.put_rows(rows_of((5, 1), (5, 2), (6, 2)), timestamp=2)

    assert all_pairs(store) == [(5, 1), (5, 2), (6, 2)]
    assert store.scan(uint64s(5), limit=2).truncated.tolist() == []


def test_deleted_rows_are_gone_and_their_neighbours_stay(edges):
    edges.delete_rows(rows_of(EDGES[0], EDGES[-1], (3, 3)), timestamp=2)

    assert all_pairs(edges) == EDGES[1:-1]


def test_a_range_read_in_pages_gives_each_row_once_in_order(edges):
    for page in (1, 2, 3, 8, 9):
        pages = [pairs_of(rows) for rows in edges.scan_range(0, 1 << 40, page=page)]

        assert [pair for rows in pages for pair in rows] == EDGES
        assert all(1 <= len(rows) <= page for rows in pages)


def test_a_range_is_half_open(edges):
    last = LAST_PREFIX
    for start, stop in ((0, 1), (1, 1), (1, 256), (255, 256), (257, last), (last, last + 1)):
        assert all_pairs(edges, start, stop, page=2) == [pair for pair in EDGES if start <= pair[0] < stop]


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
    simhashes = np.random.default_rng(3).integers(0, 1 << 64, 1_200, dtype=np.uint64)
    rows = block_rows(Scheme(5, 2), simhashes)
    store.put_rows(BlockRows(rows.prefixes[::2], rows.simhashes[::2]), timestamp=1)

    assert store.has_rows(rows).tolist() == [n % 2 == 0 for n in range(len(rows.prefixes))]
