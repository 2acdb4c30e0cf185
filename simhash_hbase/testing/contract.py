"""The contract of every store, as tests: block rows, cells and timestamps, compare-and-set, transactions, closing."""

import time
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pytest

from simhash_hbase.errors import IndexClosed, InvalidArgument
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import BlockRows, block_rows, document_row, id_digest
from simhash_hbase.stores.base import Cell, Swap, Transactional, atomically
from simhash_hbase.stores.columns import Columns, columns_of
from simhash_hbase.testing.rows import (
    LAST_PREFIX,
    LAST_SIMHASH,
    all_cells,
    all_pairs,
    found_by,
    pairs_of,
    rows_of,
    uint64s,
)

ROW, OTHER = document_row(id_digest("a")), document_row(id_digest("b"))
FIRST, LAST = b"\x00" * 13, b"\xff" * 13
EDGES = [
    (0, 0), (0, LAST_SIMHASH), (1, 0), (255, LAST_SIMHASH), (256, 0),
    (LAST_PREFIX - 1, LAST_SIMHASH), (LAST_PREFIX, 0), (LAST_PREFIX, LAST_SIMHASH),
]  # fmt: skip


def value(store, row=ROW):
    [cell] = store.get("d", [(row, b"s")])
    return None if cell is None else cell.value


def change_everything(store):
    store.put_rows(rows_of((1, 1), (2, 2)), timestamp=1)
    store.delete_rows(rows_of((9, 9)), timestamp=1)
    store.put("d", [Cell(b"new", b"s", b"v", 5), Cell(b"old", b"s", b"w", 6)])
    store.delete("d", [Cell(b"gone", b"s", b"", 9)])
    store.compare_and_set([Swap(b"swap", b"s", None, b"x")])


def fill(store):
    store.put_rows(rows_of((9, 9)), timestamp=1)
    store.put("d", [Cell(b"gone", b"s", b"v", 5), Cell(b"old", b"s", b"v", 5)])


def state(store):
    return all_pairs(store), [(cell.row, cell.value) for cell in all_cells(store)]


AFTER = ([(1, 1), (2, 2)], [(b"new", b"v"), (b"old", b"w"), (b"swap", b"x")])


