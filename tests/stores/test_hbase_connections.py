"""Connections: no answer is taken for another one's; gateways share the work, and what failed rests and comes back."""

import os
import struct
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Event, Thread
from unittest.mock import Mock

import numpy as np
import pytest
from support.faulty_proxy import proxied_options, proxy_to
from support.hbase_server import hbase_options, tables
from support.patience import END_S
from support.serving import wait_for

from simhash_hbase.errors import Retryable, StoreTimeout, StoreUnavailable
from simhash_hbase.stores.hbase import Gateway, HBaseOptions, HBaseStore
from simhash_hbase.stores.hbase.gateways import ask_version
from simhash_hbase.stores.hbase.sockets import UnreadableAnswer
from simhash_hbase.stores.hbase.thrift.pool import FIRST_REST_S, LONGEST_REST_S, Pool, Resting
from simhash_hbase.stores.hbase.thrift.wire import Call, GatewayConnection, interface
from simhash_hbase.testing.rows import found_by, pairs_of, rows_of

REPLY, EXCEPTION, CALL = 2, 3, 1
SOON_S = 1.0
ASK = "getThriftServerType"
QUESTION = Call(interface("either").Either, ASK, {})


def message(name, number, *, kind=REPLY, body=b"\x08\x00\x00\x00\x00\x00\x02\x00"):
    """Write an answer in the binary protocol; the body says ``success = 2``."""
    return struct.pack(">Ii", 0x80010000 | kind, len(name)) + name.encode() + struct.pack(">i", number) + body


def right(number):
    return [message(ASK, number)]


def unknown_method(name, number):
    return message(name, number, kind=EXCEPTION, body=b"\x08\x00\x02\x00\x00\x00\x01\x00")


class Answering(BaseRequestHandler):
    """Answers each question on a connection by the next answer of the server."""

    def handle(self):
        with suppress(OSError):
            for number, reply in enumerate(self.server.answers, 1):
                if not self.request.recv(1 << 16):
                    return
                for part in reply(number) if callable(reply) else [reply]:
                    self.request.sendall(part)
                    time.sleep(0.02)
            self.request.recv(1 << 16)


@pytest.fixture
def serve():
    """Return a function that starts a gateway with its answers, and returns the options to reach it.

    A test whose gateway is to be late names a time-out.
    """
    with ExitStack() as stack:

        def start(*answers, timeout_s=END_S):
            server = stack.enter_context(ThreadingTCPServer(("127.0.0.1", 0), Answering))
            server.daemon_threads, server.answers = True, answers
            Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
            stack.callback(server.shutdown)
            gateways = (Gateway(*server.server_address),)
            return HBaseOptions(
                gateways=gateways, table="t", timeout_s=timeout_s, connect_timeout_s=timeout_s, deadline_s=timeout_s
            )

        yield start


def ask(connection):
    connection.send([QUESTION])
    return connection.receive()


@pytest.fixture
def connect():
    """Return a function that connects to a gateway; connections are closed at the end."""
    with ExitStack() as stack:
        yield lambda options: stack.enter_context(closing(GatewayConnection(options.gateways[0], options)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "reply",
    [
        message(ASK, 7),
        message("scannerClose", 1),
        message(ASK, 1, kind=CALL),
        message(ASK, 1)[:-3],
        message(ASK, 1, body=b"\x0f\x00\x00\xff"),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00",
        b"\xff" * 64,
    ],
)
def test_a_connection_with_an_unreadable_answer_is_not_used_again(serve, connect, reply):
    connection = connect(serve(reply, timeout_s=SOON_S))

    with pytest.raises((UnreadableAnswer, OSError)):
        ask(connection)

    assert not connection.is_clean()


@pytest.mark.slow
def test_the_answer_of_a_call_that_timed_out_is_not_taken_by_the_next_one(serve, connect):
    ended = Event()

    def late(number):
        ended.wait(END_S)
        return right(number)

    connection = connect(serve(late, right, timeout_s=SOON_S))
    with pytest.raises(TimeoutError):
        ask(connection)

    assert not connection.is_clean()
    ended.set()


def test_a_connection_is_lent_again_unless_idle_or_with_stray_bytes(serve, connect):
    quiet, talking = (connect(serve(lambda number, more=more: [*right(number), *more])) for more in ([], [b"more"]))
    for connection in (quiet, talking):
        ask(connection)

    wait_for(lambda: not talking.is_fresh(60))
    assert quiet.is_fresh(60)
    assert not quiet.is_fresh(0)


@pytest.mark.parametrize(
    ("second", "version"),
    [
        (lambda number: [unknown_method("scannerClose", number)], 2),
        (lambda number: [message("scannerClose", number, body=b"\x0c\x00\x02\x00\x00")], 1),
        (lambda number: [message("scannerClose", number, body=b"\x00")], 1),
    ],
)
def test_older_gateways_are_told_apart_by_a_call_of_thrift_1(serve, connect, second, version):
    options = serve(lambda number: [unknown_method(ASK, number)], second)

    assert ask_version(connect(options)) == version


def test_another_refusal_than_that_of_an_unknown_call_is_reported_as_it_is(serve, connect):
    internal_error = b"\x0b\x00\x01\x00\x00\x00\x04oops\x08\x00\x02\x00\x00\x00\x06\x00"
    connection = connect(serve(message(ASK, 1, kind=EXCEPTION, body=internal_error)))

    with pytest.raises(StoreUnavailable, match="oops"):
        ask_version(connection, explain=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it speaks HTTP"),
        (b"-ERR unknown command\r\n", "which is not Thrift"),
        (b"", "it accepts connections but sends nothing: repeat the call if it only stood still, else the port is"),
        (b"\x00\x00\x00\x20" + message(ASK, 1), "transport=framed&protocol=binary"),
        (b"\x82\x41\x01\x01x", "transport=buffered&protocol=compact"),
    ],
)
def test_what_is_at_a_wrong_port_is_said(serve, monkeypatch, reply, words):
    monkeypatch.setattr("simhash_hbase.stores.hbase.gateways._PROBE_S", 0.3)

    with pytest.raises(StoreUnavailable, match=words):
        HBaseStore.open(serve(reply, timeout_s=SOON_S))


