"""What may be found at a path: nothing, an index, or something that must not be touched."""

import os

from simhash_hbase.errors import IndexExists, IndexMissing, NotAnIndex
from simhash_hbase.stores.embedded.environment import Environment, Transaction
from simhash_hbase.stores.embedded.options import EmbeddedOptions
from simhash_hbase.stores.embedded.translate import translated

DATA = "data.mdb"
OWN_FILES = frozenset({DATA, "lock.mdb"})

# In LMDB's main database, beside the names of the others: whose folder this is, and its form.
MARKER = b"simhash-hbase"
FORMAT = b"1"


def holds_index(path: str) -> bool:
    """Tell whether the files of an index are there, without opening them."""
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
        # Not `os.path.exists`, for which a folder behind closed doors is not there.
        os.lstat(path)
    except FileNotFoundError as error:
        raise IndexMissing(f"there is no index at {path}: nothing is there") from error
    if not os.path.isdir(path):
        raise NotAnIndex(f"{path} is a file: an index is a folder")
    if not holds_index(path):
        # LMDB would begin a new environment here; a `create` that was interrupted leaves an empty data.mdb too.
        kind = IndexMissing if OWN_FILES.issuperset(os.listdir(path)) else NotAnIndex
        raise kind(f"there is no index at {path}: the folder has no {DATA}, or an empty one")


def _mark(environment: Environment, transaction: Transaction) -> None:
    if transaction.get(MARKER) is not None:
        raise IndexExists(f"there is an index at {environment.path} already")
    if transaction.stat()["entries"]:
        raise NotAnIndex(f"{environment.path} holds an LMDB environment of another program")
    transaction.put(MARKER, FORMAT)
    environment.make_databases(transaction)


def _check_mark(environment: Environment, transaction: Transaction) -> None:
    found = transaction.get(MARKER)
    if found is None and not transaction.stat()["entries"]:
        raise IndexMissing(f"there is no index at {environment.path}: its making was interrupted")
    if found is None:
        raise NotAnIndex(f"{environment.path} holds an LMDB environment of another program")
    if found != FORMAT:
        raise NotAnIndex(f"{environment.path} has format {found!r}: this version reads {FORMAT!r}")


def _has_content(file: str) -> bool:
    return os.path.isfile(file) and os.path.getsize(file) > 0
