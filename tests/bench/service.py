"""Parts ``service`` and ``service-hbase``: streams and single requests over HTTP, beside the library itself."""

import json
import re
import selectors
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import count as counting
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import perf_counter
from typing import Any, Self

from bench.documents import Sentences
from bench.hbase_instance import running_hbase
from bench.measuring import Table, count, fixed, one_by_one, percentile, processor_seconds, rate
from bench.sizes import Sizes
from simhash_hbase.corpus.options import processors
from simhash_hbase.errors import SimhashError
from simhash_hbase.index.index import Index
from simhash_hbase.opening import create_index, open_index

COMMAND = (sys.executable, "-W", "ignore", "-m", "simhash_hbase", "serve", "--no-auth", "--port", "0")


class Served:
    """The service of an index, from the beginning of a block to its end."""

    def __init__(self, url: str, workers: int, *options: str) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, url, "--workers", str(workers), *options],
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        log = self._process.stderr
        started = ""
        while '"listening"' not in started and (line := log.readline() if log else ""):
            started = line
        # A log that nobody reads would stop the service as soon as the pipe is full.
        self._reading = Thread(target=lambda: deque(log or (), 0), daemon=True)
        self._reading.start()
        if '"listening"' not in started:
            raise SimhashError(f"the service did not start: {started}")
        self.port = json.loads(started)["port"]
        self._connection = HTTPConnection("127.0.0.1", self.port)
        return self

    def __exit__(self, *failure: object) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.wait()
        self._reading.join()
        if self._process.stderr:
            self._process.stderr.close()

    def processor_seconds(self) -> float:
        """Tell how long the service, with the processes that it started, has used processors."""
        pid = self._process.pid
        started = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return sum(map(processor_seconds, (pid, *map(int, started))))

    def stream(self, path: str, body: bytes) -> int:
        """Send lines, and count the answers to those that became something."""
        answered = self._ask(path, body, "application/x-ndjson")
        *answers, end = answered.splitlines()
        summary = json.loads(end)["summary"]
        if not summary["complete"]:
            raise SimhashError(f"the stream ended early: {summary}")
        return len(answers)

    def query(self, text: str) -> Any:
        """Ask for the near copies of one text."""
        return json.loads(self._ask("/v1/queries", json.dumps({"text": text}).encode(), "application/json"))

    def _ask(self, path: str, body: bytes, media: str) -> bytes:
        self._connection.request("POST", path, body, {"Content-Type": media})
        answer = self._connection.getresponse()
        found = answer.read()
        if answer.status != 200:
            raise SimhashError(f"{path}: {answer.status} {found[:200]!r}")
        return found


def body_of(documents: Sequence[tuple[str, str]]) -> bytes:
    """Write documents as the lines of a body."""
    return b"".join(json.dumps({"id": name, "text": text}).encode() + b"\n" for name, text in documents)


@contextmanager
def new_index(documents: Sequence[tuple[str, str]] = ()) -> Iterator[str]:
    """Make an index in a folder, with documents or empty, and yield its address."""
    with TemporaryDirectory(prefix="bench-") as folder:
        url = f"file:{Path(folder) / 'index'}"
        with create_index(url, analyzer="jieba") as index:
            for _ in index.add_many(documents):
                pass
        yield url


_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
RECEIVED_BYTES = 256 << 10


@dataclass(frozen=True, kw_only=True)
class Load:
    """What some clients got in some seconds."""

    seconds: float
    ascending: list[float]
    """How long each answer took."""

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.ascending) / self.seconds


