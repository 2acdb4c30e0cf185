"""What is at a path: nothing, an index, or something else, which stays untouched."""

import os
from itertools import islice

from simhash_hbase.errors import CorruptIndex, IndexExists, IndexMissing, NotAnIndex, SimhashError
from simhash_hbase.stores.embedded.environment import Environment, Transaction
from simhash_hbase.stores.embedded.mapping import DATABASES
from simhash_hbase.stores.embedded.options import EmbeddedOptions
from simhash_hbase.stores.embedded.translate import translated

DATA = "data.mdb"
OWN_FILES = frozenset({DATA, "lock.mdb"})

# In LMDB's main database, beside the names of the others: whose folder this is, and its form.
MARKER = b"simhash-hbase"
FORMAT = b"1"


def holds_index(path: str) -> bool:
    """Return whether the files of an index are there, without opening them."""
    return _has_content(os.path.join(path, DATA))


def open_marked(path: str, options: EmbeddedOptions, *, create: bool) -> Environment:
    """Open the environment in a folder and make sure that it is an index."""
    with translated(path):
        if create:
            _make_folder(path)
        else:
            _refuse_unless_index(path)
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


def _make_folder(path: str) -> None:
    if os.path.lexists(path) and not os.path.isdir(path):
        raise NotAnIndex(f"{path} is a file: an index needs a folder of its own")
    os.makedirs(path, exist_ok=True)
    if not OWN_FILES.issuperset(os.listdir(path)):
        raise NotAnIndex(f"{path} holds other files: an index needs a folder of its own")


def _refuse_unless_index(path: str) -> None:
    try:
        # Not `os.path.exists`, which is False where a parent folder cannot be read.
        os.lstat(path)
    except FileNotFoundError as error:
        raise IndexMissing(f"there is no index at {path}: nothing is there") from error
    if not os.path.isdir(path):
        raise NotAnIndex(f"{path} is a file: an index is a folder")
    if not holds_index(path):
        # LMDB would begin a new environment here. A `create` that was interrupted leaves an empty data.mdb, too.
        kind = IndexMissing if OWN_FILES.issuperset(os.listdir(path)) else NotAnIndex
        raise kind(f"there is no index at {path}: the folder has no {DATA}, or an empty one")


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
        raise IndexMissing(f"there is no index at {environment.path}: its making was interrupted")
    if found is None:
        raise _unmarked(environment, transaction)
    if found != FORMAT:
        raise NotAnIndex(f"{environment.path} has format {found!r}: this version reads {FORMAT!r}")


def _unmarked(environment: Environment, transaction: Transaction) -> SimhashError:
    """Say whose databases lack the mark: those of a damaged index, or of another program."""
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


def _has_content(file: str) -> bool:
    return os.path.isfile(file) and os.path.getsize(file) > 0
