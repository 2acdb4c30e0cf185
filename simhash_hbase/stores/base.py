"""The seam: what the index asks of a place that keeps rows in byte order.

A store knows nothing of SimHash. It keeps three families: ``b`` holds *block rows*, keys of 13 bytes without a value;
``d`` and ``m`` hold *cells*, values under a row and a qualifier. No row of a family is a prefix of another one of that
family. The methods are the few that every store can do; what only some can do is a protocol of its own below.

Every method may raise the errors of `simhash_hbase.errors` named there for stores; none lets a driver's own error out.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.rows.keys import BlockRows

UNLIMITED = 2**31 - 2
"""A limit that none reaches: one less than a signed 32-bit count on a wire can say."""


class Cell(NamedTuple):
    """One value of families ``d`` and ``m``."""

    row: bytes
    """The row key."""
    qualifier: bytes
    """The cell's name within its row."""
    value: bytes
    """What it holds; when a cell is deleted, ignored."""
    timestamp: int | None = None
    """Milliseconds. Written with None, the store's own clock stamps the cell; read, it is always a number."""


class Swap(NamedTuple):
    """A compare-and-set of one cell of family ``d``."""

    row: bytes
    """The row key."""
    qualifier: bytes
    """The cell's name within its row."""
    expected: bytes | None
    """The whole value that must stand there; None: there must be none."""
    value: bytes
    """The new value, stamped by the store's own clock."""


class PrefixScan(NamedTuple):
    """What a scan of prefixes found."""

    rows: BlockRows
    """All rows found, sorted."""
    truncated: NDArray[np.uint64]
    """The prefixes that hold more rows than the limit, sorted; of these just the first rows are in `rows`."""


class StoreSize(NamedTuple):
    """How large a store is, as far as it can tell without reading everything."""

    bytes: int | None
    """Bytes on disk, or None."""
    rows: dict[str, int] | None
    """Block rows of ``b``, cells of ``d`` and ``m``; None where counting means scanning."""


class RegionPlace(NamedTuple):
    """One region: a range of rows that one server serves."""

    start: bytes
    """Its first row key; empty for the first region."""
    server: str
    """``host:port``; empty while no server serves it."""


class Traffic(NamedTuple):
    """How a store that is reached over a network is doing."""

    connections: int
    """Connections that are open, in use or waiting for it."""
    in_use: int
    """Connections that calls hold at this moment."""
    most: int
    """Connections that there may be."""
    retries: int
    """Calls that were made again since the store was opened."""


class Store(Protocol):
    """A place that keeps rows in byte order."""

    @property
    def url(self) -> str:
        """The address, as a user would write it; no secret in it."""

    def scan(self, prefixes: NDArray[np.uint64], *, limit: int) -> PrefixScan:
        """Find the block rows under many prefixes.

        Parameters
        ----------
        prefixes : ndarray of uint64, shape (n,)
            ``segment << 8 | flag``, sorted, without repeats; from the ten of one query to the million of
            a batch of a hundred thousand.
        limit : int
            Rows a prefix at most, in byte order.

        Returns
        -------
        PrefixScan
        """

    def has_rows(self, rows: BlockRows) -> NDArray[np.bool_]:
        """Look up single block rows, however many others lie under their prefixes.

        Parameters
        ----------
        rows : BlockRows
            Sorted, as `simhash_hbase.rows.keys.block_rows` makes them.

        Returns
        -------
        ndarray of bool
            For each of them whether it is there.
        """

    def scan_range(self, start: int, stop: int, *, page: int) -> Iterator[BlockRows]:
        """Read block rows in order, a page at a time.

        Parameters
        ----------
        start, stop : int
            Prefixes, stop exclusive; ``0`` and ``1 << 40`` read all.
        page : int
            Rows a page at most; a page is never empty. Rows written or deleted behind the reader's back
            meanwhile may or may not be seen; all others are seen once.
        """

    def put_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        """Write block rows; a row that is there already stays one row.

        Parameters
        ----------
        rows : BlockRows
            Sorted, as `simhash_hbase.rows.keys.block_rows` makes them.
        timestamp : int
            Milliseconds. A store with deletes that hide later writes needs it; others ignore it.
        """

    def delete_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        """Delete block rows written at or before the timestamp; a row that is not there is no error."""

    def put(self, family: str, cells: Sequence[Cell]) -> None:
        """Write cells.

        With an explicit timestamp the cell with the highest one is the one that is read afterwards, whatever
        the order of the writes, and writing one again changes nothing. With None it replaces what is there.
        Not to be called with an explicit timestamp at or below that of a delete of the same cell: a store may
        hide such a write. When it fails, part may have been written; the same call repeated completes it.
        """

    def get(self, family: str, keys: Sequence[tuple[bytes, bytes]]) -> list[Cell | None]:
        """Read single cells.

        Parameters
        ----------
        family : str
            ``d`` or ``m``.
        keys : sequence of (row, qualifier)
            In any order; repeats allowed.

        Returns
        -------
        list of Cell or None
            One for each key, in that order; None where there is no such cell.
        """

    def get_rows(self, family: str, rows: Sequence[bytes], *, limit: int) -> list[list[Cell]]:
        """Read many rows whole.

        Parameters
        ----------
        family : str
            ``d`` or ``m``.
        rows : sequence of bytes
            Row keys in any order; repeats allowed.
        limit : int
            Cells a row at most, in the order of their qualifiers.

        Returns
        -------
        list of list of Cell
            One list for each row asked for, in that order; empty where the row is not there.
        """

    def read_row(self, family: str, row: bytes, *, after: bytes, limit: int) -> list[Cell]:
        """Read on in one row, which may be wide.

        Parameters
        ----------
        family : str
            ``d`` or ``m``.
        row : bytes
            Its key.
        after : bytes
            Only cells whose qualifiers come behind this one are read.
        limit : int
            Cells at most, in the order of their qualifiers.

        Returns
        -------
        list of Cell
            Fewer than the limit only at the end of the row.
        """

    def delete(self, family: str, cells: Sequence[Cell]) -> None:
        """Delete cells with a timestamp at or below the given one, in all their versions.

        A cell that is not there, or is newer, is no error. A timestamp must be given.
        """

    def scan_cells(self, family: str, start: bytes, stop: bytes | None, *, page: int) -> Iterator[list[Cell]]:
        """Read the cells of a family in order of row and qualifier, a page at a time.

        Parameters
        ----------
        family : str
            ``d`` or ``m``.
        start, stop : bytes
            Row keys, stop exclusive; ``b""`` and None read all.
        page : int
            Cells a page at most; a page is never empty, and a row may be cut by its end.
        """

    def size(self) -> StoreSize:
        """Tell how large the store is."""

    def close(self) -> None:
        """Let go of files and connections; the store is not used afterwards. A second call does nothing."""


