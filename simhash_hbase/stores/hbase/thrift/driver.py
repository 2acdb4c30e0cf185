"""The calls that the store needs of either Thrift interface."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.rows.layout import BLOCK_ROW_BYTES
from simhash_hbase.stores.base import Cell, CellKey, RegionPlace, Swap
from simhash_hbase.stores.columns import CellRows
from simhash_hbase.stores.hbase.table import TableSchema
from simhash_hbase.stores.hbase.thrift.channel import UnreadableAnswer
from simhash_hbase.stores.hbase.thrift.exchange import Conversation

T = TypeVar("T")


class TableDescription(NamedTuple):
    """A table as a gateway describes it; Thrift 1 leaves out some settings."""

    families: Mapping[str, Mapping[str, str]]
    """Settings and configuration of each family, by the names of the HBase shell."""
    attributes: Mapping[str, str]  # Attributes of the table itself.
    split_keys: list[bytes]  # First keys of all regions but the first.


class Driver(Protocol):
    """The calls of one Thrift interface, as conversations.

    Reads, writes with a timestamp and deletes may be held again from their beginning; `swap` and writes that the
    server stamps may not. Lists are bounded by the caller.
    """

    prefixes_per_scan: int  # How many prefixes `scan_keys` takes.
    makes_everything: bool  # Whether `create` makes a table with all that a schema asks for.
    rows_per_get: int  # How many rows or cells `get`, `get_rows` and `has_keys` take.
    scanned_rows: int  # From how many rows of one region on a scan by `get_rows` takes less than a get each.

    def scan_keys(
        self, start: bytes, stop: bytes, rows: int, prefixes: NDArray[np.uint64] | None = None, *, walk: bool = False
    ) -> Conversation[list[bytes]]:
        """Read the keys of at most `rows` block rows in ``[start, stop)``; an empty stop means all.

        With sorted prefixes, only their rows are returned; `start` is then a row of the first one. A walk over
        everything bypasses the servers' cache, which queries need.
        """

    def has_keys(self, keys: Sequence[bytes]) -> Conversation[list[bool]]:
        """Look up keys of block rows, none twice."""

    def scan_cells(
        self, family: str, start: bytes, stop: bytes, rows: int, row_part: int
    ) -> Conversation[list[list[Cell]]]:
        """Walk over the cells of at most `rows` parts of rows; a part holds at most `row_part` cells of one row."""

    def row_tail(
        self, family: str, row: bytes, after: bytes, limit: int, *, walk: bool = False
    ) -> Conversation[list[Cell]]:
        """Read the cells of one row whose qualifiers come after one."""

    def get(self, family: str, keys: Sequence[CellKey]) -> Conversation[list[Cell | None]]:
        """Read single cells, in the order of the keys."""

    def get_rows(self, family: str, rows: Sequence[bytes], limit: int, *, scan: bool = False) -> Conversation[CellRows]:
        """Read the first cells of rows, sorted and none twice.

        A scan goes from region to region, one after the other; gets go to all at once.
        """

    def put_keys(self, keys: Sequence[bytes], timestamp: int) -> Conversation[None]:
        """Write block rows."""

    def delete_keys(self, keys: Sequence[bytes], timestamp: int) -> Conversation[None]:
        """Delete block rows in all versions up to the timestamp."""

    def put(self, family: str, cells: Sequence[Cell]) -> Conversation[None]:
        """Write cells, each at its timestamp or at the server's time."""

    def delete(self, family: str, cells: Sequence[Cell]) -> Conversation[None]:
        """Delete cells in all versions up to their timestamps."""

    def swap(self, swap: Swap) -> Conversation[bool]:
        """Change one cell if it holds the expected value."""

    def regions(self) -> Conversation[list[RegionPlace]]:
        """Read where the table's regions begin and who serves them, sorted."""

    def create(self, schema: TableSchema) -> Conversation[None]:
        """Make the table, as far as the interface allows."""

    def describe(self) -> Conversation[TableDescription | None]:
        """Read the table's description and its regions; None where there is no such table."""

    def is_disabled(self) -> Conversation[bool]:
        """Ask whether the table is disabled."""


def after_qualifier(qualifier: bytes) -> bytes:
    """Write the filter for cells after one, in HBase's filter language.

    Examples
    --------
    >>> after_qualifier(b"it's")
    b"ColumnRangeFilter ('it''s', false, '', false)"
    """
    return b"ColumnRangeFilter ('" + qualifier.replace(b"'", b"''") + b"', false, '', false)"


def region_place(start: bytes | None, host: bytes | None, port: int | None) -> RegionPlace:
    """Make a region's place from the answer of either interface.

    Examples
    --------
    >>> region_place(None, b"node7", 16020)
    RegionPlace(start=b'', server='node7:16020')
    """
    return RegionPlace(start or b"", f"{host.decode()}:{port}" if host else "")


def present(values: list[T | None]) -> list[T]:
    """Return parts of an answer that must be there; raise `UnreadableAnswer` if one is absent."""
    if None in values:
        raise UnreadableAnswer("a part of an answer is absent")
    return cast(list[T], values)


def whole(cells: list[Cell]) -> list[Cell]:
    """Return cells, no part of which is absent."""
    if any(None in cell for cell in cells):
        raise UnreadableAnswer("a part of a cell is absent")
    return cells


def block_keys(results: Sequence[Any]) -> list[bytes]:
    """Return the keys of block rows."""
    keys = present([result.row for result in results])
    if keys and set(map(len, keys)) != {BLOCK_ROW_BYTES}:
        raise UnreadableAnswer("a key of a block row has another length")
    return keys


def row_parts(parts: list[list[Cell]]) -> list[list[Cell]]:
    """Return parts of rows, each of which has a cell."""
    if not all(parts):
        raise UnreadableAnswer("a row without cells came")
    return parts


def decoded(value: bytes | str) -> str:
    """Decode a name or a setting, which a gateway may send as either type."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def boolean(value: object) -> str:
    """Write a setting as the HBase shell does."""
    return "true" if value else "false"
