"""The interface `Driver`: the calls of HBase that a store makes, by Thrift 1, by Thrift 2 or without a gateway."""

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
    """HBase denies a call for lack of permission, that of its caller or that of the gateway's user."""


class TableDescription(NamedTuple):
    """A table as HBase describes it: settings and first keys of regions; Thrift 1 leaves out some settings."""

    families: Mapping[str, Mapping[str, str]]
    """Settings and configuration of each family, by the names of the HBase shell."""
    attributes: Mapping[str, str]  # Attributes of the table itself.
    split_keys: list[bytes]  # First keys of all regions but the first.


class Driver(Protocol):
    """The calls of HBase that a store makes, each as a conversation: a generator of calls that gets their answers.

    Each interface of HBase (Thrift 1, Thrift 2, its own RPC) has a subclass. An `Exchange` runs conversations. Reads,
    writes with a timestamp and deletes may be repeated from their beginning; `swap` and writes that the server stamps
    may not. The caller bounds the lists.
    """

    prefixes_per_scan: int  # How many prefixes `scan_keys` takes.
    makes_everything: bool  # Whether `create` makes a table with all that a schema asks for.
    rows_per_get: int  # How many rows or cells `get`, `get_rows` and `has_keys` take.
    scanned_rows: int  # Least number of rows of one region that `get_rows` reads faster by a scan than by gets.

    def scan_keys(
        self, start: bytes, stop: bytes, rows: int, prefixes: NDArray[np.uint64] | None = None, *, walk: bool = False
    ) -> Conversation[list[bytes]]:
        """Read the keys of at most `rows` block rows (prefix and fingerprint) in ``[start, stop)``.

        An empty stop means all. With `prefixes`, which are sorted, only rows with one of these are returned; `start`
        then lies under the first one. With `walk`, for reads of a whole table, the servers do not cache what they read,
        since queries need the cache.
        """

    def has_keys(self, keys: Sequence[bytes]) -> Conversation[list[bool]]:
        """Return for each key of a block row (prefix and fingerprint) whether the row is there.

        No key is given twice.
        """

    def scan_cells(
        self, family: str, start: bytes, stop: bytes, rows: int, row_part: int
    ) -> Conversation[list[list[Cell]]]:
        """Read the cells of rows in ``[start, stop)`` as at most `rows` parts of rows; an empty stop means all.

        A part has at most `row_part` cells, all of one row, so a longer row is cut into several.
        """

    def row_tail(
        self, family: str, row: bytes, after: bytes, limit: int, *, walk: bool = False
    ) -> Conversation[list[Cell]]:
        """Read the cells of one row whose qualifiers come after `after`, at most `limit`; `walk` as for `scan_keys`."""

    def get(self, family: str, keys: Sequence[CellKey]) -> Conversation[list[Cell | None]]:
        """Return single cells in the order of their keys (row and qualifier), None where there is no such cell."""

    def get_rows(self, family: str, rows: Sequence[bytes], limit: int, *, scan: bool = False) -> Conversation[CellRows]:
        """Read the first `limit` cells of each of some rows, which are sorted and named once.

        With `scan`, one scan goes through the rows' regions one after the other; without it, all regions are asked at
        once.
        """

    def put_keys(self, keys: Sequence[bytes], timestamp: int) -> Conversation[None]:
        """Write block rows, which consist of their keys, a prefix and a fingerprint each, at a timestamp in ms."""

    def delete_keys(self, keys: Sequence[bytes], timestamp: int) -> Conversation[None]:
        """Delete block rows, given by their keys, a prefix and a fingerprint each: all versions up to a timestamp."""

    def put(self, family: str, cells: Sequence[Cell]) -> Conversation[None]:
        """Write cells, each at its timestamp, or at the server's time where that is None."""

    def delete(self, family: str, cells: Sequence[Cell]) -> Conversation[None]:
        """Delete cells: of each, all versions up to its timestamp."""

    def swap(self, swap: Swap) -> Conversation[bool]:
        """Change one cell by compare-and-set; return whether the cell had the expected value and was changed."""

    def regions(self) -> Conversation[list[RegionPlace]]:
        """Return the first key and the server of each region of the table, sorted by key."""

    def create(self, schema: TableSchema) -> Conversation[None]:
        """Make the table with a schema, as far as the interface allows; see `makes_everything`."""

    def describe(self) -> Conversation[TableDescription | None]:
        """Return the table's description with the first keys of its regions; None where there is no such table."""

    def is_disabled(self) -> Conversation[bool]:
        """Return whether an operator has disabled the table, so that it can be neither read nor written."""


def row_parts(parts: list[list[Cell]]) -> list[list[Cell]]:
    """Return the parts of rows in an answer, lists of cells, as they are; raise `UnreadableAnswer` if one is empty."""
    if not all(parts):
        raise UnreadableAnswer("a row without cells came")
    return parts
