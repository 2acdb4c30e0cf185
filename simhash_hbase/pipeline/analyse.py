"""Records to entries, chunk by chunk, in one process or several, in the order of the input."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import closing
from itertools import chain

from simhash_hbase.features.analysis import Analysis
from simhash_hbase.inputs import Scanned
from simhash_hbase.pipeline.chunks import Chunk, Done, analyse_chunk, finish
from simhash_hbase.pipeline.workers import Workers

IN_FLIGHT = 3


def analyse(records: Iterable[Scanned], analysis: Analysis, *, workers: int = 1) -> Iterator[Chunk]:
    """Fingerprint and sketch a stream of records, and extract its pages.

    With several workers this process analyses the first chunk, so that a short input starts no process.
    """
    chunks = _chunks(records)
    if workers <= 1:
        for chunk in chunks:
            yield finish(chunk, analyse_chunk(analysis, *chunk.parts()))
        return
    for chunk in chunks:
        yield finish(chunk, analyse_chunk(analysis, *chunk.parts()))
        if chunk.is_full:
            break
    yield from _in_processes(chunks, analysis, workers)


def _in_processes(chunks: Iterator[Chunk], analysis: Analysis, workers: int) -> Iterator[Chunk]:
    first = next(chunks, None)
    if first is None:
        return
    with closing(Workers(analysis, workers)) as pool:
        waiting: deque[tuple[Chunk, Future[Done]]] = deque()
        for chunk in chain((first,), chunks):
            waiting.append((chunk, pool.submit(analyse_chunk, *chunk.parts())))
            if len(waiting) > workers * IN_FLIGHT:
                done, future = waiting.popleft()
                yield finish(done, future.result())
        for done, future in waiting:
            yield finish(done, future.result())


def _chunks(records: Iterable[Scanned]) -> Iterator[Chunk]:
    chunk = Chunk()
    for record in records:
        chunk.add(record)
        if chunk.is_full:
            yield chunk
            chunk = Chunk()
    if chunk.records:
        yield chunk
