"""Records to entries, chunk by chunk, in one process or several, in the order of the input."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field

from simhash_hbase.analysis import Analysed, Analysis
from simhash_hbase.entries import Entries
from simhash_hbase.inputs import Document, Record, Reject
from simhash_hbase.workers import Workers, payload, translated, work

__all__ = ["CHUNK_DOCUMENTS", "Chunk", "analyse"]

CHUNK_DOCUMENTS = 1_000
# Long texts make short chunks: what is in flight between processes stays below some 30 MB a worker.
CHUNK_CHARACTERS = 2_000_000
IN_FLIGHT = 3


@dataclass(slots=True)
class Chunk:
    """A stretch of the input."""

    documents: list[Document] = field(default_factory=list)
    """What was read whole."""
    rejects: list[Reject] = field(default_factory=list)
    """What was refused, by the reader or for want of features, in the order of the input."""
    analysed: Analysed | None = None
    """Entries of `documents`; set by `analyse`."""
    order: list[int] = field(default_factory=list)
    """For each reject, the documents of this chunk that came before it."""
    characters: int = 0
    records: int = 0
    """Records of the input in it, documents and refused ones."""

    @property
    def is_full(self) -> bool:
        """Whether it is time for the next one."""
        many = len(self.documents) + len(self.rejects) >= CHUNK_DOCUMENTS
        return many or self.characters >= CHUNK_CHARACTERS

    @property
    def entries(self) -> Entries:
        """The entries; only after analysis."""
        return self._done.entries

    @property
    def kept(self) -> list[Document]:
        """The documents that have an entry, in the order of the entries; only after analysis."""
        return [self.documents[at] for at in self._done.kept]

    @property
    def _done(self) -> Analysed:
        if self.analysed is None:
            raise RuntimeError("the chunk was not analysed yet")
        return self.analysed


def analyse(records: Iterable[Record], analysis: Analysis, *, workers: int = 1) -> Iterator[Chunk]:
    """Fingerprint and sketch a stream of records.

    Parameters
    ----------
    records : iterable of Document or Reject
        As `simhash_hbase.inputs.read` yields them.
    analysis : Analysis
        Says how.
    workers : int
        Processes; with 1 all is done in this one. Output does not depend on it.

    Yields
    ------
    Chunk
        With `analysed` set; documents without features have become rejects.

    Raises
    ------
    WorkerLost
        When the system, or somebody, ended a worker.

    Notes
    -----
    With several workers the first chunk is done here, so a short input starts no process.
    """
    chunks = _chunks(records)
    if workers <= 1:
        for chunk in chunks:
            yield _finish(chunk, work(analysis, *payload(chunk.documents)))
        return
    for chunk in chunks:
        yield _finish(chunk, work(analysis, *payload(chunk.documents)))
        if chunk.is_full:
            break
    yield from _in_processes(chunks, analysis, workers)


def _in_processes(chunks: Iterator[Chunk], analysis: Analysis, workers: int) -> Iterator[Chunk]:
    first = next(chunks, None)
    if first is None:
        return
    with closing(Workers(analysis, workers)) as pool, translated():
        waiting: deque[tuple[Chunk, Future[Analysed]]] = deque()
        for chunk in _chain(first, chunks):
            waiting.append((chunk, pool.submit(payload(chunk.documents))))
            if len(waiting) > workers * IN_FLIGHT:
                done, future = waiting.popleft()
                yield _finish(done, future.result())
        for done, future in waiting:
            yield _finish(done, future.result())


def _chain(first: Chunk, rest: Iterator[Chunk]) -> Iterator[Chunk]:
    yield first
    yield from rest


def _chunks(records: Iterable[Record]) -> Iterator[Chunk]:
    chunk = Chunk()
    for record in records:
        if isinstance(record, Reject):
            chunk.rejects.append(record)
            chunk.order.append(len(chunk.documents))
        else:
            chunk.documents.append(record)
            chunk.characters += len(record.text or "")
        chunk.records += 1
        if chunk.is_full:
            yield chunk
            chunk = Chunk()
    if chunk.documents or chunk.rejects:
        yield chunk


def _finish(chunk: Chunk, analysed: Analysed) -> Chunk:
    """Attach the entries, and turn documents without features into rejects at their place."""
    chunk.analysed = analysed
    for at, reason in analysed.refused.items():
        document = chunk.documents[at]
        raw = document.raw if document.raw is not None else (document.text or "").encode()
        before = sum(order <= at for order in chunk.order)
        chunk.rejects.insert(before, Reject(document.place, reason, raw, document.id))
        chunk.order.insert(before, at)
    return chunk
