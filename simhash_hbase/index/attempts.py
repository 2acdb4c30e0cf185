"""TODO."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from simhash_hbase.errors import StoreBusy, StoreTimeout, StoreUnavailable
from simhash_hbase.stores.base import Store, Transactional

# A refused compare-and-set means that another writer changed the same document in the same moment.
ATTEMPTS = 8


FIRST_PAUSE_S = 0.01


# Writes that are not answered are looked for, and made again, so long at most.
LOOK_S = 20.0


def attempts(store: Store) -> Iterator[AbstractContextManager[Callable[[], None]]]:
    """Make a read and the write that rests on it again until the write counts.

    The store repeats by itself what may be repeated, for as long as its own patience lasts. A write that it gives up
    may have taken effect, so only a look helps: the next attempt makes it. Where the look is not answered either, the
    store is gone, and its error is raised; so it is where reads are answered and writes are not, after `LOOK_S`. A
    transaction that had no effect, since the store had to grow for it, is made again.
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
