"""Several gateways share the work: those that fail rest, are tried again, and get their share back."""

from contextlib import closing, contextmanager
from dataclasses import replace

import numpy as np
import pytest
from support.faulty_proxy import proxied_options, proxy_to
from support.hbase_server import hbase_options, tables
from support.rows import found_by, pairs_of, rows_of

from simhash_hbase.errors import StoreUnavailable
from simhash_hbase.stores.hbase import Gateway, HBaseStore
from simhash_hbase.stores.hbase.thrift.pool import FIRST_REST_S, LONGEST_REST_S, Resting

ONE, TWO = (Gateway("gateway", port) for port in (1, 2))
# A probe may be too slow on a busy machine; then the next one counts.
TRIES = 60


@pytest.fixture
def resting(clock):
    return Resting(clock)


def test_what_fails_rests_is_due_once_afterwards_and_works_again_once_it_answered(resting, clock):
    for _ in range(2):
        # Connections that fail together are one failure.
        for _ in range(9):
            resting.failed(ONE)

        assert resting.working([ONE, TWO]) == [TWO]
        assert resting.take_due([ONE, TWO]) == []
        clock.now += FIRST_REST_S + 0.01
        assert resting.working([ONE, TWO]) == [TWO]
        assert resting.take_due([ONE, TWO]) == [ONE]
        assert resting.take_due([ONE, TWO]) == []
        # After an answer the next failure is a first one.
        resting.answered(ONE)
        assert resting.working([ONE, TWO]) == [ONE, TWO]


def test_each_probe_that_fails_doubles_the_rest_up_to_the_longest(resting, clock):
    resting.failed(ONE)
    rests = []
    for _ in range(7):
        began = clock.now
        while not resting.take_due([ONE]):
            clock.now += 0.5
        resting.failed(ONE)
        rests.append(int(clock.now - began))

    assert rests == [int(FIRST_REST_S), 10, 20, 40, *[int(LONGEST_REST_S)] * 3]


@pytest.fixture
def proxies():
    with closing(proxy_to(2)) as one, closing(proxy_to(2)) as two:
        yield [one, two]


@contextmanager
def through(proxies, clock, **options):
    """Open a store over proxies, in whose pool time passes when a test says so."""
    with closing(HBaseStore.open(proxied_options(2, tables().take(), *proxies, **options))) as made:
        made._gateways._pool._resting = Resting(clock)
        yield made


@pytest.fixture
def store(proxies, clock):
    with through(proxies, clock) as made:
        made.put_rows(rows_of((1, 1)), timestamp=1)
        yield made


def kill(proxy):
    proxy.refusing = True
    proxy.kill_connections()


def asked(store, proxies, times=10):
    """Ask something, and tell how many answers came through each proxy meanwhile."""
    before = [proxy.replies for proxy in proxies]
    for _ in range(times):
        assert found_by(store, 1) == [(1, 1)]
    return [proxy.replies - then for proxy, then in zip(proxies, before, strict=True)]


@pytest.mark.hbase
def test_gateways_share_the_work_also_with_one_that_comes_back(store, proxies, clock):
    assert min(asked(store, proxies, times=20)) >= 5
    with store._gateways._pool.lend(4) as lent:
        assert sorted(connection.gateway.port for connection in lent) == sorted(2 * [proxy.port for proxy in proxies])
    killed, other = proxies

    kill(killed)
    assert asked(store, proxies)[0] == 0
    attempts = killed.attempts
    assert asked(store, proxies)[0] == 0
    # While it rests nobody waits for it.
    assert killed.attempts == attempts
    clock.now += FIRST_REST_S + 1
    assert asked(store, proxies)[0] == 0
    assert killed.attempts == attempts + 1

    killed.refusing = False
    assert asked(store, proxies)[0] == 0
    for _ in range(TRIES):
        clock.now += LONGEST_REST_S + 1
        if asked(store, proxies)[0] >= 3:
            break
    assert min(asked(store, proxies, times=20)) >= 5
    assert other.attempts > 0


@pytest.mark.hbase
def test_a_gateway_that_takes_connections_and_says_nothing_is_not_used_again(store, proxies, clock):
    silent, _ = proxies
    kill(silent)
    asked(store, proxies)
    silent.refusing, silent.stalled = False, True
    connections = silent.connections

    for _ in range(3):
        clock.now += LONGEST_REST_S + 1
        assert found_by(store, 1) == [(1, 1)]

    # One probe each time, on which nothing else was asked.
    assert silent.connections == connections + 3


@pytest.mark.hbase
@pytest.mark.parametrize("back", [0, 1])
def test_when_all_gateways_rest_all_are_tried(store, proxies, back):
    for proxy in proxies:
        kill(proxy)
    store._exchange._options = hbase_options(2, "x", deadline_s=0.3)
    with pytest.raises(StoreUnavailable):
        found_by(store, 1)
    proxies[1 - back].refusing, proxies[1 - back].stalled = False, True
    proxies[back].refusing = False
    store._gateways._pool._options = store._exchange._options = replace(store._options, timeout_s=2.0)

    # Ten prefixes are asked for on several connections; one that says nothing holds up those to the other.
    prefixes = np.arange(10, dtype=np.uint64)
    assert pairs_of(store.scan(prefixes, limit=9).rows) == [(1, 1)]


@pytest.mark.hbase
def test_there_are_never_more_connections_than_allowed(proxies, clock):
    with through(proxies, clock, max_connections=4) as store:
        pool = store._gateways._pool
        with pool.lend(4):
            pass
        kill(proxies[0])
        pool.suspect(Gateway("127.0.0.1", proxies[0].port))
        with pool.lend(4) as lent:
            assert {connection.gateway.port for connection in lent} == {proxies[1].port}
        proxies[0].refusing = False
        for _ in range(TRIES):
            clock.now += LONGEST_REST_S + 1
            with pool.lend(1) as [connection]:
                assert sum(pool.counts()) <= 4
                if connection.gateway.port == proxies[0].port:
                    break

        assert connection.gateway.port == proxies[0].port
        assert pool.counts() == (4, 0)
