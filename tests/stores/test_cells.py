"""The contract of every store: cells, their timestamps, and compare-and-set."""

import time

import pytest
from support.rows import all_cells

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows.keys import document_row, id_digest
from simhash_hbase.stores.base import Cell, CompareAndSet, Swap
from simhash_hbase.stores.columns import Columns, columns_of

ROW, OTHER = document_row(id_digest("a")), document_row(id_digest("b"))
FIRST, LAST = b"\x00" * 13, b"\xff" * 13


@pytest.fixture
def swapping_store(store):
    """Return a store with compare-and-set; see `conftest.LACKS`."""
    assert isinstance(store, CompareAndSet)
    return store


def value(store, row=ROW, qualifier=b"s", family="d"):
    [cell] = store.get(family, [(row, qualifier)])
    return None if cell is None else cell.value


@pytest.mark.parametrize("family", ["d", "m"])
def test_a_cell_reads_back_as_written(store, family):
    cell = Cell(ROW, b"s", bytes(range(256)), 5)
    store.put(family, [cell])

    assert store.get(family, [(ROW, b"s")]) == [cell]
    assert all_cells(store, "m" if family == "d" else "d") == []


def test_an_empty_value_is_not_an_absent_one(store):
    store.put("d", [Cell(ROW, b"s", b"", 5)])

    assert store.get("d", [(ROW, b"s")]) == [Cell(ROW, b"s", b"", 5)]


def test_get_answers_in_the_order_of_the_keys_with_none_and_repeats(store):
    one, two = Cell(ROW, b"s", b"1", 5), Cell(OTHER, b"s", b"2", 5)
    store.put("d", [one, two])

    found = store.get("d", [(OTHER, b"s"), (ROW, b"t"), (ROW, b"s"), (OTHER, b"s"), (LAST, b"s")])

    assert found == [two, None, one, two, None]
    assert store.get("d", []) == []


def test_a_row_and_a_qualifier_are_not_only_their_concatenation(store):
    store.put("d", [Cell(b"row1", b"xy", b"1", 5)])

    assert store.get("d", [(b"row1x", b"y"), (b"row", b"1xy")]) == [None, None]
    assert store.get_rows("d", [b"row", b"row1x"], limit=9) == [[], []]


def test_rows_can_be_read_as_columns_and_as_sequences(store):
    cells = [Cell(row, qualifier, row + qualifier, 5) for row in (ROW, OTHER) for qualifier in (b"a", b"b")]
    store.put("d", cells)

    rows = store.get_rows("d", [OTHER, LAST, ROW], limit=9)

    assert columns_of(rows) == Columns([2, 0, 2], *[[c.row + c.qualifier for c in cells[2:] + cells[:2]]] * 2)
    assert list(rows) == [cells[2:], [], cells[:2]] == [rows[0], rows[-2], rows[2]]
    assert rows[1:] == [[], cells[:2]]
    assert rows != [[], [], []]
    with pytest.raises(IndexError):
        rows[3]


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_rows_come_whole_up_to_the_limit_in_order_of_qualifiers(store, limit):
    cells = [Cell(ROW, bytes([n]), b"v", 5) for n in (0, 127, 255)]
    store.put("d", [*cells[::-1], Cell(OTHER, b"s", b"v", 5)])

    found = store.get_rows("d", [LAST, ROW, FIRST, ROW], limit=limit)

    assert found == [[], cells[:limit], [], cells[:limit]]


@pytest.mark.parametrize("limit", [1, 2, 9])
@pytest.mark.parametrize("after", [b"", b"\x00", b"'", b"a", b"a\x00", b"\xfe", b"\xff", b"\xff\xff"])
def test_a_row_is_read_on_behind_a_qualifier_in_order_up_to_the_limit(store, after, limit):
    qualifiers = [b"\x00", b"'", b"a", b"a\x00", b"b", b"\xff"]
    cells = [Cell(ROW, qualifier, b"v", 5) for qualifier in qualifiers]
    neighbours = [Cell(row, b"a", b"other", 5) for row in (OTHER, FIRST, LAST, ROW + b"\x00", ROW[:-1])]
    store.put("d", [*cells[::-1], *neighbours])

    found = store.read_row("d", ROW, after=after, limit=limit)

    assert found == [cell for cell in cells if cell.qualifier > after][:limit]


@pytest.mark.parametrize("order", [[3, 5, 4], [5, 4, 3], [3, 4, 5]])
def test_the_highest_explicit_timestamp_wins_whatever_the_order_of_writing(store, order):
    for timestamp in order:
        store.put("d", [Cell(ROW, b"s", b"at %d" % timestamp, timestamp)])

    assert store.get("d", [(ROW, b"s")]) == [Cell(ROW, b"s", b"at 5", 5)]


def test_a_cell_without_a_timestamp_is_stamped_by_the_clock_and_replaces_what_is_there(store):
    store.put("d", [Cell(ROW, b"s", b"one")])
    store.put("d", [Cell(ROW, b"s", b"two")])

    [cell] = store.get("d", [(ROW, b"s")])
    assert cell.value == b"two"
    assert cell.timestamp > 0


def test_a_stamp_is_higher_than_the_one_before_even_when_the_clock_stands_or_runs_back(make_store, clock):
    store = make_store()
    stamps = []
    for now in (clock.now, clock.now, clock.now - 1000):
        clock.now = now
        store.put("d", [Cell(ROW, b"s", b"v")])
        stamps.append(store.get("d", [(ROW, b"s")])[0].timestamp)

    assert stamps == [1_000_000, 1_000_001, 1_000_002]


