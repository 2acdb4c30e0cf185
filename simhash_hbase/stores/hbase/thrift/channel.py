"""Connections to a gateway as thriftpy2 uses them: a socket with a buffer and a deadline, and Thrift over HTTP.

The HTTP client of thriftpy2 does not look at statuses, repeats calls that are not safe to repeat, and sets the time-out
of all new sockets of the process while it sends.
"""

import socket
import ssl
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from http.client import BadStatusLine, HTTPException, HTTPResponse
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, cast

from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions
from simhash_hbase.stores.hbase.sockets import MOST_BYTES, OtherServer, too_large

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

OK = 200
# Each message of Thrift's binary protocol begins so.
MESSAGE = b"\x80\x01"
# Replies of a batch are megabytes; thriftpy2's default of 4 KB would cost a thousand reads.
BUFFER_BYTES = 1 << 16
RECEIVED_BYTES = 1 << 20  # At a time, however much is announced.


# HBase's own RPC refuses unknown calls by an answer to the call -1, behind the lengths of the answer and of its
# header.
_NO_CALL = b"\x08\xff\xff\xff\xff\x0f"
_LENGTHS = 8


def check_no_rpc(first: bytes) -> None:
    """Raise `OtherServer` if an answer begins as one of HBase's own RPC does, from a master or region server."""
    if _NO_CALL in first[: _LENGTHS + len(_NO_CALL)]:
        raise OtherServer("this is HBase's own RPC (master or region server), which hbase+rpc:// calls")


class Channel:
    """A socket with a deadline, in the form that thriftpy2's transports read from and write to."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._waiting = bytearray()
        # Bytes that came while nothing was to be read: TLS has no way to look at bytes and leave them.
        self._ahead = b""
        self._deadline = 0.0
        self._timeout_s: float | None = None
        self._received = 0  # Bytes of the answer.

    def allow(self, timeout_s: float) -> None:
        """Set the deadline, in seconds from now; a read that begins before it may take as long again."""
        self._deadline = time.monotonic() + timeout_s
        if timeout_s != self._timeout_s:
            # Each setting is a system call, which costs as much as sending.
            self._socket.settimeout(timeout_s)
            self._timeout_s = timeout_s

    def begin_answer(self) -> None:
        """Count received bytes from 0 again, for the limit of an answer's size, when a new answer begins."""
        self._received = 0

    def read(self, size: int) -> bytes:
        """Return 1 to `size` bytes, received before the deadline; bytes that wait to be sent are sent first."""
        if size > MOST_BYTES:
            raise too_large(size)
        if self._waiting:
            self.push()
        if time.monotonic() >= self._deadline:
            raise TimeoutError
        found, self._ahead = self._ahead or self._socket.recv(min(size, RECEIVED_BYTES)), b""
        if not found:
            raise ConnectionAbortedError("the connection was closed before the whole answer came")
        self._received += len(found)
        if self._received > MOST_BYTES:
            raise too_large(self._received)
        return found

    def is_open(self) -> bool:
        """Return True, for thriftpy2: a channel begins with a socket that is connected."""
        return True

    def write(self, data: bytes) -> None:
        """Keep bytes to be sent until `push`."""
        self._waiting += data

    @property
    def waiting(self) -> int:
        """The number of bytes that `push` will send."""
        return len(self._waiting)

    def flush(self) -> None:
        """Do nothing: thriftpy2 flushes every message, `push` sends many at once."""

    def push(self) -> None:
        """Send the buffered bytes before the deadline."""
        self._socket.sendall(self._waiting)
        self._waiting.clear()

    def is_silent_for(self, seconds: float) -> bool:
        """Wait up to some seconds for the gateway to send something; return whether nothing came."""
        self._socket.settimeout(seconds)
        try:
            self._ahead = self._ahead or self._socket.recv(1)
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(self._timeout_s)
        return False

    def is_quiet(self) -> bool:
        """Return, without waiting, whether nothing came: neither unexpected bytes nor the end of the connection."""
        self._socket.setblocking(False)
        self._timeout_s = None
        if self._ahead:
            return False
        try:
            self._ahead = self._socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Close the socket of the channel."""
        self._socket.close()


class HttpRefusal(Exception):
    """An HTTP answer that has no Thrift message, such as a proxy's page with an error status."""

    def __init__(self, status: int, content_type: str = "") -> None:
        super().__init__(f"HTTP status {status}")
        self.status = status
        self.content_type = content_type


