"""One LMDB environment, the files of a folder: how it is opened, its databases, transactions and memory map."""

import mmap
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import get_ident
from typing import Any, TypeVar

import lmdb

from simhash_hbase.errors import CorruptIndex, InvalidArgument, StoreBusy, StoreFull, StoreReadonly
from simhash_hbase.rows.layout import FAMILY_BLOCKS, FAMILY_DOCUMENTS
from simhash_hbase.stores.embedded import probe, translate
from simhash_hbase.stores.embedded.databases import DATABASES, Database, Transaction
from simhash_hbase.stores.embedded.memtable import Memtable
from simhash_hbase.stores.embedded.prefixes import BloomFilter
from simhash_hbase.stores.embedded.turns import Gate, WriteTurns

# Address space, not disk and not memory: the file grows with what is written. Room for a hundred million documents
# before the map must grow the first time; little enough that a laptop, a container and a debugger grant it.
DEFAULT_MAP_BYTES = 1 << 36
# LMDB itself needs a few pages; below this nothing useful fits.
LEAST_MAP_BYTES = 1 << 18
MOST_READERS = 1 << 16


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddedOptions:
    """How one folder is opened, such as whether commits wait for the disk; the same for all its users in a process."""

    map_bytes: int = DEFAULT_MAP_BYTES
    """Address space to start with; it grows when half of it is used. Where the system grants less, less is taken."""
    durable: bool = True
    """Wait for the disk at each commit. Without, a crash of this process alone still loses nothing, but a power
    failure or a crash of the system may lose the last commits or make the whole folder unreadable."""
    max_readers: int = 512
    """Reads under way at one time, over all processes; only the process that opens a folder first decides."""

    def __post_init__(self) -> None:
        if self.map_bytes < LEAST_MAP_BYTES:
            raise InvalidArgument(f"map_bytes is {self.map_bytes:,}: wanted at least {LEAST_MAP_BYTES:,}")
        if not 1 <= self.max_readers <= MOST_READERS:
            raise InvalidArgument(f"max_readers is {self.max_readers:,}: wanted 1 to {MOST_READERS:,}")


T = TypeVar("T")
# LMDB reuses the pages that a commit frees from the next commit but one on.
SAFE_COMMITS = 1
GATHERED_BYTES = 1 << 30
"""Free bytes of the map from which transactions are gathered in one."""
UNDISTURBED_S = 20.0
PAUSE_S = 0.002


def open_map(path: str, options: EmbeddedOptions, *, writable: bool) -> tuple[Any, bool]:
    """Open the LMDB environment of a folder; return also whether writers do not see that it is read.

    That is so where the folder's lock file cannot be written to.
    """
    size, lock = options.map_bytes, True
    while True:
        try:
            environment = lmdb.open(
                path,
                map_size=size,
                max_dbs=len(DATABASES),
                max_readers=options.max_readers,
                # A spare transaction keeps its slot among the readers, and a forked child that closes its copy frees
                # that slot under its parent, whose next read then fails. Without spares a read takes 0.1 µs more.
                max_spare_txns=0,
                sync=options.durable,
                readonly=not writable,
                lock=lock,
                # Rows lie anywhere in the file: reading ahead is wasted as soon as it exceeds the memory.
                readahead=False,
            )
        except lmdb.ReadonlyError:
            if writable or not lock:
                raise
            lock = False
        except lmdb.MapResizedError:
            # The driver begins a transaction of its own, and another process has just grown the map: open it again.
            continue
        except lmdb.MemoryError:
            # `ulimit -v` or a container limits the address space.
            size //= 2
            if size < LEAST_MAP_BYTES:
                raise
        else:
            return environment, not lock


def undisturbed(environment: Any, look: Callable[[Any], T]) -> T:  # noqa: ANN401 - lmdb has no precise types
    """Return the result of `look`, called with a read transaction that no writer has disturbed.

    A writer that does not see the reader may reuse pages while they are read. The number of commits since the
    transaction began shows whether that can have happened; `look` is then called again. `StoreBusy` is raised after
    `UNDISTURBED_S`.
    """
    until = time.monotonic() + UNDISTURBED_S
    while True:
        with environment.begin() as transaction:
            last_harmless = transaction.id() + SAFE_COMMITS
            try:
                answer = look(transaction)
            except Exception:
                # Reused pages lead to any error, so an error counts no more than an answer does.
                if environment.info()["last_txnid"] <= last_harmless:
                    raise
            else:
                if environment.info()["last_txnid"] <= last_harmless:
                    return answer
        if time.monotonic() >= until:
            raise StoreBusy(
                f"{environment.path()}: writers kept changing the index while it was read, and cannot see a reader "
                "without write permission on lock.mdb: make that file writable for this user"
            )
        time.sleep(PAUSE_S)