@pytest.mark.parametrize(("upto", "left"), [(4, b"v"), (5, None), (6, None)])
def test_a_delete_takes_what_was_written_up_to_its_timestamp(store, upto, left):
    store.put("d", [Cell(ROW, b"s", b"v", 5), Cell(ROW, b"t", b"w", 1)])
    store.delete("d", [Cell(ROW, b"s", b"ignored", upto)])

    assert value(store) == left
    assert value(store, qualifier=b"t") == b"w"


def test_a_delete_takes_all_versions(store):
    for timestamp in (3, 4, 5):
        store.put("d", [Cell(ROW, b"s", b"v", timestamp)])
    store.delete("d", [Cell(ROW, b"s", b"", 5)])

    assert store.get_rows("d", [ROW], limit=9) == [[]]


def test_a_delete_without_a_timestamp_is_refused(store):
    with pytest.raises(InvalidArgument, match="needs a timestamp"):
        store.delete("d", [Cell(ROW, b"s", b"")])


@pytest.mark.parametrize("page", [1, 2, 5, 6])
def test_cells_read_in_pages_come_once_in_order_of_row_and_qualifier(store, page):
    cells = [Cell(row, q, b"v", 5) for row in (FIRST, b"\x01" * 21, LAST) for q in (b"a", b"b")]
    store.put("d", cells[::-1])

    pages = list(store.scan_cells("d", b"", None, page=page))

    assert [cell for found in pages for cell in found] == cells
    assert {1 <= len(found) <= page for found in pages} == {True}


@pytest.mark.parametrize(
    ("start", "stop", "rows"),
    [(FIRST, LAST, [FIRST, b"mid"]), (b"mid", None, [b"mid", LAST]), (b"mida", None, [LAST]), (b"", b"mid", [FIRST]),
     (b"", b"mida", [FIRST, b"mid"]), (b"mid", b"mid", [])],
)  # fmt: skip
def test_a_range_of_cells_is_half_open_by_row(store, start, stop, rows):
    store.put("d", [Cell(row, b"z", b"v", 5) for row in (FIRST, b"mid", LAST)])

    assert [cell.row for cell in all_cells(store, "d", start, stop, page=1)] == rows


def test_cells_can_be_deleted_while_they_are_read(store):
    store.put("d", [Cell(b"row%02d" % n, b"s", b"v", 5) for n in range(30)])

    seen = []
    for cells in store.scan_cells("d", b"", None, page=4):
        seen += cells
        store.delete("d", cells)

    assert len(seen) == 30
    assert all_cells(store) == []


@pytest.mark.parametrize("family", ["b", "x", ""])
def test_a_family_without_cells_is_refused(store, family):
    with pytest.raises(InvalidArgument, match="family"):
        store.put(family, [Cell(ROW, b"s", b"v", 5)])
    with pytest.raises(InvalidArgument, match="family"):
        store.get(family, [(ROW, b"s")])


def test_a_swap_needs_the_whole_expected_value(swapping_store):
    store = swapping_store

    answers = [
        store.compare_and_set([Swap(ROW, b"s", b"one", b"two")]),
        store.compare_and_set([Swap(ROW, b"s", None, b"one")]),
        store.compare_and_set([Swap(ROW, b"s", None, b"other")]),
        store.compare_and_set([Swap(ROW, b"s", b"on", b"other")]),
        store.compare_and_set([Swap(ROW, b"s", b"one", b"two")]),
    ]

    assert answers == [[False], [True], [False], [False], [True]]
    assert value(store) == b"two"


def test_swaps_of_one_call_are_made_each_by_itself_in_order(swapping_store):
    chain = [Swap(ROW, b"s", None, b"1"), Swap(OTHER, b"s", b"x", b"y"), Swap(ROW, b"s", b"1", b"2")]

    assert swapping_store.compare_and_set(chain) == [True, False, True]
    assert (value(swapping_store), value(swapping_store, OTHER)) == (b"2", None)


def test_an_empty_value_and_none_are_different_expectations(swapping_store):
    swapping_store.put("d", [Cell(ROW, b"s", b"", 5)])

    assert swapping_store.compare_and_set([Swap(ROW, b"s", None, b"x")]) == [False]
    assert swapping_store.compare_and_set([Swap(ROW, b"s", b"", b"x")]) == [True]


def test_a_swap_is_read_although_the_clock_of_the_cell_was_ahead(swapping_store):
    """HBase stamps a swap at the clock or at the stamp of the cell, so both can have one millisecond."""
    ahead = (time.time_ns() // 1_000_000) + 7_200_000
    swapping_store.put("d", [Cell(ROW, b"s", b"one", ahead)])
    assert swapping_store.compare_and_set([Swap(ROW, b"s", b"one", b"two")]) == [True]

    [after] = swapping_store.get("d", [(ROW, b"s")])
    assert (after.value, after.timestamp >= ahead) == (b"two", True)


def test_size_counts_where_counting_is_cheap(store):
    store.put("d", [Cell(ROW, b"s", b"v", 5), Cell(ROW, b"t", b"v", 5)])

    rows = store.size().rows

    assert rows is None or rows == {"b": 0, "d": 2, "m": 0}


def test_a_store_can_be_closed_twice_and_has_an_address(make_store):
    store = make_store()
    assert ":" in store.url
    store.close()

    store.close()


@pytest.mark.parametrize("page", [1, 2, 16, 17, 100])
def test_a_wide_row_in_the_middle_of_a_range_is_read_whole(store, page):
    wide = [Cell(b"b" * 8, b"%02d" % n, b"v", 5) for n in range(40)]
    cells = [Cell(b"a" * 8, b"q", b"v", 5), *wide, Cell(b"c" * 8, b"q", b"v", 5)]
    store.put("m", cells)

    found = list(store.scan_cells("m", b"", None, page=page))

    assert [cell for part in found for cell in part] == cells
    assert max(map(len, found)) <= page
