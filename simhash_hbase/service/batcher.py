"""Batches: the index is asked once, and each line or request gets its answer.

Group commit: single requests that wait at the same moment are worked on as one batch. It costs the index little more
than one document: a commit, and most of a search, are paid once.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakValueDictionary

import msgspec

from simhash_hbase.errors import Retryable
from simhash_hbase.index.index import Index
from simhash_hbase.inputs import Document
from simhash_hbase.pipeline.analyse import analyse_chunk, payload
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.service.engine import Engine
from simhash_hbase.service.items import Item, ItemChunk, Ready
from simhash_hbase.service.operations import ItemAnswer, Operation
from simhash_hbase.service.problems import Problem


@dataclass(frozen=True, slots=True)
class BatchWork:
    """An operation on an index, for many documents and ids at once."""

    index: Index
    operation: Operation

    def lines(self, batch: Sequence[Ready], outcomes: Counter[str]) -> bytes:
        """Work on a batch of a stream, and write the lines of its answer."""
        encoder, out = msgspec.json.Encoder(), bytearray()
        for number, item, record in self.records(batch):
            outcomes[self.operation.outcome_of(record)] += 1
            if isinstance(record, Problem):
                name = item.id if isinstance(item, Document) else item if isinstance(item, str) else None
                line: dict[str, object] = {"line": number, **({"id": name} if name else {}), "error": record.record()}
            else:
                line = record
            encoder.encode_into(line, out, len(out))
            out += b"\n"
        return bytes(out)

    def records(self, batch: Sequence[Ready]) -> Iterator[tuple[int, Item | Problem, ItemAnswer]]:
        """Answer a batch: yield number, item and answer, or refusal, in the order of the lines."""
        index, on_entries, on_ids = self.index, self.operation.on_entries, self.operation.on_ids
        entries = [ready.entries for ready in batch if ready.entries is not None and len(ready.entries)]
        ids = [item for ready in batch for item in ready.chunk.items if isinstance(item, str)]
        of_entries: Iterator[ItemAnswer] = iter(())
        if entries and on_entries is not None:
            of_entries = iter(on_entries(index, Entries.joined(entries)))
        of_ids: Iterator[ItemAnswer] = iter(on_ids(index, ids) if ids and on_ids is not None else ())
        for ready in batch:
            position = 0
            for number, item in zip(ready.chunk.numbers, ready.chunk.items, strict=True):
                if isinstance(item, Document):
                    refused = ready.refused.get(position)
                    position += 1
                    yield number, item, next(of_entries) if refused is None else refused
                else:
                    yield number, item, item if isinstance(item, Problem) else next(of_ids)

    def answers(self, items: Sequence[Item | Ready]) -> list[ItemAnswer]:
        """Answer documents and ids in their order."""
        return [record for _, _, record in self.records(list(self.ready(items)))]

    def ready(self, items: Sequence[Item | Ready]) -> Iterator[Ready]:
        """Analyse the documents that are not, as many at a time as can be."""
        chunk = ItemChunk()
        for number, item in enumerate(items):
            if isinstance(item, Ready) or not chunk.takes(item):
                yield self.analysed(chunk)
                chunk = ItemChunk()
            if isinstance(item, Ready):
                yield item
            else:
                chunk.add(number, item, 0)
        yield self.analysed(chunk)

    def analysed(self, chunk: ItemChunk) -> Ready:
        """Analyse the documents of a chunk."""
        documents = chunk.documents
        if not documents:
            return Ready(chunk, None, {})
        return Ready.of(chunk, analyse_chunk(self.index.analysis, *payload(documents)).analysed)

    def outcomes(self, items: Sequence[Item | Ready]) -> list[ItemAnswer | Exception]:
        """Answer requests; where the batch fails for what may be one document's fault, each by itself."""
        outcomes: list[ItemAnswer | Exception] = []
        try:
            outcomes += self.answers(items)
        except Retryable as error:
            outcomes += [error] * len(items)
        except Exception:
            for item in items:
                try:
                    outcomes += self.answers([item])
                except Exception as error:
                    outcomes.append(error)
        return outcomes


