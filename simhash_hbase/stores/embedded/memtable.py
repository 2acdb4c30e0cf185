"""The memtable of a folder: what a group of batches writes, held in memory and then written to the B-trees in order.

Rows of a batch lie at random places of a B-tree, and a commit writes every page that it has touched. A group is held in
front of the databases instead: reads look into both, and at the end of the group its rows go to the databases in the
order of their keys, so that each page is written once. Log-structured merge trees call it a memtable, HBase its
MemStore.

A *group* is the batches of documents that one commit writes. A *block row* leads from a key prefix of 5 bytes to a
fingerprint. A *cell* is a value under a row and a qualifier, joined in LMDB to one *key*; a *packed* cell is the bytes
of its timestamp, the length of its row, and its value. LMDB has a database for each *family* of rows: ``b`` for block
rows, ``d`` and ``m`` for cells. Rows and cells in the memtable, which are not in a database yet, are *held*.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.rows.keys import BlockRows
from simhash_hbase.rows.layout import FAMILY_BLOCKS, FAMILY_DOCUMENTS, PREFIX_BITS
from simhash_hbase.stores.base import Cell, CellKey, PrefixScan, Swap, first_rows
from simhash_hbase.stores.columns import CellColumns, CellRows, Columns
from simhash_hbase.stores.embedded import records
from simhash_hbase.stores.embedded.databases import HOT_PREFIXES, Database, Transaction
from simhash_hbase.stores.embedded.prefixes import BloomFilter, key_numbers

# Memory of a cell besides its key and value: entries of two dictionaries, and the heads of objects.
CELL_BYTES = 400
# Memory of a block row: 16 bytes, and while the two longest runs are merged some 40 more.
ROW_BYTES = 56
# The rows go to the database in so many ranges of their prefixes, since merging takes more memory than holding.
RANGE_BITS = 4
RANGES = 1 << RANGE_BITS

PackedReader = Callable[[Sequence[bytes]], Mapping[bytes, bytes]]
"""A function that takes keys, row and qualifier joined, and returns the packed cells of an LMDB database by key.

A key without a cell is left out.
"""


PrefixReader = Callable[[NDArray[np.uint64]], PrefixScan]
"""A function that takes sorted distinct prefixes, and returns the block rows of the LMDB database under them."""

MISSING_KEYS = 20_000
"""Most keys known to have no cell that a memtable remembers, some 3 MB, so that they are not looked up again.

