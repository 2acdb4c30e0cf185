"""Connections from an event loop of asyncio to an HTTP service, by the library HTTPX2.

As in `simhash_hbase.client.connections`, each whole answer has a deadline.
"""

import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from simhash_hbase import errors
from simhash_hbase.client.greenlets import wait_for
from simhash_hbase.client.http import CONNECTIONS, ServiceRequest, innermost, reason

try:
    import anyio
    import httpx2
except ImportError as error:
    raise errors.missing_extra("an index in an event loop needs httpx2", "client") from error

T = TypeVar("T")


class AsyncConnections:
    """The `ServiceTransport` of `AsyncIndex`: a pool of connections, which the tasks of one event loop share.

    Its methods may be called only within a function that `simhash_hbase.client.greenlets.carried_out` runs.
    """

    def __init__(self, url: str, proxy: str | None) -> None:
        self._url = url
        self._client = httpx2.AsyncClient(
            verify=ssl.create_default_context(),
            proxy=proxy,
            # `HttpClient` has looked for a proxy in the environment already.
            trust_env=False,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=CONNECTIONS),
            # No compression: a small compressed body could expand to any size.
            headers={"Accept-Encoding": "identity"},
        )
        self._free = anyio.Semaphore(CONNECTIONS)

    @staticmethod
    def check(url: str) -> None:
        """Raise ValueError if a text is not a URL."""
        try:
            httpx2.URL(url)
        except httpx2.InvalidURL as error:
            raise ValueError(str(error)) from error

    @contextmanager
    def response(self, request: ServiceRequest) -> Iterator["_AsyncResponse"]:
        """Send a request and yield its response, whose body can be read within the block."""
        wait_for(self._free.acquire())
        try:
            if self._client.is_closed:
                raise errors.IndexClosed(f"{self._url}: this index was closed")
            until = time.monotonic() + request.connect_s + request.read_s
            response = wait_for(_until(until, lambda: self._sent(request)))
            try:
                yield _AsyncResponse(response, request.read_s, until)
            finally:
                wait_for(_closed(response))
        except (TimeoutError, httpx2.ReadTimeout, httpx2.WriteTimeout) as error:
            raise errors.StoreTimeout(f"{self._url} has not answered in time") from error
        except (httpx2.RequestError, OSError) as error:
            why = reason(error)
            if isinstance(innermost(error), ssl.SSLError):
                raise errors.StoreRefused(f"{self._url}: TLS fails: {why}") from error
            raise errors.StoreUnavailable(f"{self._url} does not answer: {why}") from error
        finally:
            self._free.release()

    async def _sent(self, request: ServiceRequest) -> httpx2.Response:
        asked = self._client.build_request(
            request.method,
            request.url,
            content=request.body,
            headers=dict(request.headers),
            timeout=httpx2.Timeout(request.read_s, connect=request.connect_s, pool=None),
        )
        return await self._client.send(asked, stream=True)

    def sleep(self, seconds: float) -> None:
        """Sleep for some seconds before a request is repeated."""
        wait_for(anyio.sleep(seconds))

    def close(self) -> None:
        """Close all connections."""
        wait_for(self._client.aclose())


class _AsyncResponse:
    """A response whose body is still being read; see `Response`."""

    def __init__(self, response: httpx2.Response, read_s: float, until: float) -> None:
        self.status, self.headers = response.status_code, response.headers
        self._raw = response.aiter_raw()
        self._read_s, self._until = read_s, until

    def pieces(self) -> Iterator[bytes]:
        while piece := wait_for(_until(self._until, self._next)):
            yield piece

    async def _next(self) -> bytes:
        return await anext(self._raw, b"")

    def renew(self) -> None:
        self._until = time.monotonic() + self._read_s


async def _until(moment: float, begin: Callable[[], Awaitable[T]]) -> T:
    """Call `begin` and return the result of its awaitable; raise `TimeoutError` when ``time.monotonic`` is `moment`."""
    with anyio.fail_after(moment - time.monotonic()):
        return await begin()


async def _closed(response: httpx2.Response) -> None:
    """Close an HTTP response, so that its connection is free again, even in a task that is being cancelled."""
    with anyio.CancelScope(shield=True):
        await response.aclose()
