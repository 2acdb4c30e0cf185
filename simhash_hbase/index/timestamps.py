"""Timestamps of cells: from which clock they come, and why no late write or delete can hide a decision.

In a store without transactions a delete hides cells written at or below its timestamp, at once or later. So no delete
may be later than the server's time, and no write much earlier. A writer's own clock may be wrong.

The first document cell of an id is written by a plain put: a compare-and-set costs a server as much as thirty cells of
a put, and an empty cell does not need one. A put that gets its timestamp when it is executed may be executed late, by a
gateway that stood still, and cover acknowledged changes of that time. So a first cell carries a timestamp below all
that the server's clock still gives: it never covers the cell of a compare-and-set, however late or often it arrives.
When several are put into one cell, the one with the highest timestamp stands, in whatever order they arrive. A writer
counts its cell as written once it has read it back; every other change of a document cell is a compare-and-set.

The first cell of a claim decides nothing yet, so its timestamp, `claim_time`, is below those of all decisions. The
timestamp of a decision, `time_below`, is above all cells that `vacuum` has deleted.
"""

import time
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

from simhash_hbase.errors import CorruptIndex, StoreTimeout, StoreUnavailable
from simhash_hbase.rows.keys import index_row
from simhash_hbase.rows.layout import FAMILY_INDEX, VALUE_QUALIFIER
from simhash_hbase.stores.base import Cell, Store, Transactional

MARGIN_MS = 60_000
"""Milliseconds by which the timestamp of a cell that is written without comparing is behind the server's clock: a cell
that anybody changed meanwhile is newer, even where the servers' clocks differ. HBase admits no server 30 s off."""

# The server is asked for its time again after so long, after this machine slept, and after its clock was set.
KEPT_S = 60.0
# A store does not repeat a put that its own clock stamps; asking for the time may be repeated.
TRIES = 3
SET_S = 1.0

# The timestamp of a claim's first cell is made of so many bytes of its token.
STAMP_BYTES = 5
# Above the timestamps of all tokens; as a time it is in 2004.
ABOVE_TOKENS = 1 + 256**STAMP_BYTES

_ROW = index_row("time")


class Timer(NamedTuple):
    """The clock and the sleep by which claims measure leases (how long a writer keeps a claim) and waits, in seconds.

    It has nothing to do with the time of day.
    """

    monotonic: Callable[[], float] = time.monotonic  # Seconds.
    sleep: Callable[[float], None] = time.sleep


class _Reading(NamedTuple):
    """The store server's time as it was asked for, and this machine's clocks at that moment."""

    server_ms: int
    monotonic_s: float
    wall_s: float


class BatchClock:
    """Gives each batch of writes of this process a later timestamp than the one before, unless the clock was set back.

    Parameters
    ----------
    clock : callable
        Milliseconds since 1970, by this machine.

    Notes
    -----
    Threads may share one.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._given = 0
        self._read = 0
        self._lock = Lock()

    def next_time(self) -> int:
        """Return the timestamp of the next batch of writes, in ms since 1970: later than that of the batch before."""
        with self._lock:
            now = self._clock()
            # If times went on from a clock that was ahead and is put right, documents would go on to expire.
            was_set_back = now < self._read - MARGIN_MS
            self._given = now if was_set_back else max(now, self._given + 1)
            self._read = now
            return self._given


class ServerClock:
    """The clock of a store's server, from which timestamps of cells are made; it is asked for the time once a minute.

    Parameters
    ----------
    store : Store
        Is asked; one with transactions has no other writers whose clocks differ, and is not asked.
    monotonic, wall : callable, optional
        Seconds by the clocks of this machine: one that is never set, and the time of day.

    Notes
    -----
    Threads may share one.
    """

    def __init__(
        self, store: Store, *, monotonic: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._monotonic = monotonic
        self._wall = wall
        self._reading: _Reading | None = None
        self._given = 0
        self._lock = Lock()

    def server_time(self) -> int:
        """Return the time of the store's server, in ms since 1970: the timestamp that it gives to a new cell."""
        self._store.put(FAMILY_INDEX, [Cell(_ROW, VALUE_QUALIFIER, b"t")])
        [cell] = self._store.get(FAMILY_INDEX, [(_ROW, VALUE_QUALIFIER)])
        if cell is None or cell.timestamp is None:
            raise CorruptIndex(f"the row of times at {self._store.url} was written and is not there")
        return cell.timestamp

    def time_below(self) -> int:
        """Return a timestamp, in ms, that is lower than any that the store's server gives from now on.

        Each call returns a higher one than the call before.
        """
        reading = self._reading
        if reading is None or self._is_old(reading):
            for attempt in range(1, TRIES + 1):
                try:
                    server_ms = self.server_time()
                    break
                except (StoreTimeout, StoreUnavailable):
                    if attempt == TRIES:
                        raise
            # These clocks are read after the server's: it was at that time or later by then.
            reading = self._reading = _Reading(server_ms, self._monotonic(), self._wall())
        elapsed_ms = int((self._monotonic() - reading.monotonic_s) * 1000)
        with self._lock:
            self._given = max(reading.server_ms + elapsed_ms - MARGIN_MS, self._given + 1)
            return self._given

    def _is_old(self, reading: _Reading) -> bool:
        """Return whether the server must be asked again: long ago, the machine slept since, or its clock was set."""
        monotonic_s = self._monotonic() - reading.monotonic_s
        return monotonic_s > KEPT_S or abs(self._wall() - reading.wall_s - monotonic_s) > SET_S

    def writing_time(self, now: int) -> int:
        """Return the timestamp, in ms, for new member cells and search rows: at least about the server's time.

        `now` is this machine's time, which stands in a store with transactions. A member cell stands for one document,
        in the row of its fingerprint. Search rows lead from hashes (of blocks of a fingerprint, bands of a sketch,
        passages) to fingerprints.
        """
        # In a store with transactions a delete leaves nothing that hides later writes.
        return now if isinstance(self._store, Transactional) else max(now, self.time_below())

    def cleaning_time(self, now: int) -> int:
        """Return the highest timestamp, in ms, up to which cells may be deleted: not above the server's time.

        `now` is this machine's time, which stands in a store with transactions.
        """
        # In a store with transactions a delete leaves nothing that hides later writes.
        return now if isinstance(self._store, Transactional) else self.server_time()

    def decision_time(self) -> int | None:
        """Return the timestamp for an id's first document cell, if it is put with a decision and without comparing.

        None means that such a cell must be written by compare-and-set. Call it before reading the cells. A document
        cell has the decision about one document, in the row of its id.
        """
        # In a transaction nobody changes a cell between its read and its write.
        if isinstance(self._store, Transactional):
            return None
        below = self.time_below()
        return below if below >= ABOVE_TOKENS else None


def claim_time(token: bytes) -> int:
    """Return the timestamp of the first document cell that a claim writes: below those of all decisions.

    It is made of the random token of the claim, so that it differs from one attempt to the next.
    """
    return 1 + int.from_bytes(token[:STAMP_BYTES], "big")


def stamp_above(now: int, *stamps: int) -> int:
    """Return the timestamp for a document's next member cell: at least `now` and above all its earlier timestamps.

    `stamps` are the timestamps of its earlier member cells and removals, in ms.
    """
    return max(now, *(stamp + 1 for stamp in stamps))