_REMEDY = "restore a backup, or make the index again"


class Environment:
    """The LMDB environment of one folder in one process, shared by all its stores and threads.

    A thread inside `transaction` reads and writes within it; others read committed data and wait to write.
    """

    def __init__(self, path: str, options: EmbeddedOptions) -> None:
        self.path = path
        self.options = options
        self.process = os.getpid()
        self.users = 0  # Number of stores that share it.
        data = os.path.join(path, "data.mdb")
        self.writable = os.access(data, os.W_OK) or not os.path.exists(data)
        self.databases: dict[str, Database] = {}
        self._gate = Gate()
        self._turn = WriteTurns(data)
        self._owner: int | None = None
        self._open: Transaction = None
        self._outgrown = 0
        self._memtable: Memtable | None = None  # While the owner gathers transactions.
        # A filter of the prefixes of all block rows and the keys of all document cells after a transaction, and the
        # number of that transaction. LMDB numbers only transactions that changed something; one that left more did.
        self._filter: tuple[BloomFilter, int] | None = None
        self._has_torn = False  # Whether a transaction that was gathered failed, and may have written a part.
        self.has_failed = False  # Whether a write failed by an error of the driver.
        with translate.lmdb_errors(path):
            self._env, self._unseen = open_map(path, options, writable=self.writable)
            self._env.reader_check()
            self._follow(self._fill_up)

    def drop_inherited(self) -> None:
        """Close a forked child's copy of the environment that its parent has open; the parent's own stays open."""
        self._env.close()

    def make_databases(self, transaction: Transaction) -> None:
        """Make all databases of a new index, within a transaction."""
        self.databases = self._handles(transaction, create=True)

    def open_databases(self) -> None:
        """Open all databases; once, before anything else, and not within a transaction.

        A handle that a reading transaction opens ends with it. So LMDB's binding opens them in a transaction that
        writes, where the environment may be written to, and this waits for another writer.
        """
        with translate.lmdb_errors(self.path), self._turn.waiting():
            self.databases = self._follow(lambda: self._handles(None, create=False))

    def read(self, look: Callable[[Transaction], T]) -> T:
        """Return the result of `look`, called with a read transaction.

        It is called again if another process has grown the memory map.
        """
        with translate.lmdb_errors(self.path):
            if self._owner == get_ident():
                return look(self._open)

            def attempt() -> T:
                with self._gate:
                    if self._unseen:
                        return undisturbed(self._env, look)
                    with self._env.begin() as transaction:
                        return look(transaction)

            while True:
                try:
                    return self._follow(attempt)
                except lmdb.ReadersFullError:
                    # Processes that were killed leave their slots taken.
                    if not self._env.reader_check():
                        raise

    def write(self, change: Callable[[Transaction], T]) -> T:
        """Return the result of `change`, called with a transaction that is then committed.

        It is called again, in a new transaction, when the memory map was full and had to grow.
        """
        with translate.lmdb_errors(self.path):
            if self._owner == get_ident():
                try:
                    return change(self._open)
                except lmdb.MapFullError as error:
                    raise self._full() from error
                except BaseException as error:
                    # A part may have been written.
                    self._has_torn = True
                    self.has_failed |= isinstance(error, lmdb.Error)
                    raise
            while True:
                with self._turn():
                    size = self.map_bytes
                    try:
                        with self._begin() as transaction:
                            return change(transaction)
                    except lmdb.MapFullError:
                        self._grow(size)
                    except lmdb.Error:
                        self.has_failed = True
                        raise

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Write all transactions of this thread inside the block as one, which is committed at the end of the block.

        Where the memory map has too little room for that, each is committed by itself.
        """
        if self._owner == get_ident():
            raise InvalidArgument("this thread gathers transactions already: groups do not nest")
        # A group copies each page that it touches.
        if self.map_bytes - 2 * self._believed_bytes() < GATHERED_BYTES:
            yield
            return
        self._release_pages()
        with self.transaction():
            filter_, entries, number = self._current_filter(), self._count_entries(), self._open.id()
            self._memtable, self._has_torn = Memtable(filter_), False
            try:
                yield
                if self._has_torn:
                    raise StoreBusy(f"{self.path}: a batch failed, and those before it were not written: repeat them")
                self.write_memtable()
                has_more = self._count_entries() > entries
            finally:
                self._memtable = None
        if filter_ is not None and has_more:
            self._filter = filter_, number

    def _release_pages(self) -> None:
        """Commit a transaction that changes nothing, so that the next one may reuse the pages that the last one freed.

        The transaction of `gathered` replaces nearly all pages. Without this, a file would have room for three times
        the pages that are in use.
        """

        def rewrite_first_cell(transaction: Transaction) -> int | None:
            with transaction.cursor(self.databases[FAMILY_DOCUMENTS]) as cursor:
                return transaction.id() if cursor.first() and cursor.put(*cursor.item()) else None

        number, known = self.write(rewrite_first_cell), self._filter
        if known is not None and number == known[1] + 1:
            self._filter = known[0], number

    def _current_filter(self) -> BloomFilter | None:
        """Return a Bloom filter of the prefixes and keys that the open transaction sees; None where they are not known.

        They are known in a new index, and as long as nobody but `gathered` commits transactions.
        """
        known, self._filter = self._filter, None
        if not self._count_entries():
            return BloomFilter()
        return known[0] if known is not None and known[1] + 1 == self._open.id() else None

    def _count_entries(self) -> int:
        """Return how many entries the open transaction sees: rows that lead to fingerprints, and documents' cells."""
        counted = (self._open.stat(self.databases[family]) for family in (FAMILY_BLOCKS, FAMILY_DOCUMENTS))
        return sum(int(database["entries"]) for database in counted)

    @property
    def memtable(self) -> Memtable | None:
        """The memtable: the writes that wait in memory while this thread gathers transactions, else None."""
        return self._memtable if self._owner == get_ident() else None

    def write_memtable(self) -> None:
        """Write what waits in memory, the memtable, to the databases, before a call that reads only these."""
        memtable = self.memtable
        if memtable is not None and not memtable.is_empty:
            self.write(lambda transaction: memtable.write(transaction, self.databases))

    def is_awaited(self) -> bool:
        """Return whether another thread or process waits for its turn to write."""
        return self._turn.is_awaited()

    def transaction(self) -> AbstractContextManager[None]:
        """Return a block in which this thread's reads and writes are one transaction, or part of that of `gathered`."""
        if self._owner != get_ident():
            return self._alone()
        if self._memtable is None:
            raise InvalidArgument("a transaction of this thread is open already: transactions do not nest")
        return self._joined()

    @contextmanager
    def _joined(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._has_torn = True
            raise

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._turn():
            with translate.lmdb_errors(self.path):
                transaction = self._begin()
            self._owner, self._open, self._outgrown = get_ident(), transaction, 0
            try:
                yield
            except BaseException:
                self._owner = self._open = None
                transaction.abort()
                raise
            else:
                self._owner = self._open = None
                with translate.lmdb_errors(self.path):
                    try:
                        transaction.commit()
                    except lmdb.MapFullError as error:
                        raise self._full() from error
                    except lmdb.Error:
                        self.has_failed = True
                        raise
            finally:
                if self._outgrown:
                    self._grow(self._outgrown)

    @property
    def map_bytes(self) -> int:
        """The size of the memory map, in bytes."""
        return int(self._env.info()["map_size"])

    def copy(self, destination: str, target: str) -> None:
        """Write a compact copy of all committed data into the empty folder `destination`; errors name it `target`."""

        def copy() -> None:
            with self._gate:
                self._env.copy(destination, compact=True)

        with translate.lmdb_errors(self.path, target):
            self._follow(copy)

    def check_readable(self) -> None:
        """Read all pages of the folder in another process, and raise `CorruptIndex` if one is damaged.

        Reading a damaged page may end a process by a signal. Most errors of the driver are not reported: the caller
        gets them itself when it reads.
        """
        lock = "no lock" if self._unseen else "lock"
        asked = [sys.executable, probe.__file__, self.path, str(self.map_bytes), lock, *DATABASES]
        # Only a new process finds out, and most environments are not opened anew.
        import subprocess  # noqa: PLC0415

        try:
            code = subprocess.run(asked, capture_output=True, check=False).returncode
        except OSError:
            # A user who may not start processes reads the pages in this one, and takes the risk.
            return
        if code == probe.PAGE_DAMAGED:
            raise CorruptIndex(f"{self.path}: a page is damaged: {_REMEDY}")
        if code == probe.FREE_LIST_DAMAGED:
            raise CorruptIndex(f"{self.path}: a page of the list of free pages is damaged: {_REMEDY}")
        if code < 0:
            name = signal.Signals(-code).name
            raise CorruptIndex(f"{self.path}: a page is damaged, reading it ends a process with {name}: {_REMEDY}")

    def close(self) -> None:
        """Close the environment; writes that did not wait for the disk are flushed first."""
        with translate.lmdb_errors(self.path), self._turn(), self._gate.alone():
            if not self.options.durable and self.writable:
                self._env.sync(True)
            self._env.close()

    def _handles(self, transaction: Transaction, *, create: bool) -> dict[str, Database]:
        return {
            name: self._env.open_db(name.encode(), transaction, dupsort=many, dupfixed=many, create=create)
            for name, many in DATABASES.items()
        }

    def _follow(self, call: Callable[[], T]) -> T:
        """Return the result of a call; repeat it in a larger memory map when another process has grown the file."""
        while True:
            try:
                return call()
            except lmdb.MapResizedError:
                self._move_map(0)

    def _fill_up(self) -> None:
        """Make the data file as long as LMDB believes it is: touching a page beyond its end would kill the process.

        LMDB may itself leave the last pages unwritten, so a short file alone proves nothing. A truncated one is left as
        it is.
        """
        file = os.path.join(self.path, "data.mdb")

        def is_short() -> bool:
            return os.path.getsize(file) < self._believed_bytes()

        if not is_short() or not self.writable:
            return
        self.check_readable()
        # The write transaction keeps writers of other processes out between the check and the change.
        with self._turn.waiting(), self._env.begin(write=True):
            if is_short():
                os.truncate(file, self._believed_bytes())

    def _believed_bytes(self) -> int:
        return (int(self._env.info()["last_pgno"]) + 1) * int(self._env.stat()["psize"])

    def check_permission(self) -> None:
        """Raise `StoreReadonly` where this user may not write to the index's files."""
        if not self.writable:
            raise StoreReadonly(f"{self.path}: no write permission on its files")

    def _begin(self) -> Transaction:
        """Begin and return a transaction for writing, in a map of which at most half is used, as long as it can grow.

        The caller holds `WriteTurns`, so no other thread writes.
        """
        self.check_permission()
        while True:
            transaction = self._follow(self._begun)
            size = self.map_bytes
            if 2 * self._believed_bytes() <= size or not _has_address_space(2 * size):
                return transaction
            transaction.abort()
            self._move_map(2 * size)

    def _begun(self) -> Transaction:
        with self._turn.waiting():
            return self._env.begin(write=True)

    def _full(self) -> StoreBusy | StoreFull:
        """Return the error for a transaction that the memory map has no room for; the map grows when it has ended."""
        # The map cannot grow under an open transaction: it grows at the end of the block.
        self._outgrown = self.map_bytes
        if self._memtable is not None:
            return StoreFull(f"{self.path}: the memory map was full and has grown; the last batches were not written")
        return StoreBusy(f"{self.path}: the memory map was full and has grown; repeat the whole transaction")

    def _grow(self, outgrown: int) -> None:
        if self.map_bytes > outgrown:
            return
        if not _has_address_space(2 * outgrown):
            raise StoreFull(f"{self.path}: the memory map of {outgrown:,} bytes is full and the system grants no more")
        self._move_map(2 * outgrown)

    def _move_map(self, size: int) -> None:
        """Resize the memory map to some bytes while nobody reads.

        0 takes the size that another process has given it.
        """
        with self._turn(), self._gate.alone():
            self._env.set_mapsize(size)


def _has_address_space(size: int) -> bool:
    """Return whether the system grants this process so many more bytes of address space.

    When `set_mapsize` fails, LMDB is left without a map and the next read kills the process.
    """
    try:
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ).close()
    except (OSError, OverflowError, ValueError):
        return False
    return True
