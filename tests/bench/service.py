"""Parts ``service`` and ``service-hbase``: streams and single requests over HTTP, beside the library itself."""

import json
import re
import selectors
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain, count as counting, cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from urllib.request import Request, urlopen

from support.serving import JSON, NDJSON, Server, ndjson, serving

from bench.documents import Sentences, document_id
from bench.hbase_instance import running_hbase
from bench.measuring import Table, count, fixed, one_by_one, percentile, processor_seconds, rate
from bench.sizes import Sizes
from simhash_hbase.api import create_index, open_index
from simhash_hbase.corpus.options import processors
from simhash_hbase.errors import SimhashError

Documents = Sequence[tuple[str, str]]


@contextmanager
def served(url: str, *options: str) -> Iterator[Server]:
    """Serve an index to everybody on this machine."""
    with TemporaryDirectory(prefix="bench-") as folder, serving(url, Path(folder), *options, auth=False) as server:
        yield server


def used_seconds(server: Server) -> float:
    """Tell how long a service, with the processes that it started, has used processors."""
    pid = server.process.pid
    started = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(map(processor_seconds, (pid, *map(int, started))))


def stream(server: Server, method: str, documents: Documents) -> float:
    """Send documents as lines; return the seconds until all were answered."""
    body = ndjson([{"id": name, "text": text} for name, text in documents])
    start = perf_counter()
    *answers, end = _post(server, PATHS[method], body, NDJSON).splitlines()
    seconds = perf_counter() - start
    summary = json.loads(end)["summary"]
    if not summary["complete"] or len(answers) != len(documents):
        raise SimhashError(f"the stream ended early: {summary}")
    return seconds


def _post(server: Server, path: str, body: bytes, headers: dict[str, str]) -> bytes:
    with urlopen(Request(server.address + path, body, headers)) as answer:
        return answer.read()


def fill(url: str, documents: Documents) -> None:
    with create_index(url, analyzer="jieba") as index:
        for _ in index.add_many(documents):
            pass


@contextmanager
def new_index(documents: Documents = ()) -> Iterator[str]:
    """Make an index in a folder, with documents or empty, and yield its address."""
    with TemporaryDirectory(prefix="bench-") as folder:
        fill(f"file:{folder}/index", documents)
        yield f"file:{folder}/index"


_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
RECEIVED_BYTES = 256 << 10


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


def ask_for(seconds: float, port: int, clients: int, requests: Iterator[bytes]) -> tuple[float, list[float]]:
    """Let clients ask for so long; each sends the next request when it has its answer.

    Returns the seconds in all, and those of each answer.
    """
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
        return perf_counter() - started, taken


WORKERS = (1, 2)
PATHS = {"query": "/v1/queries", "claim": "/v1/claims", "add": "/v1/documents"}
"""The methods of an index that are measured, and the paths where the service does the same."""
MS = 1000
# The rate that Meta's Hasher-Matcher-Actioner names as its target.
TARGET = ["Meta's HMA: its target, not measured here", "", "4,000", "", "", ""]


def _named(method: str) -> str:
    return method if method == "query" else f"{method}, all new"


def measure_service(sizes: Sizes) -> list[Table]:
    """Send the same documents to a service and to the library, round after round."""
    number = sizes.service_documents
    source = _Source(replace(sizes, held=2 * number))
    work = {"add": source.held[:number], "query": source.held[:number], "claim": source.held[number:]}
    rounds = [[_by_library(work), *(_by_service(work, workers) for workers in WORKERS)] for _ in range(sizes.repeats)]
    rows = []
    for method in PATHS:
        library, *services = (min(each[method] for each in taken) for taken in zip(*rounds, strict=True))
        rates = [f"{rate(number, took)} ({100 * library / took:.0f} %)" for took in services]
        rows.append([_named(method), rate(number, library), *rates])
    return [
        Table(
            title="Streams over HTTP, documents a second",
            columns=["what", "the library", *(f"service, --workers {workers}" for workers in WORKERS)],
            rows=rows,
            notes=[
                f"{count(number)} texts of {count(source.characters)} characters: added to one index, asked for, then "
                f"as many others claimed; the best of {sizes.repeats} rounds.",
                "In brackets: the share of the library's rate.",
            ],
        )
    ]


def _by_library(work: dict[str, Documents]) -> dict[str, float]:
    seconds = {}
    with new_index() as url, open_index(url) as index:
        index.analysis.texts(["warm-up"], [work["add"][0][1]])
        for method, documents in work.items():
            start = perf_counter()
            for _ in getattr(index, f"{method}_many")(documents):
                pass
            seconds[method] = perf_counter() - start
    return seconds


