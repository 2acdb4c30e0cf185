"""Many rows of cells are read by one scan of ranges, and answer as rows that are read one by one."""

import random
from bisect import bisect_right
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores.test_hbase_paging import fields_of
from support.hbase_server import hbase_options, tables

from simhash_hbase.rows.keys import member_rows
from simhash_hbase.rows.table import TableSchema
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.columns import CellRows, columns_of
from simhash_hbase.stores.hbase import HBaseStore, reader
from simhash_hbase.stores.hbase.reader import HBaseReader, Regions, by_region, in_one_region
from simhash_hbase.stores.hbase.thrift.exchange import Exchange
from simhash_hbase.stores.hbase.thrift.thrift2 import Thrift2, rows_filter
from simhash_hbase.stores.hbase.thrift.wire import GatewayConnection
from simhash_hbase.stores.memory import MemoryStore

FEW, MANY = 3, 6


@pytest.mark.parametrize("limit", [1, 100, 127, 128, 2_000])
@pytest.mark.parametrize("count", [1, 2, 30])
def test_a_filter_names_each_row_and_the_limit_of_its_cells(count, limit):
    rows = [bytes([number]) * 13 for number in range(count)]

    [(_, name), (_, listed)] = fields_of(rows_filter(rows, limit))
    (_, every), (_, ranges), (_, first) = fields_of(listed)

    assert (name, every) == (b"org.apache.hadoop.hbase.filter.FilterList", 1)
    [(_, name), (_, ranges)] = fields_of(ranges)
    assert name == b"org.apache.hadoop.hbase.filter.MultiRowRangeFilter"
    assert [fields_of(part) for _, part in fields_of(ranges)] == [
        [(1, row), (2, 1), (3, row + b"\0"), (4, 0)] for row in rows
    ]
    [(_, name), (_, limits)] = fields_of(first)
    assert (name, fields_of(limits)) == (b"org.apache.hadoop.hbase.filter.ColumnPaginationFilter", [(1, limit), (2, 0)])


def cells_of(row, count):
    return [Cell(row, b"%03d" % number, b"v%d" % number, number) for number in range(count)]


def test_rows_take_other_cells():
    names = [b"a", b"bc", b"d", b"e"]
    found = [cells_of(row, count) for row, count in zip(names, (2, 0, 1, 3), strict=True)]
    rows = CellRows.of(names, [found[0][:1], cells_of(b"bc", 1), [], found[3]])

    whole = rows.replaced({2: found[2], 1: [], 0: found[0]})

    assert whole == found
    assert columns_of(whole) == columns_of(found)
    assert rows == [found[0][:1], cells_of(b"bc", 1), [], found[3]]


@given(st.sets(st.binary(max_size=2)), st.sets(st.binary(min_size=1, max_size=2)), st.integers(1, 4))
def test_rows_are_split_so_that_each_region_with_many_has_its_own(rows, starts, many):
    rows, starts = sorted(rows), [b"", *sorted(starts)]

    parts = list(by_region(rows, starts, many))

    assert [row for part in parts for row in part] == rows
    at_home = Counter(bisect_right(starts, row) for row in rows)
    crowded = sum(count >= many for count in at_home.values())
    assert sum(len(part) >= many and in_one_region(part, starts) for part in parts) == crowded
    assert len(parts) <= 2 * crowded + 1


class Changing(Exchange):
    """Answers for one row, which changes after the first call; holds conversations, too."""

    rows_per_get = 2_000
    scanned_rows = 2

    def __init__(self, qualifiers, change):
        self.qualifiers = set(qualifiers)
        self.change = change
        self.limits = []

    def get_rows(self, family, rows, limit, *, scan=False):
        self.limits.append(limit)
        found = [[Cell(row, name, b"v", 1) for name in sorted(self.qualifiers)[:limit]] for row in rows]
        if len(self.limits) == 1:
            self.change(self.qualifiers)
        return CellRows.of(rows, found)
        yield

    def row_tail(self, family, row, after, limit, *, walk=False):
        return [Cell(row, name, b"v", 1) for name in sorted(self.qualifiers) if name > after][:limit]
        yield

    def hold(self, tasks, **_):
        return [self.one(task) for task in tasks]

    def one(self, task, **_):
        try:
            next(task())
        except StopIteration as done:
            return done.value


NAMES = [b"%04d" % number for number in range(20)]
ONE_REGION = Regions(lambda: [b""])


