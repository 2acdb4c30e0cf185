"""Whatever answers at the address of a service, a client raises an error of the package, soon and in little memory."""

import json
import socket
import time
import tracemalloc
from contextlib import contextmanager, suppress
from threading import Thread

import pytest
from support.awaited import AwaitedIndex
from support.corpus import text

from simhash_hbase import create_index
from simhash_hbase.client import RemoteIndex, http as client
from simhash_hbase.client.index import PIECE_BYTES
from simhash_hbase.errors import InvalidArgument, InvalidInput, NotAnIndex, SimhashError, StoreTimeout, StoreUnavailable

DECISION = {"id": "a", "status": "original", "of": None, "distance": None, "similarity": None, "containment": None}
RIGHT = json.dumps({**DECISION, "short": False}).encode()
MATCH = {"id": "b", "distance": 1, "similarity": 0.5, "containment": 0.5, "exact": False, "added": ""}
ANSWER = {"query": "a", "matches": [MATCH], "truncated": False, "complete": False, "short": False}
STORED = {"id": "a", "simhash": "fd239d0b3ee32c91", "state": "added", "added": "", "seen": ""}
COPIES = {
    "id": "a",
    "of": "a",
    "of_removed": False,
    "count": 0,
    "first": None,
    "last": None,
    "truncated": False,
    "copies": [],
}
DUPLICATE = {**DECISION, "status": "duplicate", "of": "b", "distance": 1, "short": False}
OUT_OF_RANGE = ({"distance": 900}, {"distance": -1}, {"similarity": 7}, {"similarity": -0.1}, {"containment": 7})
COMPLETE = b'{"summary": {"complete": true}}\n'
PATIENCE_S = 1.0
PAUSE_S = 0.2
clients = pytest.mark.parametrize("opened", [RemoteIndex, AwaitedIndex])


def whole(body, status=b"200 OK"):
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


def chunked(*pieces):
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    yield from (b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (*pieces, b""))


@contextmanager
def answering(send):
    """Serve a profile, and whatever a function sends for the body of another request; give the address."""
    with create_index("memory:", analyzer="shingle") as index:
        profile = whole(index.profile.encode())

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with suppress(OSError), connection, connection.makefile("rb") as asked:
                while first := asked.readline():
                    lines = dict(line.lower().split(b":", 1) for line in iter(asked.readline, b"\r\n"))
                    body = asked.read(int(lines.get(b"content-length", 0)))
                    if b"/v1/profile" not in first:
                        send(connection, body)
                        break
                    connection.sendall(profile)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        # Else the thread would wait in `accept` for ever.
        listener.shutdown(socket.SHUT_RDWR)


@contextmanager
def answered_by(*parts, pause_s=0, opened=RemoteIndex):
    """Give an index whose requests are all answered by some bytes."""

    def send(connection, body):
        for part in parts:
            connection.sendall(part)
            time.sleep(pause_s)

    with answering(send) as url, opened(url, patience_s=PATIENCE_S) as index:
        yield index


def claim(index):
    return index.claim("a", text("a"))


def claim_many(index):
    return list(index.claim_many([("a", text("a"))]))


def query(index):
    return list(index.query_many([("a", text("a"))]))


def changed(record, **fields):
    return json.dumps({**record, **fields}).encode()


