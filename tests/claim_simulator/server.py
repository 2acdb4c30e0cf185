"""A server that keeps rows as HBase does: one row changes at a time, and deletes hide what is written below them."""

from collections.abc import Callable

from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FAMILY_INDEX, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell, Swap

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
