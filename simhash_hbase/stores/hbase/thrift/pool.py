"""A pool of connections to one or several Thrift gateways, lent to callers and taken back."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from simhash_hbase.errors import IndexClosed, SimhashError, StoreBusy, StoreTimeout, StoreUnavailable
from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions, format_url
from simhash_hbase.stores.hbase.thrift.wire import GatewayConnection, NoGateway, thrift_errors

# A caller who probes a resting gateway waits for it, although another gateway would serve the call at once.
PROBE_S = 0.5
FIRST_REST_S = 5.0
LONGEST_REST_S = 60.0


class Pool:
    """A bounded number of connections to gateways, which callers borrow.

    Threads may share it. Each connection is lent from the gateway with the fewest lent ones. It comes back only if all
    answers on it were read without an error, and is lent again only if it was not idle for long and received nothing
    meanwhile. A gateway with an error rests while another one works, and is then tried again. After a fork the child
    starts without connections.

    `greet` is called with a new connection, and whether its gateway has answered before, so that an error needs no
    explanation; it raises an error for a gateway that is not the expected one.
    """

    def __init__(self, options: HBaseOptions, greet: Callable[[GatewayConnection, bool], None]) -> None:
        self._options = options
        self._greet = greet
        self._greeted: set[Gateway] = set()
        self._known: set[Gateway] = set()
        self._resting = Resting()
        self._turn = 0
        self._closed = False
        self._start_empty()

    @contextmanager
    def lend(self, wanted: int) -> Iterator[list[GatewayConnection]]:
        """Lend connections to the caller within the block: at least one, and at most `wanted`."""
        if os.getpid() != self._process:
            self._start_empty()
        lent = self._take(wanted)
        try:
            yield lent
        finally:
            for connection in lent:
                if connection.broken:
                    self.suspect(connection.gateway)
                if not connection.is_clean():
                    connection.close()
            with self._changed:
                clean = [connection for connection in lent if connection.is_clean()]
                for connection in clean:
                    self._resting.answered(connection.gateway)
                    if self._closed:
                        connection.close()
                if not self._closed:
                    self._idle += clean
            self._release(len(lent), lent)

    def counts(self) -> tuple[int, int]:
        """Return how many connections are idle, and how many are lent to callers."""
        with self._changed:
            return len(self._idle), self._lent

    def close(self) -> None:
        """Close the idle connections, and those that are lent when they come back; lend no more."""
        with self._changed:
            self._closed = True
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def _start_empty(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._idle: list[GatewayConnection] = []
        self._lent = 0
        self._lent_at: Counter[Gateway] = Counter()

    def _take(self, wanted: int) -> list[GatewayConnection]:
        """Return 1 to `wanted` connections to be lent, waiting until there may be another one.

        Raise `StoreBusy` in the end.
        """
        with self._changed:
            if self._closed:
                raise IndexClosed(f"{format_url(self._options)}: this index was closed")
            free = self._changed.wait_for(lambda: self._options.max_connections - self._lent, self._options.timeout_s)
            if not free:
                raise StoreBusy(
                    f"all {self._options.max_connections} connections were in use for {self._options.timeout_s:g} s"
                )
            places = min(wanted, free)
            self._lent += places
        # Threads share the count; it does no harm when two take the same turn.
        self._turn = turn = self._turn + 1
        taken: list[GatewayConnection] = []
        try:
            while len(taken) < places:
                taken.append(self._next(turn))
        except SimhashError:
            if not taken:
                self._release(places)
                raise
        except BaseException:
            for connection in taken:
                connection.close()
            self._release(places, taken)
            raise
        # The work goes on with fewer connections, only slower.
        self._release(places - len(taken))
        return taken

    def _release(self, places: int, taken: Sequence[GatewayConnection] = ()) -> None:
        with self._changed:
            self._lent_at.subtract(connection.gateway for connection in taken)
            self._lent -= places
            self._changed.notify_all()

    def _next(self, turn: int) -> GatewayConnection:
        """Return an idle connection or a new one to the first gateway that has one, in the order of `_in_order`."""
        failures: list[SimhashError] = []
        for gateway, options in self._in_order(turn):
            try:
                connection = self._idle_one(gateway) or self._connect(gateway, options)
            except (StoreUnavailable, StoreTimeout, NoGateway) as error:
                self.suspect(gateway)
                failures.append(error)
            else:
                with self._changed:
                    self._lent_at[gateway] += 1
                return connection
        if len(failures) == 1:
            raise failures[0]
        raise StoreUnavailable("; ".join(map(str, failures))) from failures[-1]

    def _in_order(self, turn: int) -> list[tuple[Gateway, HBaseOptions]]:
        """Return the gateways to try for a connection, in order.

        First come those that failed and are due for another try, then those that work, those with fewer lent
        connections first, then the others.
        """
        with self._changed:
            first = turn % len(self._options.gateways)
            gateways = self._options.gateways[first:] + self._options.gateways[:first]
            working = self._resting.working(gateways)
            if not working:
                # All connections of a caller have the same order: a gateway that hangs must not hold up the others.
                return [(gateway, self._options) for gateway in gateways]
            due = self._resting.take_due(gateways)
            self._greeted.difference_update(due)
            working.sort(key=lambda gateway: self._lent_at[gateway])
        quick = replace(self._options, connect_timeout_s=min(PROBE_S, self._options.connect_timeout_s))
        others = [gateway for gateway in gateways if gateway not in {*working, *due}]
        return [(gateway, quick) for gateway in due] + [(other, self._options) for other in (*working, *others)]

    def _idle_one(self, gateway: Gateway) -> GatewayConnection | None:
        """Return the newest idle connection to a gateway that can be used; None when there is none.

        Idle connections that cannot be used any more are closed on the way.
        """
        while True:
            with self._changed:
                at = [number for number, idle in enumerate(self._idle) if idle.gateway == gateway]
                if not at:
                    return None
                connection = self._idle.pop(at[-1])
            if connection.is_fresh(self._options.idle_s):
                return connection
            connection.close()

    def suspect(self, gateway: Gateway) -> None:
        """Stop using a gateway for a while after an error, and close the idle connections to it."""
        with self._changed:
            self._resting.failed(gateway)
            for connection in self._idle:
                if connection.gateway == gateway:
                    connection.close()
            self._idle = [connection for connection in self._idle if connection.gateway != gateway]

    def _connect(self, gateway: Gateway, options: HBaseOptions) -> GatewayConnection:
        with self._changed:
            # Idle connections to other gateways make room.
            while self._idle and len(self._idle) + self._lent > self._options.max_connections:
                self._idle.pop(0).close()
        with thrift_errors("connecting", gateway, options.table):
            connection = GatewayConnection(gateway, options)
        try:
            if gateway not in self._greeted:
                self._greet(connection, gateway in self._known)
                self._greeted.add(gateway)
                self._known.add(gateway)
        except BaseException:
            connection.close()
            raise
        return connection


class Resting:
    """Remembers gateways that failed, which are not used for a while (rest); each failure in a row doubles that time.

    The caller holds a lock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[Gateway, float] = {}
        self._rest_s: dict[Gateway, float] = {}

    def failed(self, gateway: Gateway) -> None:
        """Begin the time for which a gateway is not used; another failure meanwhile does not prolong it."""
        if self._until.get(gateway, 0.0) > self._clock():
            return
        rest_s = min(2 * self._rest_s.get(gateway, FIRST_REST_S / 2), LONGEST_REST_S)
        self._rest_s[gateway] = rest_s
        self._until[gateway] = self._clock() + rest_s

    def answered(self, gateway: Gateway) -> None:
        """Use a gateway again that has answered, and forget its earlier failures."""
        self._until.pop(gateway, None)
        self._rest_s.pop(gateway, None)

    def working(self, gateways: Sequence[Gateway]) -> list[Gateway]:
        """Return the gateways that have not failed since their last answer."""
        return [gateway for gateway in gateways if gateway not in self._until]

    def take_due(self, gateways: Sequence[Gateway]) -> list[Gateway]:
        """Return the gateways that failed some time ago and may be tried again, each to one caller only.

        They count as failed again until they answer.
        """
        now = self._clock()
        due = [gateway for gateway in gateways if self._until.get(gateway, now) < now]
        for gateway in due:
            self.failed(gateway)
        return due