MOST_TOGETHER = 64  # Requests of one batch.
# The next batch waits for the one under way, but not longer: then it begins beside it. In a folder a batch takes some
# milliseconds; in HBase it may take seconds, when a server is slow or a document contested.
LONGEST_WAIT_S = 0.05
BATCHES = 4  # Batches of one operation at a time.


class _Single(NamedTuple):
    """One request."""

    item: Item | Ready
    answer: asyncio.Future[ItemAnswer]


class Batcher:
    """Answers single requests.

    A request that finds no batch of its operation under way begins one at once. Those that come meanwhile are the next
    batch, in the order of their arrival. Each has its own answer or error, and is left out when nobody waits for it any
    more. Belongs to one event loop.

    Parameters
    ----------
    engine : Engine
        Calls the index.
    most : int
        Documents of one commit.
    """

    def __init__(self, engine: Engine, *, most: int = MOST_TOGETHER) -> None:
        self._engine = engine
        self._most = min(MOST_TOGETHER, most)
        # A queue lasts as long as somebody waits in it.
        self._queues: WeakValueDictionary[Operation, _Queue] = WeakValueDictionary()

    async def answer(self, operation: Operation, item: Item | Ready) -> ItemAnswer:
        """Wait for the answer to an id, or to a document, which may be analysed already."""
        queue = self._queues.get(operation)
        if queue is None:
            queue = self._queues[operation] = _Queue(self._engine, operation.hurried or operation, self._most)
        record = await queue.ask(item)
        if operation.hurried and isinstance(record, Problem) and record.retryable:
            # By itself it may take longer than a batch may wait for it.
            [record] = await self._engine.run(lambda index: BatchWork(index, operation).answers([item]))
        return record


class _Queue:
    """The requests of one operation."""

    def __init__(self, engine: Engine, operation: Operation, most: int) -> None:
        self._engine = engine
        self._operation = operation
        self._most = min(most, operation.batch)
        self._waiting: deque[_Single] = deque()
        self._under_way = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._next: asyncio.Handle | None = None

    async def ask(self, item: Item | Ready) -> ItemAnswer:
        single = _Single(item, asyncio.get_running_loop().create_future())
        self._waiting.append(single)
        self._schedule()
        return await single.answer

    def _schedule(self) -> None:
        """Have the next batch begin; where none is under way, with all that this round of the event loop brings."""
        if self._next is None and self._waiting:
            loop = asyncio.get_running_loop()
            self._next = (
                loop.call_later(LONGEST_WAIT_S, self._begin) if self._under_way else loop.call_soon(self._begin)
            )

    def _begin(self) -> None:
        self._next = None
        if self._under_way < BATCHES:
            batch = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
            self._under_way += 1
            task = asyncio.create_task(self._work_on(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._schedule()

    async def _work_on(self, batch: Sequence[_Single]) -> None:
        outcomes: Sequence[tuple[_Single, ItemAnswer | Exception]]

        def work(index: Index) -> list[tuple[_Single, ItemAnswer | Exception]]:
            """Answer those who still wait."""
            waiting = [single for single in batch if not single.answer.cancelled()]
            answered = BatchWork(index, self._operation).outcomes([single.item for single in waiting])
            return list(zip(waiting, answered, strict=True))

        try:
            outcomes = await self._engine.run(work)
        except Exception as error:
            outcomes = [(single, error) for single in batch]
        finally:
            self._under_way -= 1
            if self._next is not None and not self._under_way:
                self._next.cancel()
                self._next = None
            self._schedule()
        for single, outcome in outcomes:
            if single.answer.done():
                continue
            if isinstance(outcome, dict | Problem):
                single.answer.set_result(outcome)
            else:
                single.answer.set_exception(outcome)
