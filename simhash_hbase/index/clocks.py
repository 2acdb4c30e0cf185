"""Which of two clocks a timestamp is taken from: a writer's own, which may be wrong, or the server's.

In a store without transactions a delete hides what is written at or below its timestamp, now or later. So no delete may
be later than the server's time, and no write much earlier.
"""

from contextlib import suppress

from simhash_hbase.errors import StoreTimeout, StoreUnavailable
from simhash_hbase.index.servertime import server_time, time_below
from simhash_hbase.stores.base import CompareAndSet, Store, Transactional

# A store does not repeat what its clock stamps; asking for the time may be repeated.
TRIES = 3


def cleaning_time(store: Store, now: int) -> int:
    """Tell the time that deletes go by."""
    return now if isinstance(store, Transactional) else server_time(store)


def writing_time(store: Store, now: int) -> int:
    """Bound the time that members and block rows are stamped with."""
    if isinstance(store, Transactional) or not isinstance(store, CompareAndSet):
        return now
    for _ in range(TRIES - 1):
        with suppress(StoreTimeout, StoreUnavailable):
            return max(now, time_below(store))
    return max(now, time_below(store))
