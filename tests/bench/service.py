"""Part ``service``: streams over HTTP, beside the same calls of the library."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from time import perf_counter

from bench.sentences import Sentences
from bench.service_client import Served, body_of, new_index
from bench.sizes import Sizes
from bench.tables import Table, count, rate
from simhash_hbase.errors import SimhashError
from simhash_hbase.index.index import Index
from simhash_hbase.opening import open_index

__all__ = ["measure_service"]

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
