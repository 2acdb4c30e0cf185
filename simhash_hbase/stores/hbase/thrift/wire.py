"""One connection to a gateway that never takes another call's answer for the one it waits for.

thriftpy2's own client checks neither the sequence number nor the method of an answer: after a time-out the next call on
its connection returned the row of the call before (seen on a real HBase). Here every call has a number of its own, both
are compared, and a connection on which anything went wrong, or an answer was not read, is never used again.

The Thrift interfaces are loaded from their descriptions on first use. The files ``….thrift`` beside this one belong to
this package and describe only the calls that it makes. The wire format consists of methods, fields and numbers, which
are those of HBase's ``hbase.thrift`` (Thrift 2) and ``Hbase.thrift`` (Thrift 1); other names are free. happybase
describes Thrift 1.

`thrift_errors` is the one place where errors of sockets, of thriftpy2 and of HBase itself become errors of this
package.
"""

import re
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import thriftpy2
from thriftpy2.protocol import TCompactProtocol, TCyBinaryProtocol
from thriftpy2.thrift import TApplicationException, TException, TMessageType, TType
from thriftpy2.transport import TCyBufferedTransport, TCyFramedTransport

from simhash_hbase import errors
from simhash_hbase.stores.hbase.driver import AccessDenied
from simhash_hbase.stores.hbase.options import DEFAULT_PORT, Gateway, HBaseOptions
from simhash_hbase.stores.hbase.sockets import MOST_BYTES, OtherServer, UnreadableAnswer, connect, too_large
from simhash_hbase.stores.hbase.thrift.channel import BUFFER_BYTES, OK, Channel, HttpChannel, HttpRefusal

# thriftpy2 makes these modules and their classes at run time, so they have no types.
Interface: TypeAlias = Any
# An answer of a gateway: one of thriftpy2's generated classes, a list of them, a number, or None.
Reply: TypeAlias = Any

# A gateway closes the connection on a larger frame, without an answer; batches of this package are far smaller.
FRAME_BYTES = 2 << 20
FRAME_HEADER_BYTES = 4


@cache
def interface(name: str) -> Interface:
    """Return the Thrift interface of a file beside this one, for thriftpy2.

    ``thrift2``; ``either``, calls that tell versions apart; or ``walk1``, calls of Thrift 1 that happybase lacks.
    """
    path = Path(__file__).with_name(f"{name}.thrift")
    return thriftpy2.load(str(path), module_name=f"simhash_hbase_{name}_thrift")


@cache
def thrift1() -> Interface:
    """Return the interface of Thrift 1 for thriftpy2, which the package happybase contains."""
    import happybase  # noqa: F401, PLC0415  # only clusters without Thrift 2 pay for its import

    return sys.modules["Hbase_thrift"]


class Call(NamedTuple):
    """One call of a method of a gateway, before it is sent."""

    service: Interface  # The service that describes it; decides how the answer is decoded.
    method: str  # Name of the method on the wire.
    arguments: Mapping[str, object]  # By name.


