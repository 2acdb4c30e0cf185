"""Pages of scans over many prefixes, without a server: whatever is asked for at a time, the answer is the same."""

import socket

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simhash_hbase.errors import StoreTimeout
from simhash_hbase.rows.keys import pack_rows
from simhash_hbase.stores.hbase import scanning
from simhash_hbase.stores.hbase.scanning import Regions, scan_prefixes
from simhash_hbase.stores.hbase.thrift import pace as pacing
from simhash_hbase.stores.hbase.thrift.channel import Channel
from simhash_hbase.stores.hbase.thrift.pace import Pace
from simhash_hbase.stores.memory import MemoryStore
from tests.stores.rows import LAST_SIMHASH, pairs_of, rows_of, uint64s

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
        patch.setattr(scanning, "REPLY_ROWS", reply_rows)
        patch.setattr(scanning, "FEW_PREFIXES", few)
        patch.setattr(pacing, "LEAST", 1)
        driver = Driver(rows, at_once, late)
        regions = Regions(lambda: [b"", bytes([0, 0, 0, 0, 3])])
        found = scan_prefixes(Exchange(), driver, prefixes, limit, regions=regions, pace=Pace())

    assert pairs_of(found.rows) == pairs_of(wanted.rows)
    assert found.truncated.tolist() == wanted.truncated.tolist()


def test_what_one_prefix_has_shown_does_not_count_for_the_next():
    rows = rows_of(*((prefix, n) for prefix in (1, 2) for n in range(5)))
    prefixes = uint64s(1, 2, 3)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanning, "REPLY_ROWS", 3)
        patch.setattr(scanning, "FEW_PREFIXES", 0)
        patch.setattr(pacing, "LEAST", 1)
        # The first page times out twice: one prefix is read at a time.
        driver = Driver(rows, 9, [True, True])
        found = scan_prefixes(Exchange(), driver, prefixes, 5, regions=Regions(lambda: [b""]), pace=Pace())

    assert pairs_of(found.rows) == pairs_of(rows)
    assert not np.any(found.truncated)


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
