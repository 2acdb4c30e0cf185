"""Retries of a read and the write that rests on it, until the write counts."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from simhash_hbase.errors import StoreBusy, StoreTimeout, StoreUnavailable
from simhash_hbase.stores.base import Store, Transactional

# A refused compare-and-set means that another writer changed the same document in the same moment.
ATTEMPTS = 8
FIRST_PAUSE_S = 0.01
# How long writes that time out are looked for and retried.
LOOK_S = 20.0


def attempts(store: Store) -> Iterator[AbstractContextManager[Callable[[], None]]]:
    """Retry a read and the write that rests on it until the write counts.

    A timed-out write may have been applied, so each attempt first reads the cells again. If that read fails too, or
    writes keep failing for `LOOK_S`, the store's error is raised. A transaction that had no effect, because the store
    had to grow for it, is retried.
    """
    until = time.monotonic() + LOOK_S
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(random.uniform(0.5, 1.5) * FIRST_PAUSE_S * 2**attempt)
        is_last = attempt == ATTEMPTS - 1
        yield _growing(is_last) if isinstance(store, Transactional) else _looking(0.0 if is_last else until)


@contextmanager
def _growing(is_last: bool) -> Iterator[Callable[[], None]]:
    try:
        yield lambda: None
    except StoreBusy:
        if is_last:
            raise


@contextmanager
def _looking(until: float) -> Iterator[Callable[[], None]]:
    answered: list[bool] = []
    try:
        yield lambda: answered.append(True)
    except (StoreTimeout, StoreUnavailable):
        if not answered or time.monotonic() >= until:
            raise
