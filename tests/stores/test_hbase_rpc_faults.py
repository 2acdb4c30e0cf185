"""Faults of networks and a changing cluster do not make an answer of a store without a gateway wrong."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial

import numpy as np
import pytest
from support.faulty_proxy import Chaos
from support.hbase_server import administrate, hbase_options, tables
from support.patience import END_S
from support.region_admin import RegionAdmin

from simhash_hbase.errors import IndexMissing, Retryable, StoreRefused, StoreTimeout, StoreUnavailable
from simhash_hbase.rows.keys import BlockRows
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.hbase import HBaseStore, backoff
from simhash_hbase.stores.hbase.gateways import Gateways
from simhash_hbase.stores.hbase.table import TableSchema
from simhash_hbase.testing.rows import all_cells, all_pairs, found_by, pairs_of, rows_of

pytestmark = pytest.mark.hbase

QUERIES = 400


@pytest.fixture
def version():
    """Lead what goes through the proxy to the region server."""
    return "rpc"


@pytest.fixture
def store(proxy):
    with closing(HBaseStore.open(hbase_options("rpc", tables().take(), timeout_s=2.0, deadline_s=20.0))) as made:
        yield made


def later(seconds, act):
    timer = threading.Timer(seconds, act)
    timer.start()
    return timer


def test_connections_that_were_closed_while_idle_are_replaced_without_an_error(store, proxy):
    store.put_rows(rows_of((1, 1)), timestamp=1)
    proxy.kill_connections()
    time.sleep(0.1)

    # A compare-and-set is not repeated, so this would fail if it were sent on a closed connection.
    assert store.compare_and_set([Swap(os.urandom(8), b"s", None, b"x")]) == [True]
    assert found_by(store, 1) == [(1, 1)]


def test_a_lost_reply_to_a_stamped_write_or_a_swap_is_an_error_without_a_repeat(store, proxy):
    row = os.urandom(8)
    for change, value in (
        (lambda: store.put("d", [Cell(row, b"s", b"one")]), b"one"),
        (lambda: store.compare_and_set([Swap(row, b"s", b"one", b"two")]), b"two"),
    ):
        # If it were repeated, the second one would be answered.
        recovery = proxy.cut_for(0.5)
        with pytest.raises((StoreTimeout, StoreUnavailable)):
            change()
        recovery.join()

        assert store.get("d", [(row, b"s")])[0].value == value


def test_stamped_writes_to_a_server_that_stood_still_are_repeated(store, proxy):
    row = os.urandom(8)
    store.get("d", [(row, b"s")])
    proxy.stalled = True
    recovery = later(2.5, lambda: setattr(proxy, "stalled", False))

    store.put("d", [Cell(row, b"s", b"one", 7)])
    recovery.join()

    assert store.get("d", [(row, b"s")]) == [Cell(row, b"s", b"one", 7)]
    assert store.traffic().retries


def test_a_disabled_or_missing_table_is_named_at_once(proxy):
    name = tables().take()
    cell = Cell(b"row", b"q", b"value", 1)
    with (
        closing(HBaseStore.open(hbase_options("rpc", name))) as store,
        closing(Gateways(hbase_options(2, name))) as admin,
    ):
        uses = (
            lambda: found_by(store, 1),
            lambda: store.put("d", [cell._replace(timestamp=None)]),
            lambda: store.delete("d", [cell]),
            lambda: store.compare_and_set([Swap(b"row", b"q", None, b"value")]),
            lambda: HBaseStore.open(hbase_options("rpc", name)),
        )
        for methods, error, words in (
            (["disableTable"], StoreRefused, f"{name} is disabled"),
            (["deleteTable"], IndexMissing, f"no table {name}"),
        ):
            admin.exchange.one(partial(administrate, name, *methods))
            for use in uses:
                with pytest.raises(error, match=words):
                    use()


def test_queries_under_random_faults_are_never_answered_wrongly(proxy, monkeypatch):
    # Each fault costs time-out or pause, and there are many.
    monkeypatch.setattr(backoff, "FIRST_PAUSE_S", 0.002)
    pairs = [(prefix, simhash) for prefix in range(100) for simhash in range(prefix % 4)]
    options = hbase_options("rpc", tables().take(), timeout_s=0.5, connect_timeout_s=0.5, deadline_s=END_S)
    with closing(HBaseStore.open(options)) as store, ThreadPoolExecutor(4) as threads:
        store.put_rows(rows_of(*pairs), timestamp=1)
        proxy.chaos = Chaos(seed=7, hold_s=0.6, cut=0.02, hold=0.001)

        def is_right(first):
            prefixes = range(first, first + 10)
            return found_by(store, *prefixes) == [pair for pair in pairs if pair[0] in prefixes]

        right = list(threads.map(is_right, np.random.default_rng(7).integers(0, 100, QUERIES).tolist()))

    assert right == [True] * QUERIES
    assert proxy.chaos.faults > QUERIES / 200


def test_the_answers_are_those_of_thrift_2():
    rng = np.random.default_rng(3)
    name = tables().name()
    with (
        closing(HBaseStore.create(hbase_options("rpc", name), TableSchema(regions=7))) as ours,
        closing(HBaseStore.open(hbase_options(2, name))) as theirs,
    ):
        assert not ours.shortfalls
        assert ours.regions() == theirs.regions()
        prefixes = np.sort(rng.integers(0, 1 << 40, 1000, dtype=np.uint64))
        ours.put_rows(BlockRows(prefixes, prefixes * np.uint64(3)), timestamp=1)
        theirs.delete_rows(BlockRows(prefixes[::5], prefixes[::5] * np.uint64(3)), timestamp=2)
        rows = [rng.bytes(12) for _ in range(300)]
        ours.put("d", [Cell(row, bytes([n]), b"v%d" % n, 5) for row in rows for n in range(len(row) % 7 + 1)])
        theirs.delete("d", [Cell(row, b"\0", b"", 5) for row in rows[::3]])

        for ask in (
            lambda store: pairs_of(store.scan(np.unique(prefixes[::2]), limit=5).rows),
            lambda store: pairs_of(store.scan(np.unique(prefixes[:9]), limit=5).rows),
            lambda store: store.has_rows(BlockRows(prefixes, prefixes * np.uint64(3))).tolist(),
            all_pairs,
            lambda store: all_cells(store, "d"),
            lambda store: list(store.get_rows("d", rows, limit=3)),
            lambda store: store.get("d", [(row, b"\0") for row in rows]),
            lambda store: [store.read_row("d", row, after=b"\0", limit=3) for row in rows[:20]],
        ):
            is_equal = ask(ours) == ask(theirs)
            assert is_equal


class Traffic:
    """Writes, scans and swaps in a table until it is ended; every one of them is checked at once."""

    segments = range(0, 256, 16)
    swappers = 4

    def __init__(self, table):
        self._options = hbase_options("rpc", table, deadline_s=END_S)
        self._ended = threading.Event()
        self.written = 0
        self.swapped = [0] * self.swappers

    @contextmanager
    def running(self):
        works = [self._write, self._scan, *(partial(self._swap, at) for at in range(self.swappers))]
        with ThreadPoolExecutor(len(works)) as threads:
            running = [threads.submit(self._until_the_end, work) for work in works]
            try:
                yield
            finally:
                self._ended.set()
            for each in running:
                each.result()

    def pairs(self, written):
        return {(segment << 32, number) for segment in self.segments for number in range(written)}

    def swap_key(self, at):
        return bytes([64 * at + 40]), b"s"

    def _until_the_end(self, work):
        with closing(HBaseStore.open(self._options)) as store:
            while not self._ended.is_set():
                work(store)

    def _write(self, store):
        store.put_rows(rows_of(*((segment << 32, self.written) for segment in self.segments)), timestamp=1)
        self.written += 1

    def _scan(self, store):
        acknowledged = self.written
        is_whole = self.pairs(acknowledged) <= set(all_pairs(store, page=100_000))
        assert is_whole
        found = {prefix for prefix, _ in found_by(store, *(segment << 32 for segment in self.segments), limit=5)}
        assert not acknowledged or len(found) == len(self.segments)

    def _swap(self, at, store):
        key, value = self.swap_key(at), self.swapped[at]
        new = b"%d" % (value + 1)
        try:
            [done] = store.compare_and_set([Swap(*key, b"%d" % value if value else None, new)])
        except Retryable:
            # Nobody else writes this cell: what is there says whether it was swapped.
            [cell] = store.get("d", [key])
            self.swapped[at] += cell is not None and cell.value == new
        else:
            assert done
            self.swapped[at] += 1


@pytest.mark.slow
def test_regions_that_split_merge_or_move_lose_nothing():
    name = tables().name()
    HBaseStore.create(hbase_options("rpc", name), TableSchema(regions=4)).close()
    traffic, admin = Traffic(name), RegionAdmin(name)
    with traffic.running():
        admin.split(b"\x90")
        admin.split(b"\xd0")
        admin.reopen(b"\x00")
        admin.merge_first()
        admin.reopen(b"\xf0")

    with closing(HBaseStore.open(hbase_options(2, name))) as store:
        assert [region.start.rstrip(b"\0") for region in store.regions()] == [b"", b"\x80", b"\x90", b"\xc0", b"\xd0"]
        is_whole = set(all_pairs(store)) == traffic.pairs(traffic.written)
        keys = [traffic.swap_key(at) for at in range(traffic.swappers)]
        values = [int(cell.value) for cell in store.get("d", keys)]
    assert is_whole
    assert traffic.written
    assert values == traffic.swapped
