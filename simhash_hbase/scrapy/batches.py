"""Calls of many coroutines gathered into batches: what arrives while all threads are busy is the next batch."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

Q = TypeVar("Q")
A = TypeVar("A")

MOST = 500  # Questions of one batch.


@dataclass(eq=False, slots=True)
class _Waiting(Generic[Q, A]):
    question: Q
    turn: "Deferred[None]" = field(default_factory=Deferred)  # Fires when it is answered, or is to ask for a batch.
    answer: A | Exception | None = None


class Batches(Generic[Q, A]):
    """Answers questions in threads, whatever the reactor; call it from the event loop only.

    Parameters
    ----------
    ask : callable
        Answers some questions, in their order; called in threads. What it raises is raised for each of them.
    threads : int
        Most batches at a time.
    """

    def __init__(self, ask: Callable[[Sequence[Q]], Sequence[A | Exception]], *, threads: int) -> None:
        self.asked = 0
        """Batches so far."""
        self._ask = ask
        self._free = threads
        self._waiting: deque[_Waiting[Q, A]] = deque()

    async def answer(self, question: Q) -> A:
        """Answer one question; raises where the answer is an error."""
        mine: _Waiting[Q, A] = _Waiting(question)
        if self._free:
            self._free -= 1
        else:
            self._waiting.append(mine)
            await maybe_deferred_to_future(mine.turn)
        if mine.answer is None:
            await self._lead(mine)
        if isinstance(mine.answer, Exception):
            raise mine.answer
        assert mine.answer is not None
        return mine.answer

    async def _lead(self, first: _Waiting[Q, A]) -> None:
        """Ask for the first and for all that wait, then hand the thread on."""
        batch = [first, *(self._waiting.popleft() for _ in range(min(len(self._waiting), MOST - 1)))]
        self.asked += 1
        answers: Sequence[A | Exception]
        try:
            answers = await run_in_thread(self._ask, [each.question for each in batch])
        except Exception as error:
            answers = [error] * len(batch)
        for each, answer in zip(batch, answers, strict=True):
            each.answer = answer
        if self._waiting:
            self._waiting.popleft().turn.callback(None)
        else:
            self._free += 1
        for each in batch[1:]:
            each.turn.callback(None)
