"""How a folder's file becomes a memory map, and reads of one whose writers cannot see the reader."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import lmdb

from simhash_hbase.errors import StoreBusy
from simhash_hbase.stores.embedded.options import LEAST_MAP_BYTES, EmbeddedOptions

T = TypeVar("T")

MAX_DATABASES = 4
# LMDB reuses the pages that a commit frees from the next commit but one on.
SAFE_COMMITS = 1
UNDISTURBED_S = 20.0
PAUSE_S = 0.002


def open_map(path: str, options: EmbeddedOptions, *, writable: bool) -> tuple[Any, bool]:
    """Open the environment of a folder."""
    try:
        return _open_within(path, options, writable=writable, lock=True), False
    except lmdb.ReadonlyError:
        if writable:
            raise
        return _open_within(path, options, writable=False, lock=False), True


def undisturbed(environment: Any, look: Callable[[Any], T]) -> T:  # noqa: ANN401 - lmdb has no precise types
    """Call a function with a transaction whose pages no writer has reused when it ends.

    A writer that does not see the reader may put other rows into pages that the reader still reads. The number of
    commits since tells; the read is then made again.
    """
    until = time.monotonic() + UNDISTURBED_S
    while True:
        with environment.begin() as transaction:
            began = transaction.id()
            # Whatever error reused pages lead to, only the answer of pages that stood still counts.
            answer, error = _attempt(look, transaction)
            stood_still = environment.info()["last_txnid"] <= began + SAFE_COMMITS
        if stood_still:
            return _given(answer, error)
        if time.monotonic() >= until:
            raise StoreBusy(
                f"{environment.path()}: writers kept changing the index while it was read, and cannot see a reader "
                "that may not write lock.mdb: make that file writable for this user"
            )
        time.sleep(PAUSE_S)


def _attempt(look: Callable[[Any], T], transaction: Any) -> tuple[list[T], Exception | None]:  # noqa: ANN401
    try:
        return [look(transaction)], None
    except Exception as error:
        return [], error


def _given(answer: list[T], error: Exception | None) -> T:
    if error is not None:
        raise error
    return answer[0]


def _open_within(path: str, options: EmbeddedOptions, *, writable: bool, lock: bool) -> Any:  # noqa: ANN401
    size = options.map_bytes
    while True:
        try:
            return lmdb.open(
                path,
                map_size=size,
                max_dbs=MAX_DATABASES,
                max_readers=options.max_readers,
                # A spare one keeps its slot among the readers, and a child that lets go of what it inherited
                # frees that slot under its parent, whose next read then fails. Without, a read takes 0.1 µs more.
                max_spare_txns=0,
                sync=options.durable,
                readonly=not writable,
                lock=lock,
                # Rows lie anywhere in the file: reading ahead is wasted as soon as it exceeds the memory.
                readahead=False,
            )
        except lmdb.MapResizedError:
            # The driver begins a transaction of its own; another process grew the map just before. It is read anew.
            continue
        except lmdb.MemoryError:
            # `ulimit -v` or a container refuses so much address space.
            size //= 2
            if size < LEAST_MAP_BYTES:
                raise
