"""Whatever a gateway answers, a call ends with a result or with an error of the package, soon and in little memory."""

import socket
import struct
import time
import tracemalloc
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import chain, islice, product

import numpy as np
import pytest
from thriftpy2.thrift import TMessageType
from thriftpy2.transport import TMemoryBuffer

from simhash_hbase.errors import SimhashError, StoreUnavailable
from simhash_hbase.stores.base import Swap
from simhash_hbase.stores.hbase import Gateway, HBaseOptions, sockets
from simhash_hbase.stores.hbase.gateways import ask_version
from simhash_hbase.stores.hbase.table import TableSchema
from simhash_hbase.stores.hbase.thrift import channel, wire
from simhash_hbase.stores.hbase.thrift.exchange import GatewayExchange
from simhash_hbase.stores.hbase.thrift.thrift1 import Thrift1
from simhash_hbase.stores.hbase.thrift.thrift2 import Thrift2

GATEWAY = Gateway("gateway", 9090)
WAYS = [
    {"transport": transport, "protocol": protocol}
    for transport, protocol in product(("buffered", "framed"), ("binary", "compact"))
] + [{"http": True}]
EXTREMES = (b"\x7f\xff\xff\xff", b"\x7f\xff\x00\x00", b"\x10\x00\x00\x00", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00")
# 2 GB, 10 to the power of 15, 2 to the power of 62, and a number without an end, in the compact protocol.
VARINTS = (b"\xff\xff\xff\xff\x07", b"\x80\x80\x9a\xa6\xea\xaf\xe3\x01", b"\x80" * 8 + b"\x40", b"\xff" * 40)
KEY = b"\2" * 13  # Read as types, these bytes are booleans: thriftpy2 goes through a list of an unknown type for long.
IDL, OLD = wire.interface("thrift2"), wire.thrift1()


def options_for(**how):
    return HBaseOptions(gateways=(GATEWAY,), table="t", timeout_s=5, connect_timeout_s=5, deadline_s=1, **how)


def encoded(options, sequence, service, method, **fields):
    """Write a good answer as a gateway sends it."""
    memory = TMemoryBuffer()
    protocol, transport = wire.make_protocol(memory, options)
    protocol.write_message_begin(method, TMessageType.REPLY, sequence)
    result = getattr(service, f"{method}_result")(**fields)
    result.write(protocol)
    protocol.write_message_end()
    transport.flush()
    return bytes(memory.getvalue())


def in_http(message):
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/x-thrift\r\nContent-Length: %d\r\n\r\n%b" % (
        len(message),
        message,
    )


class OneConnection:
    """A pool of one connection."""

    def __init__(self, connection):
        self._connection = connection

    @contextmanager
    def lend(self, wanted):
        yield [self._connection]

    def counts(self):
        return 0, 1


@contextmanager
def answered(options, answer, monkeypatch):
    """Give a connection on which some bytes have come, and then the end."""
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        theirs.sendall(answer)
        theirs.shutdown(socket.SHUT_WR)
        monkeypatch.setattr(wire, "connect", lambda *_: ours)
        with closing(wire.GatewayConnection(GATEWAY, options)) as connection:
            yield connection


def outcome(options, answer, task, monkeypatch):
    """Return the result or the error of the package; raise any other."""
    with answered(options, answer, monkeypatch) as connection:
        exchange = GatewayExchange(OneConnection(connection), options, None)
        try:
            return exchange.one(task, repeat=False)
        except SimhashError as error:
            return error


