"""Thrift over HTTP: each call is a request, and a connection carries one request after the other.

The HTTP client of thriftpy2 does not look at statuses, repeats calls that are not safe to repeat, and sets the time-out
of all new sockets of the process while it sends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, cast

from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions

if TYPE_CHECKING:
    import socket

    from _typeshed import WriteableBuffer

    from simhash_hbase.stores.hbase.thrift.channel import Channel

OK = 200
# Each message of Thrift's binary protocol begins so.
MESSAGE = b"\x80\x01"
BUFFER_BYTES = 1 << 16


class HttpRefusal(Exception):
    """An HTTP answer without a message of Thrift."""

    def __init__(self, status: int, content_type: str = "") -> None:
        super().__init__(f"HTTP status {status}")
        self.status = status
        self.content_type = content_type


class HttpChannel:
    """The channel of one gateway; see `Channel`.

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
        """Append bytes to the message."""
        self._message += data

    def flush(self) -> None:
        """End the message, which `push` or the end of an earlier answer sends."""
        self._requests.append(b"%b%d\r\n\r\n%b" % (self._head, len(self._message), bytes(self._message)))
        self._message.clear()

    @property
    def waiting(self) -> int:
        """No frame bounds a message."""
        return 0

    def push(self) -> None:
        """Send the first request, unless one is under way."""
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
        """Receive the whole answer to the oldest request, and send the next request."""
        response = HTTPResponse(cast("socket.socket", _Readable(self._channel)), method="POST")
        try:
            response.begin()
            body = response.read() if response.status == OK else b""
        except HTTPException as error:
            raise ConnectionAbortedError(f"no whole HTTP answer came: {type(error).__name__}") from error
        if response.status != OK or not body.startswith(MESSAGE):
            raise HttpRefusal(response.status, response.headers.get_content_type())
        self._answer = memoryview(body)
        self._is_under_way = False
        self._is_closing = response.will_close
        self.push()

    def read(self, size: int) -> bytes:
        """Read from the answer."""
        part, self._answer = self._answer[:size], self._answer[size:]
        if not part:
            raise ConnectionAbortedError("the answer ended before the message in it")
        return bytes(part)

    def is_open(self) -> bool:
        """Return true, as `Channel.is_open`."""
        return True

    def is_silent_for(self, seconds: float) -> bool:
        """Wait for at most some seconds; return whether nothing came."""
        return self._channel.is_silent_for(seconds)

    def is_quiet(self) -> bool:
        """Return whether the connection can take a request."""
        return not self._is_closing and self._channel.is_quiet()

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()


class _Readable(RawIOBase):
    """A channel as `http.client` reads it, in place of a socket."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def makefile(self, _: str) -> BufferedReader:
        return BufferedReader(self, BUFFER_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        part = self._channel.read(len(view))
        view[: len(part)] = part
        return len(part)
