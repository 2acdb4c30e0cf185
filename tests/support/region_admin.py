"""Regions of a table are split, merged, and taken from their server and given back, by calls of the master."""

import time
from contextlib import closing

from simhash_hbase.stores.hbase.protobuf import Message, bytes_field, number_field
from simhash_hbase.stores.hbase.rpc import messages
from simhash_hbase.stores.hbase.rpc.cells import unpack_cells
from simhash_hbase.stores.hbase.rpc.servers import Servers
from support.hbase_server import hbase_options
from support.patience import END_S


class RegionAdmin:
    """Changes regions of one table; each change has happened when its call returns."""

    def __init__(self, table):
        self._table = table
        self._options = hbase_options("rpc", table)

    def split(self, row):
        """Split the region of a row at the row."""
        [info] = [info for _, info in self._rows() if self._has(info, row)]
        self._change("SplitRegion", bytes_field(1, info) + bytes_field(2, row))

    def merge_first(self):
        """Merge the first two regions."""
        names = [name for name, _ in self._rows()[:2]]
        self._change("MergeTableRegions", b"".join(bytes_field(1, _hashed(name)) for name in names))

    def reopen(self, row):
        """Take the region of a row from its server, and give it to one again."""
        [name] = [name for name, info in self._rows() if self._has(info, row)]
        for method in ("UnassignRegion", "AssignRegion"):
            self._change(method, bytes_field(1, _named(name)))

    def _rows(self):
        """Read name and description of each region that is served, in their order."""
        scan = messages.Scan("info", self._table.encode() + b",,", self._table.encode() + b"-")
        parameter = messages.open_scan(b"hbase:meta,,1", scan, 1000, close=True)

        def ask():
            meta = yield from servers.driver._locator.find_meta()
            [answer] = yield [messages.RpcCall(meta, messages.CLIENT, "Scan", parameter)]
            return list(unpack_cells(answer.cells, "info"))

        with closing(Servers(self._options)) as servers:
            cells = servers.exchange.one(ask)
        found = [(cell.row, cell.value[4:]) for cell in cells if cell.qualifier == b"regioninfo"]
        return [(name, info) for name, info in found if messages.region_info(b"PBUF" + info).is_served]

    def _has(self, info, row):
        region = messages.region_info(b"PBUF" + info)
        return region.start <= row and (not region.end or row < region.end)

    def _change(self, method, parameter):
        def ask():
            master = yield from servers.driver._locator.master()
            [answer] = yield [messages.RpcCall(master, messages.MASTER, method, parameter)]
            return master, Message(answer.message).number(1)

        def result():
            [answer] = yield [
                messages.RpcCall(master, messages.MASTER, "getProcedureResult", number_field(1, procedure))
            ]
            return Message(answer.message)

        with closing(Servers(self._options)) as servers:
            master, procedure = servers.exchange.one(ask, repeat=False)
            end = time.monotonic() + END_S
            while procedure and servers.exchange.one(result).number(1) == 1:
                assert time.monotonic() < end, f"{method} does not end"
                time.sleep(0.02)
            assert not procedure or not servers.exchange.one(result).has(5)


def _named(region):
    return number_field(1, 1) + bytes_field(2, region)


def _hashed(region):
    """Return a region by the part of its name that is a hash of the rest, the only one that merges take."""
    return number_field(1, 2) + bytes_field(2, region.split(b".")[-2])
