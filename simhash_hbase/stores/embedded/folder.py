"""The folder of an index: checks of a path, the one environment that this process has of it, and copies."""

import errno
import glob
import os
from contextlib import suppress
from itertools import islice
from threading import Lock

from simhash_hbase.errors import CorruptIndex, IndexExists, IndexMissing, InvalidArgument, NotAnIndex, SimhashError
from simhash_hbase.files.local import check_links
from simhash_hbase.stores.embedded.databases import DATABASES, Transaction
from simhash_hbase.stores.embedded.environment import EmbeddedOptions, Environment
from simhash_hbase.stores.embedded.translate import lmdb_errors

DATA = "data.mdb"
OWN_FILES = frozenset({DATA, "lock.mdb"})

# In LMDB's main database, beside the names of the others: whose folder this is, and its form.
MARKER = b"simhash-hbase"
FORMAT = b"1"


def holds_index(path: str) -> bool:
    """Return whether a folder has the data file of an index, without opening it."""
    file = os.path.join(path, DATA)
    return os.path.isfile(file) and os.path.getsize(file) > 0


def is_file_of_index(path: str) -> bool:
    """Return whether a path is one of the files in the folder of an index."""
    parent, name = os.path.split(path)
    return name in OWN_FILES and holds_index(parent)


def index_around(path: str) -> str | None:
    """Return the folder of the index inside which a path is, perhaps by a link; None if it is in none."""
    parents = []
    parent = os.path.realpath(path)
    while (parent := os.path.dirname(parent)) not in parents:
        parents.append(parent)
    return next(filter(holds_index, parents), None)


def open_marked(path: str, options: EmbeddedOptions, *, create: bool) -> Environment:
    """Open the environment of a folder, check that it is an index by the mark in it, and return it.

    With `create` a new index is begun and marked; raises `IndexExists` where there is one, without it `IndexMissing`
    where there is none.
    """
    with lmdb_errors(path):
        if create:
            if os.path.lexists(path) and not os.path.isdir(path):
                raise NotAnIndex(f"{path} is a file: an index needs a folder of its own")
            os.makedirs(path, exist_ok=True)
            if not OWN_FILES.issuperset(os.listdir(path)):
                raise NotAnIndex(f"{path} holds other files: an index needs a folder of its own")
        else:
            try:
                # Not `os.path.exists`, which is False where a parent folder cannot be read.
                os.lstat(path)
            except FileNotFoundError as error:
                raise IndexMissing(f"there is no index at {path}") from error
            if not os.path.isdir(path):
                raise NotAnIndex(f"{path} is a file: an index is a folder")
            if not holds_index(path):
                # LMDB would begin a new environment here. An interrupted `create` leaves an empty data.mdb, too.
                if not OWN_FILES.issuperset(os.listdir(path)):
                    raise NotAnIndex(f"{path} is no index: it holds other files, and {DATA} is missing or empty")
                raise IndexMissing(f"there is no index at {path}, {DATA} is missing or empty")
    environment = Environment(path, options)
    try:
        if create:
            environment.write(lambda transaction: _mark(environment, transaction))
        else:
            environment.read(lambda transaction: _check_mark(environment, transaction))
            environment.open_databases()
    except BaseException:
        environment.close()
        raise
    return environment


def _mark(environment: Environment, transaction: Transaction) -> None:
    if transaction.get(MARKER) is not None:
        raise IndexExists(f"there is an index at {environment.path} already")
    if transaction.stat()["entries"]:
        raise _unmarked(environment, transaction)
    transaction.put(MARKER, FORMAT)
    environment.make_databases(transaction)


def _check_mark(environment: Environment, transaction: Transaction) -> None:
    found = transaction.get(MARKER)
    if found is None and not transaction.stat()["entries"]:
        missing = IndexMissing(f"there is no index at {environment.path}, its making was interrupted")
        missing.interrupted = True
        raise missing
    if found is None:
        raise _unmarked(environment, transaction)
    if found != FORMAT:
        raise NotAnIndex(f"{environment.path} has format {found!r}: this version reads {FORMAT!r}")


