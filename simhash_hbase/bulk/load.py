"""The writing half of a bulk load: puts the analysed documents of a `Spool` into an index.

Documents whose ids the index holds already are added by the methods of the index. All others are written straight into
the store, sorted by row.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.bulk.sorting import (
    KEY,
    CellBlock,
    Corpus,
    LoadedPassages,
    PassageSorter,
    Sorter,
    added_ms,
    document_cells,
    sorted_rows,
)
from simhash_hbase.bulk.spool import SCRATCH, NotedLoad, Spool
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.index import documentrows, indexrows, timestamps
from simhash_hbase.index.arguments import BATCH_DOCUMENTS
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.index.upkeep.walk import ProgressCallback, Walk
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.keys import BlockRows, passage_rows, row_prefix
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, PASSAGE_BYTES
from simhash_hbase.stores.base import Store

CELLS_A_CALL = 20_000
ROWS_A_CALL = 1 << 20


class StoreWriter:
    """A `Writer` for every store: writes the rows and cells of a load by the store's method `put`."""

    way = "sorted puts"

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, cells: Iterable[CellBlock], rows: Iterable[BlockRows], *, timestamp: int) -> None:
        """Put sorted cells, then sorted block rows, some thousands a call; see `Writer.write`."""
        for block in cells:
            single = block.cells(timestamp)
            while call := list(islice(single, CELLS_A_CALL)):
                self._store.put(FAMILY_DOCUMENTS, call)
        for some in rows:
            for first in range(0, len(some.prefixes), ROWS_A_CALL):
                part = slice(first, first + ROWS_A_CALL)
                self._store.put_rows(BlockRows(some.prefixes[part], some.simhashes[part]), timestamp=timestamp)


CELLS_A_RANGE = 1 << 18
SAMPLE_A_PART = 64


class Writer(Protocol):
    """A way to write the sorted cells and rows of a load: by puts into a store, or as HFiles for HBase."""

    way: str  # Name for the summary.

    def write(self, cells: Iterable[CellBlock], rows: Iterable[BlockRows], *, timestamp: int) -> None:
        """Write all cells, of family ``d``, then all block rows, of family ``b``, each with `timestamp`, in ms."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The result of a finished load: how many documents were written, and how many of them the index held before."""

    documents: int
    known: int  # Documents whose ids the index held before; they were written one batch after another.
    moved: int  # Known documents that had another text.


def begin(index: LocalIndex, spool: Spool, *, into_existing: bool = False, take_over: bool = False) -> None:
    """Note in the index that a load has begun or is resumed, and save the timestamp of its cells in the spool.

    Call this before `load`. A new load needs an empty index, unless `into_existing`. `take_over` begins even if another
    load into the index was not finished.
    """
    begin_noted(index, spool.manifest, into_existing=into_existing, take_over=take_over)
    spool.save()


def begin_noted(index: LocalIndex, load: NotedLoad, *, into_existing: bool = False, take_over: bool = False) -> int:
    """Note in the index that a load has begun or is resumed; return the timestamp of its cells, in ms.

    The timestamp is set in `load`; the caller has to save that, so that a repeated load writes the same cells.
    """
    if not into_existing and not load.writing:
        check_empty(index)
    now = indexrows.begin_load(index.store, load.token, take_over=take_over)
    load.stamp = load.stamp or now - timestamps.MARGIN_MS
    return load.stamp


def load(
    index: LocalIndex,
    spool: Spool,
    writer: Writer,
    *,
    into_existing: bool = False,
    watch: ProgressCallback | None = None,
) -> Loaded:
    """Write the documents of all finished parts of a spool into an index, and return their counts.

    After a kill the same call writes everything again; the cells are the same, so the index is as after one call. It
    takes about 40 bytes of memory a document, 12 more for each band, and some hundred megabytes. Passage rows are
    sorted in files.
    """
    manifest = spool.manifest
    if manifest.stamp is None:
        raise InvalidArgument("the load was not begun")
    if not into_existing and not manifest.writing:
        check_empty(index)
    # From here on cells may be in the index: the input must not change any more.
    manifest.writing = True
    spool.save()
    work = _LoadPass(index, spool, manifest.stamp, watch)
    if into_existing:
        work.add_known()
    work.write(writer)
    indexrows.end_load(index.store, manifest.token)
    return Loaded(documents=sum(note.documents for note in manifest.parts), known=work.known, moved=work.moved)


