"""The store over HBase beyond the contract: paging, grouping, limits, time-outs, threads and interrupts."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import pairwise

import numpy as np
import pytest
from support.faulty_proxy import proxied_options
from support.hbase_server import hbase_options, tables
from support.patience import END_S

from simhash_hbase.errors import InvalidArgument, StoreBusy, StoreTimeout
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.hbase import HBaseStore
from simhash_hbase.stores.hbase.sizes import CallSizes
from simhash_hbase.stores.hbase.thrift.wire import GatewayConnection
from simhash_hbase.stores.memory import MemoryStore
from simhash_hbase.testing.rows import all_cells, all_pairs, found_by, pairs_of, rows_of, uint64s

pytestmark = pytest.mark.hbase


@contextmanager
def opened(version, **options):
    with closing(HBaseStore.open(hbase_options(version, tables().take(), **options))) as made:
        yield made


@pytest.fixture
def store(version):
    with opened(version) as made:
        yield made


def answer(store, prefixes, limit):
    found = store.scan(prefixes, limit=limit)
    return pairs_of(found.rows), found.truncated.tolist()


@pytest.mark.parametrize("reply_rows", [3, 64, 20_000])
def test_a_batch_across_regions_and_pages_answers_as_the_model_does(wide_store, reply_rows):
    rng = np.random.default_rng(reply_rows)
    prefixes = rng.integers(0, 1 << 40, 300, dtype=np.uint64)
    simhashes = rng.integers(0, 1 << 64, 300, dtype=np.uint64)
    hot = rows_of(*((int(prefix), n) for prefix in prefixes[:5] for n in range(40)))
    edges = rows_of((0, 0), ((1 << 40) - 1, (1 << 64) - 1))
    model = MemoryStore()
    for rows in (rows_of(*zip(prefixes.tolist(), simhashes.tolist(), strict=True)), hot, edges):
        for store in (model, wide_store):
            store.put_rows(rows, timestamp=1)
    wide_store._reader.sizes = CallSizes(reply_rows=reply_rows)
    asked = np.unique(np.concatenate([prefixes[:200], prefixes[:200] + np.uint64(1), uint64s(0, (1 << 40) - 1)]))

    for limit in (1, 2, 3, 7, 100):
        assert answer(wide_store, asked, limit) == answer(model, asked, limit)


def test_a_hot_prefix_is_not_read_to_its_end(store, monkeypatch):
    store.put_rows(rows_of(*((7, n) for n in range(300)), (8, 1)), timestamp=1)
    store._reader.sizes = CallSizes(reply_rows=10)
    asked = []
    scan_keys = store._driver.scan_keys
    monkeypatch.setattr(store._driver, "scan_keys", lambda *args: asked.append(args[2]) or scan_keys(*args))

    assert answer(store, uint64s(7, 8), 25) == ([*((7, n) for n in range(25)), (8, 1)], [7])
    assert sum(asked) <= 26 + 10


def test_a_row_with_many_cells_is_read_in_parts(store):
    store._reader.sizes = CallSizes(reply_cells=20, few_cells=7, many_cells=30)
    made = [Cell(b"row", bytes([n]), b"v", 7) for n in range(256)]
    store.put("d", [*made, Cell(b"row2", b"'", b"v", 7)])

    assert store.get_rows("d", [b"row", b"row2"], limit=1000) == [made, [Cell(b"row2", b"'", b"v", 7)]]
    assert store.get_rows("d", [b"row"], limit=77) == [made[:77]]
    assert [len(page) for page in store.scan_cells("d", b"", None, page=100)] == [100, 100, 57]


def test_a_range_of_cells_ends_before_its_stop_also_after_a_full_page(store):
    store.put("d", [Cell(b"row", b"s", b"v", 7), Cell(b"row\0", b"s", b"v", 7)])

    assert all_cells(store, start=b"row", stop=b"row\0", page=1) == [Cell(b"row", b"s", b"v", 7)]


def test_writes_and_reads_are_cut_into_calls(store, monkeypatch):
    store._reader.sizes = CallSizes(write_rows=7, call_bytes=500)
    monkeypatch.setattr(store._driver, "rows_per_get", 7, raising=False)
    made = [Cell(b"%02d" % n, b"s", b"v" * n, 7) for n in range(60)]
    rows = rows_of(*((n, n) for n in range(60)))
    store.put("d", made)
    store.put_rows(rows, timestamp=1)

    assert store.get("d", [(cell.row, b"s") for cell in made]) == made
    assert store.get_rows("d", [cell.row for cell in made], limit=2) == [[cell] for cell in made]
    assert all_pairs(store) == pairs_of(rows)
    store.delete("d", made)
    store.delete_rows(rows, timestamp=2)
    assert all_cells(store) == []
    assert all_pairs(store) == []


def test_cells_with_a_timestamp_each_do_not_wait_for_one_another(store, monkeypatch):
    made = [Cell(b"%03d" % n, b"s", b"v", 1 + n) for n in range(200)]
    sent = []
    push = GatewayConnection.push
    monkeypatch.setattr(GatewayConnection, "push", lambda self, **options: sent.append(self) or push(self, **options))

    store.put("d", made)
    store.get("d", [(made[0].row, b"s")])
    assert len(sent) <= 5
    assert all_cells(store) == made
    sent.clear()
    store.delete("d", made)
    assert len(sent) <= 4
    assert all_cells(store) == []


def test_a_swap_of_an_empty_value_or_a_too_large_cell_is_never_sent(store):
    for swap in (Swap(b"r", b"s", b"", b"x"), Swap(b"r", b"s", b"x", b"")):
        with pytest.raises(InvalidArgument, match="empty value"):
            store.compare_and_set([swap])
    large = bytes((10 << 20) + 1)

    with pytest.raises(InvalidArgument, match="10485761 bytes is too large"):
        store.put("d", [Cell(b"row", b"s", large, 1)])
    with pytest.raises(InvalidArgument, match="10485761 bytes is too large"):
        store.compare_and_set([Swap(b"row", b"s", None, large)])
    assert all_cells(store) == []


def test_threads_share_a_store_with_fewer_connections_than_they_want(version):
    pairs = [(prefix, simhash) for prefix in range(40) for simhash in range(10)]
    with opened(version, max_connections=3, timeout_s=END_S) as store, ThreadPoolExecutor(8) as threads:
        store.put_rows(rows_of(*pairs), timestamp=1)

        found = list(threads.map(lambda prefix: found_by(store, *range(prefix, prefix + 10)), list(range(31)) * 5))

    assert found == [[pair for pair in pairs if prefix <= pair[0] < prefix + 10] for prefix in range(31)] * 5


def test_the_store_is_busy_while_all_connections_are_in_use(version):
    with opened(version, max_connections=2, timeout_s=0.2) as store:
        pool = store._gateways._pool
        with pool.lend(2) as lent:
            with pytest.raises(StoreBusy, match="all 2 connections"):
                found_by(store, 1)
            store.close()

    assert pool.counts() == (0, 0)
    assert [connection._closed for connection in lent] == [True, True]


def test_an_interrupt_in_the_middle_leaves_no_connection_with_unread_answers(store, monkeypatch):
    store.put_rows(rows_of((1, 1), (2, 2)), timestamp=1)
    found_by(store, 1)
    connection = type(store._gateways._pool._idle[-1])
    receive = connection.receive

    def interrupted(self, **options):
        monkeypatch.setattr(connection, "receive", receive)
        raise KeyboardInterrupt

    monkeypatch.setattr(connection, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        found_by(store, 1)

    assert found_by(store, 2) == [(2, 2)]


# a page that is not answered in time is asked for in smaller parts, and walks leave the servers' cache alone

ROWS = 3_000
CELLS = [Cell(b"%05d" % n, b"q", bytes(30), 7) for n in range(2_000)]
# Well below what the pages of these tests hold, well above the least page.
LARGEST_REPLY = 40_000


@pytest.fixture
def impatient_store(request, proxy, version):
    """Return a store that waits a second for an answer, through the proxy, or as long as it is told."""
    timeout_s = getattr(request, "param", 1.0)
    options = proxied_options(version, tables().take(), proxy, timeout_s=timeout_s, deadline_s=120.0)
    with closing(HBaseStore.open(options)) as made:
        yield made


def note(store, monkeypatch, method):
    """Note what a method of the driver is asked for."""
    asked = []
    ask = getattr(store._driver, method)

    def noting(*words, **named):
        asked.append((*words, named))
        return ask(*words, **named)

    monkeypatch.setattr(store._driver, method, noting)
    return asked


def assert_halved(sizes):
    """Check that each time-out halved the page, until one was answered."""
    assert sizes[1] == sizes[0] // 2
    assert all(after in (before, before // 2) for before, after in pairwise(sizes))


def test_a_walk_over_rows_goes_on_in_smaller_pages(impatient_store, proxy, monkeypatch):
    rows = rows_of(*((n, n) for n in range(ROWS)))
    impatient_store.put_rows(rows, timestamp=1)
    asked = note(impatient_store, monkeypatch, "scan_keys")
    proxy.largest_reply = LARGEST_REPLY

    assert all_pairs(impatient_store, page=ROWS) == pairs_of(rows)
    assert_halved([rows for _, _, rows, *_ in asked if rows > 1][:3])
    # What was answered is not read again.
    answered = [start for start, *_ in asked]
    assert answered == sorted(answered)
    # The next walk need not find out again.
    asked.clear()
    next(impatient_store.scan_range(0, 1 << 40, page=ROWS))
    assert asked[0][2] < ROWS


def test_a_walk_over_cells_goes_on_in_smaller_pages(impatient_store, proxy, monkeypatch):
    wide = [Cell(b"wide", b"%05d" % n, bytes(30), 7) for n in range(2_000)]
    impatient_store.put("d", CELLS + wide)
    walked, tails = note(impatient_store, monkeypatch, "scan_cells"), note(impatient_store, monkeypatch, "row_tail")
    proxy.largest_reply = LARGEST_REPLY

    assert all_cells(impatient_store, page=2_000) == CELLS + wide
    assert_halved([rows for _, _, _, rows, *_ in walked])
    assert tails[-1][3] < 20_000


@pytest.mark.parametrize("version", [pytest.param(2, id="thrift2")], indirect=True)
@pytest.mark.parametrize("limit", [1, 5, 100])
def test_a_batch_of_prefixes_goes_on_with_fewer_of_them(impatient_store, proxy, monkeypatch, limit):
    rows = rows_of(*((n, m) for n in range(600) for m in range(5)))
    impatient_store.put_rows(rows, timestamp=1)
    asked = note(impatient_store, monkeypatch, "scan_keys")
    proxy.largest_reply = LARGEST_REPLY

    found = impatient_store.scan(np.arange(600, dtype=np.uint64), limit=limit)

    assert pairs_of(found.rows) == [pair for pair in pairs_of(rows) if pair[1] < limit]
    assert found.truncated.tolist() == (list(range(600)) if limit < 5 else [])
    assert [(rows, len(prefixes)) for _, _, rows, prefixes, _ in asked[:2]] == [(20_000, 600), (10_000, 300)]
    # Prefixes that were answered are not asked for again.
    starts = [start for start, *_ in asked]
    assert starts == sorted(starts)


LOOKUPS = {
    "get": lambda store: store.get("d", [(cell.row, cell.qualifier) for cell in CELLS]),
    "get_rows": lambda store: [cell for row in store.get_rows("d", [c.row for c in CELLS], limit=1) for cell in row],
}


# Half of the rows are to be answered in time on a machine that is slow.
@pytest.mark.parametrize("impatient_store", [3.0], indirect=True)
@pytest.mark.parametrize("method", LOOKUPS)
def test_a_lookup_goes_on_with_fewer_rows_at_a_time(impatient_store, proxy, monkeypatch, method):
    impatient_store.put("d", CELLS)
    asked = note(impatient_store, monkeypatch, method)
    most = impatient_store._driver.rows_per_get
    # An answer has about 100 bytes a row: half of the rows are answered, all of them are not.
    proxy.largest_reply = 75 * most

    assert LOOKUPS[method](impatient_store) == CELLS
    first = [keys for _, keys, *_ in asked if keys[0] in (CELLS[0].row, (CELLS[0].row, b"q"))]
    assert [len(keys) for keys in first] == [most, most // 2]
    assert sum(len(keys) == most // 2 for _, keys, *_ in asked) > 1


WRITES = {
    "put": lambda store: store.put("d", CELLS),
    "put_keys": lambda store: store.put_rows(rows_of(*((n, n) for n in range(ROWS))), timestamp=1),
}


@pytest.mark.parametrize("method", WRITES)
def test_a_write_goes_on_with_fewer_rows_at_a_time(impatient_store, monkeypatch, method):
    sizes, write = [], getattr(impatient_store._driver, method)

    def late(*words, **named):
        written = max(words, key=len)
        sizes.append(len(written))
        yield from write(*words, **named)
        if len(written) > 1_000:
            raise StoreTimeout("HBase behind the gateway did not answer in time")

    monkeypatch.setattr(impatient_store._driver, method, late)
    WRITES[method](impatient_store)

    assert_halved(sizes[:2])
    assert max(sizes[-2:]) <= 1_000
    wanted = (CELLS, []) if method == "put" else ([], [(n, n) for n in range(ROWS)])
    assert (all_cells(impatient_store), all_pairs(impatient_store)) == wanted


def caching(calls):
    """List for each scan or row that was read whether the servers keep what they read: None means they do."""
    arguments = [call.arguments for call in calls]
    reads = [read for named in arguments for read in (named.get("tscan"), named.get("scan"), *named.get("tgets", ()))]
    return [read.cacheBlocks for read in reads if read is not None]


def test_walks_leave_the_cache_to_queries(impatient_store, calls):
    impatient_store.put_rows(rows_of(*((n, n) for n in range(200))), timestamp=1)
    # The row has so many cells that its end is read by a call of its own.
    impatient_store.put("d", [Cell(b"row", b"%03d" % n, b"v", 7) for n in range(100)])

    assert len(all_pairs(impatient_store)) == 200
    assert len(all_cells(impatient_store)) == 100
    assert set(caching(calls)) == {False}
    calls.clear()
    impatient_store.scan(uint64s(1, 2), limit=5)
    impatient_store.scan(np.arange(100, dtype=np.uint64), limit=5)
    impatient_store.get_rows("d", [b"row"], limit=10)
    assert set(caching(calls)) == {None}
    calls.clear()
    # A row that is so wide that a query reads its rest by calls of their own.
    impatient_store._reader.sizes = CallSizes(reply_cells=20, few_cells=5, many_cells=20)
    assert len(impatient_store.get_rows("d", [b"row"], limit=1_000)[0]) == 100
    assert len(caching(calls)) > 2
    assert set(caching(calls)) == {None}
