"""Block rows and cells in LMDB, read and written within one transaction of the caller.

A *block row* leads from a key prefix to a fingerprint. In LMDB the prefix (5 bytes) is a key, and the fingerprint (8
bytes) one of its sorted values, so that rows are read in bulk. A *cell* is a value under a row and a qualifier. In LMDB
its key is row and qualifier joined, and its value is a *packed* cell: timestamp (8 bytes), length of the row (1 byte),
and the cell's value. In all functions `blocks` is the database of block rows, `hot` that of prefixes with more than
`_HOT_ROWS` rows, `database` one of cells, and `clock` returns the time in ms since 1970.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, islice
from operator import add
from struct import Struct, iter_unpack

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex, InvalidArgument
from simhash_hbase.rows import keys as rowkeys
from simhash_hbase.rows.layout import BLOCK_ROW_BYTES, PREFIX_BYTES, SIMHASH_BYTES
from simhash_hbase.stores.base import Cell, CellKey, PrefixScan, Swap, first_rows
from simhash_hbase.stores.columns import CellColumns, CellRows, Columns
from simhash_hbase.stores.embedded.databases import Database, Transaction

U64 = np.uint64
_LAST_SIMHASH = (1 << 64) - 1
_PAIR = f"{PREFIX_BYTES}s{SIMHASH_BYTES}s"

# Prefixes read by one call of the driver: enough that the call costs nothing, few enough to bound its answer.
_SCAN_CHUNK = 1 << 16
_PUT_CHUNK = 1 << 20

# In a scan the driver reads all rows of a prefix, and the limit is applied afterwards: fine for thousands of rows, not
# for millions. So a prefix with more rows than this is noted in the database `h`, and its rows are read one by one, up
# to the limit. To keep writing fast, rows are counted only under prefixes of which a sampled row is written: one in
# 1,024, chosen by the fingerprint's bits. Once in ten million times a prefix with twice as many rows is missed; that
# costs memory, never a wrong answer. Nothing is removed from `h`: a prefix that shrank is still read correctly.
_HOT_ROWS = 1 << 14
_SAMPLE_BITS = 10
_SCATTER = U64(0x9E3779B97F4A7C15)

# The head of a cell's value: timestamp and length of the row.
_HEAD = Struct(">QB")
_HEAD_BYTES = _HEAD.size
_LONGEST_ROW = 255
_LONGEST_KEY = 511  # What LMDB is compiled for.


def scan(
    transaction: Transaction, blocks: Database, hot: Database, prefixes: NDArray[np.uint64], limit: int
) -> PrefixScan:
    """Return the block rows under sorted distinct prefixes, at most `limit` of each; also which prefixes have more."""
    special = None
    with transaction.cursor(blocks) as cursor:
        if not cursor.first():
            # A new index is empty, and its first group looks up 16 prefixes for each document.
            return PrefixScan(rowkeys.BlockRows.empty(), np.empty(0, U64))
    with transaction.cursor(hot) as cursor:
        if cursor.first():
            special = np.isin(prefixes, rowkeys.unpack_prefixes(b"".join(cursor.iternext(values=False))))
    with transaction.cursor(blocks) as cursor:
        if special is None or not special.any():
            return _scan_plain(cursor, prefixes, limit)
        scans = [_scan_plain(cursor, prefixes[~special], limit)]
        for prefix in prefixes[special].tolist():
            if cursor.set_key(rowkeys.pack_prefix(prefix)):
                truncated = np.array([prefix] if cursor.count() > limit else [], dtype=U64)
                simhashes = rowkeys.unpack_simhashes(b"".join(islice(cursor.iternext_dup(), limit)))
                scans.append(
                    PrefixScan(rowkeys.BlockRows(np.full(len(simhashes), prefix, dtype=U64), simhashes), truncated)
                )
    rows, truncated = _joined(scans)
    # Stable: the rows of one prefix come from one scan, in order already.
    order = np.argsort(rows.prefixes, kind="stable")
    return PrefixScan(rowkeys.BlockRows(rows.prefixes[order], rows.simhashes[order]), np.sort(truncated))


def put_rows(transaction: Transaction, blocks: Database, hot: Database, rows: rowkeys.BlockRows) -> None:
    """Write sorted block rows, and note prefixes with very many rows in the database `hot`, for `scan`."""
    with transaction.cursor(blocks) as cursor:
        for i in range(0, len(rows.prefixes), _PUT_CHUNK):
            chunk = rowkeys.BlockRows(rows.prefixes[i : i + _PUT_CHUNK], rows.simhashes[i : i + _PUT_CHUNK])
            # Behind all rows that there are, sorted rows fill pages completely. The driver's own append does not: it
            # leaves out the second row of a prefix, which put between others later splits a full page.
            cursor.putmulti(iter_unpack(_PAIR, rowkeys.pack_rows(chunk)), dupdata=False)
            sampled = chunk.simhashes * _SCATTER >> U64(64 - _SAMPLE_BITS) == 0
            for prefix in rowkeys.pack_prefixes(chunk.prefixes[sampled]):
                if cursor.set_key(prefix) and cursor.count() > _HOT_ROWS:
                    transaction.put(prefix, b"", db=hot)


def delete_rows(transaction: Transaction, blocks: Database, rows: rowkeys.BlockRows) -> None:
    """Delete block rows; rows that are not there are skipped."""
    for prefix, simhash in iter_unpack(_PAIR, rowkeys.pack_rows(rows)):
        transaction.delete(prefix, simhash, db=blocks)


def has_rows(transaction: Transaction, blocks: Database, rows: rowkeys.BlockRows) -> NDArray[np.bool_]:
    """Return a mask of these block rows: whether each is in the database."""
    with transaction.cursor(blocks) as cursor:
        find = cursor.set_key_dup
        pairs = iter_unpack(_PAIR, rowkeys.pack_rows(rows))
        return np.array([find(prefix, simhash) for prefix, simhash in pairs], np.bool_)


def next_rows(transaction: Transaction, blocks: Database, after: tuple[int, int], page: int) -> rowkeys.BlockRows:
    """Return the next block rows, at most `page`, from the position `after` on: a prefix and a fingerprint, inclusive.

    The result is empty at the end of the database.
    """
    prefix, simhash = after
    if prefix >= rowkeys.ALL_PREFIXES:
        return rowkeys.BlockRows.empty()
    key = rowkeys.pack_prefix(prefix)
    with transaction.cursor(blocks) as cursor:
        is_there = cursor.set_range_dup(key, rowkeys.pack_simhash(simhash))
        if not is_there and cursor.set_range(key):
            # Behind all rows of the prefix, if it has any.
            is_there = cursor.key() != key or cursor.next_nodup()
        if not is_there:
            return rowkeys.BlockRows.empty()
        return _unpacked(b"".join(chain.from_iterable(islice(cursor.iternext(), page))))


def row_behind(rows: rowkeys.BlockRows) -> tuple[int, int]:
    """Return the prefix and fingerprint directly after the last of these block rows: where `next_rows` goes on."""
    prefix, simhash = int(rows.prefixes[-1]), int(rows.simhashes[-1])
    return (prefix + 1, 0) if simhash == _LAST_SIMHASH else (prefix, simhash + 1)


def _scan_plain(cursor: Transaction, prefixes: NDArray[np.uint64], limit: int) -> PrefixScan:
    scans = []
    for first in range(0, max(1, len(prefixes)), _SCAN_CHUNK):
        keys = rowkeys.pack_prefixes(prefixes[first : first + _SCAN_CHUNK])
        packed = cursor.getmulti(keys, dupdata=True, dupfixed_bytes=SIMHASH_BYTES, keyfixed=True)
        scans.append(first_rows(_unpacked(packed), limit))
    return scans[0] if len(scans) == 1 else _joined(scans)


def _unpacked(packed: bytes | bytearray) -> rowkeys.BlockRows:
    if len(packed) % BLOCK_ROW_BYTES:
        raise CorruptIndex(f"a page is damaged: {len(packed):,} bytes of block rows, wanted {BLOCK_ROW_BYTES} each")
    return rowkeys.unpack_rows(packed)


def _joined(scans: list[PrefixScan]) -> PrefixScan:
    return PrefixScan(
        rowkeys.BlockRows(
            np.concatenate([scan.rows.prefixes for scan in scans]),
            np.concatenate([scan.rows.simhashes for scan in scans]),
        ),
        np.concatenate([scan.truncated for scan in scans]),
    )


def get_cells(transaction: Transaction, database: Database, keys: Sequence[CellKey]) -> list[Cell | None]:
    """Return the cell of each key (row and qualifier), in the order of the keys; None where there is none."""
    joined = [row + qualifier for row, qualifier in keys]
    found = read_packed(transaction, database, joined)
    if not found:
        return [None] * len(joined)
    return [cell_at(row, qualifier, found.get(key)) for (row, qualifier), key in zip(keys, joined, strict=True)]


def read_packed(transaction: Transaction, database: Database, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return packed cells by their keys, each a row and a qualifier joined; a key without a cell is left out."""
    with transaction.cursor(database) as cursor:
        return dict(cursor.getmulti(keys)) if cursor.first() else {}


