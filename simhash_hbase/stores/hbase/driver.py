"""The interface `Driver`: the calls of HBase that the store makes, by Thrift 1, by Thrift 2 or without a gateway."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import StoreRefused
from simhash_hbase.stores.base import Cell, CellKey, RegionPlace, Swap
from simhash_hbase.stores.columns import CellRows
from simhash_hbase.stores.hbase.exchange import Conversation
from simhash_hbase.stores.hbase.sockets import UnreadableAnswer
from simhash_hbase.stores.hbase.table import TableSchema


class AccessDenied(StoreRefused):
    """HBase denies a call, to the user who calls or to the user of the gateway."""


class TableDescription(NamedTuple):
    """A table as HBase describes it; Thrift 1 leaves out some settings."""

    families: Mapping[str, Mapping[str, str]]
    """Settings and configuration of each family, by the names of the HBase shell."""
    attributes: Mapping[str, str]  # Attributes of the table itself.
    split_keys: list[bytes]  # First keys of all regions but the first.


class Driver(Protocol):
    """The calls of one interface of HBase, as conversations; see `exchange.Conversation`.

    Reads, writes with a timestamp and deletes may be repeated from their beginning; `swap` and writes that the server
    stamps may not. The caller bounds the lists.
    """

    prefixes_per_scan: int  # How many prefixes `scan_keys` takes.
    makes_everything: bool  # Whether `create` makes a table with all that a schema asks for.
    rows_per_get: int  # How many rows or cells `get`, `get_rows` and `has_keys` take.
    scanned_rows: int  # Least number of rows of one region that `get_rows` reads faster by a scan than by gets.

    def scan_keys(
        self, start: bytes, stop: bytes, rows: int, prefixes: NDArray[np.uint64] | None = None, *, walk: bool = False
    ) -> Conversation[list[bytes]]:
        """Read the keys of at most `rows` block rows in ``[start, stop)``; an empty stop means all.

        With sorted prefixes, only their rows are returned; `start` is then a row of the first one. A walk over
        everything bypasses the servers' cache, which queries need.
        """

    def has_keys(self, keys: Sequence[bytes]) -> Conversation[list[bool]]:
        """Return for each key of a block row, none twice, whether the row is there."""

    def scan_cells(
        self, family: str, start: bytes, stop: bytes, rows: int, row_part: int
    ) -> Conversation[list[list[Cell]]]:
        """Read the cells of at most `rows` parts of rows; a part has at most `row_part` cells of one row."""

    def row_tail(
        self, family: str, row: bytes, after: bytes, limit: int, *, walk: bool = False
    ) -> Conversation[list[Cell]]:
        """Read the cells of one row whose qualifiers come after `after`, at most `limit`."""

    def get(self, family: str, keys: Sequence[CellKey]) -> Conversation[list[Cell | None]]:
        """Return single cells in the order of their keys, None where there is none."""

    def get_rows(self, family: str, rows: Sequence[bytes], limit: int, *, scan: bool = False) -> Conversation[CellRows]:
        """Read the first cells of rows, sorted and none twice.

        A scan goes from region to region, one after the other; gets go to all at once.
        """

    def put_keys(self, keys: Sequence[bytes], timestamp: int) -> Conversation[None]:
        """Write block rows, which are given by their keys."""

    def delete_keys(self, keys: Sequence[bytes], timestamp: int) -> Conversation[None]:
        """Delete block rows, which are given by their keys, in all versions up to the timestamp."""

    def put(self, family: str, cells: Sequence[Cell]) -> Conversation[None]:
        """Write cells, each at its timestamp or at the server's time."""

    def delete(self, family: str, cells: Sequence[Cell]) -> Conversation[None]:
        """Delete cells in all versions up to their timestamps."""

    def swap(self, swap: Swap) -> Conversation[bool]:
        """Change one cell if it has the expected value, and return whether it had."""

    def regions(self) -> Conversation[list[RegionPlace]]:
        """Return the first keys of the table's regions and their servers, sorted."""

    def create(self, schema: TableSchema) -> Conversation[None]:
        """Make the table, as far as the interface allows."""

    def describe(self) -> Conversation[TableDescription | None]:
        """Return the table's description with the first keys of its regions; None where there is no such table."""

    def is_disabled(self) -> Conversation[bool]:
        """Return whether the table is disabled."""


def row_parts(parts: list[list[Cell]]) -> list[list[Cell]]:
    """Return parts of rows; raise `UnreadableAnswer` if one has no cell."""
    if not all(parts):
        raise UnreadableAnswer("a row without cells came")
    return parts