NONE = [
    *((b"{}", call) for call in (claim, lambda index: index.add("a", text("a")), lambda index: index.stats())),
    *((b"{}\n", call) for call in (query, lambda index: index.copies("a"), lambda index: index.get("a"))),
    *((body, claim) for body in (b"", b" ", b"[]", b"null", b'"a"', b"\xff", b'{"a":' * 100_000, b"[" * 100_000)),
    (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, claim),
    (changed(json.loads(RIGHT), id="z"), claim),
    (changed(json.loads(RIGHT), status="maybe"), claim),
    (changed(json.loads(RIGHT), status=["original"]), claim),
    (changed(json.loads(RIGHT), status="duplicate"), claim),
    (changed(json.loads(RIGHT), of="b"), claim),
    (changed(json.loads(RIGHT), distance="1"), claim),
    (changed(json.loads(RIGHT), near={}), claim),
    (changed(json.loads(RIGHT), id="z") + b"\n" + COMPLETE, claim_many),
    *((line + b"\n" + COMPLETE, claim_many) for line in (b'{"error": "x"}', b'{"error": {}}', b'{"error": null}')),
    (b'{"id": "z", "error": {"code": "claim_contended", "detail": "x", "retryable": true}}\n' + COMPLETE, claim_many),
    (b'{"error": {"code": [], "detail": "x", "retryable": true}}\n' + COMPLETE, claim_many),
    *((b'{"summary": %b}\n' % summary, claim_many) for summary in (b"null", b"{}", b"[]", b'{"complete": 1}')),
    *((b'{"summary": {"complete": false%b}}\n' % end, claim_many) for end in (b"", b', "error": {}')),
    (RIGHT + b"\n" + RIGHT + b"\n" + COMPLETE, claim_many),
    (COMPLETE, claim_many),
    *((changed(ANSWER, **bad) + b"\n" + COMPLETE, query) for bad in ({"query": "z"}, {"matches": [1]}, {"short": 0})),
    (changed(ANSWER, matches=[{**MATCH, "similarity": "much"}]) + b"\n" + COMPLETE, query),
    (changed(ANSWER, matches={}) + b"\n" + COMPLETE, query),
    *(
        (changed(STORED, simhash=simhash) + b"\n" + COMPLETE, lambda index: index.get("a"))
        for simhash in (7, "x", "0x239d0b3ee32c9", "-d239d0b3ee32c91", "fd239d0b_3ee32c9", None)
    ),
    (b'{"id": "a", "removed": "no"}\n' + COMPLETE, lambda index: index.remove("a")),
    *((changed(DUPLICATE, **bad), claim) for bad in OUT_OF_RANGE),
    *((changed(ANSWER, matches=[{**MATCH, **bad}]), query) for bad in (*OUT_OF_RANGE, {"id": ""})),
    *(
        (changed(STORED, **bad) + b"\n" + COMPLETE, lambda index: index.get("a"))
        for bad in (*OUT_OF_RANGE, {"state": "gone"}, {"length": -1}, {"features": -1}, {"simhash": "1" * 20})
    ),
    (changed(COPIES, count=-1), lambda index: index.copies("a")),
    (b'{"exact": true, "documents": -1}', lambda index: index.stats()),
    (changed(DECISION, of="b", of_removed=False, count=1, first="", last="", truncated=1, copies=[]),
     lambda index: index.copies("a")),
]  # fmt: skip


@pytest.mark.parametrize(("body", "call"), NONE)
def test_what_is_no_answer_to_a_call_is_one_error(body, call):
    with answered_by(whole(body)) as index, pytest.raises(NotAnIndex, match="does not answer as the service of this"):
        call(index)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{}", b"500 no"), (b"[]", b"503 no"), (b'{"code": []}', b"400 no"), (b"[" * 100_000, b"422 no"),
        (b'{"code": "timeout", "detail": {}, "retryable": true}', b"404 no"), (b"\xff", b"401 no"),
        (b"\xff", b"503 no\r\nRetry-After: \xb2"), (b"x", b"200 OK\r\nContent-Encoding: gzip"),
    ],
)  # fmt: skip
@clients
def test_a_refusal_of_another_form_is_an_error_of_the_package(body, status, opened):
    with answered_by(whole(body, status), opened=opened) as index, pytest.raises(SimhashError):
        claim(index)


TOO_LONG = b'{"code": "%b", "detail": "x", "retryable": false}'


@pytest.mark.parametrize(
    ("body", "status", "call"),
    [
        (
            b'{"error": %b}\n' % (TOO_LONG % b"line_too_long") + COMPLETE,
            b"200 OK",
            lambda index: list(index.claim_many([("a", "b " * PIECE_BYTES)])),
        ),
        (TOO_LONG % b"body_too_large", b"413 no", claim),
        (b"<html>", b"413 no", claim),
    ],
)
def test_a_document_that_is_too_long_for_the_service_is_named(body, status, call):
    with (
        answered_by(whole(body, status)) as index,
        pytest.raises(InvalidInput, match=r"^the document 'a' is too long for the service: "),
    ):
        call(index)


LENGTH = b"HTTP/1.1 200 OK\r\nDate: today\r\nContent-Length: %d\r\nX: y\r\n\r\n" % len(RIGHT)
ENDING = b"HTTP/1.0 200 OK\r\nX: y\r\n\r\n"