class _LoadPass:
    """The writing of one load: goes over the spool's parts, and counts the documents that the index held before."""

    def __init__(self, index: LocalIndex, spool: Spool, stamp: int, watch: ProgressCallback | None) -> None:
        self.known = self.moved = 0
        self._index = index
        self._spool = spool
        self._stamp = stamp
        self._walk = Walk(watch)
        # For each part with known ids the places of all others; most parts have none.
        self._fresh: dict[int, NDArray[np.intp]] = {}

    def add_known(self) -> None:
        """Add the documents whose ids the index holds already, by its methods; remember the positions of the others."""
        ours = self._stamp, added_ms(self._stamp)
        for before, part in self._spool.parts():
            is_known = list[bool]()
            for first in range(0, len(part.entries), BATCH_DOCUMENTS):
                states = documentrows.read_states(self._index.store, part.entries.ids[first : first + BATCH_DOCUMENTS])
                # Not those of an earlier attempt of this load: their block rows may still be missing.
                is_known += [state is not None and (state[0].stamp, state[0].order[0]) != ours for state in states]
            if not any(is_known):
                continue
            self._fresh[before] = np.flatnonzero(~np.array(is_known))
            places = np.flatnonzero(is_known)
            for first in range(0, len(places), BATCH_DOCUMENTS):
                some = part.entries.take(places[first : first + BATCH_DOCUMENTS])
                done = self._index.add_entries(self._index.collection.given(some))
                self.known += sum(done.known)
                self.moved += sum(done.moved)

    def write(self, writer: Writer) -> None:
        """Write the sorted cells and block rows of all documents that `add_known` has not added."""
        profile = self._index.profile
        # The columns that rows are made from, and a sample of the keys.
        simhashes, keys = [np.empty(0, np.uint64)], [np.empty(0, KEY)]
        segments, present = [np.empty((0, profile.bands), np.uint32)], [np.empty(0, np.bool_)]
        passages = 0
        for before, entries in self._new_entries():
            passages += sum(map(len, entries.passages_for(kept=profile.passages is not None))) // PASSAGE_BYTES
            simhashes.append(entries.simhashes)
            segments.append(entries.segments_for(profile.bands))
            present.append(entries.sketched)
            places = np.unique(np.linspace(0, len(entries), SAMPLE_A_PART, endpoint=False).astype(np.intp))
            if len(entries):
                keys.append(document_cells(entries.take(places), self._stamp, before, checksum=profile.checksums).keys)
        found = np.concatenate(simhashes)
        if not len(found):
            return
        corpus = Corpus.of(profile.blocks, found, np.concatenate(segments), np.concatenate(present))
        # Keys that cut the cells into ranges of about one size.
        ranges = -(-2 * len(found) // CELLS_A_RANGE)
        sample = np.sort(np.concatenate(keys))
        bounds = sample[[len(sample) * number // ranges for number in range(1, ranges)]]

        def sorted_cells() -> Iterator[CellBlock]:
            # Only when the first cell is needed: a writer with a process of its own starts meanwhile.
            sorter = Sorter(self._spool.scratch(), bounds)
            sorter.add_many(
                document_cells(entries, self._stamp, before, checksum=profile.checksums)
                for before, entries in self._new_entries()
            )
            yield from sorter.blocks()

        cells = self._walk.pages(
            sorted_cells(), lambda block: (len(block.values), row_prefix(block.keys[-1:].tobytes()))
        )
        rows = sorted_rows(corpus, self._passages(passages) if passages else None)
        writer.write(cells, self._walk.rows(rows, before=1), timestamp=self._stamp)

    def _passages(self, count: int) -> LoadedPassages:
        """Return the passage rows of the new documents, to be sorted on the disk; with repeats they are `count`."""
        pieces = (passage_rows(entries.packed_passages, entries.simhashes) for _, entries in self._new_entries())
        return LoadedPassages(PassageSorter(self._spool.folder / SCRATCH / "passages", count), pieces)

    def _new_entries(self) -> Iterator[tuple[int, Entries]]:
        for before, part in self._spool.parts():
            fresh = self._fresh.get(before)
            yield before, part.entries if fresh is None else part.entries.take(fresh)


def check_empty(index: LocalIndex) -> None:
    """Raise `InvalidArgument` if an index holds documents."""
    if indexrows.has_documents(index.store):
        raise InvalidArgument(
            f"{index.store.url} already holds documents: add `into_existing`, or load into an empty index"
        )
