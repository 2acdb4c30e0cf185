"""The rows and cells of a corpus in the byte order of their keys, for a bulk load; more than fit into memory.

One range of keys is sorted in memory at a time. Cells and passage rows wait in files, one for each range.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise, repeat
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.index import documentrows, timestamps
from simhash_hbase.rows import layout
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.documentcells import DocumentState, encode
from simhash_hbase.rows.keys import (
    NO_PREFIX,
    BlockRows,
    band_prefixes,
    document_rows,
    id_digest,
    member_rows,
    pack_rows,
    unpack_rows,
)
from simhash_hbase.stores.base import Cell

KEY_BYTES = layout.MEMBER_ID_BYTES + layout.TEXT_BYTES
KEY = np.dtype(f"S{KEY_BYTES}")
"""The key of a cell: row, then qualifier. Both kinds of rows differ within their first five bytes, so keys sort as the
cells do; numpy pads them with zero bytes."""

DOCUMENT_KEY_BYTES = layout.DOCUMENT_ROW_BYTES + len(layout.STATE_QUALIFIER)
_LENGTH = np.dtype(">u4")


class CellBlock(NamedTuple):
    """Member cells and document cells, of family ``d``, as two columns: keys (row, then qualifier) and values."""

    keys: NDArray[np.bytes_]
    values: list[bytes]

    def take(self, order: NDArray[np.intp]) -> "CellBlock":
        """Return the cells at the positions `order`, in that order."""
        return CellBlock(self.keys[order], [self.values[at] for at in order.tolist()])

    def ends(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return for each key the positions, in bytes, at which its row ends and at which its qualifier ends."""
        packed = self.keys.view(np.uint8).reshape(-1, KEY_BYTES)
        members = packed[:, layout.SEGMENT_BYTES] == layout.FLAG_MEMBERS
        rows = np.where(members, np.uint8(layout.MEMBER_ROW_BYTES), np.uint8(layout.DOCUMENT_ROW_BYTES))
        # The key of a member without a text ends with its id; a digest of zeros does not occur.
        with_text = packed[:, layout.MEMBER_ID_BYTES :].any(axis=1)
        ends = np.where(with_text, np.uint8(KEY_BYTES), np.uint8(layout.MEMBER_ID_BYTES))
        return rows, np.where(members, ends, np.uint8(DOCUMENT_KEY_BYTES))

    def cells(self, timestamp: int) -> Iterator[Cell]:
        """Yield the cells one by one, each with `timestamp`, in ms."""
        packed = self.keys.tobytes()
        rows, ends = (column.tolist() for column in self.ends())
        for at, (value, row, end) in enumerate(zip(self.values, rows, ends, strict=True)):
            key = packed[at * KEY_BYTES : at * KEY_BYTES + end]
            yield Cell(key[:row], key[row:], value, timestamp)

    def pack(self) -> list[bytes]:
        """Return the block as bytes for a temporary file, in pieces (count, keys, lengths, values); see `unpack`."""
        lengths = np.fromiter(map(len, self.values), _LENGTH, len(self.values))
        return [len(self.values).to_bytes(4, "big"), self.keys.tobytes(), lengths.tobytes(), *self.values]

    @classmethod
    def unpack(cls, file: BinaryIO) -> "CellBlock | None":
        """Read the next block of cells from a file with the bytes of `pack`; return None at the end of the file."""
        if not (head := file.read(4)):
            return None
        count = int.from_bytes(head, "big")
        keys = np.frombuffer(file.read(count * KEY_BYTES), KEY)
        lengths = np.frombuffer(file.read(count * _LENGTH.itemsize), _LENGTH)
        values = file.read(int(lengths.sum(dtype=np.int64)))
        bounds = [0, *np.cumsum(lengths, dtype=np.int64).tolist()]
        return cls(keys, [values[start:stop] for start, stop in pairwise(bounds)])


def added_ms(stamp: int) -> int:
    """Return the time at which the documents of a load count as added, in ms since 1970.

    `stamp` is the timestamp of the load's cells, which is `MARGIN_MS` earlier.
    """
    return stamp + timestamps.MARGIN_MS