@runtime_checkable
class CompareAndSet(Protocol):
    """A store that changes a cell only if it holds what the caller thinks."""

    def compare_and_set(self, swaps: Sequence[Swap]) -> list[bool]:
        """Change cells of family ``d``, each by itself, in the order given.

        Returns
        -------
        list of bool
            True where the expected value stood and was replaced. When the call fails, each swap may or may
            not have taken effect: read the cell, never repeat the swap.
        """


@runtime_checkable
class Transactional(Protocol):
    """A store whose calls can be made to happen all together or not at all."""

    def transaction(self) -> AbstractContextManager[None]:
        """Hold the store for writing.

        What is called inside sees and changes it alone, and is kept only when the block ends without an exception.
        Other threads and processes wait; keep the block short. Not nested.
        """


@runtime_checkable
class Backup(Protocol):
    """A store that can copy itself while it is in use."""

    def backup(self, destination: str) -> None:
        """Write a consistent copy; the destination must not exist yet.

        Raises
        ------
        InvalidArgument
            When there is something at the destination.
        """


@runtime_checkable
class SelfChecked(Protocol):
    """A store that can look for damage which would end a process that reads it."""

    def check_readable(self) -> None:
        """Read everything, where a crash harms nobody.

        Raises
        ------
        CorruptIndex
            When reading ended with a crash.
        """


@runtime_checkable
class Networked(Protocol):
    """A store that is reached over a network and counts how that goes."""

    def traffic(self) -> Traffic:
        """Tell how many connections there are, and how often calls had to be repeated."""


@runtime_checkable
class Regional(Protocol):
    """A store whose rows are spread over regions."""

    def regions(self) -> list[RegionPlace]:
        """Tell the regions as they are now, in the order of their keys."""


@runtime_checkable
class Shortfalls(Protocol):
    """A store whose place may not be made just as asked."""

    @property
    def shortfalls(self) -> Sequence[str]:
        """What is not as it should be, a clause each; empty but after making it."""


@runtime_checkable
class CellCounts(Protocol):
    """A store without ranges that still counts its cells by the kind of their rows."""

    def count_cells(self, family: str, flag: int) -> int:
        """Count the cells of a family's rows of one flag, the fifth byte of their keys."""


def atomically(store: Store) -> AbstractContextManager[None]:
    """Hold a store for writing where it has transactions; elsewhere do nothing.

    Parameters
    ----------
    store : Store
        Any.

    Returns
    -------
    context manager
        ``store.transaction()``, or one that does nothing.
    """
    return store.transaction() if isinstance(store, Transactional) else nullcontext()
