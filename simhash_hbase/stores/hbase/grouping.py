"""Many rows and cells, cut into calls of a bounded size."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from simhash_hbase.layout import BLOCK_ROW_BYTES
from simhash_hbase.rowkey import BlockRows, pack_rows
from simhash_hbase.stores.base import Cell, Swap

__all__ = ["cut", "group_cells", "group_rows", "latest_writes", "swap_waves"]

# A server warns above 5,000 rows in one call to one region ("Large batch operation").
WRITE_ROWS = 4_000
WRITE_BYTES = 2_000_000

T = TypeVar("T")


def cut(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Cut a sequence into parts of one size, the last one shorter."""
    return [items[i : i + size] for i in range(0, len(items), size)]


def group_rows(rows: BlockRows) -> list[Sequence[bytes]]:
    """Pack block rows into keys, in groups for one call each."""
    packed = pack_rows(rows)
    return cut([packed[i : i + BLOCK_ROW_BYTES] for i in range(0, len(packed), BLOCK_ROW_BYTES)], WRITE_ROWS)


def group_cells(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Sort cells, and cut them into groups bounded in rows and, roughly, in bytes."""
    groups: list[list[Cell]] = []
    room = 0
    for cell in sorted(cells, key=_row_and_qualifier):
        if not groups or room < len(cell.value) or len(groups[-1]) >= WRITE_ROWS:
            groups.append([])
            room = WRITE_BYTES
        groups[-1].append(cell)
        room -= len(cell.value)
    return groups


def latest_writes(cells: Sequence[Cell]) -> list[Cell]:
    """Leave of several writes of one cell at one time the last: calls overtake each other."""
    return list({(cell.row, cell.qualifier, cell.timestamp): cell for cell in cells}.values())


def swap_waves(swaps: Sequence[Swap]) -> list[list[int]]:
    """Split swaps so that no row is twice in a wave: only the order on one row matters."""
    waves: list[list[int]] = []
    times: dict[bytes, int] = {}
    for number, swap in enumerate(swaps):
        wave = times.get(swap.row, 0)
        times[swap.row] = wave + 1
        if wave == len(waves):
            waves.append([])
        waves[wave].append(number)
    return waves


def _row_and_qualifier(cell: Cell) -> tuple[bytes, bytes]:
    return cell.row, cell.qualifier
