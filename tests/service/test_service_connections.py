"""Connections: who is told to go on, and whether another request may follow an answer that came early."""

import asyncio
import signal
import socket
from contextlib import ExitStack

import pytest
from serving import NDJSON

from simhash_hbase.service.http import middleware
from simhash_hbase.service.http.metrics import Metrics
from simhash_hbase.service.http.middleware import HANG_UP, Surround
from simhash_hbase.service.listening import listen
from simhash_hbase.stores.memory import MemoryStore
from tests.patience import END_S

SIZED = [(b"content-length", b"2")]
UNSIZED = []
MORE = {"type": "http.request", "body": b"x", "more_body": True}
LAST = {"type": "http.request", "body": b"x", "more_body": False}


def exchange(answer_headers, arriving, *, request_headers=((b"transfer-encoding", b"chunked"),), reads=0):
    """Answer a request after some pieces of it; return the answer's messages, the rest, and whether it hung up."""
    sent, hung_up, arriving = [], [], list(arriving)

    async def app(scope, receive, send):
        for _ in range(reads):
            await receive()
        await send({"type": "http.response.start", "status": 200, "headers": list(answer_headers)})
        await send({"type": "http.response.body", "body": b"ok"})

    async def receive():
        return arriving.pop(0) if arriving else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": list(request_headers)}
    scope[HANG_UP] = lambda: hung_up.append(True)
    asyncio.run(Surround(app, Metrics(MemoryStore()))(scope, receive, send))
    return sent, arriving, bool(hung_up)


def says_close(sent):
    return (b"connection", b"close") in sent[0]["headers"]


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch):
    monkeypatch.setattr(middleware, "DRAIN_S", 0.05)


@pytest.mark.parametrize("headers", [SIZED, UNSIZED])
def test_behind_a_request_that_was_read_whole_the_next_one_may_follow(headers):
    sent, _, hung_up = exchange(headers, [MORE, LAST], reads=2)

    assert (says_close(sent), hung_up) == (False, False)
    assert len(sent) == 2


def test_an_answer_of_known_length_says_that_the_connection_ends():
    sent, rest, hung_up = exchange(SIZED, [MORE, MORE, LAST], reads=1)

    # The server's HTTP closes by the header itself.
    assert (says_close(sent), rest, hung_up) == (True, [], False)
    assert [message.get("body") for message in sent[1:]] == [b"ok", b""]


def test_behind_an_answer_of_unknown_length_whose_request_was_drained_the_next_one_may_follow():
    sent, rest, hung_up = exchange(UNSIZED, [MORE, MORE, LAST], reads=1)

    assert (says_close(sent), rest, hung_up) == (False, [], False)
    assert [message["more_body"] for message in sent[1:]] == [True, False]


@pytest.mark.parametrize("headers", [SIZED, UNSIZED])
def test_a_request_that_does_not_end_ends_with_its_connection(headers):
    assert exchange(headers, [MORE, MORE], reads=1)[2]


@pytest.mark.parametrize("headers", [SIZED, UNSIZED])
def test_of_a_request_that_is_too_long_the_rest_is_not_read(headers, monkeypatch):
    monkeypatch.setattr(middleware, "DRAIN_BYTES", 2)
    _, rest, hung_up = exchange(headers, [MORE] * 5, reads=1)

    assert (len(rest), hung_up) == (2, True)


def test_probes_take_no_place_of_a_request():
    async def both():
        answered = []

        async def app(scope, receive, send):
            await (asyncio.Event().wait() if scope["path"] == "/readyz" else asyncio.sleep(0))
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"ok"})

        async def send(message):
            answered.append(message.get("status"))

        surround = Surround(app, Metrics(MemoryStore()))
        scope = {"type": "http", "method": "GET", "headers": []}
        probe = asyncio.create_task(surround({**scope, "path": "/readyz"}, None, send))
        await asyncio.sleep(0)
        await surround({**scope, "path": "/"}, None, send)
        probe.cancel()
        return answered[0]

    assert asyncio.run(both()) == 200


def test_a_client_that_waits_to_be_told_to_go_on_is_not_waited_for():
    expecting = [(b"content-length", b"5"), (b"expect", b"100-continue")]
    _, rest, hung_up = exchange(SIZED, [MORE], request_headers=expecting)

    assert (rest, hung_up) == ([MORE], True)


def test_a_stream_whose_client_waits_to_be_told_to_go_on_is_told_so(server):
    body = b'{"id":"a","simhash":"0"}\n'
    head = f"POST /v1/documents HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {server.keys['all']}\r\n"
    head += f"Content-Type: {NDJSON['Content-Type']}\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(head.encode())
        answer = connection.makefile("rb")
        assert answer.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert answer.readline().strip() == b""
        connection.sendall(body)
        assert answer.readline().startswith(b"HTTP/1.1 200 ")
        while (line := answer.readline()) and b"summary" not in line:
            continue
        assert b'"complete":true' in line


def test_the_end_of_an_answer_does_not_wait_until_its_beginning_is_acknowledged():
    with listen("127.0.0.1", 0, has_keys=True) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            # By this asyncio knows that it is to turn Nagle's algorithm off.
            assert accepted.proto == socket.IPPROTO_TCP


def test_hundreds_of_connections_queue_while_the_service_is_busy(server):
    """The queue stays long although few connections are accepted in one step."""
    server.process.send_signal(signal.SIGSTOP)
    try:
        with ExitStack() as waiting:
            for _ in range(700):
                waiting.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=END_S))
    finally:
        server.process.send_signal(signal.SIGCONT)
    with server.client() as client:
        assert client.get("/healthz").text == "alive\n"
