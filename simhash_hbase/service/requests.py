"""Requests: the facts about each, the middleware around all of them, and the way from a body to its answer."""

import asyncio
import re
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
from fastapi import Request, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simhash_hbase import tracing
from simhash_hbase.errors import SimhashError
from simhash_hbase.service.engine import Engine
from simhash_hbase.service.items import AnalysedChunk, Item, decode_body, document_or_id
from simhash_hbase.service.keys import Keyring
from simhash_hbase.service.limits import LARGE_BYTES, Limits, Shares
from simhash_hbase.service.logs import logger
from simhash_hbase.service.metrics import Metrics
from simhash_hbase.service.operations import Batcher, BatchOperation, ItemAnswer, analyse_raw, within
from simhash_hbase.service.problems import Problem, busy, internal, of_error
from simhash_hbase.service.schemas import JSON, NDJSON

T = TypeVar("T")

# An id of any other form could forge lines of a log, or hold a text that must not be in one.
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
ID_BYTES = 8
SERVER_ERRORS = 500
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE = "none"


@dataclass(slots=True)
class Trail:
    """The facts about one request, such as its key, route and outcomes; each layer adds some, for logs and metrics."""

    request_id: str
    scope: Mapping[str, Any]  # The request's; the application adds the route.
    client: str | None = None
    key: str | None = None  # Name of the key that was presented.
    is_allowed: Callable[[], bool] = lambda: True  # Returns whether the key still allows the request.
    collection: str | None = None  # The collection whose documents are asked for.
    collections: frozenset[str] | None = None  # Collections that the key is bound to; None: to none.
    writes: bool = False  # Whether the request may change the index.
    slot: ExitStack = field(default_factory=ExitStack)  # Gives back the request's shares, at the end of its answer.
    media: str = "none"  # ``json`` or ``ndjson``.
    status: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    bytes_in: int = 0
    bytes_out: int = 0
    waits: bool = False  # Whether the request waits for memory for its body.
    end: str | None = None  # Why a stream had no next line; None for other requests.
    started: float = field(default_factory=time.monotonic)

    @property
    def method(self) -> str:
        """The HTTP method."""
        return str(self.scope["method"])

    @property
    def known_method(self) -> str | None:
        """The HTTP method if it is a standard one, else None.

        Clients may invent any number of others, and each would be a new series of a metric.
        """
        return self.method if self.method in METHODS else None

    @property
    def route(self) -> str:
        """The pattern of the request's route, such as ``/v1/documents``, never its address, which may hold ids."""
        return str(getattr(self.scope.get("route"), "path", NO_ROUTE))

    @property
    def payer(self) -> str:
        """The client whose share of places and memory the request takes: the name of its key, or else its address."""
        return self.key or self.client or ""

    def seconds(self) -> float:
        """Return the seconds since the header of the request arrived."""
        return time.monotonic() - self.started

    def extra(self, **more: object) -> dict[str, dict[str, object]]:
        """Return the argument `extra` of a logging call about this request; `more` are further fields."""
        return {"fields": {"request_id": self.request_id, "route": self.route, **more}}

    def fields(self) -> dict[str, object]:
        """Return the fields of the line that the log gets for each request."""
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
    """Return a problem if a request's Host, Transfer-Encoding or names of headers are not as RFC 9112 wants.

    Proxies may understand such a request in another way. None if all are well.
    """
    hosts, codings = headers.getlist("host"), headers.getlist("transfer-encoding")
    if len(hosts) != 1 and (hosts or version != "1.0"):
        return Problem("malformed_request", f"the header Host is {'repeated' if hosts else 'missing'}")
    if codings and [coding.lower() for coding in codings] != ["chunked"]:
        return Problem("unsupported", "of the transfer codings, chunked alone is known")
    for name in headers:
        # To some proxies Content_Length is Content-Length, and others drop it.
        if "_" in name:
            return Problem("malformed_request", "the name of a header has an underscore")
    return None


