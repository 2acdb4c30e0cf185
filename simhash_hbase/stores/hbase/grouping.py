"""Rows and cells, cut into calls of a bounded size."""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import TypeVar

from simhash_hbase.rows.keys import BlockRows, pack_rows
from simhash_hbase.rows.layout import BLOCK_ROW_BYTES
from simhash_hbase.stores.base import Cell, CellKey, Swap

# A server warns above 5,000 rows in one call to one region ("Large batch operation").
WRITE_ROWS = 4_000
# A gateway with framed transport closes the connection on a frame above its limit: 2 MiB by default, 1 MiB at least.
CALL_BYTES = 1_000_000
# Either interface and protocol adds at most this to a cell's row, qualifier and value.
FRAMING_BYTES = 96

T = TypeVar("T")


def row_keys_of(rows: BlockRows) -> list[bytes]:
    """Pack block rows into keys."""
    packed = pack_rows(rows)
    return [packed[i : i + BLOCK_ROW_BYTES] for i in range(0, len(packed), BLOCK_ROW_BYTES)]


def group_rows(rows: BlockRows) -> list[list[bytes]]:
    """Pack block rows into keys, in groups for one call each."""
    return group_row_keys(row_keys_of(rows), WRITE_ROWS)


def group_row_keys(rows: Iterable[bytes], most: int) -> list[list[bytes]]:
    """Cut row keys into groups for one call each, bounded in rows and in bytes: a filter names each key twice."""
    return _bounded(rows, lambda row: 2 * len(row), most)


def group_keys(keys: Iterable[CellKey], most: int) -> list[list[CellKey]]:
    """Cut rows with qualifiers into groups for one call each, bounded in number and in bytes."""
    return _bounded(keys, lambda key: len(key[0]) + len(key[1]), most)


def group_cells(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Sort cells, and cut them into groups for one call each, bounded in rows and in bytes."""
    return _bounded(
        sorted(cells, key=itemgetter(0, 1)),
        lambda cell: len(cell.row) + len(cell.qualifier) + len(cell.value),
        WRITE_ROWS,
    )


def latest_writes(cells: Sequence[Cell]) -> list[Cell]:
    """Keep the last of several writes of one cell at one time: calls may overtake each other."""
    return list({(cell.row, cell.qualifier, cell.timestamp): cell for cell in cells}.values())


def swap_waves(swaps: Sequence[Swap]) -> list[list[int]]:
    """Split swaps so that no row is twice in a wave: order matters only within a row."""
    waves: list[list[int]] = []
    times: dict[bytes, int] = {}
    for number, swap in enumerate(swaps):
        wave = times.get(swap.row, 0)
        times[swap.row] = wave + 1
        if wave == len(waves):
            waves.append([])
        waves[wave].append(number)
    return waves


def _bounded(items: Iterable[T], size: Callable[[T], int], most: int) -> list[list[T]]:
    """Cut items into groups; one that is too large for a call is a group of its own."""
    groups: list[list[T]] = []
    room = 0
    for item in items:
        wanted = FRAMING_BYTES + size(item)
        if not groups or wanted > room or len(groups[-1]) >= most:
            groups.append([])
            room = CALL_BYTES
        groups[-1].append(item)
        room -= wanted
    return groups
