"""The gateways of an HBase: a pool of connections, an exchange and a driver; and what is at an address without one."""

from contextlib import suppress
from dataclasses import replace
from itertools import product
from ssl import SSLCertVerificationError

from thriftpy2.thrift import TApplicationException, TMessageType
from thriftpy2.transport import TMemoryBuffer

from simhash_hbase.errors import Retryable, SimhashError, StoreRefused, StoreUnavailable, Unsupported
from simhash_hbase.stores.hbase.options import PROTOCOLS, TRANSPORTS, Gateway, HBaseOptions
from simhash_hbase.stores.hbase.thrift import channel, exchange, pool, thrift1, thrift2, wire

_ENOUGH_BYTES = 16
_PROBE_S = 1.5
# A gateway with SASL is silent to all else. START, and a mechanism that nobody has, get the status BAD and a reason.
_NO_MECHANISM = b"\x01\x00\x00\x00\x01?"
_SASL_REFUSAL = b"\x03\x00\x00"
_HTTP = b"HTTP/"
_HTTP_QUESTION = b"POST / HTTP/1.1\r\nHost: gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_HTTP_GET = b"GET / HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n"
# Other servers of a cluster: what they are asked, what their answer holds, and what they are. No repetition and no
# other transport turns them into a gateway.
_OTHER_SERVERS = {
    _HTTP_GET: {
        b"org.apache.hadoop.hbase.ipc.": "it is HBase's own RPC, of a master or a region server",
        b"/master-status": "it is the web page of a master",
        b"/rs-status": "it is the web page of a region server",
    },
    b"srvr\n": {b"Zookeeper version": "it is ZooKeeper"},
}
_OTHER_BYTES = 4_096
# The first bytes of an answer, by transport and protocol; a frame begins with its length, which is small.
_START = {
    ("buffered", "binary"): b"\x80\x01",
    ("buffered", "compact"): b"\x82",
    ("framed", "binary"): b"\x00\x00",
    ("framed", "compact"): b"\x00\x00",
}


class Gateways:
    """Connects to the first gateway that answers and asks for its Thrift version."""

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
        self.exchange = exchange.Exchange(self._pool, options, self.driver.is_disabled)

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
    """Ask a gateway for its Thrift version."""
    try:
        return _version_of(connection)
    except wire.HttpRefused:
        raise
    except SimhashError as error:
        if not explain:
            raise StoreUnavailable(str(error)) from error
        # What took the ticket of Kerberos is a gateway.
        options = connection.options
        if other := "" if options.kerberos else _other_server(connection.gateway, options):
            raise StoreRefused(f"{connection.gateway} is no Thrift gateway: {other}") from error
        found = "" if options.kerberos else describe_gateway(connection.gateway, options)
        if not found:
            # It is a gateway: it stood still, or that answer was cut off on its way.
            if not isinstance(error, Retryable):
                raise
            raise type(error)(f"{error}; it answers now, so repeat the call") from error
        raise StoreUnavailable(f"{connection.gateway} does not answer as a Thrift gateway: {found}") from error


def _other_server(gateway: Gateway, options: HBaseOptions) -> str:
    """Say which other server of a cluster is at an address; empty for none that is known."""
    for question, signs in _OTHER_SERVERS.items():
        answer = _first_bytes(gateway, options, question, enough=_OTHER_BYTES)
        for sign, what in signs.items():
            if sign in answer:
                return f"{what}; name the port of a Thrift gateway, 9090 where nobody has chosen another one"
    return ""


def describe_gateway(gateway: Gateway, options: HBaseOptions) -> str:
    """Describe what is at an address that did not answer as expected; empty for a gateway as addressed."""
    if options.http:
        return _describe_without_http(gateway, options)
    description = ""
    for transport, protocol in product(TRANSPORTS, PROTOCOLS):
        attempt = replace(options, transport=transport, protocol=protocol)
        answer = _first_bytes(gateway, attempt, _question(attempt))
        if answer.startswith(_START[transport, protocol]):
            if (transport, protocol) == (options.transport, options.protocol):
                return ""
            return (
                f"it answers to {transport} transport and {protocol} protocol, so the address needs "
                f"?transport={transport}&protocol={protocol}"
            )
        description = description or _describe_bytes(answer, options)
    if not options.tls and _speaks_tls(gateway, options):
        return "it speaks TLS, so the address needs ?tls=1"
    # Some servers of HTTP wait for the end of a line.
    description = description or _describe_bytes(_first_bytes(gateway, options, _HTTP_QUESTION), options)
    if not description and _first_bytes(gateway, options, _NO_MECHANISM).startswith(_SASL_REFUSAL):
        return "it asks for SASL, so the address needs ?kerberos=SERVICE, as in the gateway's principal SERVICE/HOST"
    return description or (
        "it accepts connections but sends nothing: repeat the call if it only stood still, else the port is wrong"
    )


def _describe_without_http(gateway: Gateway, options: HBaseOptions) -> str:
    """Describe what is at an address where a gateway in HTTP mode should be."""
    if _first_bytes(gateway, options, _HTTP_QUESTION).startswith(_HTTP):
        return ""
    plain = replace(options, http=False, headers=(), access="", tls=False, ca_file="")
    if describe_gateway(gateway, plain) == "":
        return "it is a gateway without HTTP, so the address begins with hbase://"
    if not options.tls and _speaks_tls(gateway, options):
        return "it speaks TLS, so the address begins with hbase+https://"
    return "it does not speak HTTP"


def _version_of(connection: wire.GatewayConnection) -> int:
    """Ask for the type of the server; ask older ones for a call that only Thrift 1 knows."""
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
        channel.connect(gateway, replace(options, tls=True), _PROBE_S).close()
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


def _first_bytes(gateway: Gateway, options: HBaseOptions, question: bytes, *, enough: int = _ENOUGH_BYTES) -> bytes:
    """Send some bytes and return how the answer begins; nothing when there is none."""
    answer = b""
    # The bytes that came before the connection closed or fell silent are enough.
    with suppress(OSError), channel.connect(gateway, options, _PROBE_S) as probe:
        probe.sendall(question)
        while len(answer) < enough and (part := probe.recv(enough)):
            answer += part
    return answer
