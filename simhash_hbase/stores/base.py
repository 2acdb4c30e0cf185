"""The interface `Store`: the calls that an index makes of a store, which keeps rows in byte order.

A store knows nothing of SimHash. It keeps three families: ``b`` holds *block rows*, keys of 13 bytes without a value:
a *prefix* of 5 bytes, by which they are scanned, and a fingerprint. ``d``, of documents, and ``m``, of the index as a
whole, hold *cells*: values under a row and a qualifier. No row of a family is a prefix of another one of that
family. Every store has the methods of `Store`, of which `compare_and_set` keeps writers apart; a `Transactional` store
also has transactions.

Every method may raise the errors of `simhash_hbase.errors` that are named there for stores, and no error of a driver.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument, Unsupported
from simhash_hbase.rows.keys import BlockRows
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FAMILY_INDEX

UNLIMITED = 2**31 - 2
"""A limit that nothing reaches: one less than the largest signed 32-bit count of a wire format."""


CellKey: TypeAlias = tuple[bytes, bytes]
"""Row and qualifier of a cell."""


class Cell(NamedTuple):
    """A cell of family ``d`` or ``m``: a value under a row and a qualifier."""

    row: bytes
    """The row key."""
    qualifier: bytes
    """The cell's name within its row."""
    value: bytes
    """The content; ignored when a cell is deleted."""
    timestamp: int | None = None
    """Milliseconds since 1970. If None is written, the store's clock stamps the cell; cells read have a number."""


class Swap(NamedTuple):
    """A compare-and-set of one cell of family ``d``: it is written only if it has the expected value."""

    row: bytes
    """The row key."""
    qualifier: bytes
    """The cell's name within its row."""
    expected: bytes | None
    """The whole value that the cell must have; None: there must be no cell."""
    value: bytes
    """The new value, stamped by the store's own clock, but never below the cell that it replaces."""


class PrefixScan(NamedTuple):
    """The block rows that a scan of prefixes found."""

    rows: BlockRows
    """The block rows found under all prefixes, sorted."""
    truncated: NDArray[np.uint64]
    """The prefixes that hold more rows than the limit, sorted; of these just the first rows are in `rows`."""


def first_rows(rows: BlockRows, limit: int) -> PrefixScan:
    """Return the first block rows of each prefix, at most `limit`, and the prefixes that have more.

    Parameters
    ----------
    rows : BlockRows
        Sorted block rows.
    limit : int
        Most rows of a prefix.
    """
    nothing = np.empty(0, dtype=np.uint64)
    # With fewer rows in all than one prefix may have, there is nothing to count.
    if len(rows.prefixes) <= limit:
        return PrefixScan(rows, nothing)
    starts = np.flatnonzero(np.concatenate(([True], rows.prefixes[1:] != rows.prefixes[:-1])))
    counts = np.diff(starts, append=len(rows.prefixes))
    if counts.max() <= limit:
        return PrefixScan(rows, nothing)
    kept = np.arange(len(rows.prefixes)) - np.repeat(starts, counts) < limit
    return PrefixScan(BlockRows(rows.prefixes[kept], rows.simhashes[kept]), rows.prefixes[starts[counts > limit]])


class StoreSize(NamedTuple):
    """The size of a store, as far as it is known without reading everything."""

    bytes: int | None
    """Bytes on disk; None where these are not known."""
    rows: dict[str, int] | None
    """By family the number of block rows (``b``) or cells (``d``, ``m``); None where counting means scanning."""


class DiskSpace(NamedTuple):
    """Used and free room, in bytes, on the disk of a store that is a folder."""

    used: int  # Bytes of the store.
    free: int  # Bytes that may still be written.


class RegionPlace(NamedTuple):
    """One region of an HBase table: a range of rows that one server serves."""

    start: bytes  # First row key of the region; empty for the first region.
    server: str  # ``host:port``; empty while no server serves it.


class Traffic(NamedTuple):
    """Connections and retries of a store that is reached over a network."""

    connections: int  # Open connections, in use or idle.
    in_use: int  # Connections that calls hold at this moment.
    most: int  # The largest number of connections allowed.
    retries: int  # Calls that were repeated since the store was opened.


