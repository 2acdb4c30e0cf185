"""Answers of gateways: whatever comes, a call of the store ends with a result or an error of the package.

It may end late: the binary protocol of thriftpy2 counts through a list whose items have no known type, and so no bytes,
for as long as the list says that it is. The compact one is kept from that.
"""

from functools import cache, partial
from itertools import product

from thriftpy2.thrift import TApplicationException, TMessageType
from thriftpy2.transport import TMemoryBuffer

from fuzz import by_atheris
from fuzz.talking import Talker
from simhash_hbase.errors import SimhashError
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.hbase import Gateway, HBaseOptions
from simhash_hbase.stores.hbase.thrift.exchange import GatewayExchange
from simhash_hbase.stores.hbase.thrift.pool import Pool
from simhash_hbase.stores.hbase.thrift.thrift1 import Thrift1
from simhash_hbase.stores.hbase.thrift.thrift2 import Thrift2
from simhash_hbase.stores.hbase.thrift.wire import interface, make_protocol

KEY = bytes(12) + b"\0"
WAYS = [
    {"transport": "buffered", "protocol": "binary"},
    {"transport": "framed", "protocol": "binary"},
    {"transport": "buffered", "protocol": "compact"},
    {"transport": "framed", "protocol": "compact"},
    {"http": True},
]
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-thrift\r\nContent-Length: %d\r\n\r\n%b"


@cache
def talker():
    """Return the server of this process."""
    return Talker()


@cache
def calls():
    """Return what a store asks for, by either version."""
    made = []
    for driver in (Thrift1("t"), Thrift2("t")):
        made += [
            partial(driver.scan_keys, b"", b"", 10),
            partial(driver.has_keys, [KEY]),
            partial(driver.scan_cells, FAMILY_DOCUMENTS, b"", b"", 3, 2),
            partial(driver.row_tail, FAMILY_DOCUMENTS, b"row", b"s", 10),
            partial(driver.get, FAMILY_DOCUMENTS, [(b"row", b"s")]),
            partial(driver.get_rows, FAMILY_DOCUMENTS, [b"row"], 10),
            partial(driver.put, FAMILY_DOCUMENTS, [Cell(b"row", b"s", b"value", 5)]),
            partial(driver.swap, Swap(b"row", b"s", b"old", b"new")),
            driver.regions,
            driver.is_disabled,
        ]
    return made


def TestOneInput(data: bytes) -> None:
    """Make a call, which is the first byte, in a way, which is the second; the rest is what the gateway says."""
    server = talker()
    server.data = data[2:]
    call, way = data[:2].ljust(2, b"\0")
    options = HBaseOptions(gateways=(server.gateway,), table="t", deadline_s=0.001, **WAYS[way % len(WAYS)])
    pool = Pool(options, lambda *_: None)
    exchange = GatewayExchange(pool, options, calls()[-1])
    try:
        exchange.one(calls()[call % len(calls())], repeat=False)
    except SimhashError:
        pass
    finally:
        pool.close()


def _said(way, method, kind, value):
    """Return a message as a gateway writes it."""
    memory = TMemoryBuffer()
    options = HBaseOptions(gateways=(Gateway("gateway", 1),), table="t", **WAYS[way])
    protocol, transport = make_protocol(memory, options)
    protocol.write_message_begin(method, kind, 1)
    value.write(protocol)
    protocol.write_message_end()
    transport.flush()
    said = memory.getvalue()
    return HTTP % (len(said), said) if options.http else said


def _seeds():
    idl = interface("thrift2")
    value = idl.ColumnValue(family=FAMILY_DOCUMENTS.encode(), qualifier=b"s", value=b"value", timestamp=5)
    row = idl.Row(row=b"row", columnValues=[value])
    # What each call is answered with; a call without an answer of its own gets a refusal.
    known = {"existsAll": [True], "getMultiple": [row], "getScannerResults": [row], "checkAndPut": True}
    seeds = []
    for (number, call), way in product(enumerate(calls()), range(len(WAYS))):
        [asked] = next(call())
        refusal = TApplicationException(TApplicationException.INTERNAL_ERROR, "a trace")
        said = [_said(way, asked.method, TMessageType.EXCEPTION, refusal)]
        result = getattr(asked.service, f"{asked.method}_result")
        said.append(_said(way, asked.method, TMessageType.REPLY, result()))
        if number >= len(calls()) // 2 and asked.method in known:
            # The answer, and with lists one to twice as many.
            answers = [known[asked.method]] * 2
            answers[1:] = [each * 2 for each in answers[1:] if isinstance(each, list)]
            said += [_said(way, asked.method, TMessageType.REPLY, result(success=each)) for each in answers]
        seeds += [bytes([number, way]) + each for each in said]
    return [*seeds, b"\0\0HTTP/1.1 503 Busy\r\n\r\n", b"\0\4HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"]


SEEDS = _seeds()

if __name__ == "__main__":
    by_atheris(TestOneInput)
