"""Reads of one table: whatever is asked for at a time, over however many regions, the answer is the same."""

import socket
from bisect import bisect_right
from collections import Counter
from contextlib import closing
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support.patience import END_S

from simhash_hbase.errors import StoreRefused, StoreTimeout
from simhash_hbase.rows.keys import member_rows, pack_rows
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.columns import CellRows, columns_of
from simhash_hbase.stores.hbase import exchange as exchanging
from simhash_hbase.stores.hbase.exchange import Exchange
from simhash_hbase.stores.hbase.filters import ranges_filter, rows_filter
from simhash_hbase.stores.hbase.reader import REMEMBER_S, HBaseReader, Regions, by_region, in_one_region
from simhash_hbase.stores.hbase.sizes import CallSizes
from simhash_hbase.stores.hbase.thrift.channel import Channel
from simhash_hbase.stores.hbase.thrift.thrift2 import Thrift2
from simhash_hbase.stores.memory import MemoryStore
from simhash_hbase.testing.rows import LAST_SIMHASH, pairs_of, rows_of, uint64s

PREFIXES = st.integers(0, 6)
PAIRS = st.lists(st.tuples(PREFIXES, st.sampled_from([0, 1, 2, 3, LAST_SIMHASH - 1, LAST_SIMHASH])), max_size=30)


class Driver:
    """Answers scans from a list of keys; some time out."""

    def __init__(self, rows, prefixes_per_scan, late):
        packed = pack_rows(rows)
        self._keys = [packed[i : i + 13] for i in range(0, len(packed), 13)]
        self.prefixes_per_scan = prefixes_per_scan
        self._late = late

    def scan_keys(self, start, stop, rows, prefixes=None):
        assert start < stop
        assert prefixes is None or len(prefixes) <= self.prefixes_per_scan
        yield []
        if self._late and self._late.pop():
            raise StoreTimeout("late")
        wanted = None if prefixes is None else {int(prefix).to_bytes(5, "big") for prefix in prefixes}
        found = [key for key in self._keys if start <= key < stop and (wanted is None or key[:5] in wanted)]
        return found[:rows]


class Conversations(Exchange):
    """Holds conversations one after the other, again after a time-out."""

    def __init__(self):
        pass

    def hold(self, tasks, **_):
        return [self.one(task) for task in tasks]

    def one(self, task, **_):
        while True:
            conversation = task()
            try:
                next(conversation)
                conversation.send([])
            except StopIteration as finished:
                return finished.value
            except StoreTimeout:
                continue


def scan(driver, starts, prefixes, limit, *, sizes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchanging, "LEAST", 1)
        return HBaseReader(Conversations(), driver, Regions(lambda: starts), sizes).scan(prefixes, limit)


@pytest.mark.slow
@settings(deadline=None, max_examples=400, derandomize=True)
@given(
    pairs=PAIRS,
    asked=st.sets(PREFIXES, min_size=1),
    limit=st.integers(1, 8),
    sizes=st.tuples(st.integers(1, 7), st.integers(1, 4), st.sampled_from([0, 99])),
    late=st.lists(st.booleans(), max_size=20),
)
def test_a_scan_answers_as_the_model_does_however_it_is_cut(pairs, asked, limit, sizes, late):
    reply_rows, at_once, few = sizes
    rows, prefixes = rows_of(*sorted(set(pairs))), uint64s(*sorted(asked))
    model = MemoryStore()
    model.put_rows(rows, timestamp=1)
    wanted = model.scan(prefixes, limit=limit)

    driver, starts = Driver(rows, at_once, late), [b"", bytes([0, 0, 0, 0, 3])]
    found = scan(driver, starts, prefixes, limit, sizes=CallSizes(reply_rows=reply_rows, few_prefixes=few))

    assert pairs_of(found.rows) == pairs_of(wanted.rows)
    assert found.truncated.tolist() == wanted.truncated.tolist()


def test_what_one_prefix_has_shown_does_not_count_for_the_next():
    rows = rows_of(*((prefix, n) for prefix in (1, 2) for n in range(5)))
    # The first page times out twice: one prefix is read at a time.
    driver = Driver(rows, 9, [True, True])

    found = scan(driver, [b""], uint64s(1, 2, 3), 5, sizes=CallSizes(reply_rows=3, few_prefixes=0))

    assert pairs_of(found.rows) == pairs_of(rows)
    assert not np.any(found.truncated)


def test_behind_the_last_prefix_there_is_nothing_to_ask_for():
    assert list(HBaseReader(None, None, None).row_pages(1 << 40, 1 << 41, 5)) == []


def test_regions_are_read_again_after_an_error_or_a_while(monkeypatch):
    reads, now = [], [1000.0]
    monkeypatch.setattr("simhash_hbase.stores.hbase.reader.time.monotonic", lambda: now[0])
    regions = Regions(lambda: reads.append(now[0]) or [b""])
    driver = Driver(rows_of((1, 1)), 9, [])

    def scan_again():
        return HBaseReader(Conversations(), driver, regions).scan(uint64s(*range(100)), 5)

    scan_again()
    scan_again()
    assert reads == [1000.0]
    with monkeypatch.context() as patch:
        patch.setattr(driver, "scan_keys", Mock(side_effect=StoreRefused("the region has moved")))
        with pytest.raises(StoreRefused):
            scan_again()
    scan_again()
    assert reads == [1000.0, 1000.0]
    now[0] += REMEMBER_S + 1
    scan_again()
    assert reads == [1000.0, 1000.0, now[0]]


