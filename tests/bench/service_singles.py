"""Parts ``service`` and ``service-hbase``: single requests of many clients, beside a stream and the library alone."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count as counting
from itertools import islice
from time import perf_counter

from bench.hbase_instance import running_hbase
from bench.sentences import Sentences
from bench.service_client import Served, body_of, new_index
from bench.service_load import Load, ask_for, request_of
from bench.sizes import Sizes
from bench.tables import Table, count, fixed, rate
from bench.timing import one_by_one, percentile
from simhash_hbase.corpus.options import processors
from simhash_hbase.index.index import Index
from simhash_hbase.opening import create_index, open_index

__all__ = ["measure_singles", "measure_singles_in_hbase"]

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