class GatewayConnection:
    """A connection on which several calls may be under way at once; answers come in the order of the calls.

    For one thread at a time. Calls are sent without waiting for answers, so all bytes sent before the first answer is
    read must fit into the sockets' buffers: keep them below some 32 KB, or send one call at a time.
    """

    def __init__(self, gateway: Gateway, options: HBaseOptions) -> None:
        self.gateway = gateway
        self.options = options
        self.used = time.monotonic()
        self.broken = False
        self._closed = False
        self._timeout_s = options.timeout_s
        self._framed = options.transport == "framed"

        def connected() -> Channel:
            return Channel(connect(gateway, options, options.connect_timeout_s))

        self._channel = HttpChannel(connected, gateway, options) if options.http else connected()
        try:
            if options.kerberos:
                from simhash_hbase.stores.hbase.thrift.kerberos import authenticated  # noqa: PLC0415 - an extra

                self._channel.allow(options.connect_timeout_s)
                try:
                    self._transport = authenticated(self._channel, gateway, options.kerberos)
                except (OSError, UnreadableAnswer, errors.SimhashError):
                    raise
                except Exception as error:
                    raise UnreadableAnswer(f"no answer of SASL came: {type(error).__name__}") from error
                self._protocol = _protocol(options)(self._transport, decode_response=False)
            else:
                self._protocol, self._transport = make_protocol(self._channel, options)
        except BaseException:
            self._channel.close()
            raise
        self._sequence = 0
        self._awaited: deque[tuple[Call, int]] = deque()

    def write(self, calls: Sequence[Call]) -> None:
        """Add calls to the bytes that `push` sends; raise `InvalidArgument` for one too large for a frame."""
        for call in calls:
            self.broken = True
            before = self._channel.waiting
            self._sequence = (self._sequence + 1) & 0x7FFFFFFF
            self._awaited.append((call, self._sequence))
            arguments = getattr(call.service, f"{call.method}_args")(**call.arguments)
            self._protocol.write_message_begin(call.method, TMessageType.CALL, self._sequence)
            arguments.write(self._protocol)
            self._protocol.write_message_end()
            self._transport.flush()
            self.broken = False
            size = self._channel.waiting - before - FRAME_HEADER_BYTES
            if self._framed and size > FRAME_BYTES:
                raise errors.InvalidArgument(
                    f"{call.method} at {self.gateway}: a call of {size} bytes is too large for framed transport, which "
                    f"takes {FRAME_BYTES}; a gateway with buffered transport takes larger ones"
                )

    def push(self, *, timeout_s: float | None = None) -> None:
        """Send all written calls at once, since each sending wakes the gateway."""
        self.broken = True
        self._channel.allow(timeout_s or self._timeout_s)
        self._channel.push()
        self.broken = False

    def send(self, calls: Sequence[Call], *, timeout_s: float | None = None) -> None:
        """Write calls and push them; see `write` and `push`."""
        self.write(calls)
        self.push(timeout_s=timeout_s)

    def receive(self, *, timeout_s: float | None = None) -> Reply:
        """Wait for the answer to the oldest call that has none yet.

        Return the value in it, or raise the error in it.
        """
        self.broken = True
        call, sequence = self._awaited[0]
        self._channel.allow(timeout_s or self._timeout_s)
        try:
            self._channel.begin_answer()
            result = self._read(call, sequence)
        except (OSError, UnreadableAnswer, HttpRefusal, OtherServer):
            raise
        except Exception as error:
            if isinstance(error, MemoryError):
                # Python's own MemoryError has no text; thriftpy2 raises one with a text for a length that is too large.
                if not error.args:
                    raise
                raise UnreadableAnswer(
                    f"an answer of some 2 GB was announced, above the limit of {MOST_BYTES:,} bytes"
                ) from error
            raise UnreadableAnswer(f"{type(error).__name__}: {error}") from error
        self._awaited.popleft()
        self.used = time.monotonic()
        self.broken = False
        if isinstance(result, TApplicationException):
            raise result
        value = getattr(result, "success", None)
        if value is not None:
            return value
        for refusal in vars(result).values():
            if isinstance(refusal, Exception):
                raise refusal
        if 0 in result.thrift_spec:
            raise TApplicationException(TApplicationException.MISSING_RESULT, f"{call.method} returned nothing")
        return None

    def is_silent_for(self, seconds: float) -> bool:
        """Wait up to some seconds for an answer to begin; return whether none did."""
        return self._channel.is_silent_for(seconds)

    def is_clean(self) -> bool:
        """Return whether the connection may be used again: no error occurred, and every answer was read."""
        return not (self.broken or self._closed or self._awaited)

    def is_fresh(self, idle_s: float) -> bool:
        """Return whether the connection can take a call: not idle for too long, not closed, nothing unread."""
        return time.monotonic() - self.used < idle_s and self._channel.is_quiet()

    def close(self) -> None:
        """Close the connection, even with calls under way."""
        self._closed = True
        self._channel.close()

    def _read(self, call: Call, sequence: int) -> Reply:
        name, kind, number = self._protocol.read_message_begin()
        method = name.decode("utf-8", "replace") if isinstance(name, bytes) else name
        if (method, number) != (call.method, sequence):
            raise UnreadableAnswer(
                f"an answer to {method[:_MOST_NAME]!r} number {number} came, not to number {sequence}"
            )
        if kind == TMessageType.EXCEPTION:
            result = TApplicationException()
        elif kind == TMessageType.REPLY:
            result = getattr(call.service, f"{call.method}_result")()
        else:
            raise UnreadableAnswer(f"a message of kind {kind} came, which is no answer")
        result.read(self._protocol)
        self._protocol.read_message_end()
        return result


def make_protocol(channel: Channel | Interface, options: HBaseOptions) -> tuple[Interface, Interface]:
    """Return thriftpy2's protocol and transport over a channel, as the options name them."""
    buffered = options.transport == "buffered"
    transport = TCyBufferedTransport(channel, BUFFER_BYTES) if buffered else TCyFramedTransport(channel, BUFFER_BYTES)
    return _protocol(options)(transport, decode_response=False), transport


