"""The contract of every store: cells, their timestamps, compare-and-set, and the end."""

import time

import pytest
from support.rows import all_cells

from simhash_hbase.errors import IndexClosed, InvalidArgument
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


def value(store, row=ROW, qualifier=b"s"):
    [cell] = store.get("d", [(row, qualifier)])
    return None if cell is None else cell.value


@pytest.mark.parametrize(("family", "other"), [("d", "m"), ("m", "d")])
def test_cells_read_back_as_written_an_empty_value_too(store, family, other):
    cells = [Cell(ROW, b"s", bytes(range(256)), 5), Cell(ROW, b"t", b"", 5)]
    store.put(family, cells)

    assert store.get(family, [(ROW, b"s"), (ROW, b"t")]) == cells
    assert all_cells(store, other) == []


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


def test_rows_come_whole_up_to_the_limit_in_order_of_qualifiers(store):
    cells = [Cell(ROW, bytes([n]), b"v", 5) for n in (0, 127, 255)]
    store.put("d", [*cells[::-1], Cell(OTHER, b"s", b"v", 5)])

    for limit in (1, 2, 3, 4):
        found = store.get_rows("d", [LAST, ROW, FIRST, ROW], limit=limit)

        assert found == [[], cells[:limit], [], cells[:limit]]


def test_a_row_is_read_on_behind_a_qualifier_in_order_up_to_the_limit(store):
    qualifiers = [b"\x00", b"'", b"a", b"a\x00", b"b", b"\xff"]
    cells = [Cell(ROW, qualifier, b"v", 5) for qualifier in qualifiers]
    neighbours = [Cell(row, b"a", b"other", 5) for row in (OTHER, FIRST, LAST, ROW + b"\x00", ROW[:-1])]
    store.put("d", [*cells[::-1], *neighbours])

    for after in (b"", b"\x00", b"'", b"a", b"a\x00", b"\xfe", b"\xff", b"\xff\xff"):
        for limit in (1, 2, 9):
            found = store.read_row("d", ROW, after=after, limit=limit)

            assert found == [cell for cell in cells if cell.qualifier > after][:limit]


def test_the_highest_explicit_timestamp_wins_whatever_the_order_of_writing(store):
    for qualifier, order in ((b"a", [3, 5, 4]), (b"b", [5, 4, 3]), (b"c", [3, 4, 5])):
        for timestamp in order:
            store.put("d", [Cell(ROW, qualifier, b"at %d" % timestamp, timestamp)])

        assert store.get("d", [(ROW, qualifier)]) == [Cell(ROW, qualifier, b"at 5", 5)]


def test_a_cell_without_a_timestamp_is_stamped_by_the_clock_and_replaces_what_is_there(store):
    store.put("d", [Cell(ROW, b"s", b"one")])
    store.put("d", [Cell(ROW, b"s", b"two")])

    [cell] = store.get("d", [(ROW, b"s")])
    assert cell.value == b"two"
    assert cell.timestamp > 0


def test_a_stamp_is_higher_than_the_one_before_even_when_the_clock_stands_or_runs_back(store, clock):
    stamps = []
    for now in (clock.now, clock.now, clock.now - 1000):
        clock.now = now
        store.put("d", [Cell(ROW, b"s", b"v")])
        stamps.append(store.get("d", [(ROW, b"s")])[0].timestamp)

    assert stamps == [1_000_000, 1_000_001, 1_000_002]


def test_a_delete_takes_what_was_written_up_to_its_timestamp(store):
    qualifiers = {4: b"q", 5: b"r", 6: b"s"}
    store.put("d", [*(Cell(ROW, qualifier, b"v", 5) for qualifier in qualifiers.values()), Cell(ROW, b"t", b"w", 1)])
    for upto, qualifier in qualifiers.items():
        store.delete("d", [Cell(ROW, qualifier, b"ignored", upto)])

    assert [value(store, qualifier=qualifier) for qualifier in (b"q", b"r", b"s", b"t")] == [b"v", None, None, b"w"]


def test_a_delete_takes_all_versions(store):
    for timestamp in (3, 4, 5):
        store.put("d", [Cell(ROW, b"s", b"v", timestamp)])
    store.delete("d", [Cell(ROW, b"s", b"", 5)])

    assert store.get_rows("d", [ROW], limit=9) == [[]]


def test_a_range_read_in_pages_gives_each_cell_once_in_order_of_row_and_qualifier(store):
    wide = [Cell(b"b" * 8, b"%02d" % n, b"v", 5) for n in range(40)]
    first, second, last = ([Cell(row, q, b"v", 5) for q in (b"a", b"b")] for row in (FIRST, b"\x01" * 21, LAST))
    cells = [*first, *second, *wide, *last]
    store.put("m", cells[::-1])

    for page in (1, 2, 5, 16, 17, 100):
        pages = list(store.scan_cells("m", b"", None, page=page))

        assert [cell for found in pages for cell in found] == cells
        assert all(1 <= len(found) <= page for found in pages)


def test_a_range_of_cells_is_half_open_by_row(store):
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


def test_cells_can_be_deleted_while_they_are_read(store):
    store.put("d", [Cell(b"row%02d" % n, b"s", b"v", 5) for n in range(30)])

    seen = []
    for cells in store.scan_cells("d", b"", None, page=4):
        seen += cells
        store.delete("d", cells)

    assert len(seen) == 30
    assert all_cells(store) == []


def test_a_family_without_cells_and_a_delete_without_a_timestamp_are_refused(store):
    for family in ("b", "x", ""):
        with pytest.raises(InvalidArgument, match="family"):
            store.put(family, [Cell(ROW, b"s", b"v", 5)])
        with pytest.raises(InvalidArgument, match="family"):
            store.get(family, [(ROW, b"s")])
    with pytest.raises(InvalidArgument, match="needs a timestamp"):
        store.delete("d", [Cell(ROW, b"s", b"")])


def test_a_swap_needs_the_whole_expected_value(swapping_store):
    swaps = [(b"one", b"two"), (None, b"one"), (None, b"other"), (b"on", b"other"), (b"one", b"two")]

    answers = [swapping_store.compare_and_set([Swap(ROW, b"s", expected, new)]) for expected, new in swaps]

    assert answers == [[False], [True], [False], [False], [True]]
    assert value(swapping_store) == b"two"


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

    assert store.size().rows in (None, {"b": 0, "d": 2, "m": 0})


def test_a_store_has_an_address_can_be_closed_twice_and_is_not_reached_afterwards(store):
    assert ":" in store.url
    store.close()
    store.close()

    if store.url != "memory:":
        with pytest.raises(IndexClosed, match="was closed"):
            store.get("d", [(b"row12345", b"s")])
