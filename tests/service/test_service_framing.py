"""The ends of requests and what a connection may keep: requests as bytes."""

import asyncio
import socket
from contextlib import ExitStack, suppress

import pytest
import uvicorn
from support.duplex import Duplex
from support.patience import END_S
from support.serving import new_index, serving, wait_for
from uvicorn.server import ServerState

from simhash_hbase.service import server as server_module
from simhash_hbase.service.server import CONNECTIONS, HEAD_BYTES, PIPELINED, REFUSED, HttpConnection

LONG = [b"X-A: b" * 20_000] * (4 * HEAD_BYTES // 100_000)
QUERY = b'{"simhash":"0000000000000000"}'
ALIVE = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
LAST = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
WHOLE = b"Content-Length: 30\r\n\r\n" + QUERY
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n1e\r\n" + QUERY + b"\r\n0\r\n\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("framing")
    with serving(new_index(folder), folder) as running:
        yield running
        # uvicorn advises to install what would speak the protocols that are asked for here.
        assert "pip install" not in running.log_text()


def key_of(server, name="all"):
    return f"Authorization: Bearer {server.keys[name]}\r\n".encode()


def post(server):
    """Return the beginning of a query's header."""
    return b"POST /v1/queries HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" + key_of(server)


def answers(server, *pieces):
    """Send pieces, each once the service has seen the one before; return the status of each answer."""
    received = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=END_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number, piece in enumerate(pieces):
            if number:
                with socket.create_connection(("127.0.0.1", server.port), timeout=END_S) as other:
                    other.sendall(LAST)
                    other.makefile("rb").read()
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(piece)
        with suppress(ConnectionResetError):
            while piece := connection.recv(1 << 16):
                received += piece
    return [int(part[1:4]) for part in received.split(b"HTTP/1.1")[1:]]


@pytest.mark.parametrize("body", [WHOLE, CHUNKED])
@pytest.mark.parametrize("asks", [H2C, b"Connection: upgrade\r\nUpgrade: websocket\r\n"])
@pytest.mark.parametrize("first", ["all", "header", "half"])
def test_a_request_for_another_protocol_and_the_one_behind_it_keep_their_bodies(server, body, asks, first):
    request = post(server) + asks + body
    size = {"all": None, "header": request.index(b"\r\n\r\n") + 4, "half": request.index(QUERY) + 5}[first]
    assert answers(server, request[:size], *([request[size:]] if size else []), ALIVE + request, LAST) == [200] * 4


def test_a_body_is_never_taken_for_a_request(server):
    hidden = b"GET /metrics HTTP/1.1\r\nHost: a\r\n" + key_of(server) + b"\r\n"
    head = post(server) + H2C + b"Content-Length: %d\r\n\r\n" % len(hidden)
    assert answers(server, head, hidden, LAST) == [400, 200]


def test_a_connection_is_no_tunnel(server):
    for target in (b"a:80", b"/v1/queries"):
        assert answers(server, b"CONNECT %s HTTP/1.1\r\nHost: a\r\n%s\r\n" % (target, key_of(server)), LAST) == [400]


def test_a_trailer_is_no_header(server):
    head = b"POST /v1/queries HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    body = b"\r\n1e\r\n" + QUERY + b"\r\n0\r\n" + key_of(server) + b"\r\n"
    assert answers(server, head + b"Connection: close\r\n" + body) == [401]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (b"Host: a\r\nHost: a\r\n" + WHOLE, 400),
        (b"Host: a\r\nContent-Length: 15\r\n" + CHUNKED, 400),
        (b"Host: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1e\r\n" + QUERY + b"\r\n0\r\n\r\n", 501),
        (b"Host: a\r\n" + CHUNKED.replace(b"chunked", b"Chunked"), 200),
        (b"Host: a\r\nContent_Length: 3\r\n" + WHOLE, 400),
        (b"Host: a\r\nCONTENT_LENGTH: 15\r\n" + CHUNKED, 400),
        (b"Host: a\r\nTransfer_Encoding: chunked\r\n" + WHOLE, 400),
        (b"Host: a\r\nX_Request_ID: a\r\n" + WHOLE, 400),
    ],
)
def test_headers_that_mean_two_things_are_refused(server, fields, status):
    head = b"POST /v1/queries HTTP/1.1\r\nContent-Type: application/json\r\nConnection: close\r\n" + key_of(server)
    assert answers(server, head + fields) == [status]


def test_requests_that_wait_behind_one_another_are_bounded(server):
    assert answers(server, ALIVE * 5_000) == [200] * (PIPELINED + 1)


def test_what_is_no_http_is_refused_behind_the_answers_before_it(server):
    assert answers(server, ALIVE * 3 + b"\x00\r\n\r\n") == [200] * 3
    assert answers(server, ALIVE, b"\x00\r\n\r\n") == [200, 400]


def test_a_stream_that_goes_on_as_no_http_ends_without_another_answer_in_it(server):
    with Duplex(server, "/v1/queries") as request:
        request.send(QUERY + b"\n")
        assert request.status() == 200
        assert b'"matches":[]' in next(request.lines())
        request.send_plain(b"no length\r\n")

        assert b"HTTP/1.1" not in request.rest()


def test_a_header_or_a_trailer_that_is_too_long_is_refused(server):
    trailer = post(server) + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: "
    for endless in (b"GET / HTTP/1.1\r\nHost: a\r\nX-A: ", b"GET /", b"GET / HTTP/1.1\r\nX-A: b\r\n", trailer):
        # What is sent after the end may take the answer away.
        assert answers(server, endless, *LONG) in ([400], [])


async def connected(look_s, *, sends):
    """Connect to an application that answers, send, and return what comes until the connection ends."""

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    config, state = uvicorn.Config(app, http=HttpConnection, lifespan="off", log_config=None), ServerState()

    def connection():
        return HttpConnection(config=config, server_state=state, app_state={})

    server = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0)
    async with server, asyncio.timeout(END_S):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(sends)
        reading = asyncio.create_task(reader.read())
        while not reading.done():
            await asyncio.sleep(look_s)
            for each in list(state.connections):
                each.look(END_S)
        writer.close()
        return reading.result()


@pytest.mark.parametrize(
    ("sends", "received"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nHo", b""),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /", b"HTTP/1.1 204 No Content\r\n\r\n"),
    ],
)
@pytest.mark.anyio
async def test_a_header_that_does_not_end_is_not_waited_for(monkeypatch, sends, received):
    monkeypatch.setattr(server_module, "KEEP_ALIVE_S", 0.1)
    monkeypatch.setattr(server_module, "HEAD_S", 0.1)
    assert await connected(0.05, sends=sends) == received


def test_connections_without_a_request_do_not_take_all_files(server):
    with ExitStack() as idle:
        for _ in range(CONNECTIONS + REFUSED + 20):
            idle.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=END_S))
        with socket.create_connection(("127.0.0.1", server.port), timeout=END_S) as late, suppress(ConnectionError):
            assert late.recv(1) == b""
    wait_for(lambda: answers(server, LAST) == [200])