@contextmanager
def _traced(trail: Trail, headers: Headers) -> Iterator[None]:
    """Record a request as a span of a trace during the block, below the span that the client's headers name."""
    if not tracing.is_on() or trail.scope["path"] in UNLOGGED:
        yield
        return
    method = trail.known_method or "HTTP"
    attributes = {
        "http.request.method": trail.known_method or "_OTHER",
        "url.scheme": trail.scope.get("scheme", "http"),
        "http.response.header.x-request-id": [trail.request_id],
    }
    span = tracing.begun(method, attributes, kind="SERVER", headers=headers)
    try:
        with tracing.active(span):
            yield
    finally:
        if trail.route != NO_ROUTE:
            # No route has parameters in its path. An address that has no route may hold anything.
            span.update_name(f"{method} {trail.route}")
            span.set_attributes({"http.route": trail.route, "url.path": trail.route})
        if trail.status:
            span.set_attribute("http.response.status_code", trail.status)
        tracing.ended(span, str(trail.status) if trail.status >= SERVER_ERRORS else None)


class Surround:
    """Middleware around the whole application: it checks, traces, counts and logs each request.

    A request gives its place among those under way, and its memory, back at the end of its answer, before the rest of
    its body is drained: otherwise refused clients could keep others out.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, idle_s: float, is_draining: Callable[[], bool]) -> None:
        self._app = app
        self._metrics = metrics
        self.idle_s = idle_s  # How long a client may leave an answer unread.
        self.is_draining = is_draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, as ASGI calls it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        client, request_id = scope.get("client"), headers.get("x-request-id", "")
        if not _REQUEST_ID.fullmatch(request_id):
            request_id = secrets.token_hex(ID_BYTES)
        trail = Trail(request_id, scope, client[0] if client else None)
        scope.setdefault("state", {})["trail"] = trail
        with _traced(trail, headers):
            await self._follow(scope, _Exchange(self, scope, receive, send, trail), trail)

    async def _follow(self, scope: Scope, exchange: "_Exchange", trail: Trail) -> None:
        """Have one request answered by the application, then count it in the metrics and log it."""
        try:
            with trail.slot:
                await self._answer(scope, exchange, trail)
        except ClientDisconnect:
            trail.status = CLOSED_BY_CLIENT
        finally:
            self._metrics.requests.labels(trail.route, trail.known_method or "other", str(trail.status)).inc()
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
    """Passes on the ASGI messages of one request and of its answer, and counts their bytes."""

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
        """Return the next ASGI message of the request, and count its bytes."""
        self._awaits = False
        message = await self._receive()
        if message["type"] == "http.request":
            self._trail.bytes_in += len(message.get("body", b""))
            self._has_more = message.get("more_body", False)
        else:
            self._has_more = False
        return message

    async def send(self, message: Message) -> None:
        """Send an ASGI message of the answer, with headers added.

        Before the last message the rest of the request's body is read.
        """
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
        """Read and drop the rest of a body that was answered early, for at most `DRAIN_S`, before closing."""
        # A client that waits for `100 Continue` has sent no body and will not be asked for it.
        most = self._trail.bytes_in + (0 if self._awaits else DRAIN_BYTES)
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while self._has_more and self._trail.bytes_in < most:
                    await self.receive()


@dataclass(kw_only=True)
class Service:
    """What all requests share: engine, limits, metrics and keys; `create_app` puts it into ``app.state.service``."""

    engine: Engine
    limits: Limits
    metrics: Metrics
    keys: Keyring | None  # None allows everybody everything.
    is_draining: bool = False  # Whether clients are to go elsewhere; until it stops, all of them are answered.
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the service is to end: streams then end after a document."""
    end_by: float | None = None  # By `time.monotonic`, when it must have ended; None: when all is finished.

    def __post_init__(self) -> None:
        self.batcher = Batcher(self.engine, most=self.limits.batch)
        self.places = Shares(self.limits.requests)
        # Bytes of large bodies and lines.
        self.bytes = Shares(max(self.limits.bytes_in_flight, self.limits.body_bytes))

    async def respond(self, request: Request, operation: BatchOperation) -> Response:
        """Return the HTTP answer of an operation to a body with one JSON document or id."""
        body = await self.body(request, f"{JSON} for one document, {NDJSON} for lines")
        wanted = operation.wanted()

        async def apart() -> ItemAnswer:
            """Return the answer to a large document, which a process of its own decodes and analyses."""
            payer = request.state.trail.payer
            name, analysed = await self.engine.apart(payer, self.limits.work_s, analyse_raw, body, wanted)
            return await self.batcher.answer(operation, AnalysedChunk.alone(0, name, analysed, len(body)))

        if len(body) > LARGE_BYTES:
            return await self._answered(request, operation, apart())
        item = document_or_id(decode_body(body), wanted)
        return await self._answered(request, operation, self.batcher.answer(operation, item))

    async def body(self, request: Request, wanted: str = JSON) -> bytes:
        """Return a JSON body as bytes, not decoded.

        Raise a `Problem` for another type, or if it is too large or too slow.
        """
        if media_type(request) != JSON:
            raise Problem("unsupported_media_type", f"the content type must be {wanted}")
        trail: Trail = request.state.trail
        trail.media = "json"
        most = self.limits.body_bytes
        too_large = Problem("body_too_large", f"a body has at most {most:,} bytes; send many documents as lines")
        declared = request.headers.get("content-length", "0")
        expected = int(declared) if declared.isdigit() else 0
        if expected > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.request_s):
                if expected > LARGE_BYTES:
                    await self._ask(trail, expected)
                async for piece in request.stream():
                    body += piece
                    if len(body) > most:
                        raise too_large
                    if len(body) > LARGE_BYTES >= expected:
                        expected = most
                        await self._ask(trail, expected)
        except TimeoutError as error:
            if trail.waits:
                raise busy("too_many_bytes", "too many large bodies are under way") from error
            raise Problem("request_timeout", "the body did not arrive in time") from error
        return bytes(body)

    async def answer(self, request: Request, operation: BatchOperation, item: Item) -> Response:
        """Return the HTTP answer of an operation on one document or id, as a JSON object."""
        operation = within_key(operation, request.state.trail)
        return await self._answered(request, operation, self.batcher.answer(operation, item))

    async def _answered(self, request: Request, operation: BatchOperation, work: Awaitable[ItemAnswer]) -> Response:
        trail: Trail = request.state.trail
        try:
            record = await self.outcome(request, work)
        except Problem as problem:
            record = problem
        trail.outcomes[operation.outcome_of(record)] += 1
        self.metrics.count(operation.name, trail.outcomes)
        if isinstance(record, Problem):
            raise record
        return Response(msgspec.json.encode(record), media_type=JSON)

    async def apart(self, request: Request, function: Callable[..., T], *arguments: object) -> T:
        """Return ``function(analysis, *arguments)`` from a process of its own, for work that takes long.

        See `outcome`.
        """
        payer = request.state.trail.payer
        return await self.outcome(request, self.engine.apart(payer, self.limits.work_s, function, *arguments))

    async def outcome(self, request: Request, work: Awaitable[T]) -> T:
        """Return the result of work that the engine does.

        Raise a `Problem` for its error, or when the request's time is up.
        """
        trail: Trail = request.state.trail
        try:
            async with asyncio.timeout(self.limits.request_s - min(trail.seconds(), self.limits.request_s)):
                return await work
        except SimhashError as error:
            problem = of_error(error)
            if problem.status >= SERVER_ERRORS:
                logger.warning("store failed", extra=trail.extra(reason=error.sentence))
            raise problem from error
        except TimeoutError as error:
            raise busy("timeout", "timed out" + trail.writes * "; the write may still have been applied") from error

    async def _ask(self, trail: Trail, size: int) -> None:
        """Wait for the request's share of the memory for large bodies, which it keeps until it is answered."""
        ticket = self.bytes.ask(trail.payer, size)
        trail.slot.callback(ticket.close)
        trail.waits = True
        await ticket.served.wait()
        trail.waits = False


def within_key(operation: BatchOperation, trail: Trail) -> BatchOperation:
    """Return an operation limited to the documents of the collection that a request names; see `collection_of_key`."""
    return within(operation, collection_of_key(trail))


def collection_of_key(trail: Trail) -> str | None:
    """Return the collection that a request names, None for none.

    Raises `Problem` where the request's key is bound to collections and the request names none.
    """
    if trail.collections is not None and trail.collection is None:
        named = f"?collection={quote(min(trail.collections), safe='')}"
        raise Problem("forbidden", f"this key is bound to collections: name one, such as {named}")
    return trail.collection


def media_type(request: Request) -> str:
    """Return the media type of a request's body, without parameters; raise a `Problem` if the body is compressed."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Problem("unsupported_media_type", "compressed bodies are not read: send it uncompressed")
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
