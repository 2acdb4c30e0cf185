"""The byte stream of sorted cells that the Java program turns into HFiles."""

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from simhash_hbase.bulk.cells import KEY_BYTES, CellBlock
from simhash_hbase.rows.keys import BlockRows, pack_rows
from simhash_hbase.rows.layout import BLOCK_ROW_BYTES, FAMILY_BLOCKS, FAMILY_DOCUMENTS

MAGIC = b"SHB1"
END = b"\x00"
# Both sides hold a whole block of the stream in memory.
ROWS_A_BLOCK = 1 << 18
CELLS_A_BLOCK = 1 << 14


def pack_stream(cells: Iterable[CellBlock], rows: Iterable[BlockRows], *, timestamp: int) -> Iterator[bytes]:
    """Yield the program's input; ``hfile_loader/HFileLoader.java`` describes its format."""
    yield MAGIC + timestamp.to_bytes(8, "big")
    yield from chain.from_iterable(map(_cells, cells))
    yield from chain.from_iterable(map(_rows, rows))
    yield END


def _rows(rows: BlockRows) -> Iterator[bytes]:
    for first in range(0, len(rows.prefixes), ROWS_A_BLOCK):
        some = slice(first, first + ROWS_A_BLOCK)
        packed = pack_rows(BlockRows(rows.prefixes[some], rows.simhashes[some]))
        yield _head(FAMILY_BLOCKS, BLOCK_ROW_BYTES, len(packed) // BLOCK_ROW_BYTES, has_values=False)
        yield packed


def _cells(block: CellBlock) -> Iterator[bytes]:
    for first in range(0, len(block.values), CELLS_A_BLOCK):
        some = CellBlock(block.keys[first : first + CELLS_A_BLOCK], block.values[first : first + CELLS_A_BLOCK])
        rows, ends = some.ends()
        lengths = np.fromiter(map(len, some.values), ">u4", len(some.values))
        yield _head(FAMILY_DOCUMENTS, KEY_BYTES, len(some.values), has_values=True)
        yield from (some.keys.tobytes(), rows.tobytes(), ends.tobytes(), lengths.tobytes())
        yield b"".join(some.values)


def _head(family: str, width: int, count: int, *, has_values: bool) -> bytes:
    return family.encode() + width.to_bytes(4, "big") + count.to_bytes(4, "big") + bytes([has_values])
