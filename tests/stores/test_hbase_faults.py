"""Faults of networks and gateways do not make an answer of a store over HBase wrong."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

import numpy as np
import pytest
from support.faulty_proxy import Chaos, proxied_options, proxy_to
from support.hbase_server import address, administrate, hbase_options, tables
from support.own_hbase import own_gateway
from support.patience import END_S

from simhash_hbase.errors import IndexMissing, StoreRefused, StoreTimeout, StoreUnavailable
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import BlockRows, block_rows
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.hbase import Gateway, HBaseStore, backoff
from simhash_hbase.stores.hbase.gateways import Gateways
from simhash_hbase.stores.hbase.thrift import exchange
from simhash_hbase.testing.rows import found_by, pairs_of, rows_of

pytestmark = pytest.mark.hbase

QUERIES = int(os.environ.get("SIMHASH_HBASE_FAULT_QUERIES", "400"))
THREADS = 4
SCHEME = Scheme(5, 2)
PATIENCE = {"timeout_s": 2.0, "deadline_s": 20.0}


@pytest.fixture(scope="module")
def table():
    return tables().take(keep=True)


@pytest.fixture(scope="module")
def simhashes(table):
    """Fingerprints in groups of near ones, written once for all tests of this file."""
    rng = np.random.default_rng(1)
    centres = rng.integers(0, 1 << 64, 300, dtype=np.uint64)
    near = np.concatenate([centres ^ (np.uint64(1) << np.uint64(bit)) for bit in (0, 17, 40, 63)])
    found = np.unique(np.concatenate([centres, near]))
    store = HBaseStore.open(hbase_options(2, table))
    store.put_rows(block_rows(SCHEME, found), timestamp=1)
    store.close()
    return found


@pytest.fixture
def store(proxy, version, table, simhashes):
    with closing(HBaseStore.open(proxied_options(version, table, proxy, **PATIENCE))) as made:
        yield made


@pytest.fixture
def own_table(version):
    """Return the name of a table of one test alone, and a store of it."""
    name = tables().take()
    with closing(HBaseStore.open(hbase_options(version, name))) as made:
        yield name, made


def expected(simhashes, prefixes):
    rows = block_rows(SCHEME, simhashes)
    present = np.isin(rows.prefixes, prefixes)
    return pairs_of(BlockRows(rows.prefixes[present], rows.simhashes[present]))


def prefixes_of(simhashes):
    return np.unique(SCHEME.prefixes(simhashes).reshape(-1))


def later(seconds, act):
    timer = threading.Timer(seconds, act)
    timer.start()
    return timer


def test_connections_that_were_closed_while_idle_are_replaced_without_an_error(store, proxy, simhashes):
    prefixes = prefixes_of(simhashes[:1])
    store.scan(prefixes, limit=1000)
    proxy.kill_connections()
    time.sleep(0.1)

    # A compare-and-set is not repeated, so this would fail if it were sent on a closed connection.
    assert store.compare_and_set([Swap(os.urandom(8), b"s", None, b"x")]) == [True]
    assert pairs_of(store.scan(prefixes, limit=1000).rows) == expected(simhashes, prefixes)


def test_a_lost_reply_to_a_stamped_write_or_a_swap_is_an_error_without_a_repeat(store, proxy):
    row = os.urandom(8)
    proxy.cut_after = 3
    with pytest.raises((StoreTimeout, StoreUnavailable)):
        store.put("d", [Cell(row, b"stamped", b"one")])
    proxy.cut_after = None
    assert store.get("d", [(row, b"stamped")])[0].value == b"one"
    [done] = store.compare_and_set([Swap(row, b"s", None, b"one")])
    # If it were repeated, the second one would be answered.
    recovery = proxy.cut_for(0.5)

    with pytest.raises((StoreTimeout, StoreUnavailable)):
        store.compare_and_set([Swap(row, b"s", b"one", b"two")])
    recovery.join()

    assert done
    assert store.get("d", [(row, b"s")])[0].value == b"two"


def test_writes_with_a_timestamp_are_repeated(store, proxy):
    row = os.urandom(8)
    proxy.cut_for(0.3)

    store.put("d", [Cell(row, b"s", b"one", 7)])

    assert store.get("d", [(row, b"s")]) == [Cell(row, b"s", b"one", 7)]


@pytest.mark.parametrize("queries", [1, 60], ids=["query", "batch"])
def test_a_gateway_killed_at_work_is_replaced_by_another_else_an_error(version, table, simhashes, queries, tmp_path):
    prefixes = prefixes_of(simhashes[:queries])
    host, _, running = address(version).rpartition(":")
    with own_gateway(version, tmp_path / "log") as (port, process), ThreadPoolExecutor(2) as threads:
        own = Gateway("127.0.0.1", port)
        patience = {"timeout_s": 20.0, "deadline_s": 1.0}
        alone, both = (
            HBaseStore.open(hbase_options(version, table, gateways=gateways, **patience))
            for gateways in ((own,), (own, Gateway(host, int(running))))
        )
        with closing(alone), closing(both):
            # The gateway takes calls and answers nothing, until it dies.
            process.send_signal(signal.SIGSTOP)
            asked = [threads.submit(store.scan, prefixes, limit=1000) for store in (alone, both)]
            later(0.5, process.kill)

            with pytest.raises(StoreUnavailable, match=f"at 127.0.0.1:{port}: "):
                asked[0].result()
            assert pairs_of(asked[1].result().rows) == expected(simhashes, prefixes)


def test_a_gateway_that_falls_silent_is_left_for_another(proxy, version, table, simhashes):
    prefixes = prefixes_of(simhashes[:1])
    with (
        closing(proxy_to(version)) as other,
        closing(HBaseStore.open(proxied_options(version, table, proxy, other, **PATIENCE))) as store,
    ):
        proxy.stalled = True

        for _ in range(3):
            assert pairs_of(store.scan(prefixes, limit=1000).rows) == expected(simhashes, prefixes)


def test_what_cannot_be_opened_is_named(version, table):
    nobody, other = Gateway("127.0.0.1", 1), 3 - version
    for name, changes, error, words in (
        (table, {"gateways": (nobody,)}, StoreUnavailable, r"127\.0\.0\.1:1: connection refused; is the gateway up\?"),
        (table, {"version": other}, StoreUnavailable, f"speaks Thrift {version}, the address says Thrift {other}"),
        ("simhash_test_nobody_made_it", {}, IndexMissing, "no table simhash_test_nobody_made_it"),
        ("nonamespace:simhash_test", {}, IndexMissing, "no table nonamespace:simhash_test"),
    ):
        with pytest.raises(error, match=words):
            HBaseStore.open(hbase_options(version, name, **changes))


def test_a_disabled_or_missing_table_is_named_long_before_the_deadline_of_a_write(version, own_table, monkeypatch):
    monkeypatch.setattr(exchange, "DOUBT_S", 0.1)
    name, store = own_table
    cell = Cell(b"row", b"q", b"value", 1)
    change(name, "disableTable")

    for use in (
        lambda: HBaseStore.open(hbase_options(version, name)),
        lambda: found_by(store, 1),
        lambda: store.put_rows(rows_of((1, 1)), timestamp=1),
        lambda: store.put("d", [cell]),
        lambda: store.put("d", [cell._replace(timestamp=None)]),
        lambda: store.delete("d", [cell]),
        lambda: store.compare_and_set([Swap(b"row", b"q", None, b"value")]),
    ):
        with pytest.raises(StoreRefused, match=rf"{name} is disabled"):
            use()
    change(name, "enableTable")
    store.put("d", [cell._replace(row=b"other")])
    assert store.get("d", [(b"other", b"q")]) == [cell._replace(row=b"other")]

    change(name, "disableTable", "deleteTable")
    for use in (
        lambda: found_by(store, 1),
        lambda: store.put_rows(rows_of((1, 1)), timestamp=1),
        lambda: store.delete("d", [cell]),
    ):
        with pytest.raises(IndexMissing, match=rf"no table {name}"):
            use()


def test_a_write_that_takes_long_is_waited_for_after_the_table_was_looked_at(store, proxy, monkeypatch):
    monkeypatch.setattr(exchange, "DOUBT_S", 0.1)
    cell = Cell(os.urandom(8), b"q", b"value", 1)
    proxy.delay_s = 0.3

    store.put("d", [cell])

    assert store.get("d", [(cell.row, cell.qualifier)]) == [cell]


def test_queries_under_random_faults_are_never_answered_wrongly(proxy, version, table, simhashes, monkeypatch):
    # Each fault costs time-out or pause, and there are hundreds.
    monkeypatch.setattr(backoff, "FIRST_PAUSE_S", 0.002)
    options = proxied_options(version, table, proxy, timeout_s=0.5, deadline_s=END_S)
    with closing(HBaseStore.open(options)) as store, ThreadPoolExecutor(THREADS) as threads:
        proxy.chaos = Chaos(seed=7, hold_s=0.6)

        def is_right(simhash):
            prefixes = prefixes_of(np.array([simhash]))
            return pairs_of(store.scan(prefixes, limit=1000).rows) == expected(simhashes, prefixes)

        right = list(threads.map(is_right, np.random.default_rng(7).choice(simhashes, QUERIES)))

    assert right == [True] * QUERIES
    assert proxy.chaos.faults > QUERIES / 100


def change(name, *methods):
    with closing(Gateways(hbase_options(2, name))) as gateways:
        gateways.exchange.one(partial(administrate, name, *methods))
