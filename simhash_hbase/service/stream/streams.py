"""Streams of lines: answered in order while they arrive, in batches, in bounded memory.

One task reads lines and cuts them into chunks, which are analysed several at a time; another one takes those that are
ready, joins them to a batch, asks the index and hands out the answers. The reader waits while too much is under way,
and with it the client.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Coroutine
from functools import partial

import msgspec

from simhash_hbase.errors import Retryable, SimhashError
from simhash_hbase.pipeline.workers import payload
from simhash_hbase.service.engine import Engine
from simhash_hbase.service.http.logs import logger
from simhash_hbase.service.http.metrics import Metrics
from simhash_hbase.service.http.problems import Problem, busy, internal, of_error
from simhash_hbase.service.http.trail import Trail
from simhash_hbase.service.items import Item, decode, document_or_id
from simhash_hbase.service.limits import Limits, is_large
from simhash_hbase.service.operations import Operation, analyse_raw
from simhash_hbase.service.stream.batches import answer_batch
from simhash_hbase.service.stream.chunks import Chunk, Ready
from simhash_hbase.service.stream.lines import End, Line, Lines

# A chunk is closed when the client pauses for so long: a client that waits for an answer before its next line gets it.
PAUSE_S = 0.005
# Bytes under way of one stream, and of all together; each stream may have at least one chunk.
WINDOW_BYTES = 8 << 20
WINDOWS_BYTES = 32 << 20

UNAUTHORIZED = 401
TOO_LONG = 413
_encode = msgspec.json.Encoder().encode
_ENDS = {
    End.STOPPING: "the service is stopping: send the lines after this one to another instance",
    End.IDLE: "no line ended for too long: send the lines after this one in another request",
    End.KEY: "the key was removed or no longer allows this: the lines after this one were not processed",
    End.TIME: "the time for one stream is over: send the lines after this one in another request",
}


class Stream:
    """Answers the lines of one request."""

    def __init__(self, engine: Engine, operation: Operation, limits: Limits, trail: Trail, metrics: Metrics) -> None:
        self._engine = engine
        self._metrics = metrics
        self._operation = operation
        self._limits = limits
        self._trail = trail
        self._waiting: deque[asyncio.Task[Ready]] = deque()
        self._last_line = 0
        self._under_way = 0
        self._is_read = False
        self._changed = asyncio.Event()

    async def answers(self, lines: Lines) -> AsyncIterator[bytes]:
        """Answer line by line, then with a summary."""
        reader = asyncio.create_task(self._read(lines))
        failure = None
        self._engine.streams += 1
        try:
            while not lines.stopped and (batch := await self._next_batch()):
                yield await self._answer(batch)
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
            yield self._summary(lines, failure)

    async def _read(self, lines: Lines) -> None:
        try:
            chunk = Chunk()
            while lines.end is None:
                found = await lines.more(PAUSE_S if chunk.items else None)
                for line in found:
                    if is_large(line.raw):
                        await self._hand_over(chunk)
                        chunk = Chunk()
                        await self._hand_over_large(line, lines)
                        continue
                    item = self._item(line)
                    if not chunk.takes(item):
                        await self._hand_over(chunk)
                        chunk = Chunk()
                    chunk.add(line.number, item, len(line.raw or b""))
                if not found:
                    await self._hand_over(chunk)
                    chunk = Chunk()
            await self._hand_over(chunk)
        finally:
            self._is_read = True
            self._changed.set()

    def _item(self, line: Line) -> Item | Problem:
        if line.raw is None:
            most = self._limits.body_bytes
            return Problem(TOO_LONG, "line_too_long", f"the line is longer than {most} bytes")
        try:
            return document_or_id(decode(line.raw), self._operation.wanted(is_line=True))
        except Problem as problem:
            return problem

    async def _hand_over(self, chunk: Chunk) -> None:
        if not chunk.items:
            return
        self._begin(chunk.size, self._prepare(chunk))
        # Others go on between chunks of short lines.
        await asyncio.sleep(0)
        while self._under_way > min(WINDOW_BYTES, WINDOWS_BYTES / self._engine.streams):
            await self._change()

    async def _hand_over_large(self, line: Line, lines: Lines) -> None:
        """Have a large line worked on, and wait for its answer, so that those of other streams have their turn."""
        self._begin(len(line.raw or b""), self._prepare_large(line))
        while self._under_way:
            await self._change()
        lines.give_back()

    def _begin(self, size: int, work: Coroutine[None, None, Ready]) -> None:
        self._under_way += size
        self._waiting.append(asyncio.create_task(work))
        self._changed.set()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _prepare(self, chunk: Chunk) -> Ready:
        documents = chunk.documents
        if not documents:
            return Ready(chunk, None, {})
        try:
            analysed = await self._engine.analyse(payload(documents))
        except Retryable:
            raise
        except SimhashError as error:
            # Texts for an index that takes features, for one.
            return Ready(chunk, None, dict.fromkeys(range(len(documents)), of_error(error)))
        return Ready.of(chunk, analysed)

    async def _prepare_large(self, line: Line) -> Ready:
        """Decode and analyse a line in a process of its own."""
        raw = line.raw or b""
        item: str | Problem
        seconds, wanted = self._limits.work_s, self._operation.wanted(is_line=True)
        try:
            item, analysed = await self._engine.apart(self._trail.payer, seconds, analyse_raw, raw, wanted)
        except Retryable:
            raise
        except SimhashError as error:
            item, analysed = of_error(error), None
        except Problem as problem:
            item, analysed = problem, None
        return Ready.alone(line.number, item, analysed, len(raw))

    async def _next_batch(self) -> list[Ready]:
        """Wait for the next chunk, and take those after it that are ready."""
        while not self._waiting:
            if self._is_read:
                return []
            await self._change()
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

    async def _answer(self, batch: list[Ready]) -> bytes:
        outcomes: Counter[str] = Counter()
        name = self._operation.name
        run = partial(self._engine.run_shared, self._trail.payer) if self._operation.is_shared else self._engine.run
        with self._metrics.batch_seconds.labels(name).time():
            answers = await run(lambda index: answer_batch(index, self._operation, batch, outcomes))
        self._trail.outcomes += outcomes
        self._metrics.count(name, outcomes)
        self._last_line = batch[-1].chunk.numbers[-1]
        self._under_way -= sum(ready.chunk.size for ready in batch)
        self._changed.set()
        return answers

    def _summary(self, lines: Lines, failure: Problem | None) -> bytes:
        """Make the last line; a client that does not get one knows that the connection broke."""
        complete = failure is None and lines.end is End.COMPLETE
        summary: dict[str, object] = {
            "complete": complete,
            "last_line": lines.read if complete else self._last_line,
            "outcomes": dict(self._trail.outcomes),
        }
        if not complete:
            detail = _ENDS.get(lines.end, "") if lines.end else ""
            if lines.end is End.KEY:
                failure = failure or Problem(UNAUTHORIZED, str(lines.end), detail)
            summary["error"] = (failure or busy(str(lines.end), detail)).record()
        return _encode({"summary": summary}) + b"\n"
