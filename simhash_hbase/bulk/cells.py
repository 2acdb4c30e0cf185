"""All cells of family ``d`` of a corpus in byte order: sorted through files, one range of keys at a time."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise, repeat
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.bulk.parts import Part
from simhash_hbase.index.membercells import member_values
from simhash_hbase.index.servertime import MARGIN_MS
from simhash_hbase.rows.documents import DocumentState, encode
from simhash_hbase.rows.keys import document_row, member_rows
from simhash_hbase.rows.layout import (
    BLOCK_ROW_BYTES,
    DOCUMENT_ROW_BYTES,
    FLAG_MEMBERS,
    ID_DIGEST_BYTES,
    SEGMENT_BYTES,
    STATE_QUALIFIER,
    TEXT_BYTES,
)
from simhash_hbase.stores.base import Cell

MEMBER_ID_BYTES = BLOCK_ROW_BYTES + ID_DIGEST_BYTES
KEY_BYTES = MEMBER_ID_BYTES + TEXT_BYTES
KEY = np.dtype(f"S{KEY_BYTES}")
"""Row, then qualifier. Both kinds of rows differ within their first five bytes, so keys sort as the cells do; numpy
pads them with zero bytes."""

DOCUMENT_KEY_BYTES = DOCUMENT_ROW_BYTES + len(STATE_QUALIFIER)
_LENGTH = np.dtype(">u4")


class CellBlock(NamedTuple):
    """Cells of family ``d`` in columns; a key is a `KEY`."""

    keys: NDArray[np.bytes_]
    values: list[bytes]

    def take(self, order: NDArray[np.intp]) -> "CellBlock":
        """Select cells by position."""
        return CellBlock(self.keys[order], [self.values[at] for at in order.tolist()])

    def ends(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return the positions in each key at which its row and its qualifier end."""
        packed = self.keys.view(np.uint8).reshape(-1, KEY_BYTES)
        members = packed[:, SEGMENT_BYTES] == FLAG_MEMBERS
        rows = np.where(members, np.uint8(BLOCK_ROW_BYTES), np.uint8(DOCUMENT_ROW_BYTES))
        # The key of a member without a text ends with its id; a digest of zeros does not occur.
        with_text = packed[:, MEMBER_ID_BYTES:].any(axis=1)
        ends = np.where(with_text, np.uint8(KEY_BYTES), np.uint8(MEMBER_ID_BYTES))
        return rows, np.where(members, ends, np.uint8(DOCUMENT_KEY_BYTES))

    def cells(self, timestamp: int) -> Iterator[Cell]:
        """Yield the cells one by one."""
        packed = self.keys.tobytes()
        rows, ends = (column.tolist() for column in self.ends())
        for at, (value, row, end) in enumerate(zip(self.values, rows, ends, strict=True)):
            key = packed[at * KEY_BYTES : at * KEY_BYTES + end]
            yield Cell(key[:row], key[row:], value, timestamp)

    def pack(self) -> list[bytes]:
        """Return the bytes that `unpack` reads, in pieces: count, keys, lengths, values."""
        lengths = np.fromiter(map(len, self.values), _LENGTH, len(self.values))
        return [len(self.values).to_bytes(4, "big"), self.keys.tobytes(), lengths.tobytes(), *self.values]

    @classmethod
    def unpack(cls, file: BinaryIO) -> "CellBlock | None":
        """Read one block; None at the end of the file."""
        if not (head := file.read(4)):
            return None
        count = int.from_bytes(head, "big")
        keys = np.frombuffer(file.read(count * KEY_BYTES), KEY)
        lengths = np.frombuffer(file.read(count * _LENGTH.itemsize), _LENGTH)
        values = file.read(int(lengths.sum(dtype=np.int64)))
        bounds = [0, *np.cumsum(lengths, dtype=np.int64).tolist()]
        return cls(keys, [values[start:stop] for start, stop in pairwise(bounds)])


def added_ms(stamp: int) -> int:
    """Return when the documents of a load were added, ms since 1970: its cells are stamped `MARGIN_MS` before that."""
    return stamp + MARGIN_MS


def document_cells(part: Part, stamp: int, first: int) -> CellBlock:
    """Make the member cell and the document cell of every document."""
    entries = part.entries
    digests = part.digests.tobytes()
    qualifiers = [digests[at : at + ID_DIGEST_BYTES] for at in range(0, len(digests), ID_DIGEST_BYTES)]
    keys = zip(member_rows(entries.simhashes), qualifiers, entries.digests, strict=True)
    members = [row + digest + text[:TEXT_BYTES] for row, digest, text in keys]
    documents = [document_row(digest) + STATE_QUALIFIER for digest in qualifiers]
    values = [*member_values(entries, repeat(added_ms(stamp), len(entries))), *_states(part, stamp, first)]
    return CellBlock(np.array(members + documents, dtype=KEY), values)


def _states(part: Part, stamp: int, first: int) -> Iterator[bytes]:
    added = added_ms(stamp)
    names = zip(part.entries.ids, part.entries.texts(), strict=True)
    for place, (name, text) in enumerate(names, first):
        yield encode(DocumentState(name, text.simhash, "added", added, stamp, (added, place), digest=text.digest))


class Sorter:
    """Sorts more cells than fit into memory."""

    def __init__(self, folder: Path, bounds: NDArray[np.bytes_]) -> None:
        self._bounds = bounds
        self._paths = [folder / f"cells-{number:06d}" for number in range(len(bounds) + 1)]

    def add_many(self, blocks: Iterable[CellBlock]) -> None:
        """Spread all cells over the ranges."""
        with ExitStack() as stack:
            files = [stack.enter_context(path.open("wb")) for path in self._paths]
            for block in blocks:
                self._add(files, block)

    def blocks(self) -> Iterator[CellBlock]:
        """Yield all cells sorted, a range at a time."""
        for path in self._paths:
            with path.open("rb") as file:
                pieces = list(iter(lambda: CellBlock.unpack(file), None))
            path.unlink()
            if pieces:
                keys = np.concatenate([piece.keys for piece in pieces])
                values = [value for piece in pieces for value in piece.values]
                yield CellBlock(keys, values).take(np.argsort(keys, kind="stable"))

    def _add(self, files: Sequence[BinaryIO], block: CellBlock) -> None:
        ranges = np.searchsorted(self._bounds, block.keys, side="right")
        order = np.argsort(ranges, kind="stable")
        cuts = np.searchsorted(ranges[order], np.arange(len(files) + 1))
        for number, file in enumerate(files):
            if cuts[number] < cuts[number + 1]:
                file.writelines(block.take(order[cuts[number] : cuts[number + 1]]).pack())
