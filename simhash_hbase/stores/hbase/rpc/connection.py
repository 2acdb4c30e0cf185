"""A connection to one server of HBase, on which threads have many calls under way at once.

Answers come in any order and are matched by the number of their call. There is no thread of its own: the thread that
waits first for an answer reads for all others, until its own answer is there.
"""

import select
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions
from simhash_hbase.stores.hbase.rpc import messages
from simhash_hbase.stores.hbase.rpc.errors import NotSent, ServerException
from simhash_hbase.stores.hbase.rpc.sasl import authenticate
from simhash_hbase.stores.hbase.sockets import MOST_BYTES, OtherServer, UnreadableAnswer, connect, too_large

_PREAMBLE = b"HBas\0"
_SIMPLE, _KERBEROS = b"\x50", b"\x51"  # Ways of authentication (AuthMethod.java).
_LENGTH_BYTES = 4
_RECEIVED_BYTES = 1 << 18
# The number of an answer that refuses the connection: -1 as an unsigned number.
_NO_CALL = 0xFFFFFFFF
_LAST_CALL = 0x7FFFFFFF
# The words of a server with Kerberos to a client without it (ServerRpcConnection.java).
_NEEDS_KERBEROS = "Authentication is required"
# Region servers of HBase 2.4 lack the service that knows where hbase:meta is.
_WHERE_META_IS = "; in HBase 2.4 name a master, since only masters say where hbase:meta is"
# A sender that waits for room looks this often whether answers have to be read meanwhile.
_LOOK_S = 0.05
# Calls without an answer in time that are remembered, so that their late answers are recognised.
_MOST_GIVEN_UP = 1_000


class Seal(Protocol):
    """A security layer of SASL, which signs or encrypts all that is sent on a connection."""

    @property
    def most_bytes(self) -> int:
        """The most bytes that one call of `wrap` takes."""

    def wrap(self, data: bytes) -> bytes:
        """Return bytes signed or encrypted: a packet to send, without its length."""

    def unwrap(self, data: bytes) -> bytes:
        """Return the bytes inside a received packet, checked and decrypted.

        Raise `UnreadableAnswer` for a forged one.
        """


