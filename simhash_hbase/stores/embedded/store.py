"""The store over one folder: each call of the seam is one transaction, or part of the one that is open."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.clock import now_ms
from simhash_hbase.errors import CorruptIndex, InvalidArgument, StoreUnavailable
from simhash_hbase.rows.keys import BlockRows
from simhash_hbase.rows.layout import FAMILIES, FAMILY_BLOCKS, FAMILY_DOCUMENTS
from simhash_hbase.stores.arguments import check_cell_family, check_deletions, check_positive
from simhash_hbase.stores.base import Cell, PrefixScan, StoreSize, Swap
from simhash_hbase.stores.embedded import cells as cells_of
from simhash_hbase.stores.embedded import rows as rows_of
from simhash_hbase.stores.embedded.copies import new_partial
from simhash_hbase.stores.embedded.environment import HOT_PREFIXES, Environment, Transaction
from simhash_hbase.stores.embedded.folder import holds_index
from simhash_hbase.stores.embedded.options import EmbeddedOptions
from simhash_hbase.stores.embedded.registry import acquire, release
from simhash_hbase.stores.embedded.translate import translated

U64 = np.uint64
T = TypeVar("T")
P = TypeVar("P", bytes, tuple[int, int])


class EmbeddedStore:
    """Rows in one folder of this machine; made by `create` and `open`.

    Implements `Store`, `CompareAndSet`, `Transactional`, `Backup` and `SelfChecked`. Threads may share a store, and
    several processes a folder: reads never wait, writes wait for one another. Each write outside a transaction is
    committed, and with `EmbeddedOptions.durable` on the disk, when the call returns. After a fork, parent and child may
    both go on; fork while no thread of the process reads, since the child ends the reads that it inherits. Not for
    network file systems: LMDB needs a memory map and locks that all its users share. A user who may not write the lock
    file reads all the same; such a read is made again when commits came in between.

    Examples
    --------
    >>> import tempfile, os
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = EmbeddedStore.create(os.path.join(folder.name, "index"))
    >>> store.put("m", [Cell(b"row", b"v", b"one", 7)])
    >>> store.get("m", [(b"row", b"v")])
    [Cell(row=b'row', qualifier=b'v', value=b'one', timestamp=7)]
    >>> store.close()
    >>> folder.cleanup()
    """

    def __init__(
        self, environment: Environment, path: str, *, readonly: bool = False, clock: Callable[[], int] | None = None
    ) -> None:
        self._shared: Environment | None = environment
        self._path = path
        self._options = environment.options
        self._readonly = readonly
        self._clock = clock or now_ms

    @classmethod
    def create(
        cls, path: str, options: EmbeddedOptions | None = None, *, clock: Callable[[], int] | None = None
    ) -> "EmbeddedStore":
        """Make a new index in a folder that is not there yet, or is empty."""
        return cls(acquire(path, options or EmbeddedOptions(), create=True), os.path.abspath(path), clock=clock)

    @classmethod
    def open(
        cls,
        path: str,
        options: EmbeddedOptions | None = None,
        *,
        readonly: bool = False,
        clock: Callable[[], int] | None = None,
    ) -> "EmbeddedStore":
        """Open an index."""
        shared = acquire(path, options or EmbeddedOptions())
        return cls(shared, os.path.abspath(path), readonly=readonly, clock=clock)

    @staticmethod
    def exists(path: str) -> bool:
        """Tell whether a folder has the files of an index; whether they are sound is told by `open`."""
        return holds_index(path)

    @property
    def url(self) -> str:
        """The address, as a user would write it."""
        return f"file:{self._path}"

    def scan(self, prefixes: NDArray[np.uint64], *, limit: int) -> PrefixScan:
        """Find the block rows under many prefixes; see `Store.scan`."""
        check_positive("limit", limit)
        shared = self._environment()
        blocks, hot = shared.databases[FAMILY_BLOCKS], shared.databases[HOT_PREFIXES]
        return shared.read(lambda transaction: rows_of.scan(transaction, blocks, hot, prefixes, limit))

    def has_rows(self, rows: BlockRows) -> NDArray[np.bool_]:
        """Look up single block rows; see `Store.has_rows`."""
        shared = self._environment()
        return shared.read(lambda transaction: rows_of.has_rows(transaction, shared.databases[FAMILY_BLOCKS], rows))

    def scan_range(self, start: int, stop: int, *, page: int) -> Iterator[BlockRows]:
        """Read block rows in order, a page at a time; see `Store.scan_range`. Each page is one short transaction."""
        check_positive("page", page)
        return self._pages_of_rows(start, stop, page)

    def put_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        """Write block rows; see `Store.put_rows`. The timestamp is not needed here."""
        databases = self._environment().databases
        blocks, hot = databases[FAMILY_BLOCKS], databases[HOT_PREFIXES]
        if len(rows.prefixes):
            self._write(lambda transaction: rows_of.put_rows(transaction, blocks, hot, rows))

    def delete_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        """Delete block rows; see `Store.delete_rows`. The timestamp is not needed here."""
        blocks = self._environment().databases[FAMILY_BLOCKS]
        self._write(lambda transaction: rows_of.delete_rows(transaction, blocks, rows))

    def put(self, family: str, cells: Sequence[Cell]) -> None:
        """Write cells, all or none; see `Store.put`."""
        check_cell_family(family)
        database = self._environment().databases[family]
        self._write(lambda transaction: cells_of.put_cells(transaction, database, cells, self._clock))

    def get(self, family: str, keys: Sequence[tuple[bytes, bytes]]) -> list[Cell | None]:
        """Read single cells; see `Store.get`."""
        check_cell_family(family)
        shared = self._environment()
        return shared.read(lambda transaction: cells_of.get_cells(transaction, shared.databases[family], keys))

    def get_rows(self, family: str, rows: Sequence[bytes], *, limit: int) -> list[list[Cell]]:
        """Read many rows whole; see `Store.get_rows`."""
        check_cell_family(family)
        check_positive("limit", limit)
        shared = self._environment()
        return shared.read(lambda transaction: cells_of.get_rows(transaction, shared.databases[family], rows, limit))

    def read_row(self, family: str, row: bytes, *, after: bytes, limit: int) -> list[Cell]:
        """Read on in one row; see `Store.read_row`."""
        check_cell_family(family)
        check_positive("limit", limit)
        shared = self._environment()
        return shared.read(
            lambda transaction: cells_of.read_row(transaction, shared.databases[family], row, after, limit)
        )

    def delete(self, family: str, cells: Sequence[Cell]) -> None:
        """Delete cells up to a timestamp, all or none; see `Store.delete`."""
        check_cell_family(family)
        check_deletions(cells)
        database = self._environment().databases[family]
        self._write(lambda transaction: cells_of.delete_cells(transaction, database, cells))

    def scan_cells(self, family: str, start: bytes, stop: bytes | None, *, page: int) -> Iterator[list[Cell]]:
        """Read the cells of a family in order, a page at a time; see `Store.scan_cells`."""
        check_cell_family(family)
        check_positive("page", page)
        return self._pages_of_cells(family, start, stop, page)

    def compare_and_set(self, swaps: Sequence[Swap]) -> list[bool]:
        """Change cells of family ``d``; here all in one transaction; see `CompareAndSet.compare_and_set`."""
        database = self._environment().databases[FAMILY_DOCUMENTS]
        return self._write(
            lambda transaction: [cells_of.swap_cell(transaction, database, swap, self._clock) for swap in swaps]
        )

    def transaction(self) -> AbstractContextManager[None]:
        """Hold the folder for writing; see `Transactional.transaction`."""
        return self._writable().transaction()

    def backup(self, destination: str) -> None:
        """Copy what is committed, without gaps, into a new folder; see `Backup.backup`."""
        shared = self._environment()
        target = os.path.abspath(destination)
        if os.path.lexists(target):
            raise InvalidArgument(f"{destination}: there is something already, a backup needs a new folder")
        with translated(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            partial = new_partial(target)
            try:
                shared.copy(partial)
                os.rename(partial, target)
            finally:
                shutil.rmtree(partial, ignore_errors=True)

    def check_readable(self) -> None:
        """Read all pages in a process of its own; see `SelfChecked.check_readable`."""
        self._environment().check_readable()

    def size(self) -> StoreSize:
        """Tell bytes on disk, and rows and cells; see `Store.size`."""
        shared = self._environment()
        with translated(self._path):
            disk = os.stat(os.path.join(shared.path, "data.mdb")).st_blocks * 512
        rows = shared.read(
            lambda transaction: {
                family: int(transaction.stat(shared.databases[family])["entries"]) for family in FAMILIES
            }
        )
        return StoreSize(disk, rows)

    def close(self) -> None:
        """Let go of the folder; see `Store.close`."""
        shared, self._shared = self._shared, None
        if shared is not None:
            release(shared)

    def _environment(self) -> Environment:
        """Return the environment of this very process: after a fork, the parent's must not be used."""
        if self._shared is None:
            raise StoreUnavailable(f"{self._path}: this store was closed")
        if self._shared.process != os.getpid():
            self._shared = acquire(self._path, self._options)
        return self._shared

    def _writable(self) -> Environment:
        if self._readonly:
            raise InvalidArgument(f"{self._path}: this store was opened for reading only")
        return self._environment()

    def _write(self, change: Callable[[Transaction], T]) -> T:
        return self._writable().write(change)

    def _pages_of_rows(self, start: int, stop: int, page: int) -> Iterator[BlockRows]:
        place = (start, 0)
        while place[0] < stop:
            shared, here = self._environment(), place
            blocks = shared.databases[FAMILY_BLOCKS]
            rows = shared.read(lambda transaction: rows_of.next_rows(transaction, blocks, here, page))  # noqa: B023
            end = int(np.searchsorted(rows.prefixes, U64(stop)))
            if not end:
                return
            yield BlockRows(rows.prefixes[:end], rows.simhashes[:end])
            place = self._further(place, rows_of.row_behind(rows))

    def _pages_of_cells(self, family: str, start: bytes, stop: bytes | None, page: int) -> Iterator[list[Cell]]:
        place = start
        while True:
            shared, here = self._environment(), place
            database = shared.databases[family]
            found = shared.read(lambda transaction: cells_of.next_cells(transaction, database, here, page))  # noqa: B023
            # A key may lie inside the range although its row does not: the row decides.
            wanted = [cell for _, cell in found if start <= cell.row and (stop is None or cell.row < stop)]
            if wanted:
                yield wanted
            if not found or (stop is not None and found[-1][1].row >= stop):
                return
            place = self._further(place, found[-1][0] + b"\x00")

    def _further(self, place: P, behind: P) -> P:
        """Return the place behind a page; in damaged pages it may lie before the page, and reading would never end."""
        if behind <= place:
            raise CorruptIndex(f"{self._path}: rows are out of order, so a page is damaged")
        return behind