def document_cells(entries: Entries, stamp: int, first: int, *, checksum: bool) -> CellBlock:
    """Return the member cells of all documents, then their document cells.

    `stamp` is the timestamp of the load's cells, in ms; `first` the number of the first document within the load;
    `checksum` whether the values get checksums.
    """
    qualifiers = [id_digest(name) for name in entries.ids]
    keys = zip(member_rows(entries.simhashes), qualifiers, entries.digests, strict=True)
    members = [row + digest + text[: layout.TEXT_BYTES] for row, digest, text in keys]
    documents = [row + layout.STATE_QUALIFIER for row in document_rows(qualifiers)]
    added = added_ms(stamp)
    states = [
        encode(
            DocumentState(
                name, text.simhash, "added", added, stamp, (added, place), digest=text.digest, batch=entries.batch
            ),
            checksum=checksum,
        )
        for place, (name, text) in enumerate(zip(entries.ids, entries.texts, strict=True), first)
    ]
    values = [*documentrows.member_values(entries, repeat(added, len(entries)), checksum=checksum), *states]
    return CellBlock(np.array(members + documents, dtype=KEY), values)


class Sorter:
    """Sorts more cells than fit into memory: spreads them over files, one for each range of keys between `bounds`."""

    def __init__(self, folder: Path, bounds: NDArray[np.bytes_]) -> None:
        self._bounds = bounds
        self._paths = [folder / f"cells-{number:06d}" for number in range(len(bounds) + 1)]

    def add_many(self, blocks: Iterable[CellBlock]) -> None:
        """Write each cell to the file of the range in which its key is."""
        with ExitStack() as stack:
            files = [stack.enter_context(path.open("xb")) for path in self._paths]
            for block in blocks:
                ranges = np.searchsorted(self._bounds, block.keys, side="right")
                order = np.argsort(ranges, kind="stable")
                cuts = np.searchsorted(ranges[order], np.arange(len(files) + 1))
                for number, file in enumerate(files):
                    if cuts[number] < cuts[number + 1]:
                        file.writelines(block.take(order[cuts[number] : cuts[number + 1]]).pack())

    def blocks(self) -> Iterator[CellBlock]:
        """Yield all cells that `add_many` has written, sorted by key, one range of keys in each block."""
        for path in self._paths:
            with path.open("rb") as file:
                pieces = list(iter(lambda: CellBlock.unpack(file), None))
            path.unlink()
            if pieces:
                keys = np.concatenate([piece.keys for piece in pieces])
                values = [value for piece in pieces for value in piece.values]
                yield CellBlock(keys, values).take(np.argsort(keys, kind="stable"))


U64 = np.uint64

ROWS_A_PASS = 1 << 22  # Rows that are sorted in memory at a time, at 40 bytes each.

SAMPLE = 1 << 12
# Prefixes of so many fingerprints are computed at a time; those that do not belong to the pass are dropped at once.
CHUNK = 1 << 17


class Corpus(NamedTuple):
    """The columns from which the block rows and sketch rows of documents are made, sorted by fingerprint."""

    scheme: Scheme
    simhashes: NDArray[np.uint64]
    segments: NDArray[np.uint32]  # Segments of the sketch rows, shape (n, bands).
    present: NDArray[np.bool_]  # Which documents have a sketch.

    @classmethod
    def of(
        cls,
        scheme: Scheme,
        simhashes: NDArray[np.uint64],
        segments: NDArray[np.uint32] | None = None,
        present: NDArray[np.bool_] | None = None,
    ) -> "Corpus":
        """Return the columns sorted by fingerprint.

        A document with the same columns as the one before it would give the same rows, so it is left out. Rows that
        come twice all the same are dropped when rows are sorted.
        """
        if segments is None or present is None:
            segments, present = np.empty((len(simhashes), 0), np.uint32), np.zeros(len(simhashes), np.bool_)
        order = np.argsort(simhashes, kind="stable")
        sorted_ = cls(scheme, simhashes[order], segments[order], present[order])
        new = np.ones(len(order), np.bool_)
        new[1:] = sorted_.simhashes[1:] != sorted_.simhashes[:-1]
        new[1:] |= (sorted_.segments[1:] != sorted_.segments[:-1]).any(axis=1)
        new[1:] |= sorted_.present[1:] != sorted_.present[:-1]
        return cls(scheme, sorted_.simhashes[new], sorted_.segments[new], sorted_.present[new])

    def prefixes(self, some: slice) -> NDArray[np.uint64]:
        """Return the prefixes of the rows of the documents in the slice `some`, shape (n, tables + bands).

        A document without a sketch has no sketch rows: `NO_PREFIX` stands in their place.
        """
        blocks = self.scheme.prefixes(self.simhashes[some])
        if not self.segments.shape[1]:
            return blocks
        return np.hstack([blocks, band_prefixes(self.scheme, self.segments[some], self.present[some])])


