"""Thrift over HTTP without an HBase: statuses, connections that stay open, headers and their secrets."""

import struct
import threading
import traceback
from contextlib import closing
from dataclasses import replace
from http.server import ThreadingHTTPServer

import pytest
from support.listening import Silent
from support.patience import END_S

from simhash_hbase.errors import InvalidArgument, StoreRefused, StoreTimeout, StoreUnavailable
from simhash_hbase.stores.hbase import HBaseStore, format_url, parse_url
from simhash_hbase.stores.hbase.gateways import Gateways
from simhash_hbase.stores.hbase.thrift.wire import Call, GatewayConnection, interface

SECRET = "s3cr3t-of-the-test"
LOGIN = {"SIMHASH_HBASE_ACCESS_USER": "root", "SIMHASH_HBASE_ACCESS_KEY": SECRET}


def answer_to(call):
    """Return a message that answers any call with ``success = 2``, and the name of the call."""
    size = struct.unpack(">i", call[4:8])[0]
    name, number = call[8 : 8 + size], call[8 + size : 12 + size]
    success = b"\x02\x00\x00\x01" if name.startswith(b"is") else b"\x08\x00\x00\x00\x00\x00\x02"
    return struct.pack(">Ii", 0x80010002, size) + name + number + success + b"\x00", name.decode()


