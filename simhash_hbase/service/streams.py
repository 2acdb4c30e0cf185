"""Streams of lines: answered in order while they arrive, in batches, in bounded memory.

One task reads lines and cuts them into chunks, which are analysed several at a time; another one takes those that are
ready, joins them to a batch, asks the index and hands out the answers. The reader waits while too much is under way,
and with it the client.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing, suppress
from enum import StrEnum
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from simhash_hbase.errors import Retryable, SimhashError
from simhash_hbase.features.chunks import payload
from simhash_hbase.service.items import AnalysedChunk, Item, ItemChunk, decode, document_or_id
from simhash_hbase.service.keys import LOOK_S
from simhash_hbase.service.limits import LARGE_BYTES, Limits, Ticket
from simhash_hbase.service.logs import logger
from simhash_hbase.service.operations import BatchOperation, analyse_raw
from simhash_hbase.service.problems import Problem, busy, internal, of_error
from simhash_hbase.service.requests import Service, Trail, media_type, within_key
from simhash_hbase.service.schemas import NDJSON

PIECE_BYTES = 16 << 10
NDJSON_NAMES = (NDJSON, "application/ndjson", "application/jsonl")


class End(StrEnum):
    """The reason why a stream has no more lines."""

    COMPLETE = "complete"
    DISCONNECTED = "disconnected"
    STOPPING = "stopping"
    IDLE = "idle"
    TIME = "time"
    KEY = "key_removed"


Line = tuple[int, bytes | None]
"""The number of a line that is not blank, counted from 1, blank ones too, and the line without its end; None in its
place when it is too long, and was dropped."""


class _RequestLines:
    """The lines of a request's body, as they arrive.

    Back-pressure: the server stops reading from a client while no lines are asked for.
    """

    def __init__(self, receive: Receive, limits: Limits, stop: asyncio.Task[End], ask: Callable[[], Ticket]) -> None:
        self._receive = receive
        self._longest = limits.body_bytes
        self._idle_s = limits.idle_s
        self._until = time.monotonic() + limits.stream_s
        self._stop = stop
        self._ask = ask
        self._ticket: Ticket | None = None
        self._uncut = b""
        self._is_whole = False
        self._arriving: asyncio.Future[Message] | None = None
        self._part = bytearray()
        self._is_dropping = False
        self._waited_s = 0.0
        self.read = 0
        """The number of lines read, blank ones too."""
        self.end: End | None = None

    async def begin(self) -> None:
        """Have the server send `100 Continue` now if the client waits for it: it does not once the answer has begun."""
        self._arriving = asyncio.ensure_future(self._receive())
        await asyncio.sleep(0)

    async def more(self, patience_s: float | None = None) -> list[Line]:
        """Return the lines that arrive next, an empty list after `patience_s` seconds without one.

        At the end of the stream `end` is set.
        """
        if len(self._part) > LARGE_BYTES:
            # To wait for the memory that the rest of a large line may take does not count as the client's silence.
            self._ticket = self._ticket or self._ask()
            served = asyncio.ensure_future(self._ticket.served.wait())
            try:
                await asyncio.wait({served, self._stop}, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
            finally:
                served.cancel()
            self.end = self.stopped
            if self.end is not None or not self._ticket.served.is_set():
                return []
        if not self._uncut and not self._is_whole:
            message = await self.next_message(patience_s)
            if message is None:
                return []
            if message["type"] == "http.disconnect":
                self.end = End.DISCONNECTED
                return []
            self._uncut = message.get("body", b"")
            self._is_whole = not message.get("more_body", False)
        # Other requests go on between pieces of a body that has many short lines.
        await asyncio.sleep(0)
        piece, self._uncut = self._uncut[:PIECE_BYTES], self._uncut[PIECE_BYTES:]
        found = list(self.cut(piece))
        if self._is_dropping:
            self.give_back()
        if self._is_whole and not self._uncut:
            self.end = End.COMPLETE
            # The last line may go without its end.
            found += self.cut(b"\n") if self._part or self._is_dropping else ()
        return found

    @property
    def stopped(self) -> End | None:
        """The reason to end the stream before its client does, such as the service's stop; None if there is none."""
        return self._stop.result() if self._stop.done() else None

    def give_back(self) -> None:
        """Give back the memory that was taken for a large line, once it is answered or dropped."""
        if self._ticket is not None:
            self._ticket.close()
            self._ticket = None

    def close(self) -> None:
        """Cancel all waiting, and give back the memory that was taken for large lines."""
        self._stop.cancel()
        self.give_back()
        if self._arriving is not None:
            self._arriving.cancel()

    async def next_message(self, patience_s: float | None) -> Message | None:
        if self._arriving is None:
            self._arriving = asyncio.ensure_future(self._receive())
        now = time.monotonic()
        waits_s = min(self._idle_s - self._waited_s, self._until - now)
        waiting: set[asyncio.Future[Any]] = {self._arriving, self._stop}
        timeout = max(0.0, waits_s if patience_s is None else min(patience_s, waits_s))
        await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        # Only the client's own silence counts, not the time that it waits for us.
        self._waited_s += time.monotonic() - now
        if self._stop.done():
            self.end = self._stop.result()
        elif self._arriving.done():
            message, self._arriving = self._arriving.result(), None
            return message
        elif time.monotonic() >= self._until:
            self.end = End.TIME
        elif self._waited_s >= self._idle_s:
            self.end = End.IDLE
        return None

    def cut(self, piece: bytes) -> Iterator[Line]:
        *whole, rest = piece.split(b"\n")
        if whole:
            self._waited_s = 0.0
        for end in whole:
            self.read += 1
            if not (end or self._part or self._is_dropping):
                continue
            self.keep(end)
            line = None if self._is_dropping else bytes(self._part)
            self._part.clear()
            self._is_dropping = False
            if line is None or line.strip():
                yield self.read, line
        self.keep(rest)

    def keep(self, part: bytes) -> None:
        if self._is_dropping:
            return
        self._part += part
        if len(self._part) > self._longest:
            self._part.clear()
            self._is_dropping = True


