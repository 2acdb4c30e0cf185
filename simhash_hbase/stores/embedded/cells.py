"""Cells in LMDB: key = row and qualifier, value = timestamp (8 bytes), length of the row (1 byte), value."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from struct import Struct

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.columns import ColumnRows, Columns
from simhash_hbase.stores.embedded.environment import Database, Transaction

_HEAD = Struct(">QB")
_HEAD_BYTES = _HEAD.size
_LONGEST_ROW = 255


class StoredRows(ColumnRows):
    """Rows as LMDB holds their cells."""

    def __init__(self, counts: list[int], keys: list[bytes], stored: list[bytes]) -> None:
        super().__init__(counts)
        self._keys = keys
        self._stored = stored

    def columns(self) -> Columns:
        """Give the columns."""
        return Columns(self.counts, self._keys, [each[_HEAD_BYTES:] for each in self._stored])

    def _cells(self, _: int, chosen: slice) -> list[Cell]:
        return list(map(_split, self._keys[chosen], self._stored[chosen]))


def get_cells(transaction: Transaction, database: Database, keys: Sequence[tuple[bytes, bytes]]) -> list[Cell | None]:
    """Read single cells by row and qualifier; one call of the driver for all."""
    joined = [row + qualifier for row, qualifier in keys]
    with transaction.cursor(database) as cursor:
        found = dict(cursor.getmulti(joined))
    if not found:
        return [None] * len(joined)
    return [_cell_at(row, qualifier, found.get(key)) for (row, qualifier), key in zip(keys, joined, strict=True)]


def get_rows(transaction: Transaction, database: Database, rows: Sequence[bytes], limit: int) -> StoredRows:
    """Read rows, up to a number of cells each."""
    return _rows(transaction, database, zip(rows, rows, strict=True), limit)


def read_row(transaction: Transaction, database: Database, row: bytes, after: bytes, limit: int) -> list[Cell]:
    """Read the cells of one row after a qualifier, up to a limit."""
    return _rows(transaction, database, [(row, row + after + b"\x00")], limit)[0]


def _rows(
    transaction: Transaction, database: Database, wanted: Iterable[tuple[bytes, bytes]], limit: int
) -> StoredRows:
    """Read rows, each from a key on. Most rows have one cell, so only the key of the next one is looked at."""
    counts: list[int] = []
    keys: list[bytes] = []
    found: list[bytes] = []
    with transaction.cursor(database) as cursor:
        # Local names are faster: a search of ten thousand documents comes here half a million times.
        seek, key_here, value_here, to_next = cursor.set_range, cursor.key, cursor.value, cursor.next
        unpack = _HEAD.unpack_from
        for row, first in wanted:
            count, size = 0, len(row)
            is_there = seek(first)
            while is_there and (key := key_here()).startswith(row):
                stored = value_here()
                if unpack(stored)[1] == size:
                    keys.append(key)
                    found.append(stored)
                    count += 1
                is_there = count < limit and to_next()
            counts.append(count)
    return StoredRows(counts, keys, found)


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
