"""Analysis of a stream of records in chunks of up to 1,000 documents, by one process or several.

The chunks come out in the order of the input.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.features.analysis import Analysed, Analysis
from simhash_hbase.inputs import Document, Page, Reject, Scanned, extract
from simhash_hbase.inputs.columns import DocumentColumns
from simhash_hbase.rows.analysed import Entries

if TYPE_CHECKING:
    from concurrent.futures import Future

    from simhash_hbase.features.workers import Workers

T = TypeVar("T")

CHUNK_DOCUMENTS = 1_000
# Long texts make short chunks: at most some 30 MB a worker are in flight between processes.
CHUNK_CHARACTERS = 2_000_000
BYTES_A_CHARACTER = 4
IN_FLIGHT = 3
SHARES = (256, 128, 64, 32, 16, 8, 4, 2)
"""The first chunks of a stream are 1/256, 1/128, … of a whole one, so that first results come soon."""

Payload = tuple[str, list[str], list[Any], list[Any] | None]
"""A method of `Analysis` and its arguments: ids, texts (or pages, fingerprints or features), metadata."""


def payload(documents: Sequence[Document | Page]) -> Payload:
    """Return the documents as arguments of `analyse_chunk`, which a worker process calls.

    All documents must be of one kind: texts and pages, features, or fingerprints.
    """
    ids = [document.id for document in documents]
    metadata = [document.metadata for document in documents] if any(each.metadata for each in documents) else None
    for kind, name in (("fingerprints", "simhash"), ("features", "features")):
        if documents and getattr(documents[0], name, None) is not None:
            return kind, ids, [getattr(document, name) for document in documents], metadata
    texts = [replace(each, raw=None) if isinstance(each, Page) else each.text for each in documents]
    return "texts", ids, texts, metadata


@dataclass(slots=True)
class Chunk:
    """Consecutive records of the input, up to 1,000, which are analysed together; refused records are among them."""

    documents: list[Document | Page] = field(default_factory=list)
    """Records that were read completely. After analysis the only pages left are refused ones."""
    rejects: list[Reject] = field(default_factory=list)
    """Records refused by the reader, or for lack of text or features, in the order of the input."""
    analysed: Analysed = field(init=False)  # Entries of `documents`; set by `analyse`.
    order: list[int] = field(default_factory=list)  # For each reject, the number of documents of this chunk before it.
    characters: int = 0
    records: int = 0  # Records of the input in it, documents and refused ones.
    share: int = 1  # The chunk is full at 1 / share of the size of a whole one.
    columns: DocumentColumns | None = None
    """Documents that other processes have analysed, in place of `documents`; each of them has an entry."""

    def add(self, record: Scanned) -> None:
        """Add the next record of the input to the chunk."""
        self.records += 1
        self.characters += characters_of(record)
        if isinstance(record, Reject):
            self.rejects.append(record)
            self.order.append(len(self.documents))
        else:
            self.documents.append(record)

    @property
    def is_full(self) -> bool:
        """Whether the chunk has so many records or characters that the next record begins another chunk."""
        return bool(self._is_enough(self.records, self.characters))

    def fitting(self, characters: NDArray[np.int64]) -> int:
        """Return how many of the next records, with these numbers of characters, the chunk takes until it is full."""
        records = self.records + np.arange(1, len(characters) + 1)
        is_full = self._is_enough(records, self.characters + np.cumsum(characters))
        return int(is_full.argmax()) + 1 if is_full.any() else len(characters)

    def _is_enough(self, records: Any, characters: Any) -> Any:  # noqa: ANN401 - numbers or arrays
        return (self.share * records >= CHUNK_DOCUMENTS) | (self.share * characters >= CHUNK_CHARACTERS)

    @property
    def entries(self) -> Entries:
        """The entries of the documents that have a fingerprint; only after analysis."""
        return self.analysed.entries

    @property
    def kept(self) -> Sequence[Document]:
        """The documents that have an entry, in the order of the entries; only after analysis."""
        if self.columns is not None:
            return self.columns
        return [each for at in self.analysed.kept if isinstance(each := self.documents[at], Document)]


def characters_of(record: Scanned) -> int:
    """Return the number of characters of a record's text; of a page or refused record, an estimate by its bytes."""
    if isinstance(record, Document):
        return len(record.text or "")
    return len(record.content if isinstance(record, Page) else record.raw) // BYTES_A_CHARACTER


def analyse(
    records: Iterable[Scanned],
    analysis: Analysis | None,
    *,
    workers: int = 1,
    pool: Workers | None = None,
    soon: bool = False,
) -> Generator[Chunk, None, None]:
    """Yield the chunks of a stream of records after analysis: pages have texts, documents fingerprints and sketches.

    An input of one chunk starts no process. A `pool` of ``workers - 1`` processes that was started before works from
    the first chunk on, and is closed at the end. `soon` makes the first chunks short, so that results come soon. If
    `analysis` is None, only the texts of pages are extracted, and chunks have no entries.
    """
    records = iter(records)
    if soon:
        for chunk in chunked(records, SHARES):
            yield analysed(chunk, analysis)
    chunks = chunked(records)
    if pool is None and workers > 1:
        first = list(islice(chunks, 2))
        chunks = chain(first, chunks)
        has_work = analysis is not None or any(isinstance(each, Page) for chunk in first for each in chunk.documents)
        if len(first) > 1 and has_work:
            # A few documents need none of it.
            from simhash_hbase.features.workers import Workers  # noqa: PLC0415

            pool = Workers(workers - 1)
    if pool is None:
        for chunk in chunks:
            yield analysed(chunk, analysis)
        return
    jobs = (Job(analyse_chunk, payload(chunk.documents), partial(finish, chunk)) for chunk in chunks)
    yield from run_jobs(jobs, analysis, pool, workers=workers)


