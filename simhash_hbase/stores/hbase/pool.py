"""Connections to one or several gateways, lent and taken back."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from simhash_hbase.errors import SimhashError, StoreBusy, StoreTimeout, StoreUnavailable
from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions
from simhash_hbase.stores.hbase.translate import translated
from simhash_hbase.stores.hbase.wire import Connection

__all__ = ["Pool"]

# A gateway at which something went wrong is passed over for so long while another one is there.
REST_S = 5.0


class Pool:
    """A bounded number of connections.

    Parameters
    ----------
    options : HBaseOptions
        Gateways, limits and time-outs.
    greet : callable
        Called with the first connection to each gateway; raises when it is not what it should be.

    Notes
    -----
    Threads may share it. A connection is taken back only when every answer on it was read and nothing went wrong,
    and lent again only when it was not idle for long and nothing came on it meanwhile. After a fork the child starts
    with none.
    """

    def __init__(self, options: HBaseOptions, greet: Callable[[Connection], None]) -> None:
        self._options = options
        self._greet = greet
        self._greeted: set[Gateway] = set()
        self._resting: dict[Gateway, float] = {}
        self._turn = 0
        self._closed = False
        self._start_empty()

    @contextmanager
    def lend(self, wanted: int) -> Iterator[list[Connection]]:
        """Lend connections for the length of a block.

        Parameters
        ----------
        wanted : int
            So many at most; fewer when others have them.

        Yields
        ------
        list of Connection
            At least one.

        Raises
        ------
        StoreUnavailable
            When no gateway takes a connection.
        StoreBusy
            When all connections are lent for longer than a call may take.
        """
        if os.getpid() != self._process:
            self._start_empty()
        lent = self._take(wanted)
        try:
            yield lent
        finally:
            self._take_back(lent)

    def counts(self) -> tuple[int, int]:
        """Count the connections that wait and those that are lent."""
        with self._changed:
            return len(self._idle), self._lent

    def close(self) -> None:
        """Close the connections that are not lent, and from now on those that come back."""
        with self._changed:
            self._closed = True
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def _start_empty(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._idle: list[Connection] = []
        self._lent = 0

    def _take(self, wanted: int) -> list[Connection]:
        places = self._reserve(wanted)
        taken: list[Connection] = []
        try:
            while len(taken) < places:
                taken.append(self._idle_one() or self._connect())
        except SimhashError:
            if not taken:
                self._release(places)
                raise
        except BaseException:
            for connection in taken:
                connection.close()
            self._release(places)
            raise
        # With some connections the work goes on, if slower.
        self._release(places - len(taken))
        return taken

    def _reserve(self, wanted: int) -> int:
        """Take at least one of the places that there are, waiting for it if need be."""
        with self._changed:
            free = self._changed.wait_for(lambda: self._options.max_connections - self._lent, self._options.timeout_s)
            if not free:
                raise StoreBusy(
                    f"all {self._options.max_connections} connections were in use for {self._options.timeout_s:g} s"
                )
            places = min(wanted, free)
            self._lent += places
            return places

    def _release(self, places: int) -> None:
        with self._changed:
            self._lent -= places
            self._changed.notify_all()

    def _idle_one(self) -> Connection | None:
        """Take an idle connection that can be used, and close those that cannot."""
        while True:
            with self._changed:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if connection.is_fresh(self._options.idle_s):
                return connection
            connection.close()

    def _take_back(self, lent: list[Connection]) -> None:
        for connection in lent:
            if connection.broken:
                self.suspect(connection.gateway)
            if not connection.is_clean():
                connection.close()
        with self._changed:
            clean = [connection for connection in lent if connection.is_clean()]
            if self._closed:
                for connection in clean:
                    connection.close()
            else:
                self._idle += clean
        self._release(len(lent))

    def suspect(self, gateway: Gateway) -> None:
        """Prefer other gateways for a while, and trust no idle connection to this one."""
        with self._changed:
            self._resting[gateway] = time.monotonic() + REST_S
            for connection in self._idle:
                if connection.gateway == gateway:
                    connection.close()
            self._idle = [connection for connection in self._idle if connection.gateway != gateway]

    def _connect(self) -> Connection:
        failures = []
        for gateway in self._in_order():
            try:
                return self._connect_to(gateway)
            except (StoreUnavailable, StoreTimeout) as error:
                self.suspect(gateway)
                failures.append(error)
        if len(failures) == 1:
            raise failures[0]
        raise StoreUnavailable("; ".join(map(str, failures))) from failures[-1]

    def _connect_to(self, gateway: Gateway) -> Connection:
        with translated("connecting", gateway, self._options.table):
            connection = Connection(gateway, self._options)
        try:
            if gateway not in self._greeted:
                self._greet(connection)
                self._greeted.add(gateway)
        except BaseException:
            connection.close()
            raise
        return connection

    def _in_order(self) -> list[Gateway]:
        """List the gateways in turn, those last at which something went wrong lately."""
        with self._changed:
            self._turn += 1
            gateways = self._options.gateways
            first = self._turn % len(gateways)
            now = time.monotonic()
            return sorted(gateways[first:] + gateways[:first], key=lambda gateway: self._resting.get(gateway, 0) > now)
