"""Pages of scans over many prefixes, without a server: whatever is asked for at a time, the answer is the same."""

import socket

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.patience import END_S
from support.rows import LAST_SIMHASH, pairs_of, rows_of, uint64s

from simhash_hbase.errors import StoreRefused, StoreTimeout
from simhash_hbase.rows.keys import pack_rows
from simhash_hbase.stores.hbase import reader
from simhash_hbase.stores.hbase.reader import REMEMBER_S, HBaseReader, Regions
from simhash_hbase.stores.hbase.thrift import exchange as exchanging
from simhash_hbase.stores.hbase.thrift import thrift2
from simhash_hbase.stores.hbase.thrift.channel import Channel
from simhash_hbase.stores.hbase.thrift.thrift2 import ranges_filter
from simhash_hbase.stores.memory import MemoryStore

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


class Exchange:
    """Holds conversations one after the other, again after a time-out."""

    def hold(self, tasks, *, sockets, window):
        return [self._hold(task) for task in tasks]

    def _hold(self, task):
        while True:
            conversation = task()
            next(conversation)
            try:
                conversation.send([])
            except StopIteration as finished:
                return finished.value
            except StoreTimeout:
                continue


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

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "REPLY_ROWS", reply_rows)
        patch.setattr(reader, "FEW_PREFIXES", few)
        patch.setattr(exchanging, "LEAST", 1)
        driver = Driver(rows, at_once, late)
        regions = Regions(lambda: [b"", bytes([0, 0, 0, 0, 3])])
        found = HBaseReader(Exchange(), driver, regions).scan(prefixes, limit)

    assert pairs_of(found.rows) == pairs_of(wanted.rows)
    assert found.truncated.tolist() == wanted.truncated.tolist()


def test_what_one_prefix_has_shown_does_not_count_for_the_next():
    rows = rows_of(*((prefix, n) for prefix in (1, 2) for n in range(5)))
    prefixes = uint64s(1, 2, 3)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "REPLY_ROWS", 3)
        patch.setattr(reader, "FEW_PREFIXES", 0)
        patch.setattr(exchanging, "LEAST", 1)
        # The first page times out twice: one prefix is read at a time.
        driver = Driver(rows, 9, [True, True])
        found = HBaseReader(Exchange(), driver, Regions(lambda: [b""])).scan(prefixes, 5)

    assert pairs_of(found.rows) == pairs_of(rows)
    assert not np.any(found.truncated)


def test_behind_the_last_prefix_there_is_nothing_to_ask_for():
    assert list(HBaseReader(None, None, None).row_pages(1 << 40, 1 << 41, 5)) == []


def test_regions_are_read_again_after_an_error_and_after_a_while(monkeypatch):
    reads, now = [], [1000.0]
    monkeypatch.setattr("simhash_hbase.stores.hbase.reader.time.monotonic", lambda: now[0])
    regions = Regions(lambda: reads.append(now[0]) or [b""])
    driver = Driver(rows_of((1, 1)), 9, [])

    def scan():
        return HBaseReader(Exchange(), driver, regions).scan(uint64s(*range(100)), 5)

    scan()
    scan()
    assert reads == [1000.0]

    with monkeypatch.context() as patch:
        patch.setattr(driver, "scan_keys", refuse)
        with pytest.raises(StoreRefused):
            scan()
    scan()
    assert reads == [1000.0, 1000.0]

    now[0] += REMEMBER_S + 1
    scan()
    assert reads == [1000.0, 1000.0, now[0]]


def refuse(*_, **__):
    raise StoreRefused("the region has moved")


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


@pytest.mark.parametrize("count", range(1, 30))
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


@pytest.mark.parametrize("length", [0, 1, 127, 128, 129, 16_383, 16_384, 16_385])
def test_a_part_of_any_length_is_read_back(length):
    assert fields_of(thrift2._field(3, bytes(length))) == [(3, bytes(length))]


def test_a_look_at_a_connection_leaves_its_time_out_as_it_was():
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    channel.allow(END_S)

    assert channel.is_quiet()
    channel.allow(END_S)
    assert ours.gettimeout() == END_S
    channel.close()
    theirs.close()


def test_a_piece_that_comes_after_the_deadline_is_not_read():
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    theirs.sendall(b"late")
    channel.allow(1.0)
    channel._deadline = 0.0

    with pytest.raises(TimeoutError):
        channel.read(4)
    channel.close()
    theirs.close()
