"""What is at an address: which Thrift interface, or what else."""

import socket
from dataclasses import replace
from itertools import product

from thriftpy2.thrift import TApplicationException, TMessageType
from thriftpy2.transport import TMemoryBuffer

from simhash_hbase.errors import SimhashError, StoreUnavailable, Unsupported
from simhash_hbase.stores.hbase.options import PROTOCOLS, TRANSPORTS, Gateway, HBaseOptions
from simhash_hbase.stores.hbase.thrift.idl import Interface, either
from simhash_hbase.stores.hbase.thrift.translate import translated
from simhash_hbase.stores.hbase.thrift.wire import Call, Connection, make_protocol

_ENOUGH_BYTES = 16
_PROBE_S = 1.5


def ask_version(connection: Connection, options: HBaseOptions, *, explain: bool = True) -> int:
    """Ask a gateway which interface it speaks."""
    try:
        return _ask(connection, options)
    except SimhashError as error:
        if not explain:
            raise StoreUnavailable(str(error)) from error
        found = describe_gateway(connection.gateway, options)
        if not found:
            # It is one: that answer was cut off on its way.
            raise
        raise StoreUnavailable(f"{connection.gateway} is no Thrift gateway as addressed: {found}") from error


def describe_gateway(gateway: Gateway, options: HBaseOptions) -> str:
    """Find out what is at an address that did not answer as expected."""
    found = ""
    for transport, protocol in product(TRANSPORTS, PROTOCOLS):
        first = _first_bytes(gateway, replace(options, transport=transport, protocol=protocol))
        if first.startswith(_START[transport, protocol]):
            if (transport, protocol) == (options.transport, options.protocol):
                return ""
            return f"it answers to {transport} transport and {protocol} protocol, so the address needs " + _hint(
                transport, protocol
            )
        found = found or _describe(first)
    return found or "it takes connections and says nothing"


def _ask(connection: Connection, options: HBaseOptions) -> int:
    """Ask for the type of the server; ask older ones for a call that only Thrift 1 knows."""
    idl = either()
    with translated("getThriftServerType", connection.gateway, options.table):
        connection.send([Call(idl.Either, "getThriftServerType", {})], timeout_s=options.connect_timeout_s)
        try:
            return int(connection.receive(timeout_s=options.connect_timeout_s))
        except TApplicationException as error:
            if error.type != TApplicationException.UNKNOWN_METHOD:
                raise
    try:
        with translated("scannerClose", connection.gateway, options.table):
            connection.send([Call(idl.Either, "scannerClose", {"id": -1})], timeout_s=options.connect_timeout_s)
            try:
                connection.receive(timeout_s=options.connect_timeout_s)
            except (idl.IllegalArgument, idl.IOFailure):
                # There is no such scanner; but the call was understood.
                return 1
    except Unsupported:
        return 2
    return 1


# How an answer begins, by transport and protocol; a frame begins with its length, which is small.
_START = {
    ("buffered", "binary"): b"\x80\x01",
    ("buffered", "compact"): b"\x82",
    ("framed", "binary"): b"\x00\x00",
    ("framed", "compact"): b"\x00\x00",
}


def _hint(transport: str, protocol: str) -> str:
    return f"?transport={transport}&protocol={protocol}"


def _describe(first: bytes) -> str:
    if first.startswith(b"HTTP/"):
        return "it speaks HTTP (HBase's web pages, or a gateway in HTTP mode, which is not supported)"
    if first:
        return f"it answers {first!r}, which is not Thrift"
    return ""


def _question(options: HBaseOptions) -> bytes:
    memory: Interface = TMemoryBuffer
    recorder = memory()
    protocol, transport = make_protocol(recorder, options)
    protocol.write_message_begin("getThriftServerType", TMessageType.CALL, 1)
    either().Either.getThriftServerType_args().write(protocol)
    protocol.write_message_end()
    transport.flush()
    return bytes(recorder.getvalue())


def _first_bytes(gateway: Gateway, options: HBaseOptions) -> bytes:
    """Ask in one way and return how the answer begins; nothing when there is none."""
    found = b""
    try:
        with socket.create_connection(gateway, timeout=_PROBE_S) as probe:
            probe.sendall(_question(options))
            while len(found) < _ENOUGH_BYTES and (part := probe.recv(_ENOUGH_BYTES)):
                found += part
    except OSError:
        # Whatever came before it closed, or fell silent, tells enough.
        pass
    return found