def _protocol(options: HBaseOptions) -> Interface:
    return TCyBinaryProtocol if options.protocol == "binary" else _CompactProtocol


_BITS = {TType.I16: 16, TType.I32: 32, TType.I64: 64}


class _CompactProtocol(TCompactProtocol):
    """Thrift's compact protocol with limits on the sizes and numbers in an answer, which thriftpy2 does not check."""

    def _read_size(self) -> int:
        size: int = super()._read_size()  # type: ignore[no-untyped-call]
        if size > MOST_BYTES:
            raise too_large(size)
        return size

    def _read_val(self, ttype: int, spec: object = None) -> object:
        value: object = super()._read_val(ttype, spec)
        bits = _BITS.get(ttype)
        if bits is not None and isinstance(value, int) and value.bit_length() >= bits:
            raise UnreadableAnswer(f"a number of more than {bits} bits came")
        return value

    def skip(self, ttype: int) -> None:
        """Skip the value of an unknown field; refuse a list whose items have no type, and take no bytes."""
        if ttype == TType.STOP:
            raise UnreadableAnswer("the gateway sent a list whose items have no type")
        super().skip(ttype)  # type: ignore[no-untyped-call]


# HBase sends Java exceptions as text: a part of the text, the error it becomes, and the sentence for the user.
_KNOWN: tuple[tuple[str, type[errors.SimhashError], str], ...] = (
    ("NamespaceNotFoundException", errors.StoreRefused, "table {table} has no namespace yet: create that first"),
    ("TableNotEnabledException", errors.StoreRefused, "table {table} is disabled: enable it in the HBase shell"),
    ("is disabled", errors.StoreRefused, "table {table} is disabled: enable it in the HBase shell"),
    ("TableExistsException", errors.IndexExists, "there is a table {table} already"),
    ("NoSuchColumnFamilyException", errors.NotAnIndex, "table {table} was made for other data: it lacks a family"),
    ("KeyValue size too large", errors.InvalidArgument, "a cell is larger than the server allows: {text}"),
    ("Read-only mode", errors.StoreReadonly, "the gateway was started with --readonly: write through another one"),
    ("TimeoutException", errors.StoreTimeout, "HBase behind the gateway did not answer in time: {text}"),
    ("TimeoutIOException", errors.StoreTimeout, "HBase behind the gateway did not answer in time: {text}"),
)
SERVER_ERROR = 500
_MOST_TEXT = 300
_MOST_NAME = 40
_DENIED = "AccessDeniedException"
# A gateway of Thrift 2 fails in it while a region of a new table has no server.
_PLACES = "getAllRegionLocations"


class NoGateway(errors.StoreRefused):
    """The server at the address is another one than a Thrift gateway."""


class HttpRefused(errors.StoreRefused):
    """A gateway in HTTP mode, or a proxy before it, refuses the request itself."""


# Statuses of HTTP, and the sentence for the user; the others say only their number.
_STATUSES: dict[int, tuple[type[errors.SimhashError], str]] = {
    401: (HttpRefused, "the user and the access key are not accepted: check the headers that are sent"),
    403: (HttpRefused, "this user may not use the gateway"),
    404: (HttpRefused, "there is no Thrift gateway at this address"),
    405: (HttpRefused, "there is no Thrift gateway at this address, it takes no POST"),
    407: (HttpRefused, "a proxy on the way asks for a login"),
    408: (errors.StoreTimeout, "the request took too long"),
    413: (HttpRefused, "the call is too large for the gateway or a proxy before it"),
    429: (errors.StoreUnavailable, "too many requests"),
    502: (errors.StoreUnavailable, "the proxy does not reach the gateway"),
    503: (errors.StoreUnavailable, "the gateway is not available"),
    504: (errors.StoreTimeout, "the proxy got no answer from the gateway in time"),
}


