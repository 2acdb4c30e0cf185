"""Answers of HBase's own servers: whatever comes, a call of the store ends with a result or an error of the package."""

from functools import cache, partial

from support.region_server import failure, response

from fuzz import by_atheris
from fuzz.talking import Talker
from simhash_hbase.errors import SimhashError
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.hbase import HBaseOptions
from simhash_hbase.stores.hbase.protobuf import bytes_field, number_field
from simhash_hbase.stores.hbase.rpc.cells import PUT, pack_block_rows, pack_cells
from simhash_hbase.stores.hbase.rpc.driver import RpcDriver
from simhash_hbase.stores.hbase.rpc.exchange import RpcExchange
from simhash_hbase.stores.hbase.rpc.regions import Locator, Region, RegionMap

KEY = bytes(12) + b"\0"
CELLS = [Cell(b"row", b"s", b"value", 5), Cell(b"row", b"t", b"", 6)]


class Known(Locator):
    """Knows the table's only region."""

    def regions(self):
        return RegionMap([Region(b"", b"", b"t,,1.x.", self._options.gateways[0])])
        yield


@cache
def talker():
    """Return the server of this process."""
    return Talker()


def calls(options):
    """Return what a store asks for: of a region that is known, and on the way to it."""
    known = RpcDriver("t", Known(options), deadline_s=options.deadline_s)
    lost = RpcDriver("t", Locator(options), deadline_s=options.deadline_s)
    return [
        partial(known.scan_keys, b"", b"", 10),
        partial(known.has_keys, [KEY]),
        partial(known.scan_cells, FAMILY_DOCUMENTS, b"", b"", 3, 2),
        partial(known.row_tail, FAMILY_DOCUMENTS, b"row", b"s", 10),
        partial(known.get, FAMILY_DOCUMENTS, [(b"row", b"s")]),
        partial(known.get_rows, FAMILY_DOCUMENTS, [b"row", b"rox"], 10),
        partial(known.get_rows, FAMILY_DOCUMENTS, [b"row", b"rox"], 10, scan=True),
        partial(known.put_keys, [KEY, KEY], 1),
        partial(known.swap, Swap(b"row", b"s", b"old", b"new")),
        lost.regions,
        lost.describe,
        lost.is_disabled,
    ]


def TestOneInput(data: bytes) -> None:
    """Make a call, which is the first byte; the rest is what the server says."""
    server = talker()
    server.data = data[1:]
    options = HBaseOptions(gateways=(server.gateway,), table="t", rpc=True, user="me", deadline_s=0.001)
    exchange = RpcExchange(options, Known(options))
    choice = calls(options)
    try:
        exchange.one(choice[data[0] % len(choice) if data else 0], repeat=False)
    except SimhashError:
        pass
    finally:
        exchange.close()


def _seeds():
    counts = number_field(1, 2) + number_field(8, 0)
    found = bytes_field(1, number_field(1, 0) + bytes_field(2, number_field(2, 2)))
    block = pack_cells(FAMILY_DOCUMENTS, CELLS, PUT)
    said = [
        response(1, number_field(1, 1) + number_field(8, 0), pack_block_rows([KEY], 1, PUT)),
        response(1, bytes_field(1, bytes_field(1, number_field(1, 0) + bytes_field(2, number_field(3, 1))))),
        response(1, counts + number_field(2, 77) + number_field(3, 1), block),
        response(1, bytes_field(1, found), block),
        response(1, bytes_field(1, found), block[: len(block) // 2]),
        failure(1, "org.apache.hadoop.hbase.NotServingRegionException", "a trace"),
        response(1, number_field(2, 1)),
        response(1, bytes_field(1, bytes_field(2, bytes_field(1, b"localhost") + number_field(2, 16020)))),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ]
    return [bytes([call]) + each for call in range(12) for each in said]


SEEDS = _seeds()

if __name__ == "__main__":
    by_atheris(TestOneInput)
