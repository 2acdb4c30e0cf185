"""The store over one folder, in LMDB: each call of `Store` is one transaction, or part of the one that is open.

Inside a block of `EmbeddedStore.gathered` the writes of a group of transactions wait in a *memtable*, in memory, and
are written to the LMDB databases in the order of their keys. There is one database for each family of rows: ``b`` has
block rows, ``d`` and ``m`` have cells (values under a row and a qualifier).
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex, IndexClosed, InvalidArgument
from simhash_hbase.files.local import check_links
from simhash_hbase.rows.clock import now_ms
from simhash_hbase.rows.keys import BlockRows
from simhash_hbase.rows.layout import FAMILIES, FAMILY_BLOCKS, FAMILY_DOCUMENTS
from simhash_hbase.stores import base
from simhash_hbase.stores.columns import CellRows
from simhash_hbase.stores.embedded import folder, records, translate
from simhash_hbase.stores.embedded.databases import HOT_PREFIXES, Database, Transaction
from simhash_hbase.stores.embedded.environment import EmbeddedOptions, Environment
from simhash_hbase.stores.embedded.memtable import Memtable

U64 = np.uint64
P = ParamSpec("P")
T = TypeVar("T")
Position = TypeVar("Position", bytes, tuple[int, int])


class EmbeddedStore(base.Store, base.Transactional):
    """A store of an index's rows in one folder of this machine, in LMDB; made by `create` and `open`.

    Threads may share a store, and several processes a folder: reads never wait, writes wait for one another. When a
    write outside a transaction returns, it is committed, and with `EmbeddedOptions.durable` on the disk. After a fork,
    parent and child may both go on; a fork ends the reads that other threads of the parent have under way, since the
    child closes its copy of LMDB's environment. Network file systems are not supported: LMDB needs a memory map and
    locks that all its users share. A user without write permission on the lock file can read; such a read is repeated
    when commits came in between.

    Examples
    --------
    >>> import tempfile, os
    >>> from simhash_hbase.stores.base import Cell
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = EmbeddedStore.create(os.path.join(folder.name, "index"))
    >>> store.put("m", [Cell(b"row", b"v", b"one", 7)])
    >>> store.get("m", [(b"row", b"v")])
    [Cell(row=b'row', qualifier=b'v', value=b'one', timestamp=7)]
    >>> store.close()
    >>> folder.cleanup()
    """

    gathers = True

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
    ) -> Self:
        """Make the store of a new index in a folder that is missing or empty; `clock` returns ms since 1970."""
        return cls(folder.acquire(path, options or EmbeddedOptions(), create=True), os.path.abspath(path), clock=clock)

    @classmethod
    def open(
        cls,
        path: str,
        options: EmbeddedOptions | None = None,
        *,
        readonly: bool = False,
        clock: Callable[[], int] | None = None,
    ) -> Self:
        """Open the store of an index that is in a folder already; `clock` returns ms since 1970."""
        shared = folder.acquire(path, options or EmbeddedOptions(), readonly=readonly)
        return cls(shared, os.path.abspath(path), readonly=readonly, clock=clock)

    @property
    def url(self) -> str:
        return f"file:{self._path}"

    def scan(self, prefixes: NDArray[np.uint64], *, limit: int) -> base.PrefixScan:
        base.check_positive("limit", limit)
        held = self._memtable()

        def stored(prefixes: NDArray[np.uint64]) -> base.PrefixScan:
            return self._look(records.scan, FAMILY_BLOCKS, self._hot(), prefixes, limit)

        return stored(prefixes) if held is None else held.scan(stored, prefixes, limit)

    def has_rows(self, rows: BlockRows) -> NDArray[np.bool_]:
        return self._read(records.has_rows, FAMILY_BLOCKS, rows)

    def scan_range(self, start: int, stop: int, *, page: int) -> Iterator[BlockRows]:
        """Return an iterator over the block rows with prefixes in ``[start, stop)``, at most `page` rows at a time.

        Each page is read in a short transaction of its own.
        """
        base.check_positive("page", page)

        def pages() -> Iterator[BlockRows]:
            place = (start, 0)
            while place[0] < stop:
                rows = self._read(records.next_rows, FAMILY_BLOCKS, place, page)
                end = int(np.searchsorted(rows.prefixes, U64(stop)))
                if not end:
                    return
                yield BlockRows(rows.prefixes[:end], rows.simhashes[:end])
                place = self._further(place, records.row_behind(rows))

        return pages()

    def put_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        if not len(rows.prefixes):
            return
        if (held := self._memtable()) is not None:
            held.put_rows(rows)
        else:
            self._write(records.put_rows, FAMILY_BLOCKS, self._hot(), rows)

    def delete_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        self._write(records.delete_rows, FAMILY_BLOCKS, rows)

    def put(self, family: str, cells: Sequence[base.Cell]) -> None:
        """Write all these cells of a family, or none if the call fails."""
        base.check_cell_family(family)
        if (held := self._memtable()) is not None:
            held.put(family, cells, self._stored(family), self._clock())
        else:
            self._write(records.put_cells, family, cells, self._clock)

    def get(self, family: str, keys: Sequence[base.CellKey]) -> list[base.Cell | None]:
        base.check_cell_family(family)
        if (held := self._memtable()) is not None:
            return held.get(family, keys, self._stored(family))
        return self._look(records.get_cells, family, keys)

    def get_rows(self, family: str, rows: Sequence[bytes], *, limit: int) -> CellRows:
        base.check_cell_family(family, limit=limit)
        return self._rows(family, rows, rows, limit)

    def read_row(self, family: str, row: bytes, *, after: bytes, limit: int) -> list[base.Cell]:
        base.check_cell_family(family, limit=limit)
        return self._rows(family, [row], [row + after + b"\x00"], limit)[0]

    def delete(self, family: str, cells: Sequence[base.Cell]) -> None:
        """Delete all these cells of a family, or none if the call fails; a newer cell than given stays."""
        base.check_deletions(family, cells)
        self._write(records.delete_cells, family, cells)

    def scan_cells(self, family: str, start: bytes, stop: bytes | None, *, page: int) -> Iterator[list[base.Cell]]:
        base.check_cell_family(family, page=page)

        def pages() -> Iterator[list[base.Cell]]:
            place = start
            while True:
                found = self._read(records.next_cells, family, place, page)
                # A key may lie inside the range although its row does not: the row decides.
                wanted = [cell for _, cell in found if start <= cell.row and (stop is None or cell.row < stop)]
                if wanted:
                    yield wanted
                if not found or (stop is not None and found[-1][1].row >= stop):
                    return
                place = self._further(place, found[-1][0] + b"\x00")

        return pages()

    def compare_and_set(self, swaps: Sequence[base.Swap]) -> list[bool]:
        """Make all compare-and-sets in one transaction; return for each whether the cell had the expected value."""
        if (held := self._memtable()) is not None:
            return held.swap(FAMILY_DOCUMENTS, swaps, self._stored(FAMILY_DOCUMENTS), self._clock)
        return self._write(records.swap_cells, FAMILY_DOCUMENTS, swaps, self._clock)

    def transaction(self) -> AbstractContextManager[None]:
        return self._writable().transaction()

    def gathered(self) -> AbstractContextManager[None]:
        return self._writable().gathered()

    def is_awaited(self) -> bool:
        return self._environment().is_awaited()

    def gathered_bytes(self) -> int:
        held = self._memtable()
        return 0 if held is None else held.bytes

    def backup(self, destination: str) -> None:
        shared = self._environment()
        check_links(destination)
        target = os.path.abspath(destination)
        if os.path.lexists(target):
            raise InvalidArgument(f"{destination} already exists; name a new folder for the backup")
        with translate.lmdb_errors(target):
            try:
                around = folder.index_around(target)
            except ValueError as error:
                raise InvalidArgument(f"{destination!r} is no path of a folder: {error}") from error
            if around:
                raise InvalidArgument(f"{destination} is inside the index {around}: name a folder outside of it")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            partial = folder.new_partial(target)
            from shutil import rmtree  # noqa: PLC0415 - look-ups do not wait for it

            try:
                shared.copy(partial, target)
                os.rename(partial, target)
            finally:
                rmtree(partial, ignore_errors=True)

    def check_readable(self) -> None:
        self._environment().check_readable()

    def check_writable(self) -> None:
        folder.check_writable(self._environment())

    def space(self) -> base.DiskSpace:
        path = self._environment().path
        with translate.lmdb_errors(self._path):
            used = os.stat(os.path.join(path, "data.mdb")).st_blocks * 512
            disk = os.statvfs(path)
        return base.DiskSpace(used, disk.f_bavail * disk.f_frsize)

    def size(self) -> base.StoreSize:
        shared = self._environment()
        shared.write_memtable()
        disk = self.space().used
        rows = shared.read(
            lambda transaction: {
                family: int(transaction.stat(shared.databases[family])["entries"]) for family in FAMILIES
            }
        )
        return base.StoreSize(disk, rows)

    def close(self) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            folder.release(shared)

    def _environment(self) -> Environment:
        """Return the folder's LMDB environment; a forked child opens its own, as it must not use that of its parent."""
        if self._shared is None:
            raise IndexClosed(f"{self._path}: this index was closed")
        if self._shared.process != os.getpid():
            self._shared = folder.acquire(self._path, self._options, readonly=self._readonly)
        return self._shared

    def _writable(self) -> Environment:
        if self._readonly:
            raise InvalidArgument(f"{self._path}: this store was opened for reading only")
        return self._environment()

    def _hot(self) -> Database:
        return self._environment().databases[HOT_PREFIXES]

    def _memtable(self) -> Memtable | None:
        """Return the memtable with the waiting writes of this thread inside a block of `gathered`; else None."""
        return self._environment().memtable

    def _stored(self, family: str) -> Callable[[Sequence[bytes]], dict[bytes, bytes]]:
        """Return a function that reads the packed cells of a family from LMDB by keys (row and qualifier joined)."""
        return lambda keys: self._look(records.read_packed, family, keys)

    def _rows(self, family: str, rows: Sequence[bytes], firsts: Sequence[bytes], limit: int) -> CellRows:
        """Return at most `limit` cells of each row from LMDB and the memtable, from the row's key in `firsts` on."""
        stored = self._look(records.read_rows, family, rows, firsts, limit)
        held = self._memtable()
        return stored if held is None else held.rows(family, stored, firsts, limit)

    def _look(
        self, look: Callable[Concatenate[Transaction, Database, P], T], family: str, *rest: P.args, **named: P.kwargs
    ) -> T:
        """Return the result of `look`, a function of `records`, for a family's database; the memtable is left out."""
        shared = self._environment()
        return shared.read(lambda transaction: look(transaction, shared.databases[family], *rest, **named))

    def _read(
        self, look: Callable[Concatenate[Transaction, Database, P], T], family: str, *rest: P.args, **named: P.kwargs
    ) -> T:
        """Write the memtable to the databases, then return the result of `look`, which reads that of a family."""
        self._environment().write_memtable()
        return self._look(look, family, *rest, **named)

    def _write(
        self, change: Callable[Concatenate[Transaction, Database, P], T], family: str, *rest: P.args, **named: P.kwargs
    ) -> T:
        """Write the memtable to the databases, then return the result of `change`, which writes to that of a family."""
        shared = self._writable()
        shared.write_memtable()
        return shared.write(lambda transaction: change(transaction, shared.databases[family], *rest, **named))

    def _further(self, place: Position, behind: Position) -> Position:
        """Return `behind`, where the next page of a scan begins, if it comes after `place`, where this page began.

        Raise `CorruptIndex` otherwise: rows out of order mean that a page of the file is damaged.
        """
        if behind <= place:
            raise CorruptIndex(f"{self._path}: rows are out of order, so a page is damaged")
        return behind