# A chunk is closed when the client pauses for so long: a client that waits for an answer before its next line gets it.
PAUSE_S = 0.005
# Bytes under way of one stream, and of all together; each stream may have at least one chunk.
WINDOW_BYTES = 8 << 20
WINDOWS_BYTES = 32 << 20

_encode = msgspec.json.Encoder().encode
_ENDS = {
    End.STOPPING: "the service is stopping: send the lines after this one to another instance",
    End.IDLE: "no line ended for too long: send the lines after this one in another request",
    End.KEY: "the key was removed or no longer allows this: the lines after this one were not processed",
    End.TIME: "the time for one stream is over: send the lines after this one in another request",
}


class _Answers:
    """The answers to the lines of one request, made batch by batch."""

    def __init__(self, service: Service, operation: BatchOperation, trail: Trail) -> None:
        self._service, self._operation, self._trail = service, operation, trail
        self._engine, self._limits = service.engine, service.limits
        self._waiting: deque[asyncio.Task[AnalysedChunk]] = deque()
        self._last_line = 0
        self._under_way = 0
        self._is_read = False
        self._changed = asyncio.Event()

    async def answers(self, lines: _RequestLines) -> AsyncGenerator[bytes, None]:
        """Yield the lines that answer each batch, then the summary line."""
        reader = asyncio.create_task(self.read(lines))
        failure = None
        self._engine.streams += 1
        try:
            while not lines.stopped and (batch := await self.next_batch()):
                yield await self.answer(batch)
            if self._waiting or not self._is_read:
                # Megabytes may have been read and not begun: the summary tells the client from which line to continue.
                lines.end = lines.stopped or lines.end
            else:
                await reader
        except SimhashError as error:
            failure = of_error(error)
            logger.warning("stream failed", extra=self._trail.extra(reason=error.sentence))
        except Exception:
            failure = internal()
            logger.exception("stream failed", extra=self._trail.extra())
        finally:
            self._engine.streams -= 1
            reader.cancel()
            lines.close()
            for task in self._waiting:
                task.cancel()
        self._trail.end = failure.code if failure else str(lines.end)
        if lines.end is not End.DISCONNECTED:
            yield self.summary(lines, failure)

    async def read(self, lines: _RequestLines) -> None:
        try:
            chunk = ItemChunk()
            while lines.end is None:
                found = await lines.more(PAUSE_S if chunk.items else None)
                for number, raw in found:
                    if raw is not None and len(raw) > LARGE_BYTES:
                        chunk = await self.hand_over(chunk)
                        # The line's answer is waited for, so that the large lines of other streams have their turn.
                        self.begin(len(raw), self.prepare_large(number, raw))
                        while self._under_way:
                            await self.change()
                        lines.give_back()
                        continue
                    item = self.item(raw)
                    if not chunk.takes(item):
                        chunk = await self.hand_over(chunk)
                    chunk.add(number, item, len(raw or b""))
                if not found:
                    chunk = await self.hand_over(chunk)
            await self.hand_over(chunk)
        finally:
            self._is_read = True
            self._changed.set()

    def item(self, raw: bytes | None) -> Item | Problem:
        if raw is None:
            most = self._limits.body_bytes
            return Problem("line_too_long", f"the line is longer than {most:,} bytes")
        try:
            return document_or_id(decode(raw), self._operation.wanted(is_line=True))
        except Problem as problem:
            return problem

    async def hand_over(self, chunk: ItemChunk) -> ItemChunk:
        """Start the analysis of a chunk of lines, wait until there is room for more, and return a new, empty chunk."""
        if not chunk.items:
            return chunk
        self.begin(chunk.size, self.prepare(chunk))
        # Other requests go on between chunks of short lines.
        await asyncio.sleep(0)
        while self._under_way > min(WINDOW_BYTES, WINDOWS_BYTES / self._engine.streams):
            await self.change()
        return ItemChunk()

    def begin(self, size: int, work: Coroutine[None, None, AnalysedChunk]) -> None:
        self._under_way += size
        self._waiting.append(asyncio.create_task(work))
        self._changed.set()

    async def change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def prepare(self, chunk: ItemChunk) -> AnalysedChunk:
        documents = chunk.documents if self._operation.on_texts is None else []
        try:
            return AnalysedChunk.of(chunk, await self._engine.analyse(payload(documents)) if documents else None)
        except Retryable:
            raise
        except SimhashError as error:
            # Texts for an index that takes features, for one.
            return AnalysedChunk(chunk, None, dict.fromkeys(range(len(documents)), of_error(error)))

    async def prepare_large(self, number: int, raw: bytes) -> AnalysedChunk:
        """Return an analysed chunk of one large line, which a process of its own decodes and analyses."""
        item: Item | Problem
        seconds, wanted = self._limits.work_s, self._operation.wanted(is_line=True)
        try:
            item, analysed = await self._engine.apart(self._trail.payer, seconds, analyse_raw, raw, wanted)
        except Retryable:
            raise
        except SimhashError as error:
            item, analysed = of_error(error), None
        except Problem as problem:
            item, analysed = problem, None
        return AnalysedChunk.alone(number, item, analysed, len(raw))

    async def next_batch(self) -> list[AnalysedChunk]:
        """Return the next chunk of lines, once it is analysed, and those after it that are ready.

        The list is empty at the stream's end.
        """
        while not self._waiting:
            if self._is_read:
                return []
            await self.change()
        batch = [await self._waiting[0]]
        self._waiting.popleft()
        count = len(batch[0].chunk.items)
        while self._waiting and self._waiting[0].done():
            ready = self._waiting[0].result()
            count += len(ready.chunk.items)
            if count > min(self._limits.batch, self._operation.batch):
                break
            batch.append(ready)
            self._waiting.popleft()
        return batch

    async def answer(self, batch: list[AnalysedChunk]) -> bytes:
        outcomes: Counter[str] = Counter()
        name = self._operation.name
        run = partial(self._engine.run_shared, self._trail.payer) if self._operation.is_shared else self._engine.run
        with self._service.metrics.batch_seconds.labels(name).time():
            answers = await run(lambda index: self._operation.lines(index, batch, outcomes))
        self._trail.outcomes += outcomes
        self._service.metrics.count(name, outcomes)
        self._last_line = batch[-1].chunk.numbers[-1]
        self._under_way -= sum(ready.chunk.size for ready in batch)
        self._changed.set()
        return answers

    def summary(self, lines: _RequestLines, failure: Problem | None) -> bytes:
        """Return the last line of a streamed answer: whether it is complete, the last line answered, and the outcomes.

        A client that does not get this line knows that the connection broke.
        """
        complete = failure is None and lines.end is End.COMPLETE
        summary: dict[str, object] = {
            "complete": complete,
            "last_line": lines.read if complete else self._last_line,
            "outcomes": dict(self._trail.outcomes),
        }
        if not complete:
            detail = _ENDS.get(lines.end, "") if lines.end else ""
            if lines.end is End.KEY:
                failure = failure or Problem(str(lines.end), detail)
            summary["error"] = (failure or busy(str(lines.end), detail)).record()
        return _encode({"summary": summary}) + b"\n"


