"""Group commit: single requests that wait at the same moment are worked on as one batch.

It costs the index little more than one document: a commit, and most of a search, are paid once.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from weakref import WeakValueDictionary

from simhash_hbase.index.index import Index
from simhash_hbase.service.engine import Engine
from simhash_hbase.service.items import Item, Ready
from simhash_hbase.service.operations import ItemAnswer, Operation
from simhash_hbase.service.problems import Problem

MOST_TOGETHER = 64  # Requests of one batch.
# The next batch waits for the one under way, but not longer: then it begins beside it. In a folder a batch takes some
# milliseconds; in HBase it may take seconds, when a server is slow or a document contested.
LONGEST_WAIT_S = 0.05
BATCHES = 4  # Batches of one operation at a time.

# One request: what is asked, and who waits for the answer.
_Single = tuple[Item | Ready, asyncio.Future[ItemAnswer]]


class Batcher:
    """Answers single requests.

    A request that finds no batch of its operation under way begins one at once. Those that come meanwhile are the next
    batch, in the order of their arrival. Each has its own answer or error, and is left out when nobody waits for it any
    more; `most` documents are in one commit. Belongs to one event loop.
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
            [record] = await self._engine.run(lambda index: operation.answers(index, [item]))
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
        answer: asyncio.Future[ItemAnswer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        self._schedule()
        return await answer

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
        outcomes: Sequence[tuple[asyncio.Future[ItemAnswer], ItemAnswer | Exception]]

        def work(index: Index) -> list[tuple[asyncio.Future[ItemAnswer], ItemAnswer | Exception]]:
            """Answer those who still wait."""
            waiting = [(item, answer) for item, answer in batch if not answer.cancelled()]
            answered = self._operation.outcomes(index, [item for item, _ in waiting])
            return [(answer, outcome) for (_, answer), outcome in zip(waiting, answered, strict=True)]

        try:
            outcomes = await self._engine.run(work)
        except Exception as error:
            outcomes = [(answer, error) for _, answer in batch]
        finally:
            self._under_way -= 1
            if self._next is not None and not self._under_way:
                self._next.cancel()
                self._next = None
            self._schedule()
        for answer, outcome in outcomes:
            if answer.done():
                continue
            if isinstance(outcome, dict | Problem):
                answer.set_result(outcome)
            else:
                answer.set_exception(outcome)