class RpcConnection:
    """An open connection to one service of a server; threads may share it.

    A connection on which an error occurred is never used again: `is_open` is false then, and every call that waits on
    it gets the error.
    """

    def __init__(self, server: Gateway, service: str, options: HBaseOptions) -> None:
        self.server = server
        self._service = service
        self._failure: str | None = None
        self._sending = threading.Lock()
        # One call of the socket at a time, none of which blocks: a TLS connection is not made for two threads.
        self._socket_lock = threading.Lock()
        self._changed = threading.Condition()
        self._reading = False
        self._number = 0
        self._awaited: dict[int, messages.RpcAnswer | ServerException | None] = {}
        self._given_up: set[int] = set()
        self._received, self._frames = bytearray(), bytearray()
        self._seal: Seal | None = None
        self.used = self._heard = time.monotonic()
        self._socket = connect(server, options, options.connect_timeout_s)
        try:
            self._greet(service, options)
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise

    def _greet(self, service: str, options: HBaseOptions) -> None:
        self._socket.sendall(_PREAMBLE + (_KERBEROS if options.kerberos else _SIMPLE))
        if options.kerberos:
            self._seal = authenticate(self._socket, self.server, options)
        # The ticket says who calls; another name here would ask for the rights of that user.
        header = messages.connection_header("" if options.kerberos else options.user, service)
        self._socket.sendall(self._sealed(len(header).to_bytes(_LENGTH_BYTES) + header))

    @property
    def is_open(self) -> bool:
        """Whether no error has occurred on the connection so far, so that it can take calls."""
        return self._failure is None

    @property
    def calls(self) -> int:
        """The number of calls that were sent and are not answered yet."""
        return len(self._awaited)

    def is_fresh(self, idle_s: float) -> bool:
        """Return whether the connection can take calls: the server has not closed it, nor was it idle for too long.

        `idle_s`: the most seconds without a call.
        """
        with self._changed:
            if self._failure is not None or self._reading or self._awaited:
                return self._failure is None
            if time.monotonic() - self.used > idle_s:
                return False
            self._reading = True
        try:
            self._receive()
        except (OSError, UnreadableAnswer, ValueError, OtherServer) as error:
            self.close(str(error))
        finally:
            self._stop_reading()
        return self._failure is None

    def send(self, calls: Sequence[messages.RpcCall], timeout_s: float) -> list[int]:
        """Send calls, and return their numbers, by which `answer` finds the answers."""
        with self._sending:
            with self._changed:
                if self._failure is not None:
                    raise NotSent(self._failure)
                numbers = [(self._number + at) % _LAST_CALL + 1 for at in range(len(calls))]
                self._number = numbers[-1]
                self._awaited.update(dict.fromkeys(numbers))
            pieces = []
            for number, call in zip(numbers, calls, strict=True):
                pieces.append(messages.request(number, call, round(1000 * (call.timeout_s or timeout_s))))
                pieces.append(call.cells)
            try:
                self._push(self._sealed(b"".join(pieces)), time.monotonic() + timeout_s)
            except BaseException as error:
                # The server may have got a part of a call.
                self.close(str(error))
                if isinstance(error, ValueError):
                    raise UnreadableAnswer(str(error)) from error
                raise
            self.used = time.monotonic()
        return numbers

    def answer(self, number: int, deadline: float) -> messages.RpcAnswer | ServerException:
        """Return the answer to a call, waiting for it; raise `TimeoutError` at `deadline`, a time of `time.monotonic`.

        A late answer is dropped. If nothing at all came since, the connection is taken for dead.
        """
        began = self.used
        try:
            while True:
                with self._changed:
                    if (answer := self._awaited[number]) is not None:
                        del self._awaited[number]
                        return answer
                    self._check_open()
                    if self._reading:
                        self._wait_for_reader(deadline)
                        continue
                    self._reading = True
                self._read_until(number, deadline)
        except TimeoutError:
            with self._changed:
                if self._awaited.pop(number, None) is None:
                    self._given_up.add(number)
            if self._heard < began or len(self._given_up) > _MOST_GIVEN_UP:
                self.close("the server was silent for too long")
            raise
        except BaseException:
            self.forget([number])
            raise

    def forget(self, numbers: Sequence[int]) -> None:
        """Drop the answers, here or still to come, to the calls with these numbers: nobody waits for them any more."""
        with self._changed:
            for number in numbers:
                if number in self._awaited and self._awaited.pop(number) is None:
                    self._given_up.add(number)

    def close(self, reason: str = "") -> None:
        """Close the connection for all threads; calls that wait for an answer get an error with the reason."""
        with self._changed:
            if self._failure is None:
                self._failure = reason or "the connection was closed"
            self._changed.notify_all()
        # Wakes a thread that waits for bytes.
        with suppress(OSError):
            # The method of a TLS socket would leave other threads with a socket that is not encrypted.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        with self._socket_lock:
            self._socket.close()

    def _wait_for_reader(self, deadline: float) -> None:
        if not self._changed.wait(max(0.0, deadline - time.monotonic())):
            raise TimeoutError

    def _check_open(self) -> None:
        if self._failure is not None:
            raise ConnectionAbortedError(self._failure)

    def _sealed(self, data: bytes) -> bytes:
        if self._seal is None:
            return data
        most = self._seal.most_bytes
        with self._socket_lock:
            packets = [self._seal.wrap(data[at : at + most]) for at in range(0, len(data), most)]
        return b"".join(len(packet).to_bytes(_LENGTH_BYTES) + packet for packet in packets)

    def _push(self, data: bytes, deadline: float) -> None:
        """Send bytes before the deadline, and read answers meanwhile: a server may stop reading until they are read."""
        rest = memoryview(data)
        while rest:
            try:
                with self._socket_lock:
                    rest = rest[self._socket.send(rest) :]
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                self._wait_for_room(deadline)

    def _wait_for_room(self, deadline: float) -> None:
        if time.monotonic() >= deadline:
            raise TimeoutError
        with self._changed:
            reads = not self._reading
            self._reading = True
        try:
            poll = select.poll()
            poll.register(self._socket, select.POLLOUT | (select.POLLIN if reads else 0))
            ready = poll.poll(1000 * _LOOK_S)
            if reads and any(events & ~select.POLLOUT for _, events in ready):
                self._receive()
        finally:
            if reads:
                self._stop_reading()

    def _stop_reading(self) -> None:
        with self._changed:
            self._reading = False
            self._changed.notify_all()

    def _read_until(self, number: int, deadline: float) -> None:
        """Read answers and hand them to the threads that wait, until that to this call is there."""
        try:
            while self._awaited.get(number) is None and self._failure is None:
                if not self._receive():
                    self._wait_for_bytes(deadline)
        except TimeoutError:
            raise
        except BaseException as error:
            # Bytes may be lost that were received.
            self.close(str(error))
            if isinstance(error, ValueError):
                raise UnreadableAnswer(str(error)) from error
            raise
        finally:
            self._stop_reading()

    def _wait_for_bytes(self, deadline: float) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(1000 * left):
            raise TimeoutError

    def _receive(self) -> bool:
        """Receive the bytes that are there, assign whole answers to their calls, and return whether any bytes came."""
        try:
            with self._socket_lock:
                data = self._socket.recv(_RECEIVED_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        if not data:
            hint = _WHERE_META_IS if self._service == messages.REGISTRY else ""
            raise ConnectionAbortedError(f"the server closed the connection{hint}")
        self._heard = time.monotonic()
        if self._seal is None:
            self._frames += data
        else:
            self._received += data
            while (packet := _cut_frame(self._received)) is not None:
                with self._socket_lock:
                    self._frames += self._seal.unwrap(packet)
        while (frame := _cut_frame(self._frames)) is not None:
            self._sort_in(frame)
        return True

    def _sort_in(self, frame: bytes) -> None:
        header, answer = messages.read_answer(frame)
        exception = None
        if header.has(2):
            thrown = header.message(2)
            exception = ServerException(thrown.text(1), thrown.text(2), bool(thrown.number(5)))
        number = header.number(1)
        if number == _NO_CALL:
            raise OtherServer(_refusal(exception))
        with self._changed:
            if number in self._given_up:
                self._given_up.remove(number)
            elif number in self._awaited and self._awaited[number] is None:
                self._awaited[number] = exception or answer
                self._changed.notify_all()
            else:
                raise UnreadableAnswer(f"an answer to call {number} came, which nobody made")


def _refusal(exception: ServerException | None) -> str:
    if exception is None:
        return "the server refuses the connection"
    if _NEEDS_KERBEROS in exception.trace:
        return "the server asks for Kerberos, so the address needs ?kerberos=SERVICE, as in its principal SERVICE/HOST"
    return exception.line


def _cut_frame(received: bytearray) -> bytes | None:
    """Remove the first frame, an answer after its length, from the received bytes, and return the answer.

    The result is None while the answer has not come whole.
    """
    if len(received) < _LENGTH_BYTES:
        return None
    size = int.from_bytes(received[:_LENGTH_BYTES], signed=True)
    if not 0 < size <= MOST_BYTES:
        if received.startswith(b"HTTP"):
            raise OtherServer("the server speaks HTTP, which is not HBase's own RPC")
        raise too_large(size)
    if len(received) < _LENGTH_BYTES + size:
        return None
    frame = bytes(received[_LENGTH_BYTES : _LENGTH_BYTES + size])
    del received[: _LENGTH_BYTES + size]
    return frame