class _Client:
    """One connection, which is kept."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answer = b""
        self.asked = 0.0

    def ask(self, request: bytes) -> None:
        self.asked = perf_counter()
        self.socket.sendall(request)

    def is_answered(self) -> bool:
        """Read what has arrived; tell whether the answer is whole."""
        self._answer += self.socket.recv(RECEIVED_BYTES)
        head, end, body = self._answer.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not self._answer or (end and (length is None or b" 200 " not in head[:16])):
            raise SimhashError(f"the service answered {self._answer[:300]!r}")
        if not end or length is None or len(body) < int(length.group(1)):
            return False
        self._answer = b""
        return True


def ask_for(seconds: float, port: int, clients: int, requests: Iterator[bytes]) -> Load:
    """Let clients ask for so long; each sends the next request when it has its answer."""
    taken = []
    with ExitStack() as opened, selectors.DefaultSelector() as selector:
        started = perf_counter()
        for _ in range(clients):
            client = _Client(port)
            opened.enter_context(client.socket)
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.ask(next(requests))
        waiting = clients
        while waiting:
            for key, _ in selector.select():
                client = key.data
                if not client.is_answered():
                    continue
                now = perf_counter()
                taken.append(now - client.asked)
                if now - started < seconds:
                    client.ask(next(requests))
                else:
                    waiting -= 1
        took = perf_counter() - started
    return Load(seconds=took, ascending=sorted(taken))


def request_of(path: str, record: dict[str, str]) -> bytes:
    """Write a request with a JSON body."""
    body = json.dumps(record, ensure_ascii=False).encode()
    head = [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*head, "\r\n"]).encode() + body


Documents = Sequence[tuple[str, str]]
WORKERS = (1, 2)

STREAMS: dict[str, tuple[str, Callable[[Index, Documents], Iterable[object]]]] = {
    "claim, all new": ("/v1/claims", lambda index, documents: index.claim_many(documents)),
    "add, all new": ("/v1/documents", lambda index, documents: index.add_many(documents)),
    "query": ("/v1/queries", lambda index, documents: index.query_many(documents)),
}


def measure_service(sizes: Sizes) -> list[Table]:
    """Send the same documents to a service and to the library, round after round."""
    sentences = Sentences(2 * sizes.service_documents)
    # Every second one would be a near copy of the one before.
    texts = [sentences.text(numbers) for numbers in islice(sentences.documents, 0, None, 2)]
    documents = [(f"https://example.org/articles/{at:011d}", text) for at, text in enumerate(texts)]
    streams: dict[str, list[list[float]]] = {name: [] for name in STREAMS}
    for _ in range(sizes.repeats):
        for name in STREAMS:
            streams[name].append(_streams(name, documents))
    return [_rates(streams, documents, sentences.characters)]


def _streams(name: str, documents: Documents) -> list[float]:
    """Time the library, and the service with one and with two that analyse."""
    path, ask = STREAMS[name]
    held = documents if name == "query" else ()
    with new_index(held) as url, open_index(url) as index:
        index.analysis.texts(["warm-up"], [documents[0][1]])
        seconds = [_timed(lambda: sum(1 for _ in ask(index, documents)), len(documents))]
    body = body_of(documents)
    for workers in WORKERS:
        with new_index(held) as url, Served(url, workers) as served:
            seconds.append(_timed(lambda served=served: served.stream(path, body), len(documents)))  # type: ignore[misc]
    return seconds


def _timed(work: Callable[[], int], expected: int) -> float:
    start = perf_counter()
    done = work()
    seconds = perf_counter() - start
    if done != expected:
        raise SimhashError(f"{done} documents were answered of {expected}")
    return seconds


def _rates(streams: dict[str, list[list[float]]], documents: Documents, characters: float) -> Table:
    rows = []
    for name, rounds in streams.items():
        library, *services = (min(taken) for taken in zip(*rounds, strict=True))
        rates = [f"{rate(len(documents), took)} ({100 * library / took:.0f} %)" for took in services]
        rows.append([name, rate(len(documents), library), *rates])
    return Table(
        title="Streams over HTTP, documents a second",
        columns=["what", "the library", *(f"service, --workers {workers}" for workers in WORKERS)],
        rows=rows,
        notes=[
            f"{count(len(documents))} texts of {count(characters)} characters in one request of JSON lines; analyzer "
            "jieba; a `file:` index with durable commits; the best round of each, in wall-clock time. In brackets: the "
            "share of the library's rate in this process with one thread. Client and service share the processors."
        ],
    )


Document = tuple[str, str]
MS = 1000
# The rate that Meta's Hasher-Matcher-Actioner names as its target.
TARGET = ["Meta's HMA: its target, not measured here", "", "4,000", "", "", ""]

CALLS: dict[str, tuple[str, Callable[[Index, Document], object]]] = {
    "query": ("/v1/queries", lambda index, document: index.query(document[1])),
    "claim, all new": ("/v1/claims", lambda index, document: index.claim(*document)),
    "add, all new": ("/v1/documents", lambda index, document: index.add(*document)),
}


def measure_singles(sizes: Sizes) -> list[Table]:
    """Let clients ask the service of an index in a folder."""
    source = _Source(sizes)
    with new_index(source.held) as url:
        return [_measured("`file:`", url, source, sizes)]


def measure_singles_in_hbase(sizes: Sizes) -> list[Table]:
    """Let clients ask the service of an index in HBase."""
    source = _Source(sizes)
    with running_hbase() as instance:
        url = f"hbase://{instance.thrift2}/{instance.new_table()}"
        with create_index(url, analyzer="jieba") as index:
            for _ in index.add_many(source.held):
                pass
        return [_measured("HBase, Thrift 2", url, source, sizes)]


class _Source:
    """Documents of which no two have anything to do with each other, at first."""

    def __init__(self, sizes: Sizes) -> None:
        self._sentences = Sentences(10 * sizes.service_held)
        self._numbers = self._sentences.documents[::2]
        self.characters = self._sentences.characters
        self.held = [self._document(at) for at in range(sizes.service_held)]
        self.fresh = map(self._document, counting(sizes.service_held))

    def _document(self, at: int) -> Document:
        return f"https://example.org/articles/{at:011d}", self._sentences.text(self._numbers[at % len(self._numbers)])

    def documents(self, name: str) -> Iterator[Document]:
        """Yield stored documents to ask for, or new ones to claim or to add."""
        if name != "query":
            yield from self.fresh
        while True:
            yield from self.held


def _measured(place: str, url: str, source: _Source, sizes: Sizes) -> Table:
    rows = []
    for name in CALLS:
        rows.append(_of_library(name, url, list(islice(source.documents(name), sizes.service_singles))))
        # One address may have three quarters of the requests at a time.
        for processes in (1, processors()):
            requests = str(2 * max(sizes.service_clients) * processes)
            with Served(url, 1, "--max-requests", requests, "--processes", str(processes)) as served:
                what = f"{name}: service, {processes} process{'es' * (processes > 1)}"
                # Each process answers some before it is timed.
                for _ in range(sizes.service_clients[-1]):
                    served.query(source.held[0][1])
                rows += [_of_clients(name, what, served, clients, source, sizes) for clients in sizes.service_clients]
                if processes == 1:
                    rows.append(_of_stream(name, served, list(islice(source.documents(name), sizes.service_documents))))
    return Table(
        title=f"Single requests over HTTP, {place}",
        columns=["what", "clients", "a second", "median", "99 %", "processor time an answer"],
        rows=[*rows, TARGET],
        notes=[
            f"Texts of {count(source.characters)} characters; analyzer jieba; {count(sizes.service_held)} documents in "
            "the index before; durable commits. Queries are stored texts. Each client waits for its answer before it "
            f"asks again, for {sizes.service_seconds:g} s; all clients are one process beside it. The service "
            "has `--workers 1` and one process or as many as there are cores. Processor time is the service's, without "
            "HBase's.",
            f"The library: {count(sizes.service_singles)} calls one by one in one process, on the same index. The "
            f"stream: {count(sizes.service_documents)} lines in one request.",
        ],
    )


def _of_library(name: str, url: str, documents: Sequence[Document]) -> list[str]:
    _, call = CALLS[name]
    with open_index(url) as index:
        index.query(documents[0][1])
        return _row(f"{name}: `Index`", "", _load(one_by_one(lambda document: call(index, document), documents)))


def _load(ascending: list[float]) -> Load:
    return Load(seconds=sum(ascending), ascending=ascending)


def _of_clients(name: str, what: str, served: Served, clients: int, source: _Source, sizes: Sizes) -> list[str]:
    path, _ = CALLS[name]
    named = name != "query"
    documents = source.documents(name)
    requests = (request_of(path, {"id": of, "text": text} if named else {"text": text}) for of, text in documents)
    before = served.processor_seconds()
    load = ask_for(sizes.service_seconds, served.port, clients, requests)
    used = served.processor_seconds() - before
    return _row(what, str(clients), load, used / len(load.ascending))


def _row(name: str, clients: str, load: Load, used: float | None = None) -> list[str]:
    times = [fixed(MS * percentile(load.ascending, share), " ms") for share in (0.5, 0.99)]
    return [name, clients, count(load.rate), *times, "" if used is None else fixed(MS * used, " ms")]


def _of_stream(name: str, served: Served, documents: Sequence[Document]) -> list[str]:
    path, _ = CALLS[name]
    body = body_of(documents)
    before, start = served.processor_seconds(), perf_counter()
    answered = served.stream(path, body)
    seconds = perf_counter() - start
    used = (served.processor_seconds() - before) / answered
    return [f"{name}: service, one stream", "1", rate(answered, seconds), "", "", fixed(MS * used, " ms")]
