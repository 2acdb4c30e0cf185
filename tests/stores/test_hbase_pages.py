"""A page that is not answered in time is asked for in smaller parts, and walks leave the servers' cache alone."""

from contextlib import closing, suppress
from itertools import pairwise

import numpy as np
import pytest
from support.faulty_proxy import proxied_options
from support.hbase_server import tables
from support.rows import all_cells, all_pairs, pairs_of, rows_of, uint64s

from simhash_hbase.errors import StoreTimeout, StoreUnavailable
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.hbase import HBaseStore
from simhash_hbase.stores.hbase.thrift.exchange import ANSWERS_TO_GROW, LEAST, PageSize

ROWS = 3_000
CELLS = [Cell(b"%05d" % n, b"q", bytes(30), 7) for n in range(2_000)]
# Well below what the pages of these tests hold, well above the least page.
LARGEST_REPLY = 40_000


@pytest.fixture
def page_size():
    return PageSize()


def answer(page_size, times=1, error=None):
    """Have a page answered so many times, or fail."""
    for _ in range(times):
        with suppress(StoreTimeout, StoreUnavailable), page_size.watched():
            if error is not None:
                raise error


def test_each_time_out_halves_a_page_down_to_the_least(page_size):
    shares = []
    for _ in range(13):
        answer(page_size, error=StoreTimeout("late"))
        shares.append(page_size.share(20_000))

    assert shares[:4] == [10_000, 5_000, 2_500, 1_250]
    assert shares[-3:] == [19] * 3
    assert [page_size.share(most) for most in (1, LEAST, LEAST + 1, 600)] == [1, LEAST, LEAST, LEAST]


def test_a_page_grows_back_after_some_answers_in_a_row_and_never_above_the_whole(page_size):
    shares = []
    for times, error in (
        (1, StoreUnavailable("closed")),
        (1, StoreTimeout("late")),
        (ANSWERS_TO_GROW - 1, None),
        (1, StoreTimeout("late")),
        (ANSWERS_TO_GROW - 1, None),
        (1, None),
        (6 * ANSWERS_TO_GROW, None),
    ):
        answer(page_size, times, error)
        shares.append(page_size.share(20_000))

    assert shares == [20_000, 10_000, 10_000, 5_000, 5_000, 10_000, 20_000]


@pytest.fixture
def store(proxy, version):
    options = proxied_options(version, tables().take(), proxy, timeout_s=1.0, deadline_s=120.0)
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


@pytest.mark.hbase
def test_a_walk_over_rows_goes_on_in_smaller_pages(store, proxy, monkeypatch):
    rows = rows_of(*((n, n) for n in range(ROWS)))
    store.put_rows(rows, timestamp=1)
    asked = note(store, monkeypatch, "scan_keys")
    proxy.largest_reply = LARGEST_REPLY

    assert all_pairs(store, page=ROWS) == pairs_of(rows)
    assert_halved([rows for _, _, rows, *_ in asked if rows > 1][:3])
    # What was answered is not read again.
    answered = [start for start, *_ in asked]
    assert answered == sorted(answered)
    # The next walk need not find out again.
    asked.clear()
    next(store.scan_range(0, 1 << 40, page=ROWS))
    assert asked[0][2] < ROWS


@pytest.mark.hbase
def test_a_walk_over_cells_goes_on_in_smaller_pages(store, proxy, monkeypatch):
    wide = [Cell(b"wide", b"%05d" % n, bytes(30), 7) for n in range(2_000)]
    store.put("d", CELLS + wide)
    walked, tails = note(store, monkeypatch, "scan_cells"), note(store, monkeypatch, "row_tail")
    proxy.largest_reply = LARGEST_REPLY

    assert all_cells(store, page=2_000) == CELLS + wide
    assert_halved([rows for _, _, _, rows, *_ in walked])
    assert tails[-1][3] < 20_000


