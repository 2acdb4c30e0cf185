"""The Thrift gateways of an HBase, to which a store connects; and what answers at an address instead of one."""

from contextlib import suppress
from dataclasses import replace
from itertools import product
from ssl import SSLCertVerificationError

from thriftpy2.thrift import TApplicationException, TMessageType
from thriftpy2.transport import TMemoryBuffer

from simhash_hbase.errors import Retryable, SimhashError, StoreUnavailable, Unsupported
from simhash_hbase.stores.hbase import sockets
from simhash_hbase.stores.hbase.options import PROTOCOLS, TRANSPORTS, Gateway, HBaseOptions
from simhash_hbase.stores.hbase.thrift import channel, exchange, pool, thrift1, thrift2, wire

_ENOUGH_BYTES = 16
_PROBE_S = 1.5
# A gateway with SASL is silent to all else. START, and a mechanism that nobody has, get the status BAD and a reason.
_NO_MECHANISM = b"\x01\x00\x00\x00\x01?"
_SASL_REFUSAL = b"\x03\x00\x00"
_HTTP = b"HTTP/"
# Where the first page of a web interface of HBase leads to, in all its versions.
_PAGES = (b"/master-status", b"/rs-status", b"master.jsp", b"regionserver.jsp")
_PAGE_BYTES = 4096
_HADOOP = b"Hadoop IPC"
_ZOOKEEPER_QUESTION = b"srvr\n"
_ZOOKEEPER = (b"Zookeeper", b"srvr is not exec")  # The version of ZooKeeper, or that the question is not allowed.
_HTTP_QUESTION = b"POST / HTTP/1.1\r\nHost: gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
# The first bytes of an answer, by protocol, and how many bytes come before them, by transport: a frame's length.
_START = {"binary": b"\x80\x01", "compact": b"\x82"}
_LENGTH_BYTES = {"buffered": 0, "framed": 4}


class Gateways:
    """The Thrift gateways of an address: connects to the first one that answers and asks for its Thrift version."""

    def __init__(self, options: HBaseOptions) -> None:
        self.options = options
        self._version = options.version
        self._pool = pool.Pool(options, self._greet)
        # Not repeated, so that a mistyped port is reported at once.
        with self._pool.lend(1):
            pass
        self.driver = (
            thrift1.Thrift1(options.table)
            if self._version == 1
            else thrift2.Thrift2(options.table, framed=options.transport == "framed")
        )
        self.exchange = exchange.GatewayExchange(self._pool, options, self.driver.is_disabled)

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def _greet(self, connection: wire.GatewayConnection, known: bool) -> None:
        if self.options.http and self.options.version:
            # The gateways of some clouds do not know the calls by which the versions are told apart.
            return
        found = ask_version(connection, explain=not known)
        if self._version is None:
            self._version = found
        if found != self._version:
            wanted = "the address says" if self.options.version else "another gateway of the address speaks"
            raise StoreUnavailable(f"{connection.gateway} speaks Thrift {found}, {wanted} Thrift {self._version}")


def ask_version(connection: wire.GatewayConnection, *, explain: bool = True) -> int:
    """Return the Thrift interface, 1 or 2, that a gateway speaks.

    With `explain`, the error for a server that does not answer as a gateway says what it is instead.
    """
    try:
        return _version_of(connection)
    except (wire.HttpRefused, wire.NoGateway):
        raise
    except SimhashError as error:
        if not explain:
            raise StoreUnavailable(str(error)) from error
        # A server that took the ticket of Kerberos is a gateway.
        options = connection.options
        try:
            found = "" if options.kerberos else describe_gateway(connection.gateway, options)
        except sockets.OtherServer as other:
            raise wire.no_gateway(connection.gateway, other) from error
        if not found:
            # The server is a gateway: it stood still, or that answer was cut off on its way.
            if not isinstance(error, Retryable):
                raise
            raise type(error)(f"{error}; it answers now, so repeat the call") from error
        raise StoreUnavailable(f"{connection.gateway} does not answer as a Thrift gateway: {found}") from error


