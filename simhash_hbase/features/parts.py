"""Reading and analysis of an input by worker processes, which read and analyse one part of it, some megabytes, each.

The results are the same chunks of documents that `simhash_hbase.features.chunks.analyse` makes in one stream, but
without the texts.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.features.analysis import Analysed, Analysis
from simhash_hbase.features.chunks import (
    SHARES,
    Chunk,
    ChunkResults,
    Job,
    analyse_chunk,
    analysed,
    characters_of,
    chunked,
    finish,
    payload,
    run_jobs,
)
from simhash_hbase.inputs import InputOptions, Progress, Reject
from simhash_hbase.inputs.columns import DocumentColumns
from simhash_hbase.inputs.options import RECORD_BYTES, RESULT_BYTES
from simhash_hbase.inputs.parts import divide, read_ranges, record_ranges
from simhash_hbase.inputs.reading import check_readable, scan_part
from simhash_hbase.inputs.records import without_advice
from simhash_hbase.inputs.sources import Part, Sources
from simhash_hbase.rows.analysed import Entries

if TYPE_CHECKING:
    from simhash_hbase.features.workers import Workers

R = TypeVar("R")


@dataclass(frozen=True)
class PartedInput:
    """An input that worker processes read in parts, such as some megabytes of a file.

    Attributes
    ----------
    sources, options
        The input.
    progress : Progress
        The progress of the parts whose documents were yielded.
    part_bytes : int
        The size of a part.
    skipped : int
        Records at the beginning that are passed over.
    """

    sources: Sources
    options: InputOptions
    progress: Progress
    part_bytes: int
    skipped: int = 0

    def parts(self, *, soon: bool) -> Generator[Part, None, None]:
        """Yield the parts; if results are wanted soon, the first ones are small."""
        shares = SHARES if soon else ()
        return divide(self.sources, self.options, part_bytes=self.part_bytes, shares=shares)


class Outline(NamedTuple):
    """Two columns about consecutive records, by which these are cut into chunks without their texts.

    They say which records are documents, not refused ones, and how many characters each record has.
    """

    are_documents: NDArray[np.bool_]
    characters: NDArray[np.int64]

    @classmethod
    def of(cls, chunk: Chunk) -> Self:
        """Return the outline of a chunk's records before its analysis."""
        are_documents = np.ones(chunk.records, np.bool_)
        are_documents[np.array(chunk.order, np.intp) + np.arange(len(chunk.order))] = False
        characters = np.zeros(chunk.records, np.int64)
        characters[are_documents] = [characters_of(document) for document in chunk.documents]
        characters[~are_documents] = [characters_of(reject) for reject in chunk.rejects]
        return cls(are_documents, characters)

    def analysed(self, chunk: Chunk) -> Outline:
        """Return the outline after the analysis of `chunk`: documents that were refused do not count as documents."""
        have_entries = self.are_documents.copy()
        have_entries[np.flatnonzero(have_entries)[list(chunk.analysed.refused)]] = False
        return Outline(have_entries, self.characters)

    @classmethod
    def joined(cls, outlines: Iterable[Outline]) -> Outline:
        """Return several outlines, of records that follow each other, as one."""
        columns = zip(*outlines, strict=True)
        return cls(*map(np.concatenate, columns))


class PartResults(NamedTuple):
    """The documents of a part after analysis, as columns that a worker process sends back, without the texts.

    A column about documents has a value for each document with an entry.
    """

    outline: Outline  # Figures of all records.
    entries: Entries
    files: list[str]
    file_numbers: NDArray[np.int32]
    lines: NDArray[np.int64]
    preferences: list[float | None]
    sources: list[str | None]
    remainders: list[bytes]
    ranges: NDArray[np.int64] | None  # Where each record begins and ends in the file, where the bytes are wanted.
    raw: list[bytes | None]  # The bytes of files that are not divided.
    rejects: list[Reject]
    progress: Progress


