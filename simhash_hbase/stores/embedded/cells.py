"""Cells in LMDB: key = row and qualifier, value = timestamp (8 bytes), length of the row (1 byte), value."""

from collections.abc import Callable, Sequence
from itertools import islice
from struct import Struct
from typing import TypeAlias

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.embedded.environment import Database, Transaction

_HEAD = Struct(">QB")
_HEAD_BYTES = _HEAD.size
_LONGEST_ROW = 255

Walk: TypeAlias = tuple[Callable[[], bytes], Callable[[], bytes], Callable[[], bool]]
"""Of a cursor: its key, its value, and the step to the next cell."""


def get_cells(transaction: Transaction, database: Database, keys: Sequence[tuple[bytes, bytes]]) -> list[Cell | None]:
    """Read single cells by row and qualifier; one call of the driver for all."""
    joined = [row + qualifier for row, qualifier in keys]
    with transaction.cursor(database) as cursor:
        found = dict(cursor.getmulti(joined))
    if not found:
        return [None] * len(joined)
    return [_cell_at(row, qualifier, found.get(key)) for (row, qualifier), key in zip(keys, joined, strict=True)]


def get_rows(transaction: Transaction, database: Database, rows: Sequence[bytes], limit: int) -> list[list[Cell]]:
    """Read rows, up to a number of cells each."""
    with transaction.cursor(database) as cursor:
        seek, walk = cursor.set_range, (cursor.key, cursor.value, cursor.next)
        return [_cells_here(walk, row, limit) if seek(row) else [] for row in rows]


def read_row(transaction: Transaction, database: Database, row: bytes, after: bytes, limit: int) -> list[Cell]:
    """Read the cells of one row after a qualifier, up to a limit."""
    with transaction.cursor(database) as cursor:
        walk = cursor.key, cursor.value, cursor.next
        return _cells_here(walk, row, limit) if cursor.set_range(row + after + b"\x00") else []


def put_cells(transaction: Transaction, database: Database, cells: Sequence[Cell], clock: Callable[[], int]) -> None:
    """Write cells by the rules of `Store.put`; of two writes with one timestamp the later stays."""
    now = clock()
    for cell in cells:
        row, qualifier, value, timestamp = cell
        new = _packed(row, value, now if timestamp is None else timestamp)
        # Most cells are new. To look before costs as much as to write.
        if not transaction.put(row + qualifier, new, overwrite=False, db=database):
            _put_over(transaction, database, cell, _stamp(transaction.get(row + qualifier, db=database)), now)


def _put_over(transaction: Transaction, database: Database, cell: Cell, stored: int, now: int) -> None:
    """Write a cell where one with the timestamp `stored` is, or none: -1."""
    row, qualifier, value, timestamp = cell
    if timestamp is None:
        timestamp = max(now, stored + 1)
    if timestamp >= stored:
        transaction.put(row + qualifier, _packed(row, value, timestamp), db=database)


def swap_cells(
    transaction: Transaction, database: Database, swaps: Sequence[Swap], clock: Callable[[], int]
) -> list[bool]:
    """Change cells that hold the expected value, in the order given."""
    return [_swap(transaction, database, swap, clock) for swap in swaps]


def _swap(transaction: Transaction, database: Database, swap: Swap, clock: Callable[[], int]) -> bool:
    stored = transaction.get(swap.row + swap.qualifier, db=database)
    old = _cell_at(swap.row, swap.qualifier, stored)
    if (None if old is None else old.value) != swap.expected:
        return False
    _put_over(transaction, database, Cell(swap.row, swap.qualifier, swap.value), _stamp(stored), clock())
    return True


def delete_cells(transaction: Transaction, database: Database, cells: Sequence[Cell]) -> None:
    """Delete cells up to their timestamps."""
    for row, qualifier, _, timestamp in cells:
        old = _cell_at(row, qualifier, transaction.get(row + qualifier, db=database))
        if old is not None and old.timestamp is not None and timestamp is not None and old.timestamp <= timestamp:
            transaction.delete(row + qualifier, db=database)


def next_cells(transaction: Transaction, database: Database, after: bytes, page: int) -> list[tuple[bytes, Cell]]:
    """Read at most a page of cells, beginning at a key, each with its key."""
    with transaction.cursor(database) as cursor:
        if not cursor.set_range(after):
            return []
        return [(key, _split(key, stored)) for key, stored in islice(cursor.iternext(), page)]


def _cells_here(walk: Walk, row: bytes, limit: int) -> list[Cell]:
    """Read from where the cursor is; most rows have one cell, so what is behind it is looked at by its key alone."""
    cells: list[Cell] = []
    width = len(row)
    key_here, value_here, to_next = walk
    key = key_here()
    while key.startswith(row):
        stored = value_here()
        timestamp, cut = _HEAD.unpack_from(stored)
        if cut == width:
            cells.append(Cell(row, key[width:], stored[_HEAD_BYTES:], timestamp))
        if len(cells) == limit or not to_next():
            break
        key = key_here()
    return cells


def _packed(row: bytes, value: bytes, timestamp: int) -> bytes:
    if len(row) > _LONGEST_ROW:
        raise InvalidArgument(f"a row key of {len(row)} bytes: wanted at most {_LONGEST_ROW}")
    if timestamp < 0:
        raise InvalidArgument(f"a timestamp of {timestamp}: wanted milliseconds since 1970")
    return _HEAD.pack(timestamp, len(row)) + value


def _split(key: bytes, stored: bytes) -> Cell:
    timestamp, cut = _HEAD.unpack_from(stored)
    return Cell(key[:cut], key[cut:], stored[_HEAD_BYTES:], timestamp)


def _cell_at(row: bytes, qualifier: bytes, stored: bytes | None) -> Cell | None:
    if stored is None:
        return None
    timestamp, cut = _HEAD.unpack_from(stored)
    return Cell(row, qualifier, stored[_HEAD_BYTES:], timestamp) if cut == len(row) else None


def _stamp(stored: bytes | None) -> int:
    """Return the timestamp; -1, below every real one, where there is no cell."""
    return -1 if stored is None else int.from_bytes(stored[: _HEAD_BYTES - 1], "big")
