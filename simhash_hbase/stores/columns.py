"""Cells as columns: rows that are read, and cells that are written.

A search reads many more cells than it answers with, and a batch writes two cells for each document. An object for each
of them takes longer than to read or hold it, and as long again in Python's garbage collector, which goes through all
objects that were made so far.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain
from operator import add
from typing import NamedTuple, SupportsIndex, overload

from simhash_hbase.stores.base import Cell


class Columns(NamedTuple):
    """The cells of several rows, one row behind the other."""

    counts: list[int]  # Cells of each row.
    keys: list[bytes]  # Row and qualifier of each cell.
    values: list[bytes]


class CellRows(Sequence[list[Cell]]):
    """Rows that a store has read as columns; a row becomes cells when it is looked at."""

    def __init__(self, rows: Sequence[bytes], columns: Columns, timestamps: list[int | None]) -> None:
        self.rows = rows
        self.columns = columns
        self.timestamps = timestamps

    @classmethod
    def of(cls, rows: Sequence[bytes], cells: Sequence[list[Cell]]) -> "CellRows":
        """Return rows of cells as columns."""
        return cls(rows, columns_of(cells), [cell.timestamp for row in cells for cell in row])

    @classmethod
    def joined(cls, parts: Iterable["CellRows"]) -> "CellRows":
        """Return the rows of several parts as one, in the order of the parts."""
        rows, columns, timestamps = list[bytes](), Columns([], [], []), list[int | None]()
        for part in parts:
            rows += part.rows
            timestamps += part.timestamps
            for column, more in zip(columns, part.columns, strict=True):
                column.extend(more)  # type: ignore[attr-defined]
        return cls(rows, columns, timestamps)

    def replaced(self, rows: Mapping[int, Sequence[Cell]]) -> "CellRows":
        """Return these rows with other cells in some of them, which are given by their positions."""

        def between(start: int, stop: int) -> CellRows:
            cells = slice(self._starts[start], self._starts[stop])
            columns = Columns(self.columns.counts[start:stop], self.columns.keys[cells], self.columns.values[cells])
            return CellRows(self.rows[start:stop], columns, self.timestamps[cells])

        parts, start = [], 0
        for row in sorted(rows):
            parts += [between(start, row), CellRows.of([self.rows[row]], [list(rows[row])])]
            start = row + 1
        return CellRows.joined([*parts, between(start, len(self))])

    def __len__(self) -> int:
        return len(self.columns.counts)

    @overload
    def __getitem__(self, at: SupportsIndex) -> list[Cell]: ...

    @overload
    def __getitem__(self, at: slice) -> list[list[Cell]]: ...

    def __getitem__(self, at: SupportsIndex | slice) -> list[Cell] | list[list[Cell]]:
        if isinstance(at, slice):
            return [self[each] for each in range(len(self))[at]]
        number = range(len(self))[at]
        chosen, row = slice(self._starts[number], self._starts[number + 1]), self.rows[number]
        cells = zip(self.columns.keys[chosen], self.columns.values[chosen], self.timestamps[chosen], strict=True)
        return [Cell(row, key[len(row) :], value, timestamp) for key, value, timestamp in cells]

    def __eq__(self, other: object) -> bool:
        """Compare the cells, as lists of lists are compared."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # As of lists.

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(self.columns.counts, initial=0))


def columns_of(rows: Sequence[list[Cell]]) -> Columns:
    """Return the cells of rows as columns; rows that are columns already are not copied."""
    if isinstance(rows, CellRows):
        return rows.columns
    cells = list(chain.from_iterable(rows))
    keys = [cell.row + cell.qualifier for cell in cells]
    return Columns(list(map(len, rows)), keys, [cell.value for cell in cells])


class CellColumns(Sequence[Cell]):
    """Cells to write, with one column for each field of `Cell`; a cell becomes an object when it is looked at."""

    def __init__(
        self,
        rows: Sequence[bytes],
        qualifiers: Sequence[bytes],
        values: Sequence[bytes],
        timestamps: Sequence[int | None],
    ) -> None:
        self.rows = rows
        self.qualifiers = qualifiers
        self.values = values
        self.timestamps = timestamps

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> "CellColumns":
        """Return cells as columns; cells that are columns already are not copied."""
        if isinstance(cells, CellColumns):
            return cells
        return cls(*zip(*cells, strict=True)) if cells else cls((), (), (), ())

    @cached_property
    def keys(self) -> list[bytes]:
        """Row and qualifier of each cell, joined."""
        return list(map(add, self.rows, self.qualifiers))

    def take(self, numbers: Sequence[int]) -> "CellColumns":
        """Return the cells at some positions, in the order of the positions."""
        columns = (self.rows, self.qualifiers, self.values, self.timestamps)
        return CellColumns(*([column[number] for number in numbers] for column in columns))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Cell]:
        return map(Cell, self.rows, self.qualifiers, self.values, self.timestamps)

    @overload
    def __getitem__(self, at: SupportsIndex) -> Cell: ...

    @overload
    def __getitem__(self, at: slice) -> "CellColumns": ...

    def __getitem__(self, at: SupportsIndex | slice) -> "Cell | CellColumns":
        if isinstance(at, slice):
            return CellColumns(self.rows[at], self.qualifiers[at], self.values[at], self.timestamps[at])
        number = range(len(self))[at]
        return Cell(self.rows[number], self.qualifiers[number], self.values[number], self.timestamps[number])

    def __eq__(self, other: object) -> bool:
        """Compare the cells, as lists are compared."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # As of lists.
