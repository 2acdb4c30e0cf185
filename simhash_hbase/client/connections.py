"""Connections to a service: an answer must come before a deadline, and its header must come whole.

A time-out of a socket is one for each piece that arrives, so a server that sends a byte a second is never too late for
it. `http.client` takes the end of a connection for the end of the header.
"""

import socket
import time
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class _Received(RawIOBase):
    """The bytes of one answer."""

    def __init__(self, raw: RawIOBase, connected: socket.socket) -> None:
        self._raw = raw
        self._socket = connected
        self._timeout_s = connected.gettimeout()
        self.is_header = True
        self.renew()

    def renew(self) -> None:
        """Allow the whole time again."""
        self._until = None if self._timeout_s is None else time.monotonic() + self._timeout_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        if self._until is not None:
            left_s = self._until - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            self._socket.settimeout(left_s)
        size = self._raw.readinto(buffer)
        if self.is_header and not size:
            raise ConnectionAbortedError("the connection was closed within the header of an answer")
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Answer(HTTPResponse):
    """An answer as `http.client` reads it."""

    def __init__(
        self, sock: socket.socket, debuglevel: int = 0, method: str | None = None, url: str | None = None
    ) -> None:
        super().__init__(sock, debuglevel, method, url)
        self.received = _Received(self.fp.detach(), sock)
        self.fp = BufferedReader(self.received)

    def begin(self) -> None:
        """Read the header."""
        super().begin()
        self.received.is_header = False


class _OneAnswer:
    """Keeps the answer that is under way on a connection."""

    answer: _Answer | None = None

    def response_class(self, sock: socket.socket, debuglevel: int = 0, method: str | None = None) -> _Answer:
        """Make the answer to a request."""
        self.answer = _Answer(sock, debuglevel, method)
        return self.answer

    def renew(self) -> None:
        """Allow the rest of the answer as much time as the whole had."""
        if self.answer is not None:
            self.answer.received.renew()


class _Http(_OneAnswer, HTTPConnection):  # type: ignore[misc]
    pass


class _Https(_OneAnswer, HTTPSConnection):  # type: ignore[misc]
    pass


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _Http


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _Https


POOLS = {"http": _HttpPool, "https": _HttpsPool}
"""The pools of a client: the argument `pool_classes_by_scheme` of urllib3's managers."""


def renew(connection: object) -> None:
    """Allow the rest of an answer as much time as the whole had; of one that is read, there is no connection."""
    if isinstance(connection, _OneAnswer):
        connection.renew()
