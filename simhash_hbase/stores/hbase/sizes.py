"""The sizes of calls of HBase: how much one reads, and how writes and look-ups are cut into several calls."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeVar

from simhash_hbase.stores.base import Cell, CellKey

K = TypeVar("K")

# Either interface and protocol adds at most this to a cell's row, qualifier and value.
FRAMING_BYTES = 96


@dataclass(frozen=True, kw_only=True)
class CallSizes:
    """Limits of the rows, cells and bytes of one call of HBase."""

    few_prefixes: int = 64
    """Up to this number each prefix has a scan of its own, all in flight at once, and the server uses its bloom filter:
    one query has 4 to 35 tables. For a batch one filter has thousands of prefixes."""
    reply_rows: int = 20_000
    """Most rows of one reply: about a megabyte."""
    reply_cells: int = 20_000
    """Most cells of one reply: cells are some hundred bytes, so it stays at a few megabytes."""
    few_cells: int = 100
    """Cells of a row that the first call for many rows reads: few rows of members are longer, and those are read
    again."""
    many_cells: int = 2_000
    """Most cells of a row that the second call reads; the rest comes in parts."""
    write_rows: int = 4_000
    """Most rows of a write: a server warns above 5,000 in one call to one region ("Large batch operation")."""
    call_bytes: int = 1_000_000
    """Most bytes of the items of a call. A gateway with framed transport closes the connection on a frame above its
    limit: 2 MiB by default, 1 MiB at least."""

    def group_row_keys(self, rows: Iterable[bytes], most: int | None = None) -> list[list[bytes]]:
        """Return row keys in groups for one call each, bounded in number and bytes.

        Each key counts twice, since a filter names it as the start and the end of a range.
        """
        return self._grouped(rows, lambda row: 2 * len(row), most or self.write_rows)

    def group_keys(self, keys: Iterable[CellKey], most: int) -> list[list[CellKey]]:
        """Return keys of cells (row and qualifier) in groups for one call each, bounded in number and in bytes."""
        return self._grouped(keys, lambda key: len(key[0]) + len(key[1]), most)

    def group_cells(self, cells: Iterable[Cell]) -> list[list[Cell]]:
        """Return cells to be written, sorted, in groups for one call each, bounded in number and in bytes."""
        by_row = sorted(cells, key=itemgetter(0, 1))
        return self._grouped(
            by_row, lambda cell: len(cell.row) + len(cell.qualifier) + len(cell.value), self.write_rows
        )

    def _grouped(self, items: Iterable[K], size: Callable[[K], int], most: int) -> list[list[K]]:
        """Return items in groups for one call each; an item that is too large for a call is a group of its own."""
        groups: list[list[K]] = []
        room = 0
        for item in items:
            item_bytes = FRAMING_BYTES + size(item)
            if not groups or item_bytes > room or len(groups[-1]) >= most:
                groups.append([])
                room = self.call_bytes
            groups[-1].append(item)
            room -= item_bytes
        return groups


CALL_SIZES = CallSizes()
