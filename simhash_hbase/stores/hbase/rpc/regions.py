"""The regions of a table, and the servers that serve them.

Any server of HBase 2.5 and later says who serves ``hbase:meta``; that table has a row for each region. All regions of
one table are read in one scan, and read again after any error of a server: a region that was moved or split has another
server or another name, so that an old entry is always noticed.
"""

import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from simhash_hbase.errors import IndexMissing, Retryable, SimhashError, StoreRefused, StoreUnavailable
from simhash_hbase.stores.base import RegionPlace
from simhash_hbase.stores.hbase.exchange import Conversation
from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions
from simhash_hbase.stores.hbase.protobuf import Message
from simhash_hbase.stores.hbase.rpc import messages
from simhash_hbase.stores.hbase.rpc.cells import unpack_cells
from simhash_hbase.stores.hbase.rpc.errors import NotDone

_META_REGION = b"hbase:meta,,1"
_META_PRIORITY = 200
_META_ROWS = 1_000


class Region(NamedTuple):
    """A region of a table: a range of its rows that one server serves."""

    start: bytes
    end: bytes  # Exclusive; empty: the end of the table.
    name: bytes
    server: Gateway | None  # None while it moves.


class RegionMap:
    """All regions of a table, sorted and without gaps."""

    def __init__(self, regions: Iterable[Region]) -> None:
        self.regions = sorted(regions)
        self._starts = [region.start for region in self.regions]
        ends = [b"", *(region.end for region in self.regions)]
        if ends[:-1] != self._starts or ends[-1]:
            raise NotDone("the regions of the table are being split, merged or moved")

    def of(self, row: bytes) -> Region:
        """Return the region in which a row lies, which has a server; raise `NotDone` while it has none."""
        region = self.regions[bisect_right(self._starts, row) - 1]
        if region.server is None:
            raise NotDone("a region of the table has no server yet")
        return region

    def grouped(self, rows: Sequence[bytes]) -> Iterator[tuple[Gateway, list[tuple[Region, list[int]]]]]:
        """Yield each server with the regions in which some of `rows` lie, and the positions of the rows in each."""
        servers: dict[Gateway, dict[Region, list[int]]] = {}
        for at, row in enumerate(rows):
            region = self.of(row)
            assert region.server is not None
            servers.setdefault(region.server, {}).setdefault(region, []).append(at)
        for server, regions in servers.items():
            yield server, list(regions.items())