class HttpServer(ThreadingHTTPServer):
    """Its `answer` makes a status, headers and a body from the number of a request and a good answer."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = lambda number, good: (200, {}, good)
        self.connections = 0
        self.requests = []
        self.hangs_up = False  # After an answer that does not say so.
        self.ended = threading.Event()
        self.address = f"127.0.0.1:{self.server_port}"

    def shutdown_request(self, request):
        super().shutdown_request(request)
        self.ended.set()

    def handle_error(self, request, client_address):
        """Keep silent: clients hang up on purpose."""


class Handler(Silent):
    protocol_version = "HTTP/1.1"

    def setup(self):
        self.server.connections += 1
        super().setup()

    def do_POST(self):
        message = self.rfile.read(int(self.headers["Content-Length"]))
        if not message:
            self.send_error(500)
            return
        good, name = answer_to(message)
        self.server.requests.append((name, dict(self.headers)))
        status, headers, body = self.server.answer(len(self.server.requests), good)
        self.send_response(status)
        for field, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(field, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.close_connection or self.server.hangs_up


@pytest.fixture
def server():
    with HttpServer() as started:
        threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield started
        started.shutdown()


@pytest.fixture
def options(server):
    url = f"hbase+http://{server.address}/t?version=2&access=alibaba"
    return replace(parse_url(url, LOGIN), timeout_s=5, connect_timeout_s=2, deadline_s=2)


@pytest.fixture
def gateways(options):
    with closing(Gateways(options)) as opened:
        yield opened


def is_disabled(gateways, **how):
    return gateways.exchange.one(gateways.driver.is_disabled, **how)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (301, StoreRefused, "sends to another address, which is not followed"),
        (400, StoreRefused, "HTTP status 400"),
        (401, StoreRefused, "the user and the access key are not accepted"),
        (403, StoreRefused, "this user may not use the gateway"),
        (404, StoreRefused, "there is no Thrift gateway at this address"),
        (405, StoreRefused, "takes no POST"),
        (407, StoreRefused, "a proxy on the way asks for a login"),
        (413, StoreRefused, "the call is too large"),
        (408, StoreTimeout, "took too long"),
        (429, StoreUnavailable, "too many requests"),
        (500, StoreUnavailable, "HTTP status 500"),
        (502, StoreUnavailable, "does not reach the gateway"),
        (503, StoreUnavailable, "the gateway is not available"),
        (504, StoreTimeout, "no answer from the gateway in time"),
    ],
)
def test_a_status_is_a_sentence_that_shows_no_secret(server, gateways, status, kind, words):
    server.answer = lambda number, good: (status, {"Location": "http://elsewhere/"}, SECRET.encode())

    with pytest.raises(kind, match=words) as failed:
        is_disabled(gateways)

    assert f"(HTTP status {status})" in str(failed.value) or f"HTTP status {status}" in words
    assert SECRET not in "".join(traceback.format_exception(failed.value))
    # What may be repeated is repeated until the deadline, what is refused is not.
    assert (len(server.requests) > 1) == (kind is not StoreRefused)


@pytest.mark.slow
def test_one_connection_carries_one_call_after_the_other(server, gateways):
    tasks = [gateways.driver.is_disabled] * 20

    assert gateways.exchange.hold(tasks, sockets=1, window=8) == [True] * 20
    assert (server.connections, len(server.requests)) == (1, 20)


def test_a_gateway_that_closes_after_each_answer_gets_the_rest_on_new_connections(server, gateways):
    server.answer = lambda number, good: (200, {"Connection": "close"}, good)

    tasks = [gateways.driver.is_disabled] * 9
    assert gateways.exchange.hold(tasks, sockets=2, window=4, repeat=False) == [True] * 9
    assert (len(server.requests), gateways.exchange.traffic().retries) == (9, 0)
    assert is_disabled(gateways)


def test_a_connection_that_was_closed_while_idle_is_not_used(server, gateways):
    server.hangs_up = True

    assert is_disabled(gateways)
    assert server.ended.wait(END_S)
    assert is_disabled(gateways)
    assert (gateways.exchange.traffic().retries, server.connections) == (0, 2)


def test_a_message_that_is_cut_does_not_go_on_in_the_next_answer(server, options):
    call = Call(interface("either").Either, "getThriftServerType", {})
    server.answer = lambda number, good: (200, {}, good[:-3] if number == 1 else good)
    with closing(GatewayConnection(options.gateways[0], options)) as connection:
        connection.send([call, call])

        with pytest.raises(ConnectionAbortedError, match="ended before the message"):
            connection.receive()
        assert connection.broken


def test_a_body_that_is_shorter_than_announced_is_no_answer(server, gateways):
    server.answer = lambda number, good: (200, {"Content-Length": len(good) + 5, "Connection": "close"}, good)

    with pytest.raises(StoreUnavailable, match="closed before the whole answer came"):
        is_disabled(gateways, repeat=False)


def test_an_answer_that_comes_late_is_not_taken_for_the_next_one(server, options):
    late = threading.Event()
    server.answer = lambda number, good: (late.wait(1.0) and None) or (200, {}, good)

    with closing(Gateways(replace(options, timeout_s=0.2, deadline_s=0.1))) as gateways:
        with pytest.raises(StoreTimeout, match="no answer within"):
            is_disabled(gateways)
        late.set()
        assert is_disabled(gateways)
    assert server.connections == 2


def test_what_is_no_gateway_is_told_at_once(server, options):
    server.answer = lambda number, good: (200, {"Content-Type": "text/html"}, b"<html>")

    with pytest.raises(StoreRefused, match=r"by HTTP, but not as a Thrift gateway \(text/html\)"):
        HBaseStore.open(replace(options, version=None))
    assert len(server.requests) == 1


def test_user_key_and_further_headers_are_sent(server, tmp_path):
    (tmp_path / "key").write_text(f"{SECRET}\n")
    (tmp_path / "headers").write_text("X-Tenant: news\n\nX-Token: a b:c\n")
    files = {
        "SIMHASH_HBASE_ACCESS_USER": "root",
        "SIMHASH_HBASE_ACCESS_KEY_FILE": str(tmp_path / "key"),
        "SIMHASH_HBASE_HTTP_HEADERS_FILE": str(tmp_path / "headers"),
    }
    options = parse_url(f"hbase+http://{server.address}/t?version=2&access=alibaba", files)
    with closing(Gateways(options)) as gateways:
        assert is_disabled(gateways)

    [(name, headers)] = server.requests
    assert name == "isTableDisabled"
    assert (headers["ACCESSKEYID"], headers["ACCESSSIGNATURE"]) == ("root", SECRET)
    assert (headers["X-Tenant"], headers["X-Token"], headers["Host"]) == ("news", "a b:c", server.address)


def test_no_secret_is_in_what_is_shown(options):
    assert SECRET in dict(options.headers).values()
    assert SECRET not in repr(options)
    assert format_url(options).endswith("/t?version=2&access=alibaba")
    assert parse_url(format_url(options), LOGIN) == replace(
        options, timeout_s=20.0, connect_timeout_s=3.0, deadline_s=60.0
    )


@pytest.mark.parametrize(
    ("url", "variables", "words"),
    [
        ("hbase+http://one/t?access=alibaba", {}, "access=alibaba needs SIMHASH_HBASE_ACCESS_USER, or"),
        ("hbase+http://one/t?access=alibaba", {"SIMHASH_HBASE_ACCESS_USER": "u"}, "needs SIMHASH_HBASE_ACCESS_KEY, or"),
        ("hbase+http://one/t?access=other", {}, "access is 'other': wanted alibaba"),
        *((f"hbase+http://one/t?{name}=1", {}, f"'{name}' is no setting") for name in ("tls", "transport", "ca")),
        (f"hbase+https://one/t?key={SECRET}", {}, "'key' is no setting"),
        (f"hbase+http://root:{SECRET}@one/t", {}, "has no user and no password"),
        ("hbase://one/t?access=alibaba", {}, "'access' is no setting"),
        ("hbase+http://one/t", {"SIMHASH_HBASE_HTTP_HEADERS": SECRET}, "HTTP_HEADERS, line 1: wanted NAME: VALUE"),
        ("hbase+http://one/t", {"SIMHASH_HBASE_HTTP_HEADERS": f"a b {SECRET}: x"}, "header 1 has no name"),
        ("hbase+http://one/t", {"SIMHASH_HBASE_HTTP_HEADERS": f"X: {SECRET}\x00"}, "header X is empty, or has a char"),
        ("hbase+http://one/t", {"SIMHASH_HBASE_HTTP_HEADERS": f"X: 密{SECRET}"}, "header X is empty, or has a char"),
        ("hbase+http://one/t", {"SIMHASH_HBASE_HTTP_HEADERS": "X:"}, "header X is empty"),
        ("hbase+http://one/t", {"SIMHASH_HBASE_HTTP_HEADERS": f"Host: {SECRET}"}, "header Host cannot be set"),
        ("hbase+http://one/t", {"SIMHASH_HBASE_HTTP_HEADERS": "X: 1\nx: 2"}, "header x cannot be set twice"),
        ("hbase+http://one/t", {"SIMHASH_HBASE_HTTP_HEADERS_FILE": "/nowhere"}, "/nowhere cannot be read"),
    ],
)
def test_bad_settings_are_refused_without_a_secret(url, variables, words):
    with pytest.raises(InvalidArgument, match=words) as refused:
        parse_url(url, variables)

    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_a_file_without_authorities_is_refused(server, tmp_path):
    (tmp_path / "ca.pem").write_text("nothing")

    for file in (tmp_path / "ca.pem", tmp_path / "missing"):
        with pytest.raises(InvalidArgument, match="no certificates of authorities can be read"):
            HBaseStore.open(parse_url(f"hbase+https://{server.address}/t?ca={file}"))
