"""Which of two clocks a timestamp is taken from: a writer's own, which may be wrong, or the server's.

In a store without transactions a delete hides what is written at or below its timestamp, now or later. So no delete may
be later than the server's time, and no write much earlier.
"""

import time
from contextlib import suppress
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

from simhash_hbase.errors import CorruptIndex, StoreTimeout, StoreUnavailable
from simhash_hbase.rows.keys import index_row
from simhash_hbase.rows.layout import FAMILY_INDEX, VALUE_QUALIFIER
from simhash_hbase.stores.base import Cell, CompareAndSet, Store, Transactional

MARGIN_MS = 60_000
"""How far the timestamp of a cell that is written without comparing lies behind the server's clock: a cell that anybody
changed meanwhile is newer, even where the servers' clocks differ. HBase admits no server that is 30 s off."""

# A reading this old is taken again; so is one since which this machine slept, or its clock was set.
KEPT_S = 60.0
# A store does not repeat a put that its own clock stamps; asking for the time may be repeated.
TRIES = 3
SET_S = 1.0

_ROW = index_row("time")


class _Reading(NamedTuple):
    """The server's time, and what the clocks of this machine said when it was known."""

    server_ms: int
    monotonic_s: float
    wall_s: float


_readings: WeakKeyDictionary[Store, _Reading] = WeakKeyDictionary()
_given: WeakKeyDictionary[Store, int] = WeakKeyDictionary()
_lock = Lock()


def server_time(store: Store) -> int:
    """Ask for the server's time."""
    store.put(FAMILY_INDEX, [Cell(_ROW, VALUE_QUALIFIER, b"t")])
    [cell] = store.get(FAMILY_INDEX, [(_ROW, VALUE_QUALIFIER)])
    if cell is None or cell.timestamp is None:
        raise CorruptIndex(f"the row of times at {store.url} was written and is not there")
    return cell.timestamp


def time_below(store: Store) -> int:
    """Choose a timestamp below all that the store's own clock gives from now on."""
    reading = _readings.get(store)
    if reading is None or _is_old(reading):
        # Afterwards: the server's clock was at least there when these were read.
        reading = _readings[store] = _Reading(_asked(store), time.monotonic(), time.time())
    elapsed_ms = int((time.monotonic() - reading.monotonic_s) * 1000)
    with _lock:
        _given[store] = max(reading.server_ms + elapsed_ms - MARGIN_MS, _given.get(store, 0) + 1)
        return _given[store]


def writing_time(store: Store, now: int) -> int:
    """Choose the timestamp of members and block rows: not much below the server's time."""
    if isinstance(store, Transactional) or not isinstance(store, CompareAndSet):
        return now
    return max(now, time_below(store))


def cleaning_time(store: Store, now: int) -> int:
    """Choose the latest timestamp of deletes: not above the server's time."""
    return now if isinstance(store, Transactional) else server_time(store)


def _asked(store: Store) -> int:
    for _ in range(TRIES - 1):
        with suppress(StoreTimeout, StoreUnavailable):
            return server_time(store)
    return server_time(store)


def _is_old(reading: _Reading) -> bool:
    monotonic_s = time.monotonic() - reading.monotonic_s
    return monotonic_s > KEPT_S or abs(time.time() - reading.wall_s - monotonic_s) > SET_S
