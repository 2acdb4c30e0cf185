"""What surrounds every request: its id, the limit on how many there are at once, its log line and its figures."""

import asyncio
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simhash_hbase.service.http.logs import logger
from simhash_hbase.service.http.metrics import Metrics
from simhash_hbase.service.http.problems import Problem, internal, stopped
from simhash_hbase.service.http.trail import Trail, request_id_of

HANG_UP = "simhash_hbase.hang_up"  # Key of the scope whose function closes the connection after the answer.
VOUCH = "simhash_hbase.vouch"  # Key of the scope whose function takes whether the client has presented a key.

CLOSED_BY_CLIENT = 499
MALFORMED = 400
UNLOGGED = frozenset({"/healthz", "/readyz", "/metrics"})
# A client that is answered before it has sent all may read the answer late; closing at once could destroy it.
DRAIN_S = 2.0
DRAIN_BYTES = 16 << 20


_TWO_LENGTHS = Problem(MALFORMED, "malformed_request", "a body has Content-Length or Transfer-Encoding, not both")


class Surround:
    """Middleware around the whole application.

    A request returns its place and its memory at the end of its answer, before the rest of its body is drained:
    otherwise refused clients could keep others out.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        client = scope.get("client")
        trail = Trail(request_id_of(headers.get("x-request-id")), scope, client[0] if client else None)
        scope.setdefault("state", {})["trail"] = trail
        try:
            with trail.slot:
                await self._answer(scope, _Exchange(scope, receive, send, trail), trail)
        except ClientDisconnect:
            trail.status = CLOSED_BY_CLIENT
        finally:
            self._finish(scope, trail)

    async def _answer(self, scope: Scope, exchange: "_Exchange", trail: Trail) -> None:
        try:
            if _has_two_lengths(scope):
                await _TWO_LENGTHS.response(trail.request_id)(scope, exchange.receive, exchange.send)
            else:
                await self._app(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            raise
        except asyncio.CancelledError:
            # The service ends; the call to the store goes on without this request.
            if exchange.is_begun:
                raise
            await stopped().response(trail.request_id)(scope, exchange.receive, exchange.send)
        except Exception:
            logger.exception("request failed", extra=trail.extra())
            if exchange.is_begun:
                raise
            await internal().response(trail.request_id)(scope, exchange.receive, exchange.send)

    def _finish(self, scope: Scope, trail: Trail) -> None:
        self._metrics.requests.labels(trail.route, _known(trail.method), str(trail.status)).inc()
        self._metrics.seconds.labels(trail.route, trail.media).observe(trail.seconds())
        if scope["path"] not in UNLOGGED:
            logger.info("request", extra={"fields": trail.fields()})


class _Exchange:
    """The messages of one request, watched."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, trail: Trail) -> None:
        self._scope = scope
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
            if self._has_more and "content-length" in headers:
                # The client sees the end of an answer of known length while its body is still drained: without this
                # header it would send its next request into the drain, or into the close after it.
                headers["Connection"] = "close"
        elif message["type"] == "http.response.body":
            self._trail.bytes_out += len(message.get("body", b""))
            if not message.get("more_body", False) and self._has_more:
                await self._send({**message, "more_body": True})
                self._trail.slot.close()
                await self._drain()
                message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)

    async def _drain(self) -> None:
        """Read the rest of the body for a moment; close the connection when that was not all.

        When it was all, the connection stays open after an answer of unknown length, whose last piece follows: the
        client may have begun its next request.
        """
        # A client that waits for `100 Continue` has sent no body and will not be asked for it.
        most = self._trail.bytes_in + (0 if self._awaits else DRAIN_BYTES)
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while self._has_more and self._trail.bytes_in < most:
                    await self.receive()
        if self._has_more and HANG_UP in self._scope:
            self._scope[HANG_UP]()


def _has_two_lengths(scope: Scope) -> bool:
    """Tell whether a proxy may see another end of the body, and then another request, than this server does."""
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers and "content-length" in headers


def _known(method: str) -> str:
    return method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS") else "other"
