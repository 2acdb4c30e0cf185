"""The proxy of the compose file keeps from the service: too many connections, rates, sizes and times."""

import os
import re
import shutil
import socket
import subprocess
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from support.duplex import Duplex
from support.gates import absent
from support.listening import free_port, listening
from support.patience import END_S
from support.prometheus import DOCKER
from support.serving import JSON, NDJSON, Server, lines, new_index, serving, wait_for

CONFIG = DOCKER / "proxy" / "haproxy.cfg"


class Proxy(Server):
    """HAProxy in front of a service, with the keys of that and one that is none."""

    def __init__(self, server, port, log):
        self.port, self.address = port, f"http://127.0.0.1:{port}"
        self.keys = {**server.keys, "guess": "guess"}
        self._log = log

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=END_S)


def haproxy():
    program = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")
    if program is None:
        absent("haproxy is missing: apt-get install haproxy")
    return program


@contextmanager
def proxied(server, folder, **bounds):
    """Start the proxy; the bounds that the test does not name are out of its way."""
    port = free_port()
    limits = "CONNECTIONS_OF_ADDRESS", "CONNECTIONS_A_SECOND", "UNKNOWN_KEYS_A_MINUTE", "REQUESTS_A_SECOND"
    wide = dict.fromkeys(limits, "100000")
    given = {"LISTEN": f"127.0.0.1:{port}", "SERVICE": f"127.0.0.1:{server.port}", **wide, **bounds}
    log = folder / "proxy.log"
    proxy = Proxy(server, port, log)
    with listening([haproxy(), "-f", CONFIG], port, log, env={**os.environ, **given}):
        with proxy.client(None) as client:
            wait_for(lambda: client.get("/readyz").status_code == httpx.codes.OK)
        yield proxy
    assert not any(key in log.read_text() for key in server.keys.values())


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    with serving(new_index(folder), folder) as running:
        yield running


@pytest.fixture(scope="module")
def proxy(server, tmp_path_factory):
    with proxied(server, tmp_path_factory.mktemp("front"), HEADER_SECONDS="1", IDLE_SECONDS="5") as made:
        yield made


def test_requests_and_streams_pass_as_they_are(proxy):
    with proxy.client() as client:
        claimed = client.post("/v1/claims", json={"id": "first", "simhash": "00000000000000ff"})
        assert claimed.json()["status"] == "original"
        content = b'{"id":"second","simhash":"00000000000000ff"}\n' * 3
        *answers, end = lines(client.post("/v1/claims", content=content, headers=NDJSON))
        assert [answer["of"] for answer in answers] == ["first"] * 3
        assert end["summary"]["complete"]
        assert client.get("/v1/documents", params={"id": "文" * 5_000}).status_code == 404


def test_a_line_is_answered_before_the_next_one_is_sent(proxy):
    with Duplex(proxy, "/v1/documents") as request:
        request.send(b'{"id":"a","simhash":"0000000000000000"}\n')
        assert request.status() == 200
        answers = request.lines()
        assert next(answers).startswith(b'{"id":"a"')
        request.send(b'{"id":"b","simhash":"0000000000000000"}\n')
        assert next(answers).startswith(b'{"id":"b"')
        request.finish()
        assert b'"complete":true' in next(answers)


def test_a_header_that_comes_byte_by_byte_is_not_waited_for(proxy):
    with proxy.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n")
        connection.settimeout(0.1)
        answer = None
        while answer is None:
            try:
                answer = connection.recv(1000)
            except TimeoutError:
                connection.sendall(b"X-A: b\r\n")
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_header_that_is_too_long_gets_400(proxy):
    with proxy.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * (1 << 17) + b"\r\n\r\n")
        assert connection.makefile("rb").readline().split()[1] == b"400"


def test_a_body_with_two_lengths_is_one_request_for_both(proxy):
    """Bytes behind the end that the proxy sees are not taken for a request that nobody sent."""
    head = f"POST /v1/queries HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {proxy.keys['all']}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 70\r\nTransfer-Encoding: chunked\r\n\r\n"
    with proxy.connect() as connection:
        connection.sendall(head.encode() + b'1e\r\n{"simhash":"0000000000000000"}\r\n0\r\n\r\n')
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").read()
    assert answer.count(b"HTTP/1.1") == 1
    assert re.match(rb"HTTP/1.1 (200|400) ", answer)


def test_only_a_body_that_is_no_stream_can_be_too_large(server, tmp_path):
    with proxied(server, tmp_path, BODY_BYTES="1000") as proxy, proxy.client() as client:
        answer = client.post("/v1/queries", content=b'{"text":"%s"}' % (b"x" * 1_000), headers=JSON)
        assert answer.status_code == 413
        content = b'{"id":"b","simhash":"0000000000000000"}\n' * 100
        assert len(lines(client.post("/v1/documents", content=content, headers=NDJSON))) == 101