def analyse_part(analysis: Analysis, part: Part, options: InputOptions) -> PartResults | None:
    """Read a part of the input, analyse its documents, and return the results; a worker process runs this.

    None is returned if the results have more than `RESULT_BYTES`: the part must then be read as a stream.
    """
    progress, size = Progress(), 0
    outlines, entries = [], []
    rejects: list[Reject] = []
    files: dict[str, int] = {}
    columns: list[tuple[int, int, int, float | None, str | None, bytes, bytes | None]] = []
    # One string for each source: the pickle of a part holds it once.
    names: dict[str | None, str | None] = {}

    for chunk in chunked(scan_part(part, options, progress)):
        outline = Outline.of(chunk)
        outlines.append(outline.analysed(analysed(chunk, analysis)))
        entries.append(chunk.entries)
        refused = len(rejects)
        rejects += chunk.rejects if options.keep_raw else [Reject(r.place, r.reason, b"", r.id) for r in chunk.rejects]
        for document in chunk.kept:
            file = files.setdefault(document.place.file, len(files))
            raw = document.raw if part.stop is None else None
            source = names.setdefault(document.source, document.source)
            sized = file, document.place.line, len(document.raw or b""), document.preference
            columns.append((*sized, source, document.remainder, raw))
            size += len(raw or b"")
        size += RECORD_BYTES * chunk.records + sum(len(reject.raw) for reject in rejects[refused:])
        if part.stop is None and size > RESULT_BYTES:
            return None
    transposed = zip(*columns, strict=True) if columns else ((),) * 7
    file_numbers, lines, lengths, preferences, sources, remainders, raws = transposed
    numbers = np.array(lines, np.int64)
    is_copied = options.keep_raw and part.stop is not None
    ranges = record_ranges(part, progress.line_ends, numbers, np.array(lengths, np.int64)) if is_copied else None
    progress.line_ends = []
    return PartResults(
        Outline.joined(outlines) if outlines else Outline(np.zeros(0, np.bool_), np.zeros(0, np.int64)),
        Entries.joined(entries).with_id_digests() if entries else Entries.of_fingerprints([], np.empty(0, np.uint64)),
        list(files),
        np.array(file_numbers, np.int32),
        numbers,
        list(preferences),
        list(sources),
        list(remainders),
        ranges,
        list(raws),
        rejects,
        progress,
    )


class AnalysedRecords(NamedTuple):
    """The records of a part of the input, or of a chunk, after analysis and without texts."""

    outline: Outline
    entries: Entries
    documents: DocumentColumns
    rejects: list[Reject]
    progress: Progress

    @classmethod
    def of_part(cls, part: Part, results: PartResults) -> Self:
        """Return the records of a part from its results; the bytes of records, if asked for, are read from the file."""
        entries = results.entries
        documents = DocumentColumns(
            entries.ids,
            entries.metadata,
            list(map(results.files.__getitem__, results.file_numbers.tolist())),
            results.lines.tolist(),
            results.raw if results.ranges is None else read_ranges(part, results.ranges),
            results.preferences,
            results.sources,
            results.remainders,
        )
        return cls(results.outline, entries, documents, results.rejects, results.progress)

    @classmethod
    def of_chunk(cls, chunk: Chunk, before: Outline, progress: Progress) -> Self:
        """Return the records of an analysed chunk, with its outline before the analysis."""
        documents = DocumentColumns.of(chunk.kept)
        return cls(before.analysed(chunk), chunk.entries, documents, chunk.rejects, progress)