@pytest.mark.slow
def test_a_gateway_that_stood_still_while_an_index_was_opened_may_be_asked_again(serve):
    connections = iter(range(9))
    options = serve(lambda number: [b"" if next(connections) == 0 else right(number)[0]], timeout_s=SOON_S)

    with pytest.raises(Retryable, match=r"no answer within .* s; it answers now, so repeat the call"):
        HBaseStore.open(options)


@pytest.mark.slow
def test_a_gateway_whose_first_answer_was_cut_is_not_called_something_else(serve, connect):
    connections = iter(range(9))
    options = serve(lambda number: [right(number)[0][: 10 if next(connections) == 0 else None]], timeout_s=SOON_S)

    with pytest.raises(StoreTimeout) as failure:
        ask_version(connect(options))
    assert "no Thrift gateway" not in str(failure.value)


@pytest.fixture
def make_pool():
    """Return a function that makes a pool over gateways that are not asked who they are."""
    with ExitStack() as stack:

        def make(*options, **changes):
            gateways = tuple(one.gateways[0] for one in options)
            pool = Pool(replace(options[0], gateways=gateways, **changes), lambda *_: None)
            return stack.enter_context(closing(pool))

        yield make


def test_a_pool_takes_back_the_places_of_failed_connections(serve, make_pool, monkeypatch):
    pool = make_pool(serve(right), max_connections=3)
    connect = Pool._connect
    refused = Mock(side_effect=StoreUnavailable("refused"))
    outcomes = [connect, refused, connect, connect, connect]

    def next_outcome(*words):
        return outcomes.pop(0)(*words)

    monkeypatch.setattr(Pool, "_connect", next_outcome)

    with pool.lend(3) as lent:
        assert len(lent) == 1
    with pool.lend(2) as first, pool.lend(5) as second:
        assert (len(first), len(second)) == (2, 1)
    assert pool.counts() == (3, 0)


@pytest.mark.parametrize(("read", "is_kept"), [(0, False), (1, False), (2, True)])
def test_a_connection_with_an_answer_that_nobody_read_is_closed_when_it_comes_back(serve, make_pool, read, is_kept):
    pool = make_pool(serve(lambda number: [*right(1), *right(2)]))
    with pool.lend(1) as [connection]:
        connection.send([QUESTION] * 2)
        assert [connection.receive() for _ in range(read)] == [2] * read
        assert connection.is_clean() == is_kept

    assert connection._closed != is_kept
    assert pool.counts() == (int(is_kept), 0)


def test_a_child_never_uses_its_parents_connections(serve, make_pool):
    pool = make_pool(serve(right))
    with pool.lend(1) as [parents]:
        ask(parents)
    child = os.fork()
    if not child:
        with pool.lend(1) as [own]:
            os._exit(own is parents)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pool.counts() == (1, 0)


def test_only_errors_of_several_gateways_become_one(serve, make_pool, monkeypatch):
    def late(pool, gateway, options):
        raise StoreTimeout(f"{gateway} is late")

    monkeypatch.setattr(Pool, "_connect", late)
    one, two = serve(right), serve(right)

    with pytest.raises(StoreTimeout, match=r"is late$"), make_pool(one).lend(1):
        pass
    with pytest.raises(StoreUnavailable, match=r"is late; .* is late"), make_pool(one, two).lend(1):
        pass


def test_a_gateway_that_rested_is_asked_who_it_is_before_it_is_lent_again(serve):
    one, two = serve(right), serve(right)
    greeted, now = [], [0.0]
    options = replace(one, gateways=(*one.gateways, *two.gateways), idle_s=60.0)
    pool = Pool(options, lambda connection, known: greeted.append((connection.gateway, known)))
    pool._resting = Resting(lambda: now[0])
    # Each caller begins with another gateway.
    for _ in range(2):
        with pool.lend(1):
            pass
    pool.suspect(one.gateways[0])
    now[0] += LONGEST_REST_S + 1
    with pool.lend(1) as [connection]:
        assert connection.gateway == one.gateways[0]

    assert sorted(greeted) == sorted([(one.gateways[0], False), (two.gateways[0], False), (one.gateways[0], True)])
    pool.close()


# several gateways

ONE, TWO = (Gateway("gateway", port) for port in (1, 2))
# A probe may be too slow on a busy machine; then the next one counts.
TRIES = 60


@pytest.fixture
def resting(clock):
    return Resting(clock)


def test_a_gateway_that_failed_is_due_once_after_its_rest(resting, clock):
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
def test_a_gateway_that_takes_connections_in_silence_is_not_used_again(store, proxies, clock):
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