def calls_of_thrift2():
    """Yield name, task, and the services, methods and fields of good answers."""
    cell = {"family": b"d", "qualifier": b"q", "value": b"value of the cell", "timestamp": 7}
    row = IDL.Row(row=b"row", columnValues=[IDL.ColumnValue(**cell)])
    family = IDL.Family(name=b"b", configuration={"a": "b"}, bloomnFilterType=1, maxVersions=1, blockCacheEnabled=True)
    place = IDL.RegionLocation(
        serverName=IDL.ServerName(hostName="node", port=16020),
        regionInfo=IDL.RegionInfo(regionId=1, tableName=b"t", startKey=b"s", endKey=b""),
    )
    table = IDL.Table(tableName=IDL.TableName(ns=b"n", qualifier=b"t"), columns=[family], attributes={b"a": b"b"})
    failure = IDL.IOFailure(message=b"org.apache.hadoop.hbase.TableNotFoundException: t", canRetry=False)
    driver, keys = Thrift2("t"), np.array([1 << 32], np.uint64)

    def answer(method, service=IDL.Cells, **fields):
        return service, method, fields

    def rows(method):
        return [answer(method, success=[row])]

    found = answer("getScannerResults", IDL.Keys, success=[IDL.RowKey(row=KEY)])
    described = [("tableExists", True), ("getTableDescriptor", table), ("getAllRegionLocations", [place])]
    yield "scan", partial(driver.scan_keys, KEY, b"", 9, keys), [found]
    yield "has", partial(driver.has_keys, [KEY, KEY]), [answer("existsAll", success=[True, False])]
    yield "cells", partial(driver.scan_cells, "d", b"", b"", 9, 9), rows("getScannerResults")
    yield "tail", partial(driver.row_tail, "d", b"row", b"", 9), rows("getMultiple")
    yield "get", partial(driver.get, "d", [(b"row", b"q")]), rows("getMultiple")
    yield "rows", partial(driver.get_rows, "d", [b"row"], 9), rows("getMultiple")
    yield "scanned", partial(driver.get_rows, "d", [b"row"], 9, scan=True), rows("getScannerResults")
    yield "delete", partial(driver.delete_keys, [KEY], 1), [answer("deleteMultiple", success=[])]
    yield "swap", partial(driver.swap, Swap(b"row", b"q", None, b"v")), [answer("checkAndPut", success=True)]
    yield "regions", driver.regions, [answer("getAllRegionLocations", success=[place])]
    yield "failure", partial(driver.has_keys, [KEY]), [answer("existsAll", io=failure)]
    yield "create", partial(driver.create, TableSchema()), [answer("createTable")]
    yield "describe", driver.describe, [answer(method, success=success) for method, success in described]


def calls_of_thrift1():
    """Yield the same for the older interface."""
    found = OLD.TRowResult(row=b"row", columns={b"d:q": OLD.TCell(value=b"value of the cell", timestamp=7)})
    key = OLD.TRowResult(row=KEY, columns={b"b:": OLD.TCell(value=b"", timestamp=7)})
    region = OLD.TRegionInfo(startKey=b"s", endKey=b"", id=1, name=b"n", version=1, serverName=b"node", port=16020)
    column = OLD.ColumnDescriptor(name=b"b:", maxVersions=1, compression="NONE")
    driver = Thrift1("t")

    def answer(method, success):
        return OLD.Hbase, method, {"success": success}

    def scanned(result):
        opened = wire.interface("walk1").Walk, "scannerOpenWithScan", {"success": 1}
        return [opened, answer("scannerGetList", [result]), (OLD.Hbase, "scannerClose", {})]

    yield "scan 1", partial(driver.scan_keys, KEY, b"", 9), scanned(key)
    yield "has 1", partial(driver.has_keys, [KEY]), [answer("getRowsWithColumns", [key])]
    yield "cells 1", partial(driver.scan_cells, "d", b"", b"", 9, 9), scanned(found)
    yield "get 1", partial(driver.get, "d", [(b"row", b"q")]), [answer("getRowsWithColumns", [found])]
    yield "rows 1", partial(driver.get_rows, "d", [b"row"], 9), scanned(found)
    yield "regions 1", driver.regions, [answer("getTableRegions", [region])]
    described = [answer("getColumnDescriptors", {b"b:": column}), answer("getTableRegions", [region])]
    yield "describe 1", driver.describe, described


def good_answers(options, answers):
    messages = [encoded(options, at, *call, **fields) for at, (*call, fields) in enumerate(answers, 1)]
    return b"".join(map(in_http, messages) if options.http else messages)


def changed(good, options):
    """Yield good answers that were cut anywhere, with each byte changed, and with each length replaced."""
    for at in range(len(good)):
        yield good[:at]
        yield from (good[:at] + bytes([byte]) + good[at + 1 :] for byte in (0, 1, 0x7F, 0x80, 0xFF))
        if options.protocol == "compact":
            yield from (good[:at] + length + good[at + 1 :] for length in VARINTS)
        elif good[at : at + 3] == bytes(3):
            yield from (good[:at] + length + good[at + 4 :] for length in EXTREMES)


CALLS = {name: (task, answers) for name, task, answers in chain(calls_of_thrift2(), calls_of_thrift1())}


# Some of their changed answers are lists of a type that is none, which thriftpy2 goes through one by one.
SLOW = ("describe", "describe 1")
CASES = [
    *(pytest.param(name, WAYS[0], marks=pytest.mark.slow if name in SLOW else ()) for name in CALLS),
    *((name, how) for name in ("scan", "rows", "rows 1") for how in WAYS[1:] if name != "rows 1" or how != WAYS[-1]),
]


