"""Connections to an HTTP service by urllib3, with a deadline for each whole answer.

Two things are added to urllib3. The time-out of a socket counts anew for each piece that arrives, so it would never end
an answer of a byte a second: here a deadline does. `http.client` accepts a header that was cut off because the
connection ended: here that is an error.
"""

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, Any

from simhash_hbase import errors
from simhash_hbase.client.http import CONNECTIONS, ServiceRequest, reason

try:
    import urllib3
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.exceptions import HTTPError, LocationParseError, ReadTimeoutError, SSLError
except ImportError as error:
    raise errors.missing_extra("an index by http:// or https:// needs urllib3", "client") from error

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

READ_BYTES = 64 << 10


class ThreadConnections:
    """The `ServiceTransport` of `RemoteIndex`: a pool of connections, which threads may share."""

    def __init__(self, url: str, proxy: str | None) -> None:
        self._url = url
        make = partial(urllib3.ProxyManager, proxy) if proxy else urllib3.PoolManager
        secure: dict[str, Any] = {"ssl_context": ssl.create_default_context()} if url.startswith("https:") else {}
        self._pool = make(num_pools=1, maxsize=CONNECTIONS, **secure)
        self._pool.pool_classes_by_scheme = _POOLS

    @staticmethod
    def check(url: str) -> None:
        """Raise ValueError if a text is not a URL."""
        try:
            urllib3.util.parse_url(url)
        except LocationParseError as error:
            raise ValueError(str(error)) from error

    @contextmanager
    def response(self, request: ServiceRequest) -> Iterator["_ThreadResponse"]:
        """Send a request and yield its response, whose body can be read within the block."""
        try:
            response = self._pool.request(
                request.method,
                request.url,
                body=request.body,
                headers=request.headers,
                timeout=urllib3.Timeout(connect=request.connect_s, read=request.read_s),
                preload_content=False,
                # No compression: a small compressed body could expand to any size.
                decode_content=False,
                redirect=False,
                retries=False,
            )
            try:
                yield _ThreadResponse(response)
            finally:
                # This closes the connection, unless the answer was read to its end: then the pool has it back.
                response.close()
        except SSLError as error:
            raise errors.StoreRefused(f"{self._url}: TLS fails: {reason(error)}") from error
        except ReadTimeoutError as error:
            raise errors.StoreTimeout(f"{self._url} has not answered in time") from error
        except (HTTPError, OSError) as error:
            raise errors.StoreUnavailable(f"{self._url} does not answer: {reason(error)}") from error

    def sleep(self, seconds: float) -> None:
        """Sleep for some seconds before a request is repeated."""
        time.sleep(seconds)

    def close(self) -> None:
        """Close all connections."""
        self._pool.clear()


class _ThreadResponse:
    """A response whose body is still being read; see `Response`."""

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self._response = response
        self.status, self.headers = response.status, response.headers
        # Kept here, since urllib3 removes the connection from a response that was read.
        self._connection = response.connection

    def pieces(self) -> Iterator[bytes]:
        # `read` would wait until a piece is full.
        while piece := self._response.read1(READ_BYTES):
            yield piece

    def renew(self) -> None:
        if isinstance(self._connection, _OneAnswer):
            self._connection.renew()


class _Received(RawIOBase):
    """The bytes of one answer as the socket receives them; reading after the deadline raises TimeoutError."""

    def __init__(self, raw: RawIOBase, connected: socket.socket) -> None:
        self._raw = raw
        self._socket = connected
        self._timeout_s = connected.gettimeout()
        self.is_header = True
        self.renew()

    def renew(self) -> None:
        """Move the deadline: the socket's whole time-out counts from now."""
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
    """A response of `http.client` whose bytes come through `_Received`, so that its deadline holds."""

    def __init__(
        self, sock: socket.socket, debuglevel: int = 0, method: str | None = None, url: str | None = None
    ) -> None:
        super().__init__(sock, debuglevel, method, url)
        self.received = _Received(self.fp.detach(), sock)
        self.fp = BufferedReader(self.received)

    def begin(self) -> None:
        """Read the status line and the header; raise `ConnectionAbortedError` if the connection ends within them."""
        super().begin()
        self.received.is_header = False


class _OneAnswer:
    """A mixin for HTTP connections: remembers the answer that is being read, so that its deadline can be moved."""

    answer: _Answer | None = None

    def response_class(self, sock: socket.socket, debuglevel: int = 0, method: str | None = None) -> _Answer:
        """Return the object that reads the answer to a request, and remember it; `http.client` calls this."""
        self.answer = _Answer(sock, debuglevel, method)
        return self.answer

    def renew(self) -> None:
        """Move the deadline of the answer that is being read: its whole time counts from now."""
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


_POOLS = {"http": _HttpPool, "https": _HttpsPool}