class thrift_errors:  # reads as a statement; a class, since a generator costs microseconds on each call
    """Turn errors of sockets, Thrift and HBase inside the block into errors of this package."""

    def __init__(self, what: str, gateway: Gateway, table: str) -> None:
        self._what = what
        self._gateway = gateway
        self._table = table
        self._started = time.monotonic()

    def __enter__(self) -> None:
        """Do nothing: errors are replaced at the end of the block."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise an error of this package in place of one of sockets or Thrift."""
        if error is None:
            return
        what = f"{self._what} at {self._gateway}"
        known: errors.SimhashError | None = None
        if isinstance(error, TimeoutError):
            known = errors.StoreTimeout(f"{what}: no answer within {time.monotonic() - self._started:.1f} s")
        elif isinstance(error, (OSError, UnreadableAnswer)):
            short = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
            question = "; is the gateway up?" if isinstance(error, ConnectionRefusedError) else ""
            known = errors.StoreUnavailable(f"{what}: {short or type(error).__name__}{question}")
        elif isinstance(error, OtherServer):
            known = no_gateway(self._gateway, error)
        elif isinstance(error, HttpRefusal):
            known = _of_status(error, what)
        elif isinstance(error, TApplicationException):
            known = _refusal(error, what)
        elif isinstance(error, TException):
            known = _from_server(error, what, self._gateway, self._table)
        if known is not None:
            raise known from error


def no_gateway(gateway: Gateway, error: OtherServer) -> NoGateway:
    """Return the error to raise for an address at which there is another server than a Thrift gateway."""
    return NoGateway(
        f"{gateway} is no Thrift gateway: {error}; give the port of a Thrift gateway, such as {DEFAULT_PORT}"
    )


def _of_status(error: HttpRefusal, what: str) -> errors.SimhashError:
    status = error.status
    if status == OK:
        sentence = f"{what}: it answers by HTTP, but not as a Thrift gateway ({error.content_type})"
        if error.content_type == "text/html":
            sentence += "; if this is a web page of HBase's master or of a region server, give the port of a gateway"
        return HttpRefused(sentence)
    if status in range(300, 400):
        return HttpRefused(f"{what}: it sends to another address, which is not followed (HTTP status {status})")
    kind, sentence = _STATUSES.get(status, (errors.StoreUnavailable if status >= SERVER_ERROR else HttpRefused, ""))
    return kind(f"{what}: {sentence} (HTTP status {status})" if sentence else f"{what}: HTTP status {status}")


def _refusal(error: TApplicationException, what: str) -> errors.SimhashError:
    if error.type == TApplicationException.UNKNOWN_METHOD:
        return errors.Unsupported(f"{what}: the gateway does not know this call")
    if error.type == TApplicationException.INTERNAL_ERROR and what.startswith(_PLACES):
        return errors.StoreUnavailable(f"{what}: a region has no server yet")
    return errors.StoreRefused(f"{what}: {_first_line(_message(error))}")


def _from_server(error: TException, what: str, gateway: Gateway, table: str) -> errors.SimhashError:
    text, name = _message(error), re.escape(table)
    missing = errors.IndexMissing(f"there is no table {table} at {gateway}")
    # The text of a TableNotFoundException is only the table's name, or a count of failures.
    if re.search(rf"\A\s*{name}\s*\Z|Failed \d+ actions?: {name}: \d+ times?\b", text):
        return missing
    if _DENIED in text:
        user, action = re.search(r"\buser(?:=| ')([^,')]+)", text), re.search(r"\baction=(\w+)", text)
        if user is None or action is None:
            sentence = f"the user of the gateway may not do that on table {table}: {_first_line(text)}"
            return AccessDenied(f"{what}: {sentence}")
        return AccessDenied(
            f"{what}: user {user[1]} of the gateway has no permission {action[1]} on table {table}: an administrator "
            "of HBase grants it (R to read, RW to write, C to make a table)"
        )
    if "TableNotFoundException" in text:
        return missing
    for sign, kind, sentence in _KNOWN:
        if sign in text:
            return kind(f"{what}: {sentence.format(table=table, text=_first_line(text))}")
    again = getattr(error, "canRetry", None)
    if again is None:
        # Thrift 1 as happybase describes it has no such flag; the class of the Java exception tells it.
        again = "DoNotRetry" not in text and "IllegalArgument" not in text
    kind = errors.StoreUnavailable if again else errors.StoreRefused
    return kind(f"{what}: {_first_line(text)}")


def _message(error: BaseException) -> str:
    # thriftpy2's exceptions with a message of bytes fail when they are printed.
    message = getattr(error, "message", None)
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)


def _first_line(text: str) -> str:
    """Return the first line of a Java exception, without the names of packages."""
    line = next(iter(text.splitlines()), "").strip()
    return re.sub(r"\b(?:[a-z][a-z0-9]*\.)+(?=[A-Z])", "", line)[:_MOST_TEXT]