class Chunker:
    """Puts analysed records, which come in pieces of any size, together into the chunks that one stream would give."""

    def __init__(self, progress: Progress, shares: Iterable[int]) -> None:
        self._progress = progress
        self._shares = chain(shares, repeat(1))
        self._chunk = Chunk(share=next(self._shares))
        self._entries: list[Entries] = []
        self._documents: list[DocumentColumns] = []

    def chunks(self, pieces: Iterable[AnalysedRecords]) -> Iterator[Chunk]:
        """Yield the chunks of all analysed records; `pieces` come in the order of the input."""
        for piece in pieces:
            self._progress.add(piece.progress)
            # Documents and refused records before each record.
            before = np.concatenate(([0], np.cumsum(piece.outline.are_documents)))
            start, end = 0, len(before) - 1
            while start < end:
                stop = start + self._chunk.fitting(piece.outline.characters[start:])
                self._take(piece, before, start, stop)
                start = stop
                if self._chunk.is_full:
                    yield self._cut()
        if self._chunk.records:
            yield self._cut()

    def _take(self, piece: AnalysedRecords, before: NDArray[np.intp], start: int, stop: int) -> None:
        chunk = self._chunk
        first, last = before[[start, stop]].tolist()
        is_whole = last - first == len(piece.documents)
        self._entries.append(piece.entries if is_whole else piece.entries.take(range(first, last)))
        self._documents.append(piece.documents[first:last])
        chunk.rejects += piece.rejects[start - first : stop - last]
        chunk.records += stop - start
        chunk.characters += int(piece.outline.characters[start:stop].sum())

    def _cut(self) -> Chunk:
        chunk, entries = self._chunk, Entries.joined(self._entries)
        chunk.analysed = Analysed(entries, list(range(len(entries))), {})
        chunk.columns = DocumentColumns.joined(self._documents)
        self._chunk, self._entries, self._documents = Chunk(share=next(self._shares)), [], []
        return chunk


def analyse_parts(
    parted: PartedInput, analysis: Analysis, pool: Workers, *, workers: int, soon: bool
) -> Generator[Chunk, None, None]:
    """Have a pool read and analyse the parts of an input; yield the chunks of documents, and close the pool.

    The chunks are those that `analyse` yields for the same input, but without texts. This process itself reads files
    that cannot be divided, such as a long compressed file or a pipe, parts whose results are too large to be sent, and
    the records that are skipped.
    """
    check_readable(parted.sources, parted.options)
    progress, advice = Progress(), _Advice(parted.options)

    def streamed(part: Part) -> Iterator[AnalysedRecords]:
        read = Progress()
        for chunk in chunked(scan_part(part, parted.options, read)):
            outline = Outline.of(chunk)
            analysed(chunk, analysis)
            yield AnalysedRecords.of_chunk(chunk, outline, read.taken())
        progress.add(read)

    def received(part: Part, results: PartResults | None) -> Iterable[AnalysedRecords]:
        if results is None:
            return streamed(part)
        piece = AnalysedRecords.of_part(part, results)
        return (piece._replace(rejects=list(advice.given(part, results.rejects))),)

    def finished(chunk: Chunk, outline: Outline, read: Progress, results: ChunkResults) -> Iterable[AnalysedRecords]:
        return (AnalysedRecords.of_chunk(finish(chunk, results), outline, read),)

    def jobs(parts: Iterable[Part]) -> Iterator[Job[Iterable[AnalysedRecords]]]:
        left = parted.skipped
        for part in parts:
            if not left and (part.is_stretch or (part.size is not None and part.size <= parted.part_bytes)):
                yield Job(analyse_part, (part, parted.options), partial(received, part))
                continue
            records = advice.given(part, scan_part(part, parted.options, progress))
            left -= sum(1 for _ in islice(records, left))
            for chunk in chunked(records):
                receive = partial(finished, chunk, Outline.of(chunk), progress.taken())
                yield Job(analyse_chunk, payload(chunk.documents), receive)

    chunker = Chunker(parted.progress, SHARES if soon else ())
    with closing(parted.parts(soon=soon)) as parts:
        pieces = run_jobs(jobs(parts), analysis, pool, workers=workers)
        yield from chunker.chunks(chain.from_iterable(pieces))
    parted.progress.add(progress)


class _Advice:
    """Removes advice from the reasons of refused records, except at the first one of each file.

    Advice is the end of a reason, such as which option to use; parts of a file, read apart, each begin with one.
    """

    def __init__(self, options: InputOptions) -> None:
        self._options = options
        self._is_given = False

    def given(self, part: Part, records: Iterable[R]) -> Iterator[R]:
        """Yield the records of the next part of the input, without repeated advice; those of undivided files stay."""
        if part.stop is None:
            yield from records
            return
        self._is_given = self._is_given and part.line > 1
        for record in records:
            if isinstance(record, Reject):
                plain = replace(record, reason=without_advice(record.reason, self._options))
                yield plain if self._is_given else record
                self._is_given = self._is_given or plain != record
            else:
                yield record
