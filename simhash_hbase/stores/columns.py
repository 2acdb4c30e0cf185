"""Cells as columns, a list for each field of a `Cell`: rows that are read, and cells that are written.

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
    """The cells of several rows, one row after the other, as lists: cells per row, keys and values."""

    counts: list[int]  # Cells of each row.
    keys: list[bytes]  # Row and qualifier of each cell.
    values: list[bytes]


class CellRows(Sequence[list[Cell]]):
    """Rows of cells that a store has read, as columns; an item is a row, a list of `Cell` made when it is accessed."""

    def __init__(self, rows: Sequence[bytes], columns: Columns, timestamps: list[int | None]) -> None:
        self.rows = rows
        self.columns = columns
        self.timestamps = timestamps

    @classmethod
    def of(cls, rows: Sequence[bytes], cells: Sequence[list[Cell]]) -> "CellRows":
        """Return a `CellRows` made from row keys and, for each row, a list of its cells."""
        return cls(rows, columns_of(cells), [cell.timestamp for row in cells for cell in row])

    @classmethod
    def joined(cls, parts: Iterable["CellRows"]) -> "CellRows":
        """Return one `CellRows` with the rows of several, in the order given."""
        rows, columns, timestamps = list[bytes](), Columns([], [], []), list[int | None]()
        for part in parts:
            rows += part.rows
            timestamps += part.timestamps
            for column, more in zip(columns, part.columns, strict=True):
                column.extend(more)  # type: ignore[attr-defined]
        return cls(rows, columns, timestamps)

    def replaced(self, rows: Mapping[int, Sequence[Cell]]) -> "CellRows":
        """Return a copy in which some rows have other cells; `rows` has the new cells by the position of the row."""

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
        """Return whether the rows have the same cells, as lists of lists are compared."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # As of lists.

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(self.columns.counts, initial=0))


def columns_of(rows: Sequence[list[Cell]]) -> Columns:
    """Return the cells of rows as columns; those of a `CellRows` are returned without a copy."""
    if isinstance(rows, CellRows):
        return rows.columns
    cells = list(chain.from_iterable(rows))
    keys = [cell.row + cell.qualifier for cell in cells]
    return Columns(list(map(len, rows)), keys, [cell.value for cell in cells])


class CellColumns(Sequence[Cell]):
    """Cells, read or to be written, as one column for each field of `Cell`; an item is a `Cell`, made when accessed."""

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
        """Return these cells as columns; a `CellColumns` is returned without a copy."""
        if isinstance(cells, CellColumns):
            return cells
        return cls(*zip(*cells, strict=True)) if cells else cls((), (), (), ())

    @cached_property
    def keys(self) -> list[bytes]:
        """The key of each cell in one byte string: its row followed by its qualifier."""
        return list(map(add, self.rows, self.qualifiers))

    def take(self, numbers: Sequence[int]) -> "CellColumns":
        """Return the cells at the positions `numbers`, in that order."""
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
        """Return whether the cells are the same, as lists are compared."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # As of lists.