def test_a_connection_above_the_limit_of_an_address_is_closed_at_once(server, tmp_path):
    with proxied(server, tmp_path, CONNECTIONS_OF_ADDRESS="5") as proxy, ExitStack() as stack:
        # Two that come together may both be closed, and the one that asked for /readyz may still be counted.
        for _ in range(5):
            wait_for(lambda: answers(proxy, stack))
        assert not answers(proxy, stack)


def answers(proxy, stack):
    """Connect, ask, and stay connected; say whether there was an answer."""
    try:
        connection = stack.enter_context(proxy.connect())
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        with connection.makefile("rb") as stream:
            line = stream.readline()
    except ConnectionError:
        return False
    assert line in (b"", b"HTTP/1.1 200 OK\r\n")
    return line != b""


def test_whoever_guesses_keys_has_to_wait(server, tmp_path):
    with proxied(server, tmp_path, UNKNOWN_KEYS_A_MINUTE="3") as proxy, proxy.client("guess") as client:
        statuses = [client.get("/v1/stats").status_code for _ in range(6)]
    assert statuses == [401] * 4 + [429] * 2


def test_more_requests_a_second_than_one_address_may_send_are_told_to_wait(server, tmp_path):
    with proxied(server, tmp_path, REQUESTS_A_SECOND="1") as proxy, proxy.client() as client:
        answers = [client.get("/v1/profile") for _ in range(40)]

    refused = [answer for answer in answers if answer.status_code != 200]
    assert {answer.status_code for answer in refused} == {429}
    assert refused[0].headers["retry-after"] == "1"


def test_who_does_not_read_is_left(proxy):
    flood = b"x\n" * (32 << 10)
    with Duplex(proxy, "/v1/queries", buffers=64 << 10) as request, proxy.client() as client:
        assert 0 < sum(1 for _ in request.flood(flood, 2_000)) < 2_000
        assert request.wait_until_ended(END_S)
        assert client.post("/v1/queries", json={"simhash": "0000000000000000"}).status_code == 200


def test_a_body_in_chunks_of_one_byte_keeps_nobody_waiting(proxy):
    with Duplex(proxy, "/v1/queries") as request, proxy.client() as client:
        sending = request.start(b"x" for _ in range(40_000))
        for _ in range(5):
            assert client.post("/v1/queries", json={"simhash": "0000000000000000"}).status_code == 200
        sending.join(END_S)


def test_the_log_has_no_ids(proxy):
    with proxy.client() as client:
        assert client.get("/v1/documents", params={"id": "private"}).status_code == 404
    wait_for(lambda: '"path":"/v1/documents"' in proxy.log_text())
    assert "private" not in proxy.log_text()


@pytest.mark.parametrize("path", ["/metrics", "/metrics?a", "/%6detrics", "/%6D%65trics", "http://a/metrics"])
def test_metrics_are_hidden_however_their_path_is_written(proxy, path):
    with proxy.connect() as connection:
        head = f"GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {proxy.keys['all']}\r\n"
        connection.sendall(f"{head}Connection: close\r\n\r\n".encode())
        answer = connection.makefile("rb").read()

    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"simhash_requests" not in answer


@pytest.mark.parametrize(
    ("sent", "passed"),
    [
        ([], None),
        (["crawler-7"], "crawler-7"),
        (['a"b'], None),
        (["x" * 65], None),
        (['first, "b"'], None),
        (["first", '"},{"'], None),
        (['"},{"', "last"], None),
    ],
)
def test_a_client_may_choose_the_id_of_its_request_if_it_cannot_forge_a_log(proxy, sent, passed):
    headers = [("Authorization", f"Bearer {proxy.keys['all']}"), *(("X-Request-ID", each) for each in sent)]
    with proxy.client() as client:
        name = client.get("/v1/profile", headers=headers).headers["x-request-id"]

    assert re.fullmatch(r"[0-9a-f-]{36}", name) if passed is None else name == passed
    wait_for(lambda: f'"request_id":"{name}"' in proxy.log_text())
    assert '"},{"' not in proxy.log_text()


def test_haproxy_takes_the_configuration_as_it_is():
    # The name of the compose file is not known here.
    environment = {**os.environ, "SERVICE": "127.0.0.1:8080"}
    command = [haproxy(), "-c", "-f", str(CONFIG)]
    checked = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stderr
    assert "WARNING" not in checked.stderr


def test_a_service_that_drains_is_not_asked_any_more(url, tmp_path):
    with serving(url, tmp_path, "--drain", "3600") as server, proxied(server, tmp_path) as proxy:
        server.process.terminate()
        with proxy.client() as client:
            wait_for(lambda: client.get("/healthz").status_code == 503)
        server.process.terminate()
        assert server.process.wait(END_S) == 0