A batch reads the cells of its documents three times.
"""


class FamilyCells(NamedTuple):
    """The cells of one family, ``d`` or ``m``, that a memtable holds, and keys that have no cell in the database."""

    packed: dict[bytes, bytes]  # By row and qualifier; as `records` packs them.
    # Row to the key of its cell, or to the sorted keys of several: most rows have one, and Python's garbage collector
    # would go through a list of each.
    keys: dict[bytes, bytes | list[bytes]]
    missing: set[bytes]  # Keys of which it is known that the database has no cell.
    filter: BloomFilter | None  # Has the keys of all cells in the database and of those that are held.

    def read(self, stored: PackedReader, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return by key the packed cells of `keys` that the database has and the memtable does not hold.

        `stored` reads the database; it is not asked for keys that are known to have no cell there.
        """
        if self.filter is not None:
            keys = list(compress(keys, self.filter.may_hold(key_numbers(keys)).tolist()))
        asked = [key for key in keys if key not in self.packed and key not in self.missing]
        if not asked:
            return {}
        there = stored(asked)
        if len(self.missing) >= MISSING_KEYS:
            self.missing.clear()
        self.missing.update(set(asked).difference(there))
        return there

    def read_to_write(self, stored: PackedReader, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return packed cells as `read` does, and add the keys to the filter, as the caller writes these cells next."""
        there = self.read(stored, keys)
        if self.filter is not None:
            self.filter.add(key_numbers(keys))
        return there

    def keys_of(self, row: bytes) -> list[bytes]:
        """Return the sorted keys of the cells that are held of a row; an empty list where there are none."""
        keys = self.keys.get(row, [])
        return [keys] if isinstance(keys, bytes) else keys

    def add_key(self, row: bytes, key: bytes) -> None:
        """Note the key of a cell of a row; the memtable holds no cell with this key yet."""
        if self.keys.setdefault(row, key) is not key:
            self.keys[row] = keys = self.keys_of(row)
            insort(keys, key)


class Memtable:
    """Holds block rows and cells in memory that were written to the store and are not in the LMDB databases yet.

    Parameters
    ----------
    filter_ : BloomFilter, optional
        Has the prefixes of all block rows in the databases, and the keys of all cells of family ``d``. The memtable
        adds those of the rows and cells that it takes.

    Attributes
    ----------
    bytes : int
        Roughly the memory in bytes that the memtable takes, with the database pages that it has written to.
    """

    def __init__(self, filter_: BloomFilter | None = None) -> None:
        self.bytes = 0
        self.is_empty = True
        self._filter = filter_
        # Each run is at least twice as long as the next.
        self._runs: list[BlockRows] = []
        self._families: dict[str, FamilyCells] = {}

    def put_rows(self, rows: BlockRows) -> None:
        """Add sorted block rows to the memtable."""
        if self._filter is not None:
            self._filter.add(rows.prefixes)
        self.bytes += ROW_BYTES * len(rows.prefixes)
        self.is_empty = False
        while self._runs and len(self._runs[-1].prefixes) < 2 * len(rows.prefixes):
            rows = BlockRows.merged(self._runs.pop(), rows)
        self._runs.append(rows)

    def scan(self, stored: PrefixReader, prefixes: NDArray[np.uint64], limit: int) -> PrefixScan:
        """Return the block rows under sorted distinct prefixes, at most `limit` of each, from database and memtable."""
        if self._filter is not None:
            prefixes = prefixes[self._filter.may_hold(prefixes)]
        of_databases = stored(prefixes)
        found = [of_databases.rows]
        for run in self._runs:
            first = run.prefixes.searchsorted(prefixes, "left")
            # Most prefixes of new documents have no row: where theirs end is looked for only if they begin.
            there = np.flatnonzero(run.prefixes[np.minimum(first, len(run.prefixes) - 1)] == prefixes)
            first = first[there]
            # One row more than the limit shows that the prefix has too many.
            counts = np.minimum(run.prefixes.searchsorted(prefixes[there], "right") - first, limit + 1)
            if total := int(counts.sum()):
                at = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(total)
                found.append(BlockRows(run.prefixes[at], run.simhashes[at]))
        if len(found) == 1:
            return of_databases
        rows, truncated = first_rows(BlockRows.merged(*found), limit)
        return PrefixScan(rows, np.union1d(truncated, of_databases.truncated))

    def put(self, family: str, cells: Sequence[Cell], stored: PackedReader, now: int) -> None:
        """Write cells to the memtable by the rules of `Store.put`, which keeps the cell with the later timestamp.

        `stored` reads the cells of the database. `now`, ms since 1970, stamps cells without a timestamp.
        """
        held, columns = self._cells(family), CellColumns.of(cells)
        packed, keys = records.packed_cells(columns, now), columns.keys
        there = held.read_to_write(stored, keys)
        if not there and held.packed.keys().isdisjoint(keys) and len(set(keys)) == len(keys):
            self._hold_new(held, columns, packed)
            return
        for cell, key in zip(columns, keys, strict=True):
            new = records.packed_over(cell, held.packed.get(key) or there.get(key), now)
            if new is not None:
                self._hold(held, cell.row, key, new)

    def swap(self, family: str, swaps: Sequence[Swap], stored: PackedReader, clock: Callable[[], int]) -> list[bool]:
        """Make compare-and-sets of cells in the order given; return for each whether the cell had the expected value.

        `stored` reads the cells of the database. `clock` returns the time, ms since 1970.
        """
        held, answers = self._cells(family), []
        keys = [swap.row + swap.qualifier for swap in swaps]
        there = held.read_to_write(stored, keys)
        for swap, key in zip(swaps, keys, strict=True):
            new = records.swapped(swap, held.packed.get(key) or there.get(key), clock)
            answers.append(new is not None)
            if new is not None:
                self._hold(held, swap.row, key, new)
        return answers

    def get(self, family: str, keys: Sequence[CellKey], stored: PackedReader) -> list[Cell | None]:
        """Return the cell of each key (row and qualifier), from memtable or database; None where there is none."""
        held = self._cells(family)
        joined = [row + qualifier for row, qualifier in keys]
        there = held.read(stored, joined)
        return [
            None if (cell := held.packed.get(key) or there.get(key)) is None else records.cell_at(row, qualifier, cell)
            for (row, qualifier), key in zip(keys, joined, strict=True)
        ]

    def rows(self, family: str, stored: CellRows, firsts: Sequence[bytes], limit: int) -> CellRows:
        """Return `stored`, rows of cells that were read from the database, with the held cells merged into them.

        Each row begins at its key in `firsts`, and has at most `limit` cells.
        """
        held = self._cells(family)
        if held.keys.keys().isdisjoint(stored.rows):
            return stored
        counts, keys, values, timestamps = list[int](), list[bytes](), list[bytes](), list[int | None]()
        stop = 0
        for row, first, count in zip(stored.rows, firsts, stored.columns.counts, strict=True):
            start, stop = stop, stop + count
            own = held.keys_of(row)
            chosen = stored.columns.keys[start:stop]
            if own:
                at = bisect_left(own, first)
                own = own[at : at + limit]
                chosen = sorted({*chosen, *(key for key in own if records.is_of_row(row, held.packed[key]))})[:limit]
            counts.append(len(chosen))
            keys += chosen
            there = dict(zip(stored.columns.keys[start:stop], range(start, stop), strict=True))
            for key in chosen:
                if (cell := held.packed.get(key)) is not None:
                    timestamp, value = records.unpacked(cell)
                    timestamps.append(timestamp)
                    values.append(value)
                else:
                    timestamps.append(stored.timestamps[there[key]])
                    values.append(stored.columns.values[there[key]])
        return CellRows(stored.rows, Columns(counts, keys, values), timestamps)

    def write(self, transaction: Transaction, databases: Mapping[str, Database]) -> None:
        """Write all held rows and cells to the databases, in the order of their keys, and empty the memtable.

        `databases` has the LMDB database of each family by name, and that of prefixes with very many rows.
        """
        if self._runs:
            starts = np.arange(RANGES, dtype=np.uint64) << np.uint64(PREFIX_BITS - RANGE_BITS)
            edges = [np.append(np.searchsorted(run.prefixes, starts), len(run.prefixes)) for run in self._runs]
            for number in range(RANGES):
                parts = [
                    BlockRows(*(column[edge[number] : edge[number + 1]] for column in run))
                    for run, edge in zip(self._runs, edges, strict=True)
                ]
                rows = BlockRows.merged(*parts)
                records.put_rows(transaction, databases[FAMILY_BLOCKS], databases[HOT_PREFIXES], rows)
            self._runs = []
        for family, held in self._families.items():
            with transaction.cursor(databases[family]) as cursor:
                # Keys alone sort in half of the time of pairs.
                keys = sorted(held.packed)
                cursor.putmulti(zip(keys, map(held.packed.__getitem__, keys), strict=True))
        self._families.clear()
        self.is_empty = True

    def _cells(self, family: str) -> FamilyCells:
        """Return the object that holds the cells of a family, made here if there is none yet."""
        if family not in self._families:
            filter_ = self._filter if family == FAMILY_DOCUMENTS else None
            self._families[family] = FamilyCells({}, {}, set(), filter_)
        return self._families[family]

    def _hold_new(self, held: FamilyCells, cells: CellColumns, packed: Sequence[bytes]) -> None:
        """Put packed cells into the memtable, faster than `_hold`: their keys are distinct and not held yet."""
        held.packed.update(zip(cells.keys, packed, strict=True))
        for row, key in zip(cells.rows, cells.keys, strict=True):
            held.add_key(row, key)
        self.bytes += sum(map(len, packed)) + 2 * sum(map(len, cells.keys)) + CELL_BYTES * len(packed)
        self.is_empty &= not packed

    def _hold(self, held: FamilyCells, row: bytes, key: bytes, new: bytes) -> None:
        """Put one packed cell of a row into the memtable; it replaces a cell with the same key that is held."""
        old = held.packed.get(key)
        held.packed[key] = new
        if old is not None:
            self.bytes += len(new) - len(old)
            return
        held.add_key(row, key)
        self.bytes += len(new) + 2 * len(key) + CELL_BYTES
        self.is_empty = False
