"""Rows of cells as columns.

A search reads many more cells than it answers with. An object for each of them takes longer than to read it, and as
long again in Python's garbage collector, which goes through all objects that were made so far.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import NamedTuple, SupportsIndex, overload

from simhash_hbase.stores.base import Cell


class Columns(NamedTuple):
    """The cells of several rows, one row behind the other."""

    counts: list[int]  # Cells of each row.
    keys: list[bytes]  # Row and qualifier of each cell.
    values: list[bytes]


class ColumnRows(Sequence[list[Cell]]):
    """Rows that a store has read as columns; a row becomes cells when it is looked at."""

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts

    @abstractmethod
    def columns(self) -> Columns:
        """Return the columns."""

    @abstractmethod
    def _cells(self, row: int, chosen: slice) -> list[Cell]:
        """Return the cells of one row, whose positions among all cells are given."""

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(self.counts, initial=0))

    def __len__(self) -> int:
        return len(self.counts)

    @overload
    def __getitem__(self, at: SupportsIndex) -> list[Cell]: ...

    @overload
    def __getitem__(self, at: slice) -> list[list[Cell]]: ...

    def __getitem__(self, at: SupportsIndex | slice) -> list[Cell] | list[list[Cell]]:
        if isinstance(at, slice):
            return [self[each] for each in range(len(self))[at]]
        number = range(len(self))[at]
        return self._cells(number, slice(self._starts[number], self._starts[number + 1]))

    def __eq__(self, other: object) -> bool:
        """Compare the cells, as lists of lists are compared."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # As of lists.


class CellRows(ColumnRows):
    """Rows whose cells a driver took apart."""

    def __init__(self, rows: Sequence[bytes], columns: Columns, timestamps: list[int | None]) -> None:
        super().__init__(columns.counts)
        self.rows = rows
        self._columns = columns
        self._timestamps = timestamps

    @classmethod
    def of(cls, rows: Sequence[bytes], found: Sequence[list[Cell]]) -> "CellRows":
        """Make columns of cells."""
        return cls(rows, columns_of(found), [cell.timestamp for cells in found for cell in cells])

    @classmethod
    def joined(cls, parts: Iterable["CellRows"]) -> "CellRows":
        """Put rows behind each other."""
        rows, columns, timestamps = list[bytes](), Columns([], [], []), list[int | None]()
        for part in parts:
            rows += part.rows
            timestamps += part._timestamps
            for column, more in zip(columns, part.columns(), strict=True):
                column.extend(more)  # type: ignore[attr-defined]
        return cls(rows, columns, timestamps)

    def columns(self) -> Columns:
        """Return the columns."""
        return self._columns

    def replaced(self, rows: Mapping[int, Sequence[Cell]]) -> "CellRows":
        """Return rows in which some, given by their positions, have other cells."""
        parts, start = [], 0
        for row in sorted(rows):
            parts += [self._between(start, row), CellRows.of([self.rows[row]], [list(rows[row])])]
            start = row + 1
        return CellRows.joined([*parts, self._between(start, len(self))])

    def _between(self, start: int, stop: int) -> "CellRows":
        cells = slice(self._starts[start], self._starts[stop])
        keys, values = self._columns.keys[cells], self._columns.values[cells]
        return CellRows(self.rows[start:stop], Columns(self.counts[start:stop], keys, values), self._timestamps[cells])

    def _cells(self, row: int, chosen: slice) -> list[Cell]:
        key = self.rows[row]
        qualifiers = [each[len(key) :] for each in self._columns.keys[chosen]]
        found = zip(qualifiers, self._columns.values[chosen], self._timestamps[chosen], strict=True)
        return [Cell(key, *each) for each in found]


def columns_of(rows: Sequence[list[Cell]]) -> Columns:
    """Return the columns of rows."""
    if isinstance(rows, ColumnRows):
        return rows.columns()
    cells = list(chain.from_iterable(rows))
    keys = [cell.row + cell.qualifier for cell in cells]
    return Columns(list(map(len, rows)), keys, [cell.value for cell in cells])