@pytest.mark.parametrize("limit", [FEW + 1, MANY, MANY + 1, 1_000])
@pytest.mark.parametrize(
    "change", [lambda names: names.add(b"0000x"), lambda names: names.discard(b"0000")], ids=["written", "deleted"]
)
@pytest.mark.parametrize("count", [1, 50])
def test_a_wide_row_that_changes_while_it_is_read_loses_and_repeats_nothing(monkeypatch, change, limit, count):
    for name, size in (("FEW_CELLS", FEW), ("MANY_CELLS", MANY), ("REPLY_CELLS", 10)):
        monkeypatch.setattr(reader, name, size)
    rows = [b"%04d" % number for number in range(count)]
    store = Changing(NAMES, change)

    found = HBaseReader(store, store, ONE_REGION).rows("d", rows, limit)

    for row in found:
        names = [cell.qualifier for cell in row]
        assert names == sorted(set(names))
        assert set(NAMES[1:limit]) <= {*names, *NAMES[len(names) - 1 :]}
        assert len(names) == min(limit, len(NAMES) + (len(names) > len(NAMES)) - (names[0] != NAMES[0]))


@pytest.mark.parametrize(("count", "limits"), [(10, [1_000]), (11, [FEW, 1_000])])
def test_few_rows_are_read_up_to_the_limit_at_once(monkeypatch, count, limits):
    for name, size in (("FEW_CELLS", FEW), ("REPLY_CELLS", 1_000)):
        monkeypatch.setattr(reader, name, size)
    store = Changing(NAMES, lambda _: None)

    rows = [b"%04d" % number for number in range(count)]
    HBaseReader(store, store, ONE_REGION).rows("d", rows, 1_000)

    assert list(dict.fromkeys(store.limits)) == limits


@pytest.fixture
def wide_store():
    """A table of seven regions, through Thrift 2."""
    made = HBaseStore.create(hbase_options(2, tables().name()), TableSchema(regions=7))
    yield made
    made.close()


@pytest.fixture
def methods(monkeypatch):
    """Note the calls that are made."""
    made = []
    write = GatewayConnection.write
    monkeypatch.setattr(
        GatewayConnection,
        "write",
        lambda connection, calls: made.extend(call.method for call in calls) or write(connection, calls),
    )
    return made


@pytest.fixture
def filled(wide_store, monkeypatch):
    """Fill a table with rows of 0 to 9 cells, all over its regions, and with their neighbours."""
    monkeypatch.setattr(reader, "FEW_CELLS", FEW)
    monkeypatch.setattr(reader, "MANY_CELLS", MANY)
    monkeypatch.setattr(Thrift2, "scanned_rows", 2)
    simhashes = np.random.default_rng(7).integers(0, 1 << 64, 300, dtype=np.uint64)
    simhashes[:2] = 0, (1 << 64) - 1
    asked = member_rows(np.unique(simhashes))
    made = [cell for number, row in enumerate(asked) for cell in cells_of(row, number % 10)]
    others = [Cell(key, b"q", b"v", 1) for row in asked[::3] for key in (row + b"\0", row[:-1])]
    model = MemoryStore()
    for store in (model, wide_store):
        store.put("d", [*made, *others])
    return wide_store, model, asked


@pytest.mark.hbase
@pytest.mark.parametrize("limit", [1, FEW - 1, FEW, FEW + 1, MANY, MANY + 1, 9, 10, 1_000])
def test_scanned_rows_come_up_to_any_limit(filled, methods, limit):
    store, model, asked = filled

    assert store.get_rows("d", asked, limit=limit) == model.get_rows("d", asked, limit=limit)
    assert "getScannerResults" in methods


@pytest.mark.hbase
def test_rows_are_asked_for_in_any_order_and_more_than_once(filled):
    store, model, asked = filled
    asked = random.Random(3).choices(asked, k=400)

    assert store.get_rows("d", asked, limit=1_000) == model.get_rows("d", asked, limit=1_000)


@pytest.mark.hbase
@pytest.mark.parametrize(
    ("scanned", "wanted"), [(7, ["getScannerResults"] * 7), (200, ["getMultiple"]), (301, ["getMultiple"])]
)
def test_few_rows_of_a_region_are_read_one_by_one(filled, methods, monkeypatch, scanned, wanted):
    store, model, asked = filled
    monkeypatch.setattr(Thrift2, "scanned_rows", scanned)

    assert store.get_rows("d", asked, limit=FEW - 1) == model.get_rows("d", asked, limit=FEW - 1)
    assert [name for name in methods if name != "getAllRegionLocations"] == wanted


@pytest.mark.hbase
def test_rows_of_several_lengths_are_read_one_by_one(filled, methods):
    store, model, asked = filled
    asked = sorted([*asked, *(row + b"\0" for row in asked)])

    assert store.get_rows("d", asked, limit=9) == model.get_rows("d", asked, limit=9)
    assert "getScannerResults" not in methods
