"""One request: its id, its line in the log, its figures, and the end of its body."""

import asyncio
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simhash_hbase.service.logs import logger
from simhash_hbase.service.metrics import Metrics
from simhash_hbase.service.problems import Problem, busy, internal

# Whatever else a client sends as an id could forge lines of a log, or hold what must not be in one.
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
ID_BYTES = 8


@dataclass(slots=True)
class Trail:
    """One request; each layer adds what it learns."""

    request_id: str
    scope: Mapping[str, Any]  # The request's; the application adds the route.
    client: str | None = None
    key: str | None = None  # Name of the key that was presented.
    is_allowed: Callable[[], bool] = lambda: True  # Tells whether the key still allows what was asked for.
    collection: str | None = None  # The one whose documents are asked for.
    collections: frozenset[str] | None = None  # Those that the key is bound to; None: to none.
    writes: bool = False  # Whether it may change the index.
    slot: ExitStack = field(default_factory=ExitStack)  # Returns what the request has taken, at the end of its answer.
    media: str = "none"  # ``json`` or ``ndjson``.
    status: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    bytes_in: int = 0
    bytes_out: int = 0
    waits: bool = False  # Whether it waits for memory for its body.
    end: str | None = None  # Of a stream: why there was no next line.
    started: float = field(default_factory=time.monotonic)

    @property
    def method(self) -> str:
        """The HTTP method."""
        return str(self.scope["method"])

    @property
    def route(self) -> str:
        """The route's pattern, never the address itself: that may hold ids."""
        return str(getattr(self.scope.get("route"), "path", "none"))

    @property
    def payer(self) -> str:
        """Whose share the request takes: its key's, or, without keys, its address's."""
        return self.key or self.client or ""

    def seconds(self) -> float:
        """Tell how long ago the request's header arrived."""
        return time.monotonic() - self.started

    def extra(self, **more: object) -> dict[str, dict[str, object]]:
        """Make the `extra` of a log line within this request."""
        return {"fields": {"request_id": self.request_id, "route": self.route, **more}}

    def fields(self) -> dict[str, object]:
        """Make the fields of the request's own log line."""
        line: dict[str, object] = {
            "request_id": self.request_id,
            "method": self.method,
            "route": self.route,
            "status": self.status,
            "ms": round(1000 * self.seconds(), 2),
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "client": self.client,
            "key": self.key,
            "documents": dict(self.outcomes) or None,
            "end": self.end,
        }
        return {name: value for name, value in line.items() if value is not None}


CLOSED_BY_CLIENT = 499
UNLOGGED = frozenset({"/healthz", "/readyz", "/metrics"})
# A client that is answered before it has sent all may read the answer late; closing at once could destroy it.
DRAIN_S = 2.0
DRAIN_BYTES = 16 << 20


def framing_problem(headers: Headers, version: str) -> Problem | None:
    """Return why HTTP (RFC 9112) has a server refuse the headers of a request, or None."""
    hosts, codings = headers.getlist("host"), headers.getlist("transfer-encoding")
    if len(hosts) != 1 and (hosts or version != "1.0"):
        return Problem("malformed_request", f"the header Host is {'repeated' if hosts else 'missing'}")
    if codings and [coding.lower() for coding in codings] != ["chunked"]:
        return Problem("unsupported", "of the transfer codings, chunked alone is known")
    return None


class Surround:
    """Middleware around the whole application.

    A request returns its place and its memory at the end of its answer, before the rest of its body is drained:
    otherwise refused clients could keep others out.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, idle_s: float, is_draining: Callable[[], bool]) -> None:
        self._app = app
        self._metrics = metrics
        self.idle_s = idle_s  # How long a client may leave an answer unread.
        self.is_draining = is_draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        client, request_id = scope.get("client"), headers.get("x-request-id", "")
        if not _REQUEST_ID.fullmatch(request_id):
            request_id = secrets.token_hex(ID_BYTES)
        trail = Trail(request_id, scope, client[0] if client else None)
        scope.setdefault("state", {})["trail"] = trail
        try:
            with trail.slot:
                await self._answer(scope, _Exchange(self, scope, receive, send, trail), trail)
        except ClientDisconnect:
            trail.status = CLOSED_BY_CLIENT
        finally:
            known = trail.method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
            self._metrics.requests.labels(trail.route, trail.method if known else "other", str(trail.status)).inc()
            self._metrics.seconds.labels(trail.route, trail.media).observe(trail.seconds())
            if scope["path"] not in UNLOGGED:
                logger.info("request", extra={"fields": trail.fields()})

    async def _answer(self, scope: Scope, exchange: "_Exchange", trail: Trail) -> None:
        try:
            problem = framing_problem(Headers(scope=scope), scope.get("http_version", "1.1"))
            answer = self._app if problem is None else problem.response(trail.request_id)
            await answer(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            raise
        except asyncio.CancelledError:
            # The service ends; the call to the store goes on without this request.
            if exchange.is_begun:
                raise
            sentence = "the service stopped before the store answered; the write may still have been applied"
            await busy("stopping", sentence).response(trail.request_id)(scope, exchange.receive, exchange.send)
        except Exception:
            logger.exception("request failed", extra=trail.extra())
            if exchange.is_begun:
                raise
            await internal().response(trail.request_id)(scope, exchange.receive, exchange.send)


class _Exchange:
    """The messages of one request, watched."""

    def __init__(self, surround: Surround, scope: Scope, receive: Receive, send: Send, trail: Trail) -> None:
        self._surround = surround
        self._receive = receive
        self._send = send
        self._trail = trail
        headers = Headers(scope=scope)
        self._awaits = headers.get("expect", "").lower() == "100-continue"
        self._has_more = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        self.is_begun = False

    async def receive(self) -> Message:
        """Pass a piece of the body on."""
        self._awaits = False
        message = await self._receive()
        if message["type"] == "http.request":
            self._trail.bytes_in += len(message.get("body", b""))
            self._has_more = message.get("more_body", False)
        else:
            self._has_more = False
        return message

    async def send(self, message: Message) -> None:
        """Pass a piece of the answer on."""
        if message["type"] == "http.response.start":
            self.is_begun = True
            self._trail.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-ID"] = self._trail.request_id
            headers["Cache-Control"] = "no-store"
            # The next request must not run into the rest of a body; that to a service which drains is for another one.
            if self._has_more or self._surround.is_draining():
                headers["Connection"] = "close"
        elif message["type"] == "http.response.body":
            self._trail.bytes_out += len(message.get("body", b""))
            if not message.get("more_body", False) and self._has_more:
                await self.send_soon({**message, "more_body": True})
                self._trail.slot.close()
                await self.drain()
                message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self.send_soon(message)

    async def send_soon(self, message: Message) -> None:
        try:
            async with asyncio.timeout(self._surround.idle_s):
                await self._send(message)
        except TimeoutError as error:
            self._trail.end = "disconnected"
            raise ClientDisconnect from error

    async def drain(self) -> None:
        """Read the rest of the body for a moment, before the connection is closed."""
        # A client that waits for `100 Continue` has sent no body and will not be asked for it.
        most = self._trail.bytes_in + (0 if self._awaits else DRAIN_BYTES)
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while self._has_more and self._trail.bytes_in < most:
                    await self.receive()
