"""One connection to a gateway that never takes another call's answer for the one it waits for.

thriftpy2's own client checks neither the sequence number nor the method of an answer: after a time-out the next call on
its connection returned the row of the call before (seen on a real HBase). Here every call has a number of its own, both
are compared, and a connection on which anything went wrong, or an answer was not read, is never used again.
"""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from thriftpy2.protocol import TCompactProtocol, TCyBinaryProtocol
from thriftpy2.thrift import TApplicationException, TMessageType
from thriftpy2.transport import TCyBufferedTransport, TCyFramedTransport

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions
from simhash_hbase.stores.hbase.thrift.channel import Channel, connect
from simhash_hbase.stores.hbase.thrift.http import HttpChannel, HttpRefusal
from simhash_hbase.stores.hbase.thrift.idl import Interface

# An answer of a gateway: one of thriftpy2's generated classes, a list of them, a number, or None.
Answer: TypeAlias = Any

# Replies of a batch are megabytes; thriftpy2's default of 4 KB would cost a thousand reads.
BUFFER_BYTES = 1 << 16
# A gateway closes the connection on a larger frame, without an answer; batches of this package are far smaller.
FRAME_BYTES = 2 << 20
FRAME_HEADER_BYTES = 4


class UnreadableAnswer(Exception):
    """The bytes received are no answer to the call that was made."""


class Call(NamedTuple):
    """One call of a gateway."""

    service: Interface  # The service that describes it; decides how the answer is decoded.
    method: str  # Its name on the wire.
    arguments: Mapping[str, object]  # By name.


class Connection:
    """A connection on which several calls may be under way at once; answers come in the order of the calls.

    For one thread at a time. Calls are sent without waiting for answers, so all bytes sent before the first answer is
    read must fit into the sockets' buffers: keep them below some 32 KB, or send one call at a time.
    """

    def __init__(self, gateway: Gateway, options: HBaseOptions) -> None:
        self.gateway = gateway
        self.used = time.monotonic()
        self.broken = False
        self._closed = False
        self._timeout_s = options.timeout_s
        self._framed = options.transport == "framed"
        self._channel = _open_channel(gateway, options)
        try:
            self._protocol, self._transport = self._stack(options)
        except BaseException:
            self._channel.close()
            raise
        self._sequence = 0
        self._awaited: deque[tuple[Call, int]] = deque()

    def write(self, calls: Sequence[Call]) -> None:
        """Append calls to the bytes that `push` sends."""
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
            self._check_frame(call, self._channel.waiting - before - FRAME_HEADER_BYTES)

    def push(self, *, timeout_s: float | None = None) -> None:
        """Send all written calls at once: each sending wakes the gateway."""
        self.broken = True
        self._channel.allow(timeout_s or self._timeout_s)
        self._channel.push()
        self.broken = False

    def send(self, calls: Sequence[Call], *, timeout_s: float | None = None) -> None:
        """Write calls and push them; see `write` and `push`."""
        self.write(calls)
        self.push(timeout_s=timeout_s)

    def receive(self, *, timeout_s: float | None = None) -> Answer:
        """Wait for the answer of the oldest call that has none yet."""
        self.broken = True
        call, sequence = self._awaited[0]
        self._channel.allow(timeout_s or self._timeout_s)
        try:
            self._channel.begin_answer()
            result = self._read(call, sequence)
        except (OSError, UnreadableAnswer, HttpRefusal, MemoryError):
            raise
        except Exception as error:
            raise UnreadableAnswer(f"{type(error).__name__}: {error}") from error
        self._awaited.popleft()
        self.used = time.monotonic()
        self.broken = False
        return _outcome(call, result)

    def is_silent_for(self, seconds: float) -> bool:
        """Wait for at most some seconds; return whether no answer has begun to arrive."""
        return self._channel.is_silent_for(seconds)

    def is_clean(self) -> bool:
        """Return whether no error occurred and every answer was read."""
        return not (self.broken or self._closed or self._awaited)

    def is_fresh(self, idle_s: float) -> bool:
        """Return whether it can take the next call: not idle for too long, not closed, nothing unread."""
        return time.monotonic() - self.used < idle_s and self._channel.is_quiet()

    def close(self) -> None:
        """Close it, even with calls under way."""
        self._closed = True
        self._channel.close()

    def _stack(self, options: HBaseOptions) -> tuple[Interface, Interface]:
        if not options.kerberos:
            return make_protocol(self._channel, options)
        from simhash_hbase.stores.hbase.thrift.kerberos import authenticated  # noqa: PLC0415 - an extra

        self._channel.allow(options.connect_timeout_s)
        transport = authenticated(self._channel, self.gateway, options.kerberos)
        return _protocol(options)(transport, decode_response=False), transport

    def _check_frame(self, call: Call, size: int) -> None:
        if self._framed and size > FRAME_BYTES:
            raise InvalidArgument(
                f"{call.method} at {self.gateway}: a call of {size} bytes is too large for framed transport, which "
                f"takes {FRAME_BYTES}; a gateway with buffered transport takes larger ones"
            )

    def _read(self, call: Call, sequence: int) -> Answer:
        name, kind, number = self._protocol.read_message_begin()
        method = name.decode("utf-8", "replace") if isinstance(name, bytes) else name
        if (method, number) != (call.method, sequence):
            raise UnreadableAnswer(f"an answer to {method!r} number {number} came, not to number {sequence}")
        if kind == TMessageType.EXCEPTION:
            result = TApplicationException()
        elif kind == TMessageType.REPLY:
            result = getattr(call.service, f"{call.method}_result")()
        else:
            raise UnreadableAnswer(f"a message of kind {kind} came, which is no answer")
        result.read(self._protocol)
        self._protocol.read_message_end()
        return result


def _open_channel(gateway: Gateway, options: HBaseOptions) -> Channel | HttpChannel:
    def connected() -> Channel:
        return Channel(connect(gateway, options, options.connect_timeout_s))

    return HttpChannel(connected, gateway, options) if options.http else connected()


def make_protocol(channel: Channel | Interface, options: HBaseOptions) -> tuple[Interface, Interface]:
    """Stack thriftpy2's transport and protocol on a channel."""
    buffered = options.transport == "buffered"
    transport = TCyBufferedTransport(channel, BUFFER_BYTES) if buffered else TCyFramedTransport(channel, BUFFER_BYTES)
    return _protocol(options)(transport, decode_response=False), transport


def _protocol(options: HBaseOptions) -> Interface:
    return TCyBinaryProtocol if options.protocol == "binary" else TCompactProtocol


def _outcome(call: Call, result: Answer) -> Answer:
    """Take the value out of an answer, or raise the error in it."""
    if isinstance(result, TApplicationException):
        raise result
    value = getattr(result, "success", None)
    if value is not None:
        return value
    for error in vars(result).values():
        if isinstance(error, Exception):
            raise error
    if 0 in result.thrift_spec:
        raise TApplicationException(TApplicationException.MISSING_RESULT, f"{call.method} returned nothing")
    return None