class StreamResponse(Response):
    """Answers lines while they are read; the framework's own response would read the whole body first."""

    def __init__(self, service: Service, operation: BatchOperation, trail: Trail) -> None:
        super().__init__(media_type=NDJSON)
        del self.headers["content-length"]
        self._service = service
        self._operation = operation
        self._trail = trail

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read lines, and send the answers to them in batches, then the summary."""
        service, limits, trail = self._service, self._service.limits, self._trail

        async def end() -> End:
            """Wait until the service stops, or the key no longer allows the stream, and return which of both it was."""
            while trail.is_allowed():
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await service.stopping.wait()
                        return End.STOPPING
            return End.KEY

        stop = asyncio.create_task(end())
        lines = _RequestLines(receive, limits, stop, partial(service.bytes.ask, trail.payer, limits.body_bytes))
        stream = _Answers(service, self._operation, trail)
        try:
            await lines.begin()
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with aclosing(stream.answers(lines)) as answers:
                async for piece in answers:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
        finally:
            lines.close()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def respond(service: Service, request: Request, operation: BatchOperation, *, one: bool = True) -> Response:
    """Return the answer of an operation to a body: to lines a stream, to one JSON document an object.

    Where `one` is false only lines are taken.
    """
    trail: Trail = request.state.trail
    operation = within_key(operation, trail)
    if media_type(request) in NDJSON_NAMES:
        trail.media = "ndjson"
        return StreamResponse(service, operation, trail)
    if not one:
        raise Problem("unsupported_media_type", f"the content type must be {NDJSON}")
    return await service.respond(request, operation)