class PassageSorter:
    """Sorts more passage rows than fit into memory: spreads them over files, one for each range of prefixes."""

    def __init__(self, folder: Path, count: int) -> None:
        self.count = count
        """Rows that will be added in all."""
        self._folder = folder

    def add_many(self, pieces: Iterable[BlockRows], bounds: Sequence[int]) -> None:
        """Write each row to the file of its range of prefixes; `bounds` separate the ranges, and ascend."""
        self._folder.mkdir()
        for piece in pieces:
            cuts = [0, *np.searchsorted(piece.prefixes, np.array(bounds, U64)).tolist(), len(piece.prefixes)]
            for number, (start, stop) in enumerate(pairwise(cuts)):
                if start < stop:
                    with self._path(number).open("ab") as file:
                        file.write(pack_rows(BlockRows(piece.prefixes[start:stop], piece.simhashes[start:stop])))

    def take(self, number: int) -> BlockRows:
        """Return the rows of the range with this number, counted from 0, sorted; delete their file."""
        path = self._path(number)
        if not path.exists():
            return BlockRows.empty()
        packed = path.read_bytes()
        path.unlink()
        return BlockRows.merged(unpack_rows(packed))

    def _path(self, number: int) -> Path:
        return self._folder / f"passages-{number:06d}"


class LoadedPassages(NamedTuple):
    """The passage rows of a load before they are sorted, and the object that sorts them."""

    sorter: PassageSorter
    pieces: Iterable[BlockRows]  # Rows of some documents each, sorted.


def sorted_rows(
    corpus: Corpus, passages: LoadedPassages | None = None, *, rows_a_pass: int = ROWS_A_PASS
) -> Iterator[BlockRows]:
    """Yield the block, sketch and passage rows of a load, sorted by prefix, then fingerprint, a range at a time.

    Every pass computes the prefixes of all documents again and keeps those of its own range. That costs less than
    writing rows down and reading them back would, and a corpus of 100 million documents needs 240 passes of some
    seconds.
    """
    # Ranges of prefixes that hold about equally many rows, by a sample of the documents.
    count = len(corpus.simhashes)
    prefixes = np.sort(corpus.prefixes(slice(None, None, max(1, count // SAMPLE))).reshape(-1))
    more = 0 if passages is None else passages.sorter.count
    passes = -(-(count * (len(corpus.scheme.tables) + corpus.segments.shape[1]) + more) // rows_a_pass)
    inner = sorted({int(prefixes[len(prefixes) * number // passes]) for number in range(1, passes)} - {int(NO_PREFIX)})
    if passages is not None:
        passages.sorter.add_many(passages.pieces, inner)
    # `NO_PREFIX`, which stands for no row, is after the last range.
    for number, (start, stop) in enumerate(pairwise([0, *inner, int(NO_PREFIX)])):
        rows = _one_pass(corpus, start, stop)
        if passages is not None:
            rows = BlockRows.merged(rows, passages.sorter.take(number))
        if len(rows.prefixes):
            yield rows


def _one_pass(corpus: Corpus, start: int, stop: int) -> BlockRows:
    """Return the block and sketch rows with prefixes in ``[start, stop)``, sorted and without repeats.

    Where 64 bits hold both the prefix and the number of the document, the two are sorted as one integer, which is much
    faster.
    """
    found, whose = [], []
    for first in range(0, len(corpus.simhashes), CHUNK):
        some = corpus.prefixes(slice(first, first + CHUNK))
        inside = (some >= U64(start)) & (some < U64(stop))
        found.append(some[inside])
        # The fingerprints ascend, so owners order rows by them.
        whose.append(np.nonzero(inside)[0].astype(U64) + U64(first))
    prefixes, owners = np.concatenate(found), np.concatenate(whose)
    owner_bits = max(1, (len(corpus.simhashes) - 1).bit_length())
    if (stop - start - 1).bit_length() + owner_bits > U64(0).nbytes * 8:
        order = np.lexsort((owners, prefixes))
        return BlockRows(prefixes[order], corpus.simhashes[owners[order]]).without_repeats()
    keys = (prefixes - U64(start)) << U64(owner_bits) | owners
    keys.sort()
    places = (keys & U64((1 << owner_bits) - 1)).astype(np.intp)
    # Documents of one fingerprint share rows.
    return BlockRows((keys >> U64(owner_bits)) + U64(start), corpus.simhashes[places]).without_repeats()