class Store(Protocol):
    """The interface of a store, a place that keeps the rows of an index in byte order.

    Methods with a body are the defaults for a store that is neither a folder of this machine nor spread over servers.
    """

    is_sorted: bool = True
    """Whether a narrow range of rows is read faster than all rows."""
    gathers: bool = False
    """Whether many transactions take less time as one, in a block of `gathered`."""

    @property
    def url(self) -> str:
        """The address of the store as a user would write it, such as ``file:/path``, without passwords."""

    def scan(self, prefixes: NDArray[np.uint64], *, limit: int) -> PrefixScan:
        """Return the block rows under many prefixes, and the prefixes that have more rows than `limit`.

        Parameters
        ----------
        prefixes : ndarray of uint64, shape (n,)
            ``segment << 8 | flag``, the first 5 bytes of a key as an integer, sorted, without repeats; ten for one
            query, a million for a batch of a hundred thousand.
        limit : int
            Most rows of a prefix, in byte order: in a query `max_rows_per_prefix` of the profile.
        """

    def has_rows(self, rows: BlockRows) -> NDArray[np.bool_]:
        """Return a mask of these sorted block rows: whether each is in the store, however many share its prefix."""

    def scan_range(self, start: int, stop: int, *, page: int) -> Iterator[BlockRows]:
        """Return an iterator over all block rows with prefixes in a range, in order, a page at a time.

        Rows that are written or deleted meanwhile may or may not be seen; every other row is seen once.

        Parameters
        ----------
        start, stop : int
            Prefixes, stop exclusive; ``0`` and ``1 << 40`` read all.
        page : int
            Most rows of a page; a page is never empty.
        """

    def put_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        """Write sorted block rows; a row that is there already stays one row.

        A store with deletes that hide later writes needs the timestamp, in milliseconds; others ignore it.
        """

    def delete_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        """Delete block rows written at or before the timestamp; a row that is not there is no error."""

    def put(self, family: str, cells: Sequence[Cell]) -> None:
        """Write cells of family ``d`` or ``m``.

        The cell with the highest of several explicit timestamps is read afterwards, in whatever order they were
        written, and writing one again changes nothing. A cell with the timestamp None replaces the cell there. Do not
        write at or below the timestamp of a delete of the same cell: a store may hide such a write. A call that fails
        may have written a part; the same call repeated completes it. The cells may be a
        `simhash_hbase.stores.columns.CellColumns`, whose columns can be read without making a `Cell` for each.
        """

    def get(self, family: str, keys: Sequence[CellKey]) -> list[Cell | None]:
        """Return single cells of family ``d`` or ``m`` by row and qualifier; keys come in any order, repeats allowed.

        Returns
        -------
        list of Cell or None
            One for each key, in that order; None where there is no such cell.
        """

    def get_rows(self, family: str, rows: Sequence[bytes], *, limit: int) -> Sequence[list[Cell]]:
        """Return the cells of many rows of a family, up to a limit for each row.

        Parameters
        ----------
        family : str
            ``d`` or ``m``.
        rows : sequence of bytes
            Row keys in any order; repeats allowed.
        limit : int
            Most cells of a row, in the order of their qualifiers.

        Returns
        -------
        sequence of list of Cell
            One list for each row asked for, in that order; empty where the row is not there. It may be a
            `simhash_hbase.stores.columns.CellRows`, whose columns can be read without the cells.
        """

    def read_row(self, family: str, row: bytes, *, after: bytes, limit: int) -> list[Cell]:
        """Return the next cells of one row with very many: those with qualifiers after `after`, in order.

        ``b""`` begins with the first qualifier that is not empty. There are fewer than `limit` only at the row's end.
        """

    def delete(self, family: str, cells: Sequence[Cell]) -> None:
        """Delete cells by row and qualifier, unless they are newer than the given timestamp, which must be a number.

        A cell that is not there, or is newer, is no error.
        """

    def scan_cells(self, family: str, start: bytes, stop: bytes | None, *, page: int) -> Iterator[list[Cell]]:
        """Return an iterator over pages of the cells of a family, in order of row and qualifier.

        Parameters
        ----------
        family : str
            ``d`` or ``m``.
        start, stop : bytes
            Row keys, stop exclusive; ``b""`` and None read all.
        page : int
            Most cells of a page; a page is never empty, and its end may cut a row.
        """

    def compare_and_set(self, swaps: Sequence[Swap]) -> list[bool]:
        """Replace cells of family ``d``, each by itself and in the order given, if they have the expected value.

        Returns
        -------
        list of bool
            True where the expected value was found and replaced. After a call that failed, each swap may or may not
            have taken effect: read the cell, never repeat the swap.
        """

    def size(self) -> StoreSize:
        """Return the size of the store, as far as it is known without a scan."""

    def close(self) -> None:
        """Release files and connections; the store is not used afterwards. A second call does nothing.

        Calls of a store outside of this process raise `IndexClosed` from then on.
        """

    def gathered(self) -> AbstractContextManager[None]:
        """Return a context for a ``with`` block in which all transactions of this thread are gathered in one.

        They take effect together when the block ends without an exception, and not at all otherwise: leave the block
        with the exception of a transaction that failed. Where the store has no room for many, each is committed alone.
        """
        return nullcontext()

    def is_awaited(self) -> bool:
        """Return whether another thread or process waits for a block of `gathered` to end, to write to the store."""
        return False

    def gathered_bytes(self) -> int:
        """Return roughly how many bytes of memory an open block of `gathered` takes; 0 without one."""
        return 0

    def check_readable(self) -> None:
        """Read all files of the store, and raise `CorruptIndex` if they cannot be read, as they are damaged.

        Another process reads them, since damage may end it.
        """
        return

    def check_writable(self) -> None:
        """Raise `StoreReadonly` or `StoreFull` if a write of ordinary size would fail now; nothing is written."""
        return

    def backup(self, destination: str) -> None:
        """Write a consistent copy of the store, while it is in use, to a path that does not exist yet.

        Raises
        ------
        Unsupported
            When the store is no folder of this machine.
        """
        raise Unsupported(f"{self.url} cannot be copied by backup; see docker/README.md, Back up")

    def space(self) -> DiskSpace | None:
        """Return used and free bytes on the disk of a store that is a folder; None for other stores."""
        return None

    def regions(self) -> list[RegionPlace] | None:
        """Return the regions of the HBase table, in the order of their keys; None for other stores."""
        return None

    def traffic(self) -> Traffic | None:
        """Return the store's numbers of network connections and retries; None where it does not count them."""
        return None

    @property
    def shortfalls(self) -> Sequence[str]:
        """A clause for each setting that the table should have and lacks; empty unless this object made the table."""
        return ()


