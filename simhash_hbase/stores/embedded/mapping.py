"""Opening a folder's file as a memory map, and reading one whose writers cannot see the reader."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import lmdb

from simhash_hbase.errors import StoreBusy
from simhash_hbase.rows.layout import FAMILY_BLOCKS, FAMILY_DOCUMENTS, FAMILY_INDEX
from simhash_hbase.stores.embedded.options import LEAST_MAP_BYTES, EmbeddedOptions

T = TypeVar("T")

HOT_PREFIXES = "h"  # The database of the prefixes with very many rows; see `rows`.
DATABASES = {FAMILY_BLOCKS: True, FAMILY_DOCUMENTS: False, FAMILY_INDEX: False, HOT_PREFIXES: False}
"""The name of each database, and whether its keys have many values of one size."""
# LMDB reuses the pages that a commit frees from the next commit but one on.
SAFE_COMMITS = 1
UNDISTURBED_S = 20.0
PAUSE_S = 0.002


def open_map(path: str, options: EmbeddedOptions, *, writable: bool) -> tuple[Any, bool]:
    """Open the environment of a folder; also returns whether its reads are invisible to writers."""
    try:
        return _open_within(path, options, writable=writable, lock=True), False
    except lmdb.ReadonlyError:
        if writable:
            raise
        return _open_within(path, options, writable=False, lock=False), True


def undisturbed(environment: Any, look: Callable[[Any], T]) -> T:  # noqa: ANN401 - lmdb has no precise types
    """Call a function with a transaction whose pages no writer has reused when it ends.

    A writer that does not see the reader may reuse pages while they are read. The number of commits since the
    transaction began shows whether that can have happened; the read is then repeated.
    """
    until = time.monotonic() + UNDISTURBED_S
    while True:
        with environment.begin() as transaction:
            began = transaction.id()
            try:
                answer = look(transaction)
            except Exception:
                # Reused pages lead to any error, so an error counts no more than an answer does.
                if _stood_still(environment, began):
                    raise
            else:
                if _stood_still(environment, began):
                    return answer
        if time.monotonic() >= until:
            raise StoreBusy(
                f"{environment.path()}: writers kept changing the index while it was read, and cannot see a reader "
                "without write permission on lock.mdb: make that file writable for this user"
            )
        time.sleep(PAUSE_S)


def _stood_still(environment: Any, began: int) -> bool:  # noqa: ANN401
    return bool(environment.info()["last_txnid"] <= began + SAFE_COMMITS)


def _open_within(path: str, options: EmbeddedOptions, *, writable: bool, lock: bool) -> Any:  # noqa: ANN401
    size = options.map_bytes
    while True:
        try:
            return lmdb.open(
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
        except lmdb.MapResizedError:
            # The driver begins a transaction of its own, and another process has just grown the map: open it again.
            continue
        except lmdb.MemoryError:
            # `ulimit -v` or a container limits the address space.
            size //= 2
            if size < LEAST_MAP_BYTES:
                raise