@pytest.mark.parametrize(("name", "how"), CASES)
def test_a_changed_answer_is_a_result_or_an_error_of_the_package(name, how, monkeypatch):
    options = options_for(**how)
    task, answers = CALLS[name]
    good = good_answers(options, answers)
    right = outcome(options, good, task, monkeypatch)
    assert isinstance(right, SimhashError) == (name == "failure")

    # Of the slow ones each third: no byte is left out, since each has six changes or more.
    some = islice(changed(good, options), None, None, 3 if name in SLOW else 1)
    failed = [isinstance(outcome(options, answer, task, monkeypatch), SimhashError) for answer in some]

    assert failed.count(True) > len(failed) / 4


@pytest.mark.parametrize("how", WAYS, ids=lambda how: "-".join(map(str, how.values())))
def test_a_changed_answer_about_the_version_is_an_error_of_the_package(how, monkeypatch):
    options = options_for(**how)
    good = good_answers(options, [(wire.interface("either").Either, "getThriftServerType", {"success": 2})])
    for answer in [good, *changed(good, options)]:
        with answered(options, answer, monkeypatch) as connection, suppress(SimhashError):
            assert isinstance(ask_version(connection, explain=False), int)


def rest(size):
    """Return what stands for a string or a list of some length in the binary and in the compact protocol."""
    varint = bytearray()
    while size >= 0x80:
        varint.append(size % 0x80 | 0x80)
        size //= 0x80
    return bytes([*varint, size])


@pytest.mark.parametrize("size", [(1 << 31) - 1, 1_900_000_000, 10**15, 1 << 62])
@pytest.mark.parametrize("how", WAYS, ids=lambda how: "-".join(map(str, how.values())))
def test_a_length_that_nobody_sends_is_refused_at_once_in_little_memory(size, how, monkeypatch):
    options = options_for(**how)
    good = good_answers(options, CALLS["rows"][1])
    length = len(b"value of the cell")
    if options.protocol == "compact":
        answer = good.replace(rest(length) + b"value", rest(size) + b"value")
    else:
        announced = struct.pack(">I", min(size, (1 << 31) - 1))
        answer = good.replace(struct.pack(">I", length) + b"value", announced + b"value")
    assert answer != good
    tracemalloc.start()
    began = time.monotonic()
    try:
        refused = outcome(options, answer, CALLS["rows"][0], monkeypatch)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    assert isinstance(refused, StoreUnavailable)
    assert "Buffer" not in str(refused)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("size", [(1 << 31) - 1, 1_900_000_000, (256 << 20) + 1])
@pytest.mark.parametrize("protocol", ["binary", "compact"])
def test_a_frame_that_is_too_large_is_refused_before_it_comes(size, protocol, monkeypatch):
    options = options_for(transport="framed", protocol=protocol)
    with answered(options, struct.pack(">I", size) + b"x" * 100, monkeypatch) as connection:
        connection._awaited.append((wire.Call(IDL.Cells, "existsAll", {}), 1))
        with pytest.raises(wire.UnreadableAnswer, match="above the limit of"):
            connection.receive()


@pytest.mark.parametrize("length", ["9" * 18, "4611686018427387904", "2147483647"])
@pytest.mark.parametrize("coded", [False, True])
def test_an_answer_by_http_takes_no_memory_for_a_length_that_is_only_announced(length, coded, monkeypatch):
    options = options_for(http=True)
    head = f"Transfer-Encoding: chunked\r\n\r\n{int(length):x}\r\n" if coded else f"Content-Length: {length}\r\n\r\n"
    answer = f"HTTP/1.1 200 OK\r\nContent-Type: application/x-thrift\r\n{head}".encode() + channel.MESSAGE * 50
    tracemalloc.start()
    try:
        assert isinstance(outcome(options, answer, CALLS["rows"][0], monkeypatch), StoreUnavailable)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("how", WAYS, ids=lambda how: "-".join(map(str, how.values())))
def test_an_answer_without_an_end_is_refused(how, monkeypatch):
    for module in (sockets, channel):
        monkeypatch.setattr(module, "MOST_BYTES", 1 << 18)
    options = options_for(**how)
    good = good_answers(options, [(IDL.Cells, "existsAll", {"success": [True] * (1 << 19)})])
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(wire, "connect", lambda *_: ours)
    theirs.setblocking(False)
    with theirs, closing(wire.GatewayConnection(GATEWAY, options)) as connection:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 21)
        assert theirs.send(good) > 1 << 17
        exchange = GatewayExchange(OneConnection(connection), options, None)
        with pytest.raises(StoreUnavailable, match=r"above the limit of 262,144|no answer"):
            exchange.one(CALLS["has"][0], repeat=False)