@dataclass(slots=True)
class Job(Generic[T]):
    """A function call for a worker process or this one, and the function that takes its result in this process."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    receive: Callable[[Any], T]
    result: Any = None  # The result of this process, where no other one had begun.


def run_jobs(jobs: Iterable[Job[T]], analysis: Analysis | None, pool: Workers, *, workers: int) -> Iterator[T]:
    """Have a pool of processes do jobs; yield the results in the order of the jobs, and close the pool.

    This process does jobs, too, while the next result is not ready. So a process that starts slowly delays nothing, and
    two processes are never slower than one.
    """
    with closing(pool):
        pool.begin(analysis)
        waiting: deque[tuple[Job[T], Future[Any]]] = deque()
        for job in jobs:
            waiting.append((job, pool.submit(job.function, *job.arguments)))
            if len(waiting) > workers * IN_FLIGHT:
                yield _next(waiting, analysis)
        while waiting:
            yield _next(waiting, analysis)


def whole_chunk(documents: Sequence[Document], analysis: Analysis | None) -> Chunk:
    """Analyse documents in this process, and return them as one chunk.

    All must have a text, all features, or all a fingerprint. If `analysis` is None, nothing is analysed, and they may
    be of several kinds.
    """
    return analysed(Chunk(list(documents), records=len(documents)), analysis)


def _next(waiting: deque[tuple[Job[T], Future[Any]]], analysis: Analysis | None) -> T:
    """Remove the first job from `waiting` and return its result; until it is ready, do jobs that no process does."""
    first, future = waiting.popleft()
    for job, other in ((first, future), *waiting):
        if future.done():
            break
        if not other.cancelled() and other.cancel():
            job.result = job.function(analysis, *job.arguments)
    return first.receive(first.result if future.cancelled() else future.result())


def analysed(chunk: Chunk, analysis: Analysis | None) -> Chunk:
    """Analyse a chunk in this process, and return it."""
    return finish(chunk, analyse_chunk(analysis, *payload(chunk.documents)))


def chunked(records: Iterator[Scanned], shares: Iterable[int] = repeat(1)) -> Iterator[Chunk]:
    """Cut a stream of records into chunks, and yield these; each has 1 / share of the size of a whole chunk.

    `shares` has a number for each chunk; by default all chunks are whole ones. The stream may have more records than
    these chunks take.
    """
    for share in shares:
        chunk = Chunk(share=share)
        for record in records:
            chunk.add(record)
            if chunk.is_full:
                break
        if not chunk.records:
            return
        yield chunk


class ChunkResults(NamedTuple):
    """The results of `analyse_chunk`, which a worker process sends back: entries, and documents made from pages."""

    analysed: Analysed
    extracted: dict[int, Document]  # Documents of the pages that have text, by their positions.


def analyse_chunk(
    analysis: Analysis | None, kind: str, ids: list[str], what: list[Any], metadata: list[Any] | None
) -> ChunkResults:
    """Analyse the documents of a chunk, in a worker process or this one; return entries and documents made from pages.

    The arguments after `analysis` are those that `payload` returns; `what` has the texts, features or fingerprints. If
    `analysis` is None, there are no entries.
    """
    records = {at: extract(page) for at, page in enumerate(what) if isinstance(page, Page)}
    documents = {at: record for at, record in records.items() if isinstance(record, Document)}
    refused = {at: record.reason for at, record in records.items() if isinstance(record, Reject)}
    for at in refused:
        what[at] = ""  # Analysis refuses an empty text, too.
    if documents:
        metadata = metadata or [None] * len(ids)
        for at, document in documents.items():
            what[at], metadata[at] = document.text, document.metadata
    done: Analysed
    if analysis is None:
        done = Analysed(Entries.of_fingerprints([], np.empty(0, np.uint64)), list(range(len(ids))), {})
    else:
        done = getattr(analysis, kind)(ids, what, metadata) if ids else analysis.fingerprints([], [])
    refused = dict(sorted({**done.refused, **refused}.items()))
    return ChunkResults(Analysed(done.entries, [at for at in done.kept if at not in refused], refused), documents)


def finish(chunk: Chunk, done: ChunkResults) -> Chunk:
    """Put the results of `analyse_chunk` into a chunk and return it; documents without fingerprint become rejects."""
    chunk.analysed = done.analysed
    for at, extracted in done.extracted.items():
        chunk.documents[at] = replace(extracted, raw=chunk.documents[at].raw)
    for at, reason in done.analysed.refused.items():
        document = chunk.documents[at]
        raw = document.raw
        if raw is None:
            raw = document.content if isinstance(document, Page) else (document.text or "").encode()
        before = sum(order <= at for order in chunk.order)
        chunk.rejects.insert(before, Reject(document.place, reason, raw, document.id))
        chunk.order.insert(before, at)
    return chunk