def read_rows(
    transaction: Transaction, database: Database, rows: Sequence[bytes], firsts: Sequence[bytes], limit: int
) -> CellRows:
    """Return the first cells, at most `limit`, of each row, beginning at the row's key in `firsts` (inclusive)."""
    counts: list[int] = []
    keys: list[bytes] = []
    values: list[bytes] = []
    timestamps: list[int | None] = []
    with transaction.cursor(database) as cursor:
        # Local names are faster: a search of ten thousand documents comes here half a million times.
        seek, key_here, value_here, to_next = cursor.set_range, cursor.key, cursor.value, cursor.next
        unpack = _HEAD.unpack_from
        for row, first in zip(rows, firsts, strict=True):
            count, size = 0, len(row)
            is_there = seek(first)
            # Most rows have one cell, so only the key of the next one is looked at.
            while is_there and (key := key_here()).startswith(row):
                stored = value_here()
                timestamp, cut = unpack(stored)
                if cut == size:
                    keys.append(key)
                    values.append(stored[_HEAD_BYTES:])
                    timestamps.append(timestamp)
                    count += 1
                is_there = count < limit and to_next()
            counts.append(count)
    return CellRows(rows, Columns(counts, keys, values), timestamps)


def put_cells(transaction: Transaction, database: Database, cells: Sequence[Cell], clock: Callable[[], int]) -> None:
    """Write cells by the rules of `Store.put`; of two writes of a cell with the same timestamp the later call wins."""
    now, columns = clock(), CellColumns.of(cells)
    packed = packed_cells(columns, now)
    # Most cells are new. To look before costs as much as to write.
    if None in columns.timestamps:
        put = partial(transaction.put, overwrite=False, db=database)
        are_new = list(map(put, columns.keys, packed))
    else:
        # A repeat of a cell with its timestamp changes nothing, so it does not matter which of them were new.
        with transaction.cursor(database) as cursor:
            _, added = cursor.putmulti(zip(columns.keys, packed, strict=True), overwrite=False)
        are_new = [added == len(packed)] * len(packed)
    if all(are_new):
        return
    for cell, key, is_new in zip(columns, columns.keys, are_new, strict=True):
        over = None if is_new else packed_over(cell, transaction.get(key, db=database), now)
        if over is not None:
            transaction.put(key, over, db=database)


