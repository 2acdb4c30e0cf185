"""Records to entries, chunk by chunk, in one process or several, in the order of the input."""

import errno
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from threading import Thread

from simhash_hbase.analysis import Analysed, Analysis
from simhash_hbase.entries import Entries
from simhash_hbase.errors import WorkerLost
from simhash_hbase.inputs import Document, Record, Reject

__all__ = ["Chunk", "analyse"]

CHUNK_DOCUMENTS = 1_000
# Long texts make short chunks: what is in flight between processes stays below some 30 MB a worker.
CHUNK_CHARACTERS = 2_000_000
IN_FLIGHT = 3
WORKER_LOST = "a worker process was ended from outside; fewer --workers need less memory"


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
            yield _finish(chunk, _work(analysis, *_payload(chunk)))
        return
    for chunk in chunks:
        yield _finish(chunk, _work(analysis, *_payload(chunk)))
        if chunk.is_full:
            break
    yield from _in_processes(chunks, analysis, workers)


def _in_processes(chunks: Iterator[Chunk], analysis: Analysis, workers: int) -> Iterator[Chunk]:
    first = next(chunks, None)
    if first is None:
        return
    # Spawned, not forked: a fork would copy this process's connections and locks.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=(analysis,))
    try:
        waiting: deque[tuple[Chunk, Future[Analysed]]] = deque()
        for chunk in _chain(first, chunks):
            waiting.append((chunk, _submit(pool, chunk)))
            if len(waiting) > workers * IN_FLIGHT:
                done, future = waiting.popleft()
                yield _finish(done, future.result())
        for done, future in waiting:
            yield _finish(done, future.result())
    except BrokenExecutor as error:
        raise WorkerLost(WORKER_LOST) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, chunk: Chunk) -> Future[Analysed]:
    try:
        return pool.submit(_work_there, *_payload(chunk))
    except OSError as error:
        # A worker that ends while the pool starts one leaves a closed pipe, which has no number of the system's.
        if error.errno not in (None, errno.EPIPE):
            raise
        raise WorkerLost(WORKER_LOST) from error


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


Payload = tuple[str, list[str], list[object], list[dict[str, object] | None] | None]


def _payload(chunk: Chunk) -> Payload:
    """Reduce a chunk to what a worker needs."""
    documents = chunk.documents
    ids = [document.id for document in documents]
    has_metadata = any(document.metadata for document in documents)
    metadata = [document.metadata for document in documents] if has_metadata else None
    if documents and documents[0].simhash is not None:
        return "fingerprints", ids, [document.simhash for document in documents], metadata
    if documents and documents[0].features is not None:
        return "features", ids, [document.features for document in documents], metadata
    return "texts", ids, [document.text for document in documents], metadata


def _work(analysis: Analysis, kind: str, ids: Sequence[str], what: Sequence[object], metadata: object) -> Analysed:
    if not ids:
        return analysis.fingerprints([], [])
    done: Analysed = getattr(analysis, kind)(ids, what, metadata)
    return done


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


_analysis: Analysis | None = None


def _start(analysis: Analysis) -> None:
    """Set up a worker process; Ctrl-C is the parent's business."""
    global _analysis  # noqa: PLW0603
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    _analysis = analysis


def _end_with_parent() -> None:
    """Wait for the parent's end: one that is killed tells nobody, and its workers would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work_there(*payload: object) -> Analysed:
    if _analysis is None:
        raise RuntimeError("the worker process was not set up")
    return _work(_analysis, *payload)  # type: ignore[arg-type]
