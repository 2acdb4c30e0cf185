"""Connections: who is told to go on, what may follow an early answer, and clients that read slowly or go away."""

import asyncio
import signal
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.duplex import Duplex
from support.patience import END_S
from support.serving import NDJSON, serving, wait_for

from simhash_hbase import open_index
from simhash_hbase.service import requests
from simhash_hbase.service.metrics import Metrics
from simhash_hbase.service.processes import listen
from simhash_hbase.service.requests import Surround
from simhash_hbase.stores.memory import MemoryStore

BUFFER = 64 << 10
# Each of these two-byte lines has an answer of a hundred bytes: whoever does not read is soon full of them.
FLOOD = b"x\n" * (BUFFER // 2)
PIECES = 512
MEMORY = 64 << 20
HOST = (b"host", b"a")
MORE = {"type": "http.request", "body": b"x", "more_body": True}
LAST = {"type": "http.request", "body": b"x", "more_body": False}


async def exchange(app, receive, send, *, request_headers=(HOST,), idle_s=END_S, is_draining=False):
    scope = {"type": "http", "method": "POST", "path": "/", "headers": list(request_headers)}
    await Surround(app, Metrics(MemoryStore()), idle_s, lambda: is_draining)(scope, receive, send)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("arriving", "reads", "is_draining", "most", "expected"),
    [
        pytest.param([MORE, LAST], 2, False, 100, (False, 0, [b"ok"]), id="read whole: the next one may follow"),
        pytest.param([MORE, LAST], 2, True, 100, (True, 0, [b"ok"]), id="read whole by a service that drains"),
        pytest.param([MORE, MORE, LAST], 1, False, 100, (True, 0, [b"ok", b""]), id="the rest is read"),
        pytest.param([MORE, MORE], 1, False, 100, (True, 0, [b"ok", b""]), id="a rest without end is not waited for"),
        pytest.param([MORE] * 5, 1, False, 2, (True, 2, [b"ok", b""]), id="of a rest that is too long a part is read"),
        pytest.param([MORE], 0, False, None, (True, 1, [b"ok", b""]), id="who waits to be told to go on sends no rest"),
    ],
)
async def test_behind_an_answer_the_connection_ends_unless_its_request_was_read_whole(
    monkeypatch, arriving, reads, is_draining, most, expected
):
    monkeypatch.setattr(requests, "DRAIN_S", 0.05)
    headers = [HOST, (b"transfer-encoding", b"chunked")]
    if most is None:
        headers = [HOST, (b"content-length", b"5"), (b"expect", b"100-continue")]
    else:
        monkeypatch.setattr(requests, "DRAIN_BYTES", most)
    sent, arriving = [], list(arriving)

    async def app(scope, receive, send):
        for _ in range(reads):
            await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    async def receive():
        return arriving.pop(0) if arriving else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    await exchange(app, receive, send, request_headers=headers, is_draining=is_draining)

    says_close = (b"connection", b"close") in sent[0]["headers"]
    assert (says_close, len(arriving), [message["body"] for message in sent[1:]]) == expected
    assert not sent[-1].get("more_body", False)


@pytest.mark.anyio
async def test_a_client_that_does_not_read_its_answer_gives_its_place_back():
    returned = []

    async def app(scope, receive, send):
        scope["state"]["trail"].slot.callback(returned.append, True)
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message):
        await asyncio.Event().wait()

    await exchange(app, None, send, idle_s=0.01)

    assert returned == [True]


def test_a_stream_whose_client_waits_to_be_told_to_go_on_is_told_so(server):
    body = b'{"id":"a","simhash":"0000000000000000"}\n'
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


@pytest.fixture
def impatient(url, tmp_path):
    with serving(url, tmp_path, "--idle-timeout", "3") as running:
        yield running


def own_memory(server):
    """Return the bytes of the server's own memory, without the pages of its files."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(line.split()[1]) << 10


def test_who_does_not_read_is_soon_not_read_from(impatient):
    with impatient.client() as client, Duplex(impatient, "/v1/queries", buffers=BUFFER) as request:
        assert client.get("/readyz").status_code == 200
        before = own_memory(impatient)
        taken = {number: own_memory(impatient) - before for number in request.flood(FLOOD, PIECES)}

        assert 0 < len(taken) < PIECES
        assert max(taken.values()) < MEMORY
        assert request.wait_until_ended(END_S)
        [logged] = wait_for(lambda: [line for line in impatient.log() if line.get("route") == "/v1/queries"])
        assert logged["end"] == "disconnected"
        assert client.post("/v1/queries", json={"simhash": "0000000000000000"}).status_code == 200


def test_who_reads_late_gets_every_answer(impatient):
    pieces = 2
    with Duplex(impatient, "/v1/queries", buffers=BUFFER) as request:
        sending = request.start(FLOOD for _ in range(pieces))
        assert request.status() == 200
        *answers, end = request.lines()
        sending.join()

    assert len(answers) == pieces * len(FLOOD) // 2
    assert answers[-1].startswith(b'{"line":%d,' % len(answers))
    assert b'"complete":true' in end


def test_only_whole_lines_of_a_client_that_went_away_are_done(impatient, url):
    with Duplex(impatient, "/v1/documents") as request:
        request.send(b'{"id":"a","simhash":"0000000000000000"}\n{"id":"b","simhash":"0000000000000000"}')
        assert request.status() == 200
        assert next(request.lines()).startswith(b'{"id":"a"')
    wait_for(lambda: [line for line in impatient.log() if line.get("route") == "/v1/documents"])

    with open_index(url) as index:
        assert [stored and stored.id for stored in index.get_many(["a", "b"])] == ["a", None]