@pytest.mark.hbase
@pytest.mark.parametrize("version", [pytest.param(2, id="thrift2")], indirect=True)
@pytest.mark.parametrize("limit", [1, 5, 100])
def test_a_batch_of_prefixes_goes_on_with_fewer_of_them(store, proxy, monkeypatch, limit):
    rows = rows_of(*((n, m) for n in range(600) for m in range(5)))
    store.put_rows(rows, timestamp=1)
    asked = note(store, monkeypatch, "scan_keys")
    proxy.largest_reply = LARGEST_REPLY

    found = store.scan(np.arange(600, dtype=np.uint64), limit=limit)

    assert pairs_of(found.rows) == [pair for pair in pairs_of(rows) if pair[1] < limit]
    assert found.truncated.tolist() == (list(range(600)) if limit < 5 else [])
    assert [(rows, len(prefixes)) for _, _, rows, prefixes, _ in asked[:2]] == [(20_000, 600), (10_000, 300)]
    # Those that were answered are not asked for again.
    starts = [start for start, *_ in asked]
    assert starts == sorted(starts)


LOOKUPS = {
    "get": lambda store: store.get("d", [(cell.row, cell.qualifier) for cell in CELLS]),
    "get_rows": lambda store: [cell for row in store.get_rows("d", [c.row for c in CELLS], limit=1) for cell in row],
}


@pytest.mark.hbase
@pytest.mark.parametrize("method", LOOKUPS)
def test_a_lookup_goes_on_with_fewer_rows_at_a_time(store, proxy, monkeypatch, method):
    store.put("d", CELLS)
    asked = note(store, monkeypatch, method)
    most = store._driver.rows_per_get
    # An answer has about 100 bytes a row: half of the rows are answered, all of them are not.
    proxy.largest_reply = 75 * most

    assert LOOKUPS[method](store) == CELLS
    first = [keys for _, keys, *_ in asked if keys[0] in (CELLS[0].row, (CELLS[0].row, b"q"))]
    assert [len(keys) for keys in first] == [most, most // 2]
    assert sum(len(keys) == most // 2 for _, keys, *_ in asked) > 1


WRITES = {
    "put": lambda store: store.put("d", CELLS),
    "put_keys": lambda store: store.put_rows(rows_of(*((n, n) for n in range(ROWS))), timestamp=1),
}


@pytest.mark.hbase
@pytest.mark.parametrize("method", WRITES)
def test_a_write_goes_on_with_fewer_rows_at_a_time(store, monkeypatch, method):
    sizes, write = [], getattr(store._driver, method)

    def late(*words, **named):
        written = max(words, key=len)
        sizes.append(len(written))
        yield from write(*words, **named)
        if len(written) > 1_000:
            raise StoreTimeout("HBase behind the gateway did not answer in time")

    monkeypatch.setattr(store._driver, method, late)
    WRITES[method](store)

    assert_halved(sizes[:2])
    assert max(sizes[-2:]) <= 1_000
    wanted = (CELLS, []) if method == "put" else ([], [(n, n) for n in range(ROWS)])
    assert (all_cells(store), all_pairs(store)) == wanted


def caching(calls):
    """List for each scan or row that was read whether the servers keep what they read: None means they do."""
    arguments = [call.arguments for call in calls]
    reads = [read for named in arguments for read in (named.get("tscan"), named.get("scan"), *named.get("tgets", ()))]
    return [read.cacheBlocks for read in reads if read is not None]


@pytest.mark.hbase
def test_walks_leave_the_cache_to_queries(store, calls, monkeypatch):
    store.put_rows(rows_of(*((n, n) for n in range(200))), timestamp=1)
    # So many cells in a row that its end is read by a call of its own.
    store.put("d", [Cell(b"row", b"%03d" % n, b"v", 7) for n in range(100)])

    assert len(all_pairs(store)) == 200
    assert len(all_cells(store)) == 100
    assert set(caching(calls)) == {False}
    calls.clear()
    store.scan(uint64s(1, 2), limit=5)
    store.scan(np.arange(100, dtype=np.uint64), limit=5)
    store.get_rows("d", [b"row"], limit=10)
    assert set(caching(calls)) == {None}
    calls.clear()
    # A row that is so wide that a query reads its rest by calls of their own.
    for name, size in (("REPLY_CELLS", 20), ("FEW_CELLS", 5), ("MANY_CELLS", 20)):
        monkeypatch.setattr(f"simhash_hbase.stores.hbase.reader.{name}", size)
    assert len(store.get_rows("d", [b"row"], limit=1_000)[0]) == 100
    assert len(caching(calls)) > 2
    assert set(caching(calls)) == {None}