@runtime_checkable
class Transactional(Protocol):
    """A store in which several calls take effect together or not at all."""

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context for a ``with`` block that is one transaction, during which nobody else writes to the store.

        Calls inside the block have the store for themselves, and their changes are kept only when the block ends
        without an exception. Other threads and processes wait: keep the block short. Transactions do not nest.
        """


def atomically(store: Store) -> AbstractContextManager[None]:
    """Return a context that is a transaction of the store, or does nothing if the store has no transactions."""
    return store.transaction() if isinstance(store, Transactional) else nullcontext()


CELL_FAMILIES = (FAMILY_DOCUMENTS, FAMILY_INDEX)


def check_positive(name: str, value: int) -> None:
    """Raise `InvalidArgument` if a value, such as a limit or a page size, is below one; `name` is for the message."""
    if value < 1:
        raise InvalidArgument(f"{name} is {value}: wanted at least 1")


def check_cell_family(family: str, **sizes: int) -> None:
    """Raise `InvalidArgument` for a family other than ``d`` and ``m``, and for limits and page sizes below one."""
    if family not in CELL_FAMILIES:
        raise InvalidArgument(f"family {family!r}: cells are kept in {' and '.join(CELL_FAMILIES)}")
    for name, value in sizes.items():
        check_positive(name, value)


def check_deletions(family: str, cells: Iterable[Cell]) -> None:
    """Raise `InvalidArgument` for a family other than ``d`` and ``m``, and for a cell without a timestamp."""
    check_cell_family(family)
    for cell in cells:
        if cell.timestamp is None:
            raise InvalidArgument(f"deleting a cell of row {cell.row.hex()} needs a timestamp up to which to delete")