def describe_gateway(gateway: Gateway, options: HBaseOptions) -> str:
    """Return what answers at an address where no gateway answered as expected; empty if it is one as the options say.

    Raises `OtherServer` for one of HBase's servers that is no gateway.
    """
    if options.http:
        return _describe_without_http(gateway, options)
    description = ""
    for transport, protocol in product(TRANSPORTS, PROTOCOLS):
        attempt = replace(options, transport=transport, protocol=protocol)
        answer = _first_bytes(gateway, attempt, _question(attempt))
        if answer.startswith(_START[protocol], _LENGTH_BYTES[transport]):
            if (transport, protocol) == (options.transport, options.protocol):
                return ""
            return (
                f"it answers to {transport} transport and {protocol} protocol, so the address needs "
                f"?transport={transport}&protocol={protocol}"
            )
        channel.check_no_rpc(answer)
        description = description or _describe_bytes(answer, options)
    if not options.tls and _speaks_tls(gateway, options):
        return "it speaks TLS, so the address needs ?tls=1"
    # Some servers of HTTP wait for the end of a line.
    page = _first_page(gateway, options)
    description = description or _describe_bytes(page, options)
    if not description:
        if _first_bytes(gateway, options, _ZOOKEEPER_QUESTION).startswith(_ZOOKEEPER):
            raise sockets.OtherServer("this is ZooKeeper")
        if _first_bytes(gateway, options, _NO_MECHANISM).startswith(_SASL_REFUSAL):
            return (
                "it asks for SASL, so the address needs ?kerberos=SERVICE, as in the gateway's principal SERVICE/HOST"
            )
    return description or (
        "it accepts connections but sends nothing: repeat the call if it only stood still, else the port is wrong"
    )


def _describe_without_http(gateway: Gateway, options: HBaseOptions) -> str:
    """Return what answers where a gateway in HTTP mode should be; empty if the server speaks HTTP."""
    if _first_page(gateway, options).startswith(_HTTP):
        return ""
    plain = replace(options, http=False, headers=(), access="", tls=False, ca_file="")
    if describe_gateway(gateway, plain) == "":
        return "it is a gateway without HTTP, so the address begins with hbase://"
    if not options.tls and _speaks_tls(gateway, options):
        return "it speaks TLS, so the address begins with hbase+https://"
    return "it does not speak HTTP"


def _version_of(connection: wire.GatewayConnection) -> int:
    """Return the Thrift interface that a gateway speaks, 1 or 2.

    A gateway reports its type; an older one is asked by a call that only Thrift 1 knows.
    """
    idl, options = wire.interface("either"), connection.options
    with wire.thrift_errors("getThriftServerType", connection.gateway, options.table):
        connection.send([wire.Call(idl.Either, "getThriftServerType", {})], timeout_s=options.connect_timeout_s)
        try:
            return int(connection.receive(timeout_s=options.connect_timeout_s))
        except TApplicationException as error:
            if error.type != TApplicationException.UNKNOWN_METHOD:
                raise
    try:
        with wire.thrift_errors("scannerClose", connection.gateway, options.table):
            connection.send([wire.Call(idl.Either, "scannerClose", {"id": -1})], timeout_s=options.connect_timeout_s)
            try:
                connection.receive(timeout_s=options.connect_timeout_s)
            except (idl.IllegalArgument, idl.IOFailure):
                # There is no such scanner, but the gateway knows the call.
                return 1
    except Unsupported:
        return 2
    return 1


def _describe_bytes(first: bytes, options: HBaseOptions) -> str:
    if first.startswith(_HTTP):
        scheme = "hbase+https" if options.tls else "hbase+http"
        return f"it speaks HTTP: the address of a gateway in HTTP mode begins with {scheme}://"
    if first:
        return f"it answers {first!r}, which is not Thrift"
    return ""


def _speaks_tls(gateway: Gateway, options: HBaseOptions) -> bool:
    try:
        sockets.connect(gateway, replace(options, tls=True), _PROBE_S).close()
    except SSLCertVerificationError:
        return True
    except OSError:
        return False
    return True


def _question(options: HBaseOptions) -> bytes:
    memory: wire.Interface = TMemoryBuffer
    recorder = memory()
    protocol, transport = wire.make_protocol(recorder, options)
    protocol.write_message_begin("getThriftServerType", TMessageType.CALL, 1)
    wire.interface("either").Either.getThriftServerType_args().write(protocol)
    protocol.write_message_end()
    transport.flush()
    return bytes(recorder.getvalue())


def _first_page(gateway: Gateway, options: HBaseOptions) -> bytes:
    """Return the beginning of a server's answer to an HTTP request.

    Raise `OtherServer` if it is HBase's or Hadoop's.
    """
    page = _first_bytes(gateway, options, _HTTP_QUESTION, _PAGE_BYTES)
    if any(each in page for each in _PAGES):
        raise sockets.OtherServer("this is a web page of HBase's master or of a region server")
    if _HADOOP in page:
        raise sockets.OtherServer("this is an RPC port of Hadoop")
    return page


def _first_bytes(gateway: Gateway, options: HBaseOptions, question: bytes, enough: int = _ENOUGH_BYTES) -> bytes:
    """Send some bytes to a server and return the first `enough` bytes of its answer; empty when no answer comes."""
    answer = b""
    # The bytes that came before the connection closed or fell silent are enough.
    with suppress(OSError), sockets.connect(gateway, options, _PROBE_S) as probe:
        probe.sendall(question)
        while len(answer) < enough and (part := probe.recv(enough)):
            answer += part
    return answer