def test_regions_that_another_thread_forgets_meanwhile_are_told(monkeypatch):
    regions = Regions(lambda: [b""])
    monkeypatch.setattr("simhash_hbase.stores.hbase.reader.time.monotonic", lambda: regions.forget() or 1000.0)

    assert [regions.starts() for _ in range(3)] == [[b""]] * 3


def fields_of(message):
    """Take a serialised message of HBase's protocol buffers apart."""
    found, at = [], 0
    while at < len(message):
        number, kind = message[at] >> 3, message[at] & 7
        at += 1
        value = shift = 0
        while True:
            value |= (message[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if message[at - 1] < 0x80:
                break
        if kind:
            found.append((number, message[at : at + value]))
            at += value
        else:
            found.append((number, value))
    assert at == len(message)
    return found


@pytest.mark.parametrize("count", [*range(1, 30), 500, 700])
@pytest.mark.parametrize("start", [b"\0\0\0\0\x01", b"\0\0\0\0\x01" + 8 * b"\x07" + b"\0"])
def test_a_filter_names_each_prefix_whatever_the_lengths_of_its_parts(count, start):
    prefixes = uint64s(*range(1, count + 1))

    [(_, name), (_, filtered)] = fields_of(ranges_filter(start, prefixes))

    assert name.endswith(b".MultiRowRangeFilter")
    rows = [dict(fields_of(part)) for _, part in fields_of(filtered)]
    wanted = [prefix.to_bytes(5, "big") for prefix in range(1, count + 2)]
    assert [found[1] for found in rows] == [start, *wanted[1:-1]]
    for found, prefix, after in zip(rows, wanted[:-1], wanted[1:], strict=True):
        assert prefix + 8 * b"\xff" < found[3] <= after
    assert all((found[2], found[4]) == (1, 0) for found in rows)


def test_a_look_at_a_connection_keeps_its_time_out():
    near, far = socket.socketpair()
    with far, closing(Channel(near)) as channel:
        channel.allow(END_S)
        assert channel.is_quiet()
        channel.allow(END_S)
        assert near.gettimeout() == END_S

        far.sendall(b"late")
        channel._deadline = 0.0
        with pytest.raises(TimeoutError):
            channel.read(4)


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


class Changing:
    """Answers for one row, which changes after the first call."""

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


NAMES = [b"%04d" % number for number in range(20)]
ONE_REGION = Regions(lambda: [b""])


@pytest.mark.slow
@pytest.mark.parametrize("limit", [FEW + 1, MANY, MANY + 1, 1_000])
@pytest.mark.parametrize(
    "change", [lambda names: names.add(b"0000x"), lambda names: names.discard(b"0000")], ids=["written", "deleted"]
)
@pytest.mark.parametrize("count", [1, 50])
def test_a_wide_row_that_changes_is_read_without_loss_or_repetition(change, limit, count):
    sizes = CallSizes(few_cells=FEW, many_cells=MANY, reply_cells=10)
    rows = [b"%04d" % number for number in range(count)]
    driver = Changing(NAMES, change)

    found = HBaseReader(Conversations(), driver, ONE_REGION, sizes).rows("d", rows, limit)

    for row in found:
        names = [cell.qualifier for cell in row]
        assert names == sorted(set(names))
        assert set(NAMES[1:limit]) <= {*names, *NAMES[len(names) - 1 :]}
        assert len(names) == min(limit, len(NAMES) + (len(names) > len(NAMES)) - (names[0] != NAMES[0]))


@pytest.mark.parametrize(("count", "limits"), [(10, [1_000]), (11, [FEW, 1_000])])
def test_few_rows_are_read_up_to_the_limit_at_once(count, limits):
    sizes = CallSizes(few_cells=FEW, reply_cells=1_000)
    driver = Changing(NAMES, lambda _: None)

    rows = [b"%04d" % number for number in range(count)]
    HBaseReader(Conversations(), driver, ONE_REGION, sizes).rows("d", rows, 1_000)

    assert list(dict.fromkeys(driver.limits)) == limits


@pytest.fixture
def filled(wide_store, monkeypatch):
    """Fill a table with rows of 0 to 9 cells, all over its regions, and with their neighbours."""
    wide_store._reader.sizes = CallSizes(few_cells=FEW, many_cells=MANY)
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


def methods_of(calls):
    return [call.method for call in calls if call.method != "getAllRegionLocations"]


@pytest.mark.hbase
def test_scanned_rows_come_up_to_any_limit(filled, calls):
    store, model, asked = filled

    for limit in (1, FEW - 1, FEW, FEW + 1, MANY, MANY + 1, 9, 10, 1_000):
        calls.clear()
        assert store.get_rows("d", asked, limit=limit) == model.get_rows("d", asked, limit=limit)
        assert "getScannerResults" in methods_of(calls)


@pytest.mark.hbase
def test_few_rows_of_a_region_and_rows_of_several_lengths_are_read_one_by_one(filled, calls, monkeypatch):
    store, model, asked = filled
    several = sorted([*asked, *(row + b"\0" for row in asked)])

    assert store.get_rows("d", several, limit=9) == model.get_rows("d", several, limit=9)
    assert "getScannerResults" not in methods_of(calls)
    for scanned, methods in ((7, ["getScannerResults"] * 7), (200, ["getMultiple"]), (301, ["getMultiple"])):
        calls.clear()
        monkeypatch.setattr(Thrift2, "scanned_rows", scanned)
        assert store.get_rows("d", asked, limit=FEW - 1) == model.get_rows("d", asked, limit=FEW - 1)
        assert methods_of(calls) == methods