def packed_over(cell: Cell, old: bytes | None, now: int) -> bytes | None:
    """Return the packed form of `cell`, to replace `old`, packed or None; None if the timestamp of `old` is later.

    A cell without a timestamp gets `now`, ms since 1970, or one more than the timestamp of `old` if that is higher.
    """
    row, _, value, timestamp = cell
    if old is None:
        return _packed(row, value, now if timestamp is None else timestamp)
    stamp = _HEAD.unpack_from(old)[0]
    if timestamp is None:
        timestamp = max(now, stamp + 1)
    return _packed(row, value, timestamp) if timestamp >= stamp else None


def swap_cells(
    transaction: Transaction, database: Database, swaps: Sequence[Swap], clock: Callable[[], int]
) -> list[bool]:
    """Make compare-and-sets of cells in the order given; return for each whether the cell had the expected value."""
    answers = []
    for swap in swaps:
        key = swap.row + swap.qualifier
        new = swapped(swap, transaction.get(key, db=database), clock)
        answers.append(new is not None)
        if new is not None:
            transaction.put(key, new, db=database)
    return answers


def swapped(swap: Swap, old: bytes | None, clock: Callable[[], int]) -> bytes | None:
    """Return the packed cell that a compare-and-set writes in place of `old`, a packed cell or None.

    The result is None if the swap expects another value than that of `old`, and so nothing is to be written.
    """
    row, qualifier, expected, value = swap
    stored = cell_at(row, qualifier, old)
    if (None if stored is None else stored.value) != expected:
        return None
    new = Cell(row, qualifier, value)
    check_cell(new)
    return packed_over(new, old, clock())


