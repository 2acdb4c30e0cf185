"""What the routes share: one request's way from its body to its answer."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote

import msgspec
from fastapi import Request
from starlette.responses import Response

from simhash_hbase.errors import SimhashError
from simhash_hbase.service.engine import Engine
from simhash_hbase.service.items import Item, Ready, decode, document_or_id
from simhash_hbase.service.keys import Keyring
from simhash_hbase.service.limits import LARGE_BYTES, Limits, Shares
from simhash_hbase.service.logs import logger
from simhash_hbase.service.metrics import Metrics
from simhash_hbase.service.operations import Batcher, ItemAnswer, Operation, analyse_raw, within
from simhash_hbase.service.problems import Problem, busy, of_error
from simhash_hbase.service.requests import Trail
from simhash_hbase.service.schemas import JSON, NDJSON
from simhash_hbase.service.streams import StreamResponse

T = TypeVar("T")

_NDJSON_NAMES = (NDJSON, "application/ndjson", "application/jsonl")

SERVER_ERRORS = 500


@dataclass(kw_only=True)
class Service:
    """One index and its clients' limits; `create_app` puts it into ``app.state.service``."""

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

    async def respond(self, request: Request, operation: Operation, *, one: bool = True) -> Response:
        """Answer a body: JSON at once, lines of JSON as they come."""
        operation = _within(operation, request.state.trail)
        if _media(request) in _NDJSON_NAMES:
            request.state.trail.media = "ndjson"
            return StreamResponse(self, operation, request.state.trail)
        if not one:
            raise Problem("unsupported_media_type", f"the content type must be {NDJSON}")
        body = await self.body(request, f"{JSON} for one document, {NDJSON} for lines")
        wanted = operation.wanted()

        async def apart() -> ItemAnswer:
            """Decode and analyse a large document in a process of its own, then ask the index."""
            payer = request.state.trail.payer
            name, analysed = await self.engine.apart(payer, self.limits.work_s, analyse_raw, body, wanted)
            return await self.batcher.answer(operation, Ready.alone(0, name, analysed, len(body)))

        if len(body) > LARGE_BYTES:
            return await self._answered(request, operation, apart())
        item = document_or_id(decode(body), wanted)
        return await self._answered(request, operation, self.batcher.answer(operation, item))

    async def body(self, request: Request, wanted: str = JSON) -> bytes:
        """Read a body that is to be one JSON object."""
        if _media(request) != JSON:
            raise Problem("unsupported_media_type", f"the content type must be {wanted}")
        trail: Trail = request.state.trail
        trail.media = "json"
        most = self.limits.body_bytes
        too_large = Problem("body_too_large", f"a body has at most {most} bytes; send many documents as lines")
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

    async def answer(self, request: Request, operation: Operation, item: Item) -> Response:
        """Answer for one document or id."""
        operation = _within(operation, request.state.trail)
        return await self._answered(request, operation, self.batcher.answer(operation, item))

    async def _answered(self, request: Request, operation: Operation, work: Awaitable[ItemAnswer]) -> Response:
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
        """Call a function with the analysis in a process of its own; see `outcome`."""
        payer = request.state.trail.payer
        return await self.outcome(request, self.engine.apart(payer, self.limits.work_s, function, *arguments))

    async def outcome(self, request: Request, work: Awaitable[T]) -> T:
        """Wait for work of the engine, within the time that a request may take."""
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
        """Wait for a large body's share of memory, which it has until it is answered."""
        ticket = self.bytes.ask(trail.payer, size)
        trail.slot.callback(ticket.close)
        trail.waits = True
        await ticket.served.wait()
        trail.waits = False


def _within(operation: Operation, trail: Trail) -> Operation:
    """Make an operation on the documents that a request asks for."""
    if trail.collections is not None and trail.collection is None:
        named = f"?collection={quote(min(trail.collections), safe='')}"
        raise Problem("forbidden", f"this key is bound to collections: name one, such as {named}")
    return within(operation, trail.collection)


def _media(request: Request) -> str:
    """Return the type of a body, which must not be compressed."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Problem("unsupported_media_type", "compressed bodies are not read: send it uncompressed")
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