@pytest.mark.parametrize(
    "head", [LENGTH, LENGTH.replace(b"200 OK", b"401 no"), LENGTH.replace(b"200 OK", b"404 no"), ENDING]
)
@clients
def test_an_answer_that_is_cut_anywhere_is_asked_for_again(head, opened, monkeypatch):
    monkeypatch.setattr(client, "FIRST_PAUSE_S", 0.001)
    right, given = LENGTH + RIGHT, head + RIGHT
    left = []

    def send(connection, body):
        connection.sendall(given[: left.pop()] if left else right)

    with answering(send) as url, opened(url) as index:
        for cut in range(len(given)):
            left.append(cut)
            assert claim(index).is_original
            assert not left


def bytes_of(*parts):
    return [bytes([each]) for part in parts for each in part]


@pytest.mark.parametrize(
    ("parts", "call"),
    [
        (bytes_of(whole(RIGHT)), claim),
        (bytes_of(*chunked(RIGHT + b"\n", COMPLETE)), claim_many),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", *bytes_of(b" " * 400)], claim),
        ([next(chunked()), *bytes_of(b"1;" + b"x" * 400)], claim_many),
        (bytes_of(whole(b"x" * 400, b"503 no")), claim),
    ],
)
@clients
def test_an_answer_byte_by_byte_holds_nobody_beyond_the_patience(parts, call, opened):
    began = time.monotonic()
    with answered_by(*parts, pause_s=PAUSE_S, opened=opened) as index, pytest.raises(StoreTimeout):
        call(index)
    # Half of the time that the whole answer takes, many times the patience: a busy machine is late.
    assert time.monotonic() - began < len(parts) * PAUSE_S / 2


@clients
def test_each_line_of_a_stream_may_take_the_whole_time(opened):
    line = [RIGHT.replace(b'"a"', b'"%d"' % at) + b"\n" for at in range(4)]
    with answered_by(*chunked(*line, COMPLETE), pause_s=0.4 * PATIENCE_S, opened=opened) as index:
        claimed = list(index.claim_many((f"{at}", text(at)) for at in range(4)))
    assert [name for name, _ in claimed] == ["0", "1", "2", "3"]


@pytest.mark.parametrize("call", [claim, claim_many])
@clients
def test_an_answer_without_an_end_takes_bounded_memory_and_time(monkeypatch, call, opened):
    most = 1 << 20
    monkeypatch.setattr(client, "MOST_BYTES", most)
    blanks = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (64 * most)
    tracemalloc.start()
    try:
        parts = [blanks, *[b" " * most] * 64]
        with answered_by(*parts, opened=opened) as index, pytest.raises(NotAnIndex, match="has more than 1 MB"):
            call(index)
        assert tracemalloc.get_traced_memory()[1] < 8 * most
    finally:
        tracemalloc.stop()


def test_a_long_line_is_read_in_time_that_grows_with_its_length():
    def seconds(pieces):
        parts = [b"4000\r\n" + b"y" * (1 << 14) + b"\r\n"] * pieces
        with answered_by(next(chunked()), *parts) as index:
            began = time.thread_time()
            with pytest.raises((StoreTimeout, StoreUnavailable)):
                claim_many(index)
            return time.thread_time() - began

    assert seconds(2048) < 32 * max(seconds(256), 0.02)


def test_a_stream_that_is_sent_again_never_has_an_id_twice():
    sent = []
    lost = [True, False, False]

    def send(connection, body):
        names = [json.loads(line)["id"].encode() for line in body.splitlines()]
        sent.append(names)
        if not lost.pop(0):
            lines = [RIGHT.replace(b'"a"', b'"%b"' % name) + b"\n" for name in names]
            connection.sendall(whole(b"".join(lines) + COMPLETE))

    with answering(send) as url, RemoteIndex(url) as index:
        claimed = list(index.claim_many([("t", text(1)), ("u", text(3)), ("t", text(2))]))

    assert [name for name, _ in claimed] == ["t", "u", "t"]
    assert sent == [[b"t", b"u"], [b"t", b"u"], [b"t"]]


def test_nothing_in_answer_to_a_stream_is_a_broken_connection():
    with answered_by(*[whole(b"")]) as index, pytest.raises(StoreUnavailable):
        list(index.claim_many([("a", text("a")), ("b", text("b"))]))


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("limit is 1001: a service answers with 1 to", lambda index: index.query_many([], limit=1001)),
        ("a service waits for 60 s", lambda index: index.claim_many([], deadline_s=1)),
    ],
)
def test_arguments_that_no_service_takes_are_refused_at_the_call(words, call):
    with answered_by() as index, pytest.raises(InvalidArgument, match=words):
        call(index)
