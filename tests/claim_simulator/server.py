"""A server that keeps rows as HBase does: one row changes at a time, and deletes hide what is written below them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from simhash_hbase.rows.keys import BlockRows
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FAMILY_INDEX, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell, PrefixScan, Store, StoreSize, Swap
from simhash_hbase.testing.rows import pairs_of

Key = tuple[str, bytes, bytes]
NEVER = -1


class Server:
    """Rows of all families; of a cell's versions the one with the highest timestamp is read, of equal ones the later.

    `changed` is called after each change of a document cell, with the cell before and the one after it; `hidden` after
    each delete.
    """

    def __init__(
        self, clock: Callable[[], int], changed: Callable[[Cell | None, Cell | None], None], hidden: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._changed = changed
        self._hidden = hidden
        self.cells: dict[str, dict[bytes, dict[bytes, Cell]]] = {FAMILY_DOCUMENTS: {}, FAMILY_INDEX: {}}
        self.blocks: dict[int, dict[int, int]] = {}
        # Up to which timestamps deletes hide what is written.
        self._cells_hidden: dict[Key, int] = {}
        self._rows_hidden: dict[tuple[int, int], int] = {}

    def get(self, family: str, row: bytes, qualifier: bytes) -> Cell | None:
        return self.cells[family].get(row, {}).get(qualifier)

    def row(self, family: str, row: bytes) -> list[Cell]:
        held = self.cells[family].get(row, {})
        return [held[qualifier] for qualifier in sorted(held)]

    def put(self, family: str, cell: Cell) -> None:
        """Write a cell, unless it is covered or hidden."""
        old = self.get(family, cell.row, cell.qualifier)
        stamp = self._clock() if cell.timestamp is None else cell.timestamp
        if stamp > self._cells_hidden.get((family, *cell[:2]), NEVER) and (old is None or old.timestamp <= stamp):
            self._set(family, old, cell._replace(timestamp=stamp))

    def swap(self, swap: Swap) -> bool:
        """Compare and set a document cell; like HBase, never below what stands there."""
        old = self.get(FAMILY_DOCUMENTS, swap.row, swap.qualifier)
        if (old and old.value) != swap.expected:
            return False
        stamp = max(self._clock(), old.timestamp if old else NEVER)
        self.put(FAMILY_DOCUMENTS, Cell(swap.row, swap.qualifier, swap.value, stamp))
        return True

    def delete(self, family: str, cell: Cell) -> None:
        """Delete a cell up to a timestamp, now and in future."""
        key = (family, *cell[:2])
        self._cells_hidden[key] = max(cell.timestamp, self._cells_hidden.get(key, NEVER))
        old = self.get(family, *cell[:2])
        if old is not None and old.timestamp <= cell.timestamp:
            self._set(family, old, None)
        self._hidden()

    def has_row(self, prefix: int, simhash: int) -> bool:
        return simhash in self.blocks.get(prefix, ())

    def put_row(self, prefix: int, simhash: int, stamp: int) -> None:
        if stamp > self._rows_hidden.get((prefix, simhash), NEVER):
            held = self.blocks.setdefault(prefix, {})
            held[simhash] = max(stamp, held.get(simhash, NEVER))

    def delete_row(self, prefix: int, simhash: int, stamp: int) -> None:
        """Delete a block row up to a timestamp, now and in future."""
        key = (prefix, simhash)
        self._rows_hidden[key] = max(stamp, self._rows_hidden.get(key, NEVER))
        if self.blocks.get(prefix, {}).get(simhash, stamp + 1) <= stamp:
            del self.blocks[prefix][simhash]
        self._hidden()

    def is_findable(self, rows: BlockRows, member: tuple[bytes, bytes]) -> bool:
        """Return whether queries come upon a document."""
        return all(self.has_row(*row) for row in pairs_of(rows)) and self.get(FAMILY_DOCUMENTS, *member) is not None

    def compact(self) -> None:
        """Forget deletes: what is written below them from now on is seen."""
        self._cells_hidden.clear()
        self._rows_hidden.clear()

    def _set(self, family: str, old: Cell | None, new: Cell | None) -> None:
        named = new or old
        held = self.cells[family].setdefault(named.row, {})
        if new is None:
            del held[named.qualifier]
        else:
            held[named.qualifier] = new
        if not held:
            del self.cells[family][named.row]
        if family == FAMILY_DOCUMENTS and named.qualifier == STATE_QUALIFIER:
            self._changed(old, new)


U64 = np.uint64


class SimulatedStore(Store):
    """The server as one writer sees it.

    `call` gets the name of a call, its parts, and whether it is repeated when no answer comes; it returns the results
    of the parts, or raises what a store may raise.
    """

    url = "simulated:"

    def __init__(self, server, call: Callable[..., list]) -> None:
        self._server = server
        self._call = call

    def scan(self, prefixes, *, limit: int) -> PrefixScan:
        wanted = prefixes.tolist()
        found = self._call("scan", [partial(self._under, prefix) for prefix in wanted])
        pairs = [(p, s) for p, simhashes in zip(wanted, found, strict=True) for s in simhashes[:limit]]
        return PrefixScan(
            _rows(pairs), np.array([p for p, s in zip(wanted, found, strict=True) if len(s) > limit], U64)
        )

    def _under(self, prefix: int) -> list[int]:
        return sorted(self._server.blocks.get(prefix, ()))

    def has_rows(self, rows: BlockRows):
        parts = [partial(self._server.has_row, *row) for row in pairs_of(rows)]
        return np.array(self._call("has_rows", parts), np.bool_)

    def put_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        self._call("put_rows", [partial(self._server.put_row, *row, timestamp) for row in pairs_of(rows)], writes=True)

    def delete_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        parts = [partial(self._server.delete_row, *row, timestamp) for row in pairs_of(rows)]
        self._call("delete_rows", parts, writes=True)

    def scan_range(self, start: int, stop: int, *, page: int) -> Iterator[BlockRows]:
        [pairs] = self._call("scan_range", [partial(self._rows_between, start, stop)])
        for at in range(0, len(pairs), page):
            yield _rows(pairs[at : at + page])

    def _rows_between(self, start: int, stop: int) -> list[tuple[int, int]]:
        held = self._server.blocks
        return [(p, s) for p in sorted(held) if start <= p < stop for s in sorted(held[p])]

    def put(self, family: str, cells: Sequence[Cell]) -> None:
        repeat = all(cell.timestamp is not None for cell in cells)
        name = "put" if any(cell.qualifier == STATE_QUALIFIER for cell in cells) else "put_members"
        self._call(name, [partial(self._server.put, family, cell) for cell in cells], writes=True, repeat=repeat)

    def get(self, family: str, keys: Sequence[tuple[bytes, bytes]]) -> list[Cell | None]:
        return self._call("get", [partial(self._server.get, family, *key) for key in keys])

    def get_rows(self, family: str, rows: Sequence[bytes], *, limit: int) -> list[list[Cell]]:
        return [cells[:limit] for cells in self._call("get_rows", [partial(self._server.row, family, r) for r in rows])]

    def read_row(self, family: str, row: bytes, *, after: bytes, limit: int) -> list[Cell]:
        [cells] = self._call("read_row", [partial(self._server.row, family, row)])
        return [cell for cell in cells if cell.qualifier > after][:limit]

    def delete(self, family: str, cells: Sequence[Cell]) -> None:
        self._call("delete", [partial(self._server.delete, family, cell) for cell in cells], writes=True)

    def scan_cells(self, family: str, start: bytes, stop: bytes | None, *, page: int) -> Iterator[list[Cell]]:
        [rows] = self._call("scan_cells", [lambda: sorted(self._server.cells[family])])
        rows = [row for row in rows if row >= start and (stop is None or row < stop)]
        for at in range(0, len(rows), page):
            found = self._call("scan_cells", [partial(self._server.row, family, row) for row in rows[at : at + page]])
            if cells := [cell for held in found for cell in held]:
                yield cells

    def compare_and_set(self, swaps: Sequence[Swap]) -> list[bool]:
        parts = [partial(self._server.swap, swap) for swap in swaps]
        return self._call("compare_and_set", parts, writes=True, repeat=False)

    def size(self) -> StoreSize:
        return StoreSize(None, None)

    def close(self) -> None:
        pass


def call_at_once(name: str, parts: list[Callable[[], object]], **_: bool) -> list:
    """Do a call without a world around it."""
    return [part() for part in parts]


def _rows(pairs: list[tuple[int, int]]) -> BlockRows:
    return BlockRows(np.array([p for p, _ in pairs], U64), np.array([s for _, s in pairs], U64))
