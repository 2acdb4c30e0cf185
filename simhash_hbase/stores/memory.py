"""A store in memory: the model that every other store is tested against, and an index for one process's lifetime."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.rows.keys import BlockRows
from simhash_hbase.rows.layout import FAMILY_BLOCKS, FAMILY_DOCUMENTS
from simhash_hbase.stores import base

U64 = np.uint64

# Row key -> qualifier -> the cell, always with a timestamp.
Family = dict[bytes, dict[bytes, base.Cell]]


class MemoryStore(base.Store, base.Transactional):
    """A store in memory: rows in dictionaries, sorted when they are read.

    Threads may share it: every call holds one lock, and a transaction holds it until its end. All is lost when the
    process ends.

    Examples
    --------
    >>> from simhash_hbase.stores.base import Cell
    >>> store = MemoryStore(clock=lambda: 1000)
    >>> store.put("m", [Cell(b"row", b"v", b"one"), Cell(b"row", b"v", b"two")])
    >>> store.get("m", [(b"row", b"v"), (b"row", b"w")])
    [Cell(row=b'row', qualifier=b'v', value=b'two', timestamp=1001), None]
    """

    def __init__(self, *, clock: Callable[[], int] | None = None) -> None:
        self._clock = clock or now_ms
        self._lock = RLock()
        self._blocks: dict[int, set[int]] = {}
        self._cells: dict[str, Family] = {family: {} for family in base.CELL_FAMILIES}
        # Functions that take back the changes of an open transaction, in their order; None outside of one.
        self._undo: list[Callable[[], None]] | None = None

    @property
    def url(self) -> str:
        return "memory:"

    def scan(self, prefixes: NDArray[np.uint64], *, limit: int) -> base.PrefixScan:
        base.check_positive("limit", limit)
        found: list[tuple[int, int]] = []
        truncated = []
        with self._lock:
            for prefix in prefixes.tolist():
                simhashes = self._blocks.get(prefix, ())
                found += [(prefix, simhash) for simhash in sorted(simhashes)[:limit]]
                if len(simhashes) > limit:
                    truncated.append(prefix)
        return base.PrefixScan(_as_rows(found), np.array(truncated, dtype=U64))

    def has_rows(self, rows: BlockRows) -> NDArray[np.bool_]:
        pairs = zip(rows.prefixes.tolist(), rows.simhashes.tolist(), strict=True)
        with self._lock:
            found = [simhash in self._blocks.get(prefix, ()) for prefix, simhash in pairs]
        return np.array(found, dtype=np.bool_)

    def scan_range(self, start: int, stop: int, *, page: int) -> Iterator[BlockRows]:
        base.check_positive("page", page)
        with self._lock:
            prefixes = sorted(prefix for prefix in self._blocks if start <= prefix < stop)
            rows = [(prefix, simhash) for prefix in prefixes for simhash in sorted(self._blocks[prefix])]
        return (_as_rows(rows[i : i + page]) for i in range(0, len(rows), page))

    def put_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        with self._lock:
            for prefix, simhash in zip(rows.prefixes.tolist(), rows.simhashes.tolist(), strict=True):
                self._set_row(prefix, simhash, there=True)

    def delete_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        with self._lock:
            for prefix, simhash in zip(rows.prefixes.tolist(), rows.simhashes.tolist(), strict=True):
                self._set_row(prefix, simhash, there=False)

    def put(self, family: str, cells: Sequence[base.Cell]) -> None:
        """Write cells; of two writes of a cell with the same timestamp, the later one stays."""
        base.check_cell_family(family)
        with self._lock:
            for cell in cells:
                old = self._cell(family, cell.row, cell.qualifier)
                if cell.timestamp is None:
                    self._set_cell(family, cell.row, cell.qualifier, cell._replace(timestamp=self._next_stamp(old)))
                elif cell.timestamp >= _stamp(old):
                    self._set_cell(family, cell.row, cell.qualifier, cell)

    def get(self, family: str, keys: Sequence[base.CellKey]) -> list[base.Cell | None]:
        base.check_cell_family(family)
        with self._lock:
            return [self._cell(family, row, qualifier) for row, qualifier in keys]

    def get_rows(self, family: str, rows: Sequence[bytes], *, limit: int) -> list[list[base.Cell]]:
        base.check_cell_family(family, limit=limit)
        with self._lock:
            held = [self._cells[family].get(row, {}) for row in rows]
            return [[cells[qualifier] for qualifier in sorted(cells)[:limit]] for cells in held]

    def read_row(self, family: str, row: bytes, *, after: bytes, limit: int) -> list[base.Cell]:
        base.check_cell_family(family, limit=limit)
        with self._lock:
            held = self._cells[family].get(row, {})
            return [held[qualifier] for qualifier in sorted(q for q in held if q > after)[:limit]]

    def delete(self, family: str, cells: Sequence[base.Cell]) -> None:
        base.check_deletions(family, cells)
        with self._lock:
            for row, qualifier, _, timestamp in cells:
                old = self._cell(family, row, qualifier)
                if old is not None and timestamp is not None and _stamp(old) <= timestamp:
                    self._set_cell(family, row, qualifier, None)

    def scan_cells(self, family: str, start: bytes, stop: bytes | None, *, page: int) -> Iterator[list[base.Cell]]:
        base.check_cell_family(family, page=page)
        with self._lock:
            table = self._cells[family]
            rows = sorted(row for row in table if start <= row and (stop is None or row < stop))
            cells = [table[row][qualifier] for row in rows for qualifier in sorted(table[row])]
        return (cells[i : i + page] for i in range(0, len(cells), page))

    def compare_and_set(self, swaps: Sequence[base.Swap]) -> list[bool]:
        swapped = []
        with self._lock:
            for row, qualifier, expected, value in swaps:
                old = self._cell(FAMILY_DOCUMENTS, row, qualifier)
                swapped.append((old.value if old else None) == expected)
                if swapped[-1]:
                    new = base.Cell(row, qualifier, value, self._next_stamp(old))
                    self._set_cell(FAMILY_DOCUMENTS, row, qualifier, new)
        return swapped

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            if self._undo is not None:
                raise InvalidArgument("a transaction of this thread is open already: transactions do not nest")
            undo: list[Callable[[], None]] = []
            self._undo = undo
            try:
                yield
            except BaseException:
                self._undo = None
                for take_back in reversed(undo):
                    take_back()
                raise
            finally:
                self._undo = None

    def size(self) -> base.StoreSize:
        with self._lock:
            rows = {FAMILY_BLOCKS: sum(map(len, self._blocks.values()))}
            rows |= {family: sum(map(len, held.values())) for family, held in self._cells.items()}
        return base.StoreSize(None, rows)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _next_stamp(self, old: base.Cell | None) -> int:
        """Return a new cell's timestamp in ms: the clock's, or one more than that of the old cell if that is higher."""
        return max(self._clock(), _stamp(old) + 1)

    def _cell(self, family: str, row: bytes, qualifier: bytes) -> base.Cell | None:
        return self._cells[family].get(row, {}).get(qualifier)

    def _set_cell(self, family: str, row: bytes, qualifier: bytes, cell: base.Cell | None) -> None:
        """Store a cell under a row and a qualifier, in place of the one there; None removes that."""
        if self._undo is not None:
            old = self._cell(family, row, qualifier)
            self._undo.append(lambda: self._set_cell(family, row, qualifier, old))
        held = self._cells[family].setdefault(row, {})
        if cell is None:
            held.pop(qualifier, None)
        else:
            held[qualifier] = cell
        if not held:
            del self._cells[family][row]

    def _set_row(self, prefix: int, simhash: int, *, there: bool) -> None:
        simhashes = self._blocks.setdefault(prefix, set())
        if (simhash in simhashes) != there:
            if self._undo is not None:
                self._undo.append(lambda: self._set_row(prefix, simhash, there=not there))
            if there:
                simhashes.add(simhash)
            else:
                simhashes.discard(simhash)
        if not simhashes:
            del self._blocks[prefix]


def _stamp(cell: base.Cell | None) -> int:
    """Return a cell's timestamp; -1, below every real one, for None, where there is no cell."""
    return -1 if cell is None or cell.timestamp is None else cell.timestamp


def _as_rows(pairs: list[tuple[int, int]]) -> BlockRows:
    return BlockRows(
        np.array([prefix for prefix, _ in pairs], dtype=U64), np.array([simhash for _, simhash in pairs], dtype=U64)
    )