class Locator:
    """Finds the servers that a call goes to: those of a table's regions, the master, and that of ``hbase:meta``.

    Threads may share it.
    """

    def __init__(self, options: HBaseOptions) -> None:
        self._options = options
        self._table = options.table
        # Servers of regions are asked, too: those of the address may be gone one day.
        self._others: set[Gateway] = set()
        self._meta: Gateway | None = None
        self._map: RegionMap | None = None

    def forget(self) -> None:
        """Forget the regions and the server of ``hbase:meta``, so that the next call looks for them again."""
        self._map = self._meta = None

    def regions(self) -> Conversation[RegionMap]:
        """Return the regions of the table, remembered or read; raise `StoreRefused` for a disabled table.

        A call that needs them has not begun before: errors on the way are `NotDone`, after which it may be repeated.
        """
        known = self._map
        if known is None:
            try:
                if (yield from self.is_disabled()):
                    raise StoreRefused(f"table {self._table} is disabled: enable it in the HBase shell")
                known = self._map = RegionMap((yield from self.read()))
            except NotDone:
                raise
            except Retryable as error:
                raise NotDone(str(error)) from error
            self._others = {region.server for region in known.regions if region.server is not None}
        return known

    def read(self) -> Conversation[list[Region]]:
        """Return the table's regions, read from ``hbase:meta``; raise `IndexMissing` where there is no such table."""
        table = self._table.encode()
        start, regions = table + b",,", list[Region]()
        while True:
            # The servers compare the parts between the commas of such a row one by one. - comes before all other
            # characters of a name.
            scan = messages.Scan("info", start, table + b"-")
            parameter = messages.open_scan(_META_REGION, scan, _META_ROWS, close=True)
            answer = yield from self._ask_meta("Scan", parameter)
            rows: dict[bytes, dict[bytes, bytes]] = {}
            for cell in unpack_cells(answer.cells, "info"):
                rows.setdefault(cell.row, {})[cell.qualifier] = cell.value
            for name, columns in rows.items():
                if (value := columns.get(b"regioninfo")) is None:
                    continue
                region = messages.region_info(value)
                if region.table == self._table and region.is_served:
                    regions.append(Region(region.start, region.end, name, _place(columns.get(b"server", b""))))
            if len(rows) < _META_ROWS and not messages.ScanAnswer(answer.message).more_in_region:
                break
            start = max(rows, default=start) + b"\0"
        if not regions:
            raise IndexMissing(f"there is no table {self._table} at {_named(self._options.gateways)}")
        return sorted(regions)

    def places(self) -> Conversation[list[RegionPlace]]:
        """Return the first key and the server of each region, read from ``hbase:meta``."""
        regions = yield from self.read()
        return [RegionPlace(region.start, str(region.server or "")) for region in regions]

    def is_disabled(self) -> Conversation[bool]:
        """Return whether the table is disabled; raise `IndexMissing` where there is no such table."""
        get = messages.Get(self._table.encode(), "table", b"state")
        answer = yield from self._ask_meta("Multi", messages.multi_gets([(_META_REGION, [get])]))
        [result] = messages.multi_results(answer.message, [1])
        if isinstance(result, messages.ActionError):
            raise NotDone(f"the state of table {self._table} cannot be read now: {result.java_class}")
        values = unpack_cells(answer.cells, "table").values
        if not values:
            raise IndexMissing(f"there is no table {self._table} at {_named(self._options.gateways)}")
        return messages.is_disabled(values[0])

    def master(self) -> Conversation[Gateway]:
        """Return the active master of the cluster, as one of its servers says."""
        answer = yield from self._ask_registry("GetActiveMaster")
        name = Message(answer.message)
        if not name.has(1):
            raise StoreUnavailable("the cluster has no active master now")
        return messages.server_of(name.message(1))

    def find_meta(self) -> Conversation[Gateway]:
        """Return the server of the table ``hbase:meta``, remembered or asked of the servers."""
        server = self._meta
        if server is None:
            answer = yield from self._ask_registry("GetMetaRegionLocations")
            server = self._meta = messages.meta_server(answer.message)
            if server is None:
                raise StoreUnavailable("hbase:meta has no server now")
        return server

    def _ask_meta(self, method: str, parameter: bytes) -> Conversation[messages.RpcAnswer]:
        server = yield from self.find_meta()
        call = messages.RpcCall(server, messages.CLIENT, method, parameter, priority=_META_PRIORITY)
        [answer] = yield [call]
        return cast(messages.RpcAnswer, answer)

    def _ask_registry(self, method: str) -> Conversation[messages.RpcAnswer]:
        """Return the answer of the first server that answers a call of the registry, which knows the cluster's servers.

        Servers of the address are asked first, then those of known regions.
        """
        given = random.sample(self._options.gateways, len(self._options.gateways))
        others = [server for server in self._others if server not in given]
        failures: list[SimhashError] = []
        for server in [*given, *random.sample(others, len(others))]:
            soon_s = self._options.connect_timeout_s
            try:
                [answer] = yield [messages.RpcCall(server, messages.REGISTRY, method, b"", timeout_s=soon_s)]
            except (Retryable, StoreRefused) as error:
                # One may refuse a ticket that the others take.
                failures.append(error)
            else:
                return cast(messages.RpcAnswer, answer)
        if len(failures) == 1:
            raise failures[0]
        if all(isinstance(failure, StoreRefused) for failure in failures):
            raise StoreRefused("; ".join(map(str, failures))) from failures[-1]
        raise StoreUnavailable("; ".join(map(str, failures))) from failures[-1]


def _place(server: bytes) -> Gateway | None:
    host, _, port = server.decode("utf-8", "replace").rpartition(":")
    return Gateway(host, int(port)) if host else None


def _named(servers: Sequence[Gateway]) -> str:
    return ", ".join(map(str, servers))