def _by_service(work: dict[str, Documents], workers: int) -> dict[str, float]:
    with new_index() as url, served(url, "--workers", str(workers)) as server:
        return {method: stream(server, method, documents) for method, documents in work.items()}


def measure_singles(sizes: Sizes) -> list[Table]:
    source = _Source(sizes)
    with new_index(source.held) as url:
        return [_measured("`file:`", url, source, sizes)]


def measure_singles_in_hbase(sizes: Sizes) -> list[Table]:
    source = _Source(sizes)
    with running_hbase() as instance:
        places = {
            "HBase, Thrift 2": f"hbase://{instance.thrift2}/{instance.new_table()}",
            "HBase, without a gateway": f"hbase+rpc://{instance.region_server}/{instance.new_table()}",
        }
        for url in places.values():
            fill(url, source.held)
        return [_measured(place, url, source, sizes) for place, url in places.items()]


class _Source:
    """Documents of which no two have anything to do with each other, at first."""

    def __init__(self, sizes: Sizes) -> None:
        self._sentences = Sentences(10 * sizes.held)
        self.characters = self._sentences.characters
        self.held = [self._document(at) for at in range(sizes.held)]
        self.fresh = map(self._document, counting(sizes.held))

    def _document(self, at: int) -> tuple[str, str]:
        # Every second one would be a near copy of the one before.
        numbers = self._sentences.documents
        return document_id(at), self._sentences.text(numbers[2 * at % len(numbers)])

    def documents(self, method: str) -> Iterator[tuple[str, str]]:
        """Yield stored documents to ask for, or new ones to claim or to add."""
        return cycle(self.held) if method == "query" else self.fresh


def _measured(place: str, url: str, source: _Source, sizes: Sizes) -> Table:
    rows = {
        method: [_of_library(method, url, list(islice(source.documents(method), sizes.service_singles)))]
        for method in PATHS
    }
    # One address may have three quarters of the requests at a time.
    for processes in (1, processors()):
        requests = str(2 * max(sizes.service_clients) * processes)
        with served(url, "--max-requests", requests, "--processes", str(processes)) as server:
            # Each process answers some before it is timed.
            for _ in range(sizes.service_clients[-1]):
                _post(server, "/v1/queries", json.dumps({"text": source.held[0][1]}).encode(), JSON)
            for method, own in rows.items():
                what = f"{_named(method)}: service, {processes} process{'es' * (processes > 1)}"
                own += [_of_clients(method, what, server, clients, source, sizes) for clients in sizes.service_clients]
                if processes == 1:
                    some = list(islice(source.documents(method), sizes.service_documents))
                    own.append(_of_stream(method, server, some))
    return Table(
        title=f"Single requests over HTTP, {place}",
        columns=["what", "clients", "a second", "median", "99 %", "processor time an answer"],
        rows=[*chain.from_iterable(rows.values()), TARGET],
        notes=[
            f"Texts of {count(source.characters)} characters; {count(sizes.held)} documents in the index "
            f"before; {sizes.service_seconds:g} s a row; {count(sizes.service_singles)} calls of the library; "
            f"{count(sizes.service_documents)} lines in the stream."
        ],
    )


def _of_library(method: str, url: str, documents: Documents) -> list[str]:
    with open_index(url) as index:
        index.query(documents[0][1])
        call, words = getattr(index, method), slice(1, 2) if method == "query" else slice(2)
        taken = one_by_one(lambda document: call(*document[words]), documents)
    return _row(f"{_named(method)}: `Index`", "", sum(taken), taken)


def _requests(method: str, source: _Source) -> Iterator[bytes]:
    for name, text in source.documents(method):
        record = {"text": text} if method == "query" else {"id": name, "text": text}
        body = json.dumps(record, ensure_ascii=False).encode()
        head = f"POST {PATHS[method]} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        yield f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _of_clients(method: str, what: str, server: Server, clients: int, source: _Source, sizes: Sizes) -> list[str]:
    before = used_seconds(server)
    seconds, taken = ask_for(sizes.service_seconds, server.port, clients, _requests(method, source))
    used = (used_seconds(server) - before) / len(taken)
    return [*_row(what, str(clients), seconds, taken)[:-1], fixed(MS * used, " ms")]


def _row(name: str, clients: str, seconds: float, taken: list[float]) -> list[str]:
    times = [fixed(MS * percentile(taken, share), " ms") for share in (0.5, 0.99)]
    return [name, clients, rate(len(taken), seconds), *times, ""]


def _of_stream(method: str, server: Server, documents: Documents) -> list[str]:
    before = used_seconds(server)
    seconds = stream(server, method, documents)
    used = fixed(MS * (used_seconds(server) - before) / len(documents), " ms")
    return [f"{_named(method)}: service, one stream", "1", rate(len(documents), seconds), "", "", used]
