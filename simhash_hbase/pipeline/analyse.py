"""Records to entries, chunk by chunk, in one process or several, in the order of the input."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain, repeat
from typing import TYPE_CHECKING

from simhash_hbase.features.analysis import Analysis
from simhash_hbase.inputs import Scanned
from simhash_hbase.pipeline.chunks import Chunk, Done, analyse_chunk, finish
from simhash_hbase.pipeline.workers import Workers

if TYPE_CHECKING:
    from concurrent.futures import Future

IN_FLIGHT = 3
SHARES = (256, 128, 64, 32, 16, 8, 4, 2)
"""Of a whole chunk, in the first chunks of a stream whose first results are waited for: together nearly one."""


def analyse(records: Iterable[Scanned], analysis: Analysis, *, workers: int = 1, soon: bool = False) -> Iterator[Chunk]:
    """Fingerprint and sketch a stream of records, and extract its pages.

    An input of one chunk starts no process. Where results are wanted soon, the first chunks are short.
    """
    records = iter(records)
    if soon:
        for chunk in _chunks(records, SHARES):
            yield _analysed(chunk, analysis)
    chunks = _chunks(records)
    if workers > 1:
        first, second = next(chunks, None), next(chunks, None)
        if first is not None and second is not None:
            yield from _shared(chain((first, second), chunks), analysis, workers)
            return
        chunks = iter(() if first is None else (first,))
    for chunk in chunks:
        yield _analysed(chunk, analysis)


def _shared(chunks: Iterable[Chunk], analysis: Analysis, workers: int) -> Iterator[Chunk]:
    """Share chunks with other processes: this one analyses, too, whenever the next chunk is not ready.

    So a process that takes its time to start delays nothing, and two processes are never slower than one.
    """
    with closing(Workers(analysis, workers - 1)) as pool:
        waiting: deque[tuple[Chunk, Future[Done]]] = deque()
        for chunk in chunks:
            waiting.append((chunk, pool.submit(analyse_chunk, *chunk.parts())))
            if len(waiting) > workers * IN_FLIGHT:
                yield _next(waiting, analysis)
        while waiting:
            yield _next(waiting, analysis)


def _next(waiting: deque[tuple[Chunk, Future[Done]]], analysis: Analysis) -> Chunk:
    """Return the first chunk when it is analysed; until then analyse others that no process has begun."""
    first, future = waiting.popleft()
    for chunk, other in ((first, future), *waiting):
        if future.done():
            break
        if chunk.analysed is None and other.cancel():
            _analysed(chunk, analysis)
    return finish(first, future.result()) if first.analysed is None else first


def _analysed(chunk: Chunk, analysis: Analysis) -> Chunk:
    return finish(chunk, analyse_chunk(analysis, *chunk.parts()))


def _chunks(records: Iterator[Scanned], shares: Iterable[int] = repeat(1)) -> Iterator[Chunk]:
    for share in shares:
        chunk = Chunk(share=share)
        for record in records:
            chunk.add(record)
            if chunk.is_full:
                break
        if not chunk.records:
            return
        yield chunk