def delete_cells(transaction: Transaction, database: Database, cells: Sequence[Cell]) -> None:
    """Delete cells by row and qualifier; a stored cell with a later timestamp than the given one stays."""
    for row, qualifier, _, timestamp in cells:
        old = cell_at(row, qualifier, transaction.get(row + qualifier, db=database))
        if old is not None and old.timestamp is not None and timestamp is not None and old.timestamp <= timestamp:
            transaction.delete(row + qualifier, db=database)


def next_cells(transaction: Transaction, database: Database, after: bytes, page: int) -> list[tuple[bytes, Cell]]:
    """Return the next cells, at most `page`, each with its key (row and qualifier joined), from the key `after` on.

    `after` itself is included; the result is empty at the end of the database.
    """
    with transaction.cursor(database) as cursor:
        if not cursor.set_range(after):
            return []
        stored = (
            (key, _HEAD.unpack_from(value), value[_HEAD_BYTES:]) for key, value in islice(cursor.iternext(), page)
        )
        return [(key, Cell(key[:cut], key[cut:], value, stamp)) for key, (stamp, cut), value in stored]


def packed_cells(cells: CellColumns, now: int) -> list[bytes]:
    """Return the packed form of cells as if none stood there; `now`, ms since 1970, stamps those without a timestamp.

    Raises
    ------
    InvalidArgument
        For a cell with too long a key or a negative timestamp.
    """
    sizes = set(map(len, cells.keys))
    stamps = [now if stamp is None else stamp for stamp in cells.timestamps]
    if cells and not (min(sizes) and max(sizes) <= _LONGEST_ROW and min(stamps) >= 0):
        # No row is longer than its key.
        for cell in cells:
            check_cell(cell)
    return list(map(add, map(_HEAD.pack, stamps, map(len, cells.rows)), cells.values))


def check_cell(cell: Cell) -> None:
    """Raise `InvalidArgument` for a cell with too long a key or a negative timestamp."""
    row, qualifier, _, timestamp = cell
    if len(row) > _LONGEST_ROW:
        raise InvalidArgument(f"a row key of {len(row)} bytes: wanted at most {_LONGEST_ROW}")
    if not 0 < len(row) + len(qualifier) <= _LONGEST_KEY:
        raise InvalidArgument(f"row key and qualifier of {len(row) + len(qualifier)} bytes: wanted 1 to {_LONGEST_KEY}")
    if timestamp is not None and timestamp < 0:
        raise InvalidArgument(f"a timestamp of {timestamp}: wanted milliseconds since 1970")


def _packed(row: bytes, value: bytes, timestamp: int) -> bytes:
    return _HEAD.pack(timestamp, len(row)) + value


def unpacked(stored: bytes) -> tuple[int, bytes]:
    """Return the timestamp, in ms, and the value in the bytes of a packed cell."""
    return _HEAD.unpack_from(stored)[0], stored[_HEAD_BYTES:]


def cell_at(row: bytes, qualifier: bytes, stored: bytes | None) -> Cell | None:
    """Return a packed cell, `stored`, as a `Cell` of this row and qualifier; None if it is None or of another row.

    Joined to one key, a longer row with a shorter qualifier looks the same, so the packed length of the row decides.
    """
    if stored is None:
        return None
    timestamp, cut = _HEAD.unpack_from(stored)
    return Cell(row, qualifier, stored[_HEAD_BYTES:], timestamp) if cut == len(row) else None


def is_of_row(row: bytes, stored: bytes) -> bool:
    """Return whether a packed cell, `stored`, whose key begins with `row`, is of that row and not of a longer one."""
    return stored[_HEAD_BYTES - 1] == len(row)