class HttpChannel:
    """Thrift over HTTP: each call is a request, and a connection carries one request after the other; see `Channel`.

    A request is sent when the answer to the one before has come whole: proxies on the way need not know pipelining. A
    gateway that closes the connection after an answer gets the next request on a new one.
    """

    def __init__(self, connect: Callable[[], Channel], gateway: Gateway, options: HBaseOptions) -> None:
        self._connect = connect
        self._channel = connect()
        head = [
            "POST / HTTP/1.1",
            f"Host: {gateway}",
            "Content-Type: application/x-thrift",
            "Accept: application/x-thrift",
            "User-Agent: simhash-hbase",
            *(f"{name}: {value}" for name, value in options.headers),
        ]
        self._head = "\r\n".join(head).encode("latin-1") + b"\r\nContent-Length: "
        self._message = bytearray()
        self._requests: deque[bytes] = deque()
        self._is_under_way = False
        self._is_closing = False
        self._answer = memoryview(b"")

    def allow(self, timeout_s: float) -> None:
        """Set the deadline; see `Channel.allow`."""
        self._timeout_s = timeout_s
        self._channel.allow(timeout_s)

    def write(self, data: bytes) -> None:
        """Append bytes to the Thrift message that the next request will have."""
        self._message += data

    def flush(self) -> None:
        """End the message and queue its request, which `push` or the end of an earlier answer sends."""
        self._requests.append(b"%b%d\r\n\r\n%b" % (self._head, len(self._message), bytes(self._message)))
        self._message.clear()

    @property
    def waiting(self) -> int:
        """The number of bytes that wait, for the limit of a frame: always 0, since HTTP has no such limit."""
        return 0

    def push(self) -> None:
        """Send the first request that waits, unless the answer to another one is still to come."""
        if self._is_under_way or not self._requests:
            return
        if self._is_closing:
            self._channel.close()
            self._channel = self._connect()
            self._channel.allow(self._timeout_s)
            self._is_closing = False
        self._is_under_way = True
        self._channel.write(self._requests.popleft())
        self._channel.push()

    def begin_answer(self) -> None:
        """Receive the whole answer to the oldest request, for `read`, and send the next request of the queue."""
        self._channel.begin_answer()
        with HTTPResponse(cast(socket.socket, _Readable(self._channel)), method="POST") as response:
            try:
                response.begin()
                # Piece by piece, since `http.client` makes room for whatever length is announced.
                body = b"".join(iter(partial(response.read, BUFFER_BYTES), b"")) if response.status == OK else b""
            except HTTPException as error:
                if isinstance(error, BadStatusLine):
                    check_no_rpc(str(error).encode("latin-1"))
                raise ConnectionAbortedError(f"no whole HTTP answer came: {type(error).__name__}") from error
            if response.status != OK or not body.startswith(MESSAGE):
                raise HttpRefusal(response.status, response.headers.get_content_type())
        self._answer = memoryview(body)
        self._is_under_way = False
        self._is_closing = response.will_close
        self.push()

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`, of the answer that `begin_answer` has received."""
        part, self._answer = self._answer[:size], self._answer[size:]
        if not part:
            raise ConnectionAbortedError("the answer ended before the message in it")
        return bytes(part)

    def is_open(self) -> bool:
        """Return True, for thriftpy2, as `Channel.is_open` does."""
        return True

    def is_silent_for(self, seconds: float) -> bool:
        """Wait up to some seconds for the gateway to send something; return whether nothing came."""
        return self._channel.is_silent_for(seconds)

    def is_quiet(self) -> bool:
        """Return, without waiting, whether the connection can take a request: it is not closed, and nothing came."""
        return not self._is_closing and self._channel.is_quiet()

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()


class _Readable(RawIOBase):
    """A channel in the form of a socket that `http.client` reads an answer from."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def makefile(self, _: str) -> BufferedReader:
        return BufferedReader(self, BUFFER_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        part = self._channel.read(len(view))
        view[: len(part)] = part
        return len(part)
