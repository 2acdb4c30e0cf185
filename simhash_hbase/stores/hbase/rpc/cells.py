"""Cells as bytes in HBase's RPC, where ``KeyValueCodec`` writes one after the other.

A cell is its length (int32), the length of its key (int32) and of its value (int32), the length of its row (int16), the
row, the length of its family (int8), the family, the qualifier, the time in milliseconds (int64), the kind (int8) and
the value; all numbers big-endian (``KeyValue.java``, ``KeyValueCodec.java``). Block rows are cells of one size.
"""

import re
import struct
from collections.abc import Iterable, Sequence

import numpy as np

from simhash_hbase.rows.layout import BLOCK_ROW_BYTES, FAMILY_BLOCKS
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.columns import CellColumns

PUT, DELETE_COLUMN = 4, 12
"""Kinds of cells: a value, and the deletion of all versions up to a time (``Cell.proto``)."""
LATEST = 2**63 - 1
"""The time of a cell that the server is to stamp (``HConstants.LATEST_TIMESTAMP``)."""

_LENGTHS = struct.Struct(">iiih")
_TIME_AND_KIND = struct.Struct(">qb")
_LENGTH_BYTES = 4
# Lengths of row and family, time and kind.
_KEY_BYTES = 2 + 1 + _TIME_AND_KIND.size


def pack_cells(family: str, cells: Iterable[Cell], kind: int) -> bytes:
    """Return the bytes of cells of one family; `kind` is `PUT` or `DELETE_COLUMN`.

    The server stamps a cell without a timestamp. A deletion has no value.
    """
    name = family.encode()
    parts: list[bytes] = []
    for row, qualifier, content, timestamp in cells:
        value = content if kind == PUT else b""
        key_bytes = _KEY_BYTES + len(row) + len(name) + len(qualifier)
        size = _LENGTHS.size - 2 - _LENGTH_BYTES + key_bytes + len(value)
        parts += (
            _LENGTHS.pack(size, key_bytes, len(value), len(row)),
            row,
            bytes([len(name)]),
            name,
            qualifier,
            _TIME_AND_KIND.pack(LATEST if timestamp is None else timestamp, kind),
            value,
        )
    return b"".join(parts)


def unpack_cells(block: bytes, family: str) -> CellColumns:
    """Return the cells in a block of bytes; raise `ValueError` for damage, for another family or for a deletion."""
    name = bytes([len(family)]) + family.encode()
    rows, qualifiers, values = list[bytes](), list[bytes](), list[bytes]()
    timestamps: list[int | None] = []
    at = 0
    while at < len(block):
        if len(block) - at < _LENGTHS.size:
            raise ValueError("a cell is not complete")
        size, key_bytes, value_bytes, row_bytes = _LENGTHS.unpack_from(block, at)
        row = at + _LENGTHS.size
        qualifier = row + row_bytes + len(name)
        value = row - 2 + key_bytes
        time = value - _TIME_AND_KIND.size
        at += _LENGTH_BYTES + size
        lengths_agree = 0 <= value_bytes == at - value and row_bytes >= 0 and qualifier <= time and at <= len(block)
        if not lengths_agree or block[qualifier - len(name) : qualifier] != name:
            raise ValueError("a cell has lengths that contradict each other, or is of another family")
        timestamp, kind = _TIME_AND_KIND.unpack_from(block, time)
        if kind != PUT:
            raise ValueError(f"a cell of kind {kind} came, which is no value")
        rows.append(block[row : row + row_bytes])
        qualifiers.append(block[qualifier:time])
        values.append(block[value:at])
        timestamps.append(timestamp)
    return CellColumns(rows, qualifiers, values, timestamps)


def pack_block_rows(keys: Sequence[bytes], timestamp: int, kind: int) -> bytes:
    """Return the bytes of block rows as cells without qualifier and value; a row is its key, prefix and fingerprint.

    See `pack_cells` for `kind`.
    """
    one = _block_row(timestamp, kind)
    cells = np.tile(np.frombuffer(one, np.uint8), (len(keys), 1))
    cells[:, _LENGTHS.size : _BLOCK_FAMILY] = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, BLOCK_ROW_BYTES)
    return cells.tobytes()


def unpack_block_rows(block: bytes) -> list[bytes]:
    """Return the keys of block rows (prefix and fingerprint) in a block of bytes.

    Raise `ValueError` for other cells.
    """
    keys: list[bytes] = _BLOCK_ROW.findall(block)
    if len(keys) * BLOCK_ROW_CELL_BYTES != len(block):
        raise ValueError("a cell came that is no block row, or is not complete")
    return keys


def _block_row(timestamp: int, kind: int) -> bytes:
    return pack_cells(FAMILY_BLOCKS, [Cell(bytes(BLOCK_ROW_BYTES), b"", b"", timestamp)], kind)


BLOCK_ROW_CELL_BYTES = len(_block_row(0, PUT))
_BLOCK_FAMILY = _LENGTHS.size + BLOCK_ROW_BYTES
_BLOCK_TIME = BLOCK_ROW_CELL_BYTES - _TIME_AND_KIND.size
# All bytes of block rows are alike but the row and the time. An answer to one query has few of them, for which an
# expression takes a twentieth of the time of numpy.
_BLOCK_ROW = re.compile(
    b"%b(.{%d})%b.{%d}%b"
    % (
        re.escape(_block_row(0, PUT)[: _LENGTHS.size]),
        BLOCK_ROW_BYTES,
        re.escape(_block_row(0, PUT)[_BLOCK_FAMILY:_BLOCK_TIME]),
        _TIME_AND_KIND.size - 1,
        bytes([PUT]),
    ),
    re.DOTALL,
)