def _unmarked(environment: Environment, transaction: Transaction) -> SimhashError:
    """Return the error for an LMDB environment without the mark of an index: it is damaged, or another program's."""
    entries = transaction.stat()["entries"]
    with transaction.cursor() as cursor:
        # Not more than there should be: damaged pages may lead in a circle.
        names = list(islice(cursor.iternext(values=False), entries + 1))
    if len(names) != entries or not {name.encode() for name in DATABASES}.isdisjoint(names):
        return CorruptIndex(
            f"{environment.path}: a page is damaged, the mark of an index is not in it: restore a backup, or make the "
            "index again"
        )
    return NotAnIndex(f"{environment.path} holds an LMDB environment of another program")


# More than an ordinary commit needs.
ROOM_BYTES = 1 << 20
# Some systems have no files without a name, and to LMDB its own files matter, not the permissions of the folder.
_NAMELESS = getattr(os, "O_TMPFILE", 0)
_NO_TEST_FILE = (errno.EACCES, errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL)


def check_writable(environment: Environment) -> None:
    """Raise `StoreReadonly` or `StoreFull` where a commit would fail for lack of permission or room."""
    path = environment.path
    environment.check_permission()
    with lmdb_errors(path):
        system = os.statvfs(path)
        if system.f_flag & os.ST_RDONLY:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        if system.f_bavail * system.f_frsize < ROOM_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        # A quota, and a limit on the size of files, show only when room is taken.
        try:
            file = os.open(path, _NAMELESS | os.O_RDWR)
        except OSError as error:
            if error.errno not in _NO_TEST_FILE:
                raise
        else:
            try:
                os.posix_fallocate(file, os.path.getsize(os.path.join(path, DATA)), ROOM_BYTES)
            finally:
                os.close(file)
    if environment.has_failed:
        environment.write(lambda transaction: transaction.put(MARKER, FORMAT))
        environment.has_failed = False


# The environments of this process by real path.
_shared: dict[str, Environment] = {}
_lock = Lock()
# Environments of the parent process; kept, so that the garbage collector does not end them.
_inherited: list[Environment] = []


def acquire(path: str, options: EmbeddedOptions, *, create: bool = False, readonly: bool = False) -> Environment:
    """Return the environment of a folder: the one that this process has open already, or else a new one.

    Each caller must `release` it. With `create` an index that is there raises `IndexExists`. One that is open with
    another `durable` raises `InvalidArgument`, and so does, unless `readonly`, a path through a link of another user in
    a folder like ``/tmp``.
    """
    if not readonly:
        check_links(path)
    real = os.path.realpath(path)
    with _lock:
        shared = _shared.get(real)
        if shared is not None and create:
            raise IndexExists(f"there is an index at {path} already")
        if shared is None:
            shared = _shared[real] = open_marked(real, options, create=create)
        elif shared.options.durable != options.durable:
            raise InvalidArgument(f"{path}: this process has it open with durable={shared.options.durable} already")
        shared.users += 1
        return shared


def release(environment: Environment) -> None:
    """Give back an environment of `acquire`, which is closed when its last user does so."""
    with _lock:
        if _shared.get(environment.path) is not environment:
            return
        environment.users -= 1
        if not environment.users:
            del _shared[environment.path]
            environment.close()


def _forget_inherited() -> None:
    global _lock  # noqa: PLW0603
    _lock = Lock()  # Another thread of the parent may have held it.
    # The driver refuses to open a folder that it believes to be open in this process.
    for environment in _shared.values():
        environment.drop_inherited()
    _inherited.extend(_shared.values())
    _shared.clear()


os.register_at_fork(after_in_child=_forget_inherited)


_PARTIAL = ".partial-"


def new_partial(target: str) -> str:
    """Make a temporary folder beside the target of a copy, to be written to and then renamed, and return its path."""
    folder, name = os.path.split(target)
    # Importing tempfile takes longer than a look-up.
    from tempfile import mkdtemp  # noqa: PLC0415

    return mkdtemp(prefix=name + _PARTIAL, dir=folder)


def copied_bytes(destination: str) -> int:
    """Return the number of bytes written so far of a copy that is under way to a destination."""
    partial = f"{glob.escape(os.path.abspath(destination))}{_PARTIAL}*"
    found = 0
    for path in glob.glob(os.path.join(partial, "*")):
        # The copy may be complete by now, and its folder renamed.
        with suppress(FileNotFoundError):
            found += os.stat(path).st_size
    return found