class StoreContract:
    """Tests that every store must pass; a subclass has a fixture ``store``, an empty one that is closed at the end."""

    @pytest.fixture
    def edges(self, store):
        store.put_rows(rows_of(*EDGES), timestamp=1)
        return store

    def test_a_scan_finds_exactly_the_rows_of_its_prefix(self, edges):
        found = edges.scan(uint64s(0), limit=1)
        assert {array.dtype for array in (*found.rows, found.truncated)} == {np.dtype(np.uint64)}
        for prefix in {prefix for prefix, _ in EDGES}:
            assert found_by(edges, prefix) == [pair for pair in EDGES if pair[0] == prefix]

    def test_a_scan_of_many_prefixes_returns_sorted_rows_of_those_that_are_there(self, store):
        simhashes = np.random.default_rng(1).integers(0, 1 << 64, 500, dtype=np.uint64)
        rows = block_rows(Scheme(5, 2), simhashes)
        store.put_rows(rows, timestamp=1)
        wanted = np.unique(np.concatenate([rows.prefixes[::3], rows.prefixes[::3] + np.uint64(1 << 20)]))

        found = store.scan(wanted, limit=1000)

        present = np.isin(rows.prefixes, wanted)
        assert pairs_of(found.rows) == pairs_of(BlockRows(rows.prefixes[present], rows.simhashes[present]))

    def test_rows_come_in_numeric_order_whatever_the_order_of_writing(self, store):
        simhashes = [1 << bit for bit in range(64)]
        for simhash in simhashes[::-1]:
            store.put_rows(rows_of((5, simhash)), timestamp=1)

        assert found_by(store, 5) == [(5, simhash) for simhash in simhashes]

    @pytest.mark.parametrize("prefixes", [range(8, 11), range(20)], ids=["few", "many"])
    def test_each_prefix_that_the_limit_cuts_is_named_in_order(self, store, prefixes):
        ends = {prefix: [(prefix, LAST_SIMHASH - back) for back in range(prefix)][::-1] for prefix in range(20)}
        store.put_rows(rows_of(*(pair for pairs in ends.values() for pair in pairs)), timestamp=1)

        for limit in (1, 8, 9, 16):
            found = store.scan(uint64s(*prefixes), limit=limit)

            assert found.truncated.tolist() == [prefix for prefix in prefixes if prefix > limit]
            assert pairs_of(found.rows) == [pair for prefix in prefixes for pair in ends[prefix][:limit]]

    def test_a_row_written_twice_is_one_row(self, store):
        store.put_rows(rows_of((5, 1), (6, 2)), timestamp=1)
        store.put_rows(rows_of((5, 1), (5, 2), (6, 2)), timestamp=2)

        assert all_pairs(store) == [(5, 1), (5, 2), (6, 2)]
        assert store.scan(uint64s(5), limit=2).truncated.tolist() == []

    def test_a_delete_of_rows_spares_their_neighbours(self, edges):
        edges.delete_rows(rows_of(EDGES[0], EDGES[-1], (3, 3)), timestamp=2)

        assert all_pairs(edges) == EDGES[1:-1]

    def test_a_range_read_in_pages_gives_each_row_once_in_order(self, edges):
        for page in (1, 2, 3, 8, 9):
            pages = [pairs_of(rows) for rows in edges.scan_range(0, 1 << 40, page=page)]

            assert [pair for rows in pages for pair in rows] == EDGES
            assert all(1 <= len(rows) <= page for rows in pages)

    def test_a_range_is_half_open(self, edges):
        last = LAST_PREFIX
        for start, stop in ((0, 1), (1, 1), (1, 256), (255, 256), (257, last), (last, last + 1)):
            assert all_pairs(edges, start, stop, page=2) == [pair for pair in EDGES if start <= pair[0] < stop]

    @pytest.mark.parametrize("number", [0, -1])
    def test_limits_and_pages_below_one_are_refused(self, store, number):
        with pytest.raises(InvalidArgument, match="limit is"):
            store.scan(uint64s(1), limit=number)
        with pytest.raises(InvalidArgument, match="page is"):
            store.scan_range(0, 1, page=number)
        with pytest.raises(InvalidArgument, match="limit is"):
            store.get_rows("d", [b"row"], limit=number)
        with pytest.raises(InvalidArgument, match="page is"):
            store.scan_cells("d", b"", None, page=number)

    def test_rows_are_told_from_their_neighbours_by_the_whole_key(self, store):
        there = [(0, 0), (7, 5), (7, LAST_SIMHASH), (8, 1), (LAST_PREFIX, LAST_SIMHASH)]
        asked = [(0, 0), (0, 1), (6, 5), (7, 4), (7, 5), (7, 6), (7, LAST_SIMHASH), (8, 0), (8, 1), (LAST_PREFIX, 0)]
        store.put_rows(rows_of(*there), timestamp=1)

        found = store.has_rows(rows_of(*asked))

        assert found.dtype == np.bool_
        assert found.tolist() == [pair in there for pair in asked]
        assert store.has_rows(rows_of()).tolist() == []

    def test_many_rows_are_looked_up_at_once(self, store):
        simhashes = np.random.default_rng(3).integers(0, 1 << 64, 1_200, dtype=np.uint64)
        rows = block_rows(Scheme(5, 2), simhashes)
        store.put_rows(BlockRows(rows.prefixes[::2], rows.simhashes[::2]), timestamp=1)

        assert store.has_rows(rows).tolist() == [n % 2 == 0 for n in range(len(rows.prefixes))]

    @pytest.mark.parametrize(("family", "other"), [("d", "m"), ("m", "d")])
    def test_cells_read_back_as_written_an_empty_value_too(self, store, family, other):
        cells = [Cell(ROW, b"s", bytes(range(256)), 5), Cell(ROW, b"t", b"", 5)]
        store.put(family, cells)

        assert store.get(family, [(ROW, b"s"), (ROW, b"t")]) == cells
        assert all_cells(store, other) == []

    def test_get_answers_in_the_order_of_the_keys_with_none_and_repeats(self, store):
        one, two = Cell(ROW, b"s", b"1", 5), Cell(OTHER, b"s", b"2", 5)
        store.put("d", [one, two])

        found = store.get("d", [(OTHER, b"s"), (ROW, b"t"), (ROW, b"s"), (OTHER, b"s"), (LAST, b"s")])

        assert found == [two, None, one, two, None]
        assert store.get("d", []) == []

    def test_a_row_and_a_qualifier_are_not_only_their_concatenation(self, store):
        store.put("d", [Cell(b"row1", b"xy", b"1", 5)])

        assert store.get("d", [(b"row1x", b"y"), (b"row", b"1xy")]) == [None, None]
        assert store.get_rows("d", [b"row", b"row1x"], limit=9) == [[], []]

    def test_rows_can_be_read_as_columns_and_as_sequences(self, store):
        cells = [Cell(row, qualifier, row + qualifier, 5) for row in (ROW, OTHER) for qualifier in (b"a", b"b")]
        store.put("d", cells)

        rows = store.get_rows("d", [OTHER, LAST, ROW], limit=9)

        assert columns_of(rows) == Columns([2, 0, 2], *[[c.row + c.qualifier for c in cells[2:] + cells[:2]]] * 2)
        assert list(rows) == [cells[2:], [], cells[:2]] == [rows[0], rows[-2], rows[2]]
        assert rows[1:] == [[], cells[:2]]
        assert rows != [[], [], []]
        with pytest.raises(IndexError):
            rows[3]

    def test_rows_come_whole_up_to_the_limit_in_order_of_qualifiers(self, store):
        cells = [Cell(ROW, bytes([n]), b"v", 5) for n in (0, 127, 255)]
        store.put("d", [*cells[::-1], Cell(OTHER, b"s", b"v", 5)])

        for limit in (1, 2, 3, 4):
            found = store.get_rows("d", [LAST, ROW, FIRST, ROW], limit=limit)

            assert found == [[], cells[:limit], [], cells[:limit]]

    def test_a_row_is_read_on_behind_a_qualifier_in_order_up_to_the_limit(self, store):
        qualifiers = [b"\x00", b"'", b"a", b"a\x00", b"b", b"\xff"]
        cells = [Cell(ROW, qualifier, b"v", 5) for qualifier in qualifiers]
        neighbours = [Cell(row, b"a", b"other", 5) for row in (OTHER, FIRST, LAST, ROW + b"\x00", ROW[:-1])]
        store.put("d", [*cells[::-1], *neighbours])

        for after in (b"", b"\x00", b"'", b"a", b"a\x00", b"\xfe", b"\xff", b"\xff\xff"):
            for limit in (1, 2, 9):
                found = store.read_row("d", ROW, after=after, limit=limit)

                assert found == [cell for cell in cells if cell.qualifier > after][:limit]

    def test_the_highest_explicit_timestamp_wins_whatever_the_order_of_writing(self, store):
        for qualifier, order in ((b"a", [3, 5, 4]), (b"b", [5, 4, 3]), (b"c", [3, 4, 5])):
            for timestamp in order:
                store.put("d", [Cell(ROW, qualifier, b"at %d" % timestamp, timestamp)])

            assert store.get("d", [(ROW, qualifier)]) == [Cell(ROW, qualifier, b"at 5", 5)]

    def test_a_cell_that_the_clock_stamps_replaces_any_other(self, store):
        store.put("d", [Cell(ROW, b"s", b"one")])
        store.put("d", [Cell(ROW, b"s", b"two")])

        [cell] = store.get("d", [(ROW, b"s")])
        assert cell.value == b"two"
        assert cell.timestamp > 0

    def test_a_delete_takes_all_versions_up_to_its_timestamp(self, store):
        qualifiers = {4: b"q", 5: b"r", 6: b"s"}
        for stamp in (3, 4, 5):
            store.put("d", [Cell(ROW, qualifier, b"v", stamp) for qualifier in (*qualifiers.values(), b"t")])
        for upto, qualifier in qualifiers.items():
            store.delete("d", [Cell(ROW, qualifier, b"ignored", upto)])

        assert store.get_rows("d", [ROW], limit=9) == [[Cell(ROW, b"q", b"v", 5), Cell(ROW, b"t", b"v", 5)]]

    def test_a_range_read_in_pages_gives_each_cell_once_in_order_of_row_and_qualifier(self, store):
        wide = [Cell(b"b" * 8, b"%02d" % n, b"v", 5) for n in range(40)]
        first, second, last = ([Cell(row, q, b"v", 5) for q in (b"a", b"b")] for row in (FIRST, b"\x01" * 21, LAST))
        cells = [*first, *second, *wide, *last]
        store.put("m", cells[::-1])

        for page in (1, 2, 5, 16, 17, 100):
            pages = list(store.scan_cells("m", b"", None, page=page))

            assert [cell for found in pages for cell in found] == cells
            assert all(1 <= len(found) <= page for found in pages)

    def test_a_range_of_cells_is_half_open_by_row(self, store):
        store.put("d", [Cell(row, b"z", b"v", 5) for row in (FIRST, b"mid", LAST)])

        for start, stop, rows in (
            (FIRST, LAST, [FIRST, b"mid"]),
            (b"mid", None, [b"mid", LAST]),
            (b"mida", None, [LAST]),
            (b"", b"mid", [FIRST]),
            (b"", b"mida", [FIRST, b"mid"]),
            (b"mid", b"mid", []),
        ):
            assert [cell.row for cell in all_cells(store, "d", start, stop, page=1)] == rows

    def test_rows_and_cells_can_be_deleted_while_they_are_read(self, store):
        pairs, cells = [(7, simhash) for simhash in range(50)], [Cell(b"row%02d" % n, b"s", b"v", 5) for n in range(30)]
        store.put_rows(rows_of(*pairs), timestamp=1)
        store.put("d", cells)

        seen_pairs, seen_cells = [], []
        for rows in store.scan_range(0, 1 << 40, page=4):
            seen_pairs += pairs_of(rows)
            store.delete_rows(rows, timestamp=2)
        for page in store.scan_cells("d", b"", None, page=4):
            seen_cells += page
            store.delete("d", page)

        assert (seen_pairs, seen_cells) == (pairs, cells)
        assert (all_pairs(store), all_cells(store)) == ([], [])

    def test_a_family_without_cells_and_a_delete_without_a_timestamp_are_refused(self, store):
        for family in ("b", "x", ""):
            with pytest.raises(InvalidArgument, match="family"):
                store.put(family, [Cell(ROW, b"s", b"v", 5)])
            with pytest.raises(InvalidArgument, match="family"):
                store.get(family, [(ROW, b"s")])
        with pytest.raises(InvalidArgument, match="needs a timestamp"):
            store.delete("d", [Cell(ROW, b"s", b"")])

    def test_a_swap_needs_the_whole_expected_value(self, store):
        swaps = [(b"one", b"two"), (None, b"one"), (None, b"other"), (b"on", b"other"), (b"one", b"two")]

        answers = [store.compare_and_set([Swap(ROW, b"s", expected, new)]) for expected, new in swaps]

        assert answers == [[False], [True], [False], [False], [True]]
        assert value(store) == b"two"

    def test_swaps_of_one_call_are_made_each_by_itself_in_order(self, store):
        chain = [Swap(ROW, b"s", None, b"1"), Swap(OTHER, b"s", b"x", b"y"), Swap(ROW, b"s", b"1", b"2")]

        assert store.compare_and_set(chain) == [True, False, True]
        assert (value(store), value(store, OTHER)) == (b"2", None)

    def test_an_empty_value_and_none_are_different_expectations(self, store):
        store.put("d", [Cell(ROW, b"s", b"", 5)])

        assert store.compare_and_set([Swap(ROW, b"s", None, b"x")]) == [False]
        assert store.compare_and_set([Swap(ROW, b"s", b"", b"x")]) == [True]

    def test_a_swap_is_read_although_the_clock_of_the_cell_was_ahead(self, store):
        """HBase stamps a swap at the clock or at the stamp of the cell, so both can have one millisecond."""
        ahead = (time.time_ns() // 1_000_000) + 7_200_000
        store.put("d", [Cell(ROW, b"s", b"one", ahead)])
        assert store.compare_and_set([Swap(ROW, b"s", b"one", b"two")]) == [True]

        [after] = store.get("d", [(ROW, b"s")])
        assert (after.value, after.timestamp >= ahead) == (b"two", True)

    def test_size_counts_where_counting_is_cheap(self, store):
        store.put("d", [Cell(ROW, b"s", b"v", 5), Cell(ROW, b"t", b"v", 5)])

        assert store.size().rows in (None, {"b": 0, "d": 2, "m": 0})

    def test_a_store_is_not_reached_after_it_was_closed_twice(self, store):
        assert ":" in store.url
        store.close()
        store.close()

        if store.url != "memory:":
            with pytest.raises(IndexClosed, match="was closed"):
                store.get("d", [(b"row12345", b"s")])


class TransactionContract:
    """Tests that a store with transactions must pass, a `Transactional`; the fixture is that of `StoreContract`."""

    @pytest.fixture
    def transactional_store(self, store):
        """Return the fixture ``store`` after a check that it has transactions."""
        assert isinstance(store, Transactional)
        return store

    def test_what_a_transaction_wrote_is_seen_inside_before_it_is_kept(self, transactional_store):
        fill(transactional_store)
        with atomically(transactional_store):
            change_everything(transactional_store)
            assert state(transactional_store) == AFTER

        assert state(transactional_store) == AFTER

    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, FileNotFoundError])
    def test_an_exception_that_is_passed_on_takes_back_everything(self, transactional_store, error):
        fill(transactional_store)
        before = state(transactional_store)

        def change_and_fail():
            change_everything(transactional_store)
            raise error

        with pytest.raises(error), transactional_store.transaction():
            change_and_fail()

        assert state(transactional_store) == before
        transactional_store.put_rows(rows_of((3, 3)), timestamp=1)
        assert found_by(transactional_store, 3) == [(3, 3)]

    def test_transactions_do_not_nest(self, transactional_store):
        with transactional_store.transaction():
            transactional_store.put_rows(rows_of((1, 1)), timestamp=1)
            with pytest.raises(InvalidArgument, match="nest"), transactional_store.transaction():
                pass

        assert all_pairs(transactional_store) == [(1, 1)]

    def test_another_thread_never_sees_a_transaction_half_done(self, transactional_store):
        with ThreadPoolExecutor(1) as threads, transactional_store.transaction():
            transactional_store.put_rows(rows_of((1, 1)), timestamp=1)
            look = threads.submit(lambda: [len(found_by(transactional_store, 1)) for _ in range(20)])
            wait([look], timeout=0.05)
            transactional_store.put_rows(rows_of((1, 2)), timestamp=1)

        assert set(look.result()) <= {0, 2}

    def test_another_thread_waits_to_write(self, transactional_store):
        order = []

        def write():
            transactional_store.put_rows(rows_of((1, 2)), timestamp=1)
            order.append("other")

        with ThreadPoolExecutor(1) as threads, transactional_store.transaction():
            wait([threads.submit(write)], timeout=0.05)
            order.append("transaction")

        assert order == ["transaction", "other"]
