"""Conversations with the servers of HBase, run many at once, and cut into smaller parts after a time-out.

A conversation is a generator that yields lists of calls, is sent their answers, and returns a result.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar

from simhash_hbase import tracing
from simhash_hbase.errors import StoreTimeout
from simhash_hbase.stores.hbase.options import HBaseOptions

K = TypeVar("K")
T = TypeVar("T")

Conversation: TypeAlias = Generator[Sequence[Any], list[Any], T]
"""Yields calls, receives their answers, and returns the result; its driver and its exchange agree on the kind of calls.
A time-out is thrown into it, and must leave it."""
Task: TypeAlias = Callable[[], Conversation[T]]  # Starts a conversation, from its beginning each time.

# A page of this many rows or prefixes is not cut further: a gateway that cannot answer it answers nothing.
LEAST = 16
MOST_DIVISOR = 1 << 10
# A page that is too large costs a time-out, so larger ones are tried rarely.
ANSWERS_TO_GROW = 16


class PageSize:
    """How much of a whole page reads ask for: half as much after a time-out, twice as much after some answers.

    Threads share it without a lock: a lost change is made after the next answer or time-out.
    """

    def __init__(self) -> None:
        self._divisor = 1
        self._answers = 0

    def share(self, most: int) -> int:
        """Return how many items, such as rows, to ask for, where `most` would be a whole page."""
        return max(min(most, LEAST), most // self._divisor)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note whether the page that is asked for inside the block comes in time, and adapt the size of later ones."""
        try:
            yield
        except StoreTimeout:
            self._divisor = min(2 * self._divisor, MOST_DIVISOR)
            self._answers = 0
            raise
        self._answers += 1
        if self._answers >= ANSWERS_TO_GROW:
            self._divisor = max(1, self._divisor // 2)
            self._answers = 0

    def page(self, most: int, ask: Callable[[int], Conversation[T]]) -> Conversation[tuple[T, int]]:
        """Ask for one page by ``ask(size)``; return the answer and the size that was asked for, up to `most`."""
        size = self.share(most)
        with self.watched():
            answer = yield from ask(size)
        return answer, size


class Exchange(ABC):
    """Runs conversations (generators of calls) by Thrift gateways or with HBase's own servers; repeats failed ones."""

    def __init__(self, options: HBaseOptions) -> None:
        self._options = options

    @abstractmethod
    def hold(
        self,
        tasks: Sequence[Task[T]],
        *,
        sockets: int,
        window: int = 1,
        repeat: bool = True,
        writes: bool = False,
        timeout_s: float | None = None,
    ) -> list[T]:
        """Run many conversations (generators of calls) at a time, and return their results in the order of the tasks.

        Parameters
        ----------
        tasks : sequence of callable
            Each begins a conversation.
        sockets, window : int
            Most connections, and most conversations at a time on each.
        repeat : bool
            Whether a conversation is repeated although a server may have begun with a call of it.
        writes : bool
            Whether the conversations write, which a disabled table may leave without an answer.
        timeout_s : float, optional
            Seconds for an answer; that of the options if it is left out.
        """

    def _traced(self, tasks: Sequence[Task[T]]) -> Sequence[Task[T]]:
        """Return the tasks, in programs that trace changed so that calls that are sent together have a span."""
        return [partial(self._with_spans, task) for task in tasks] if tracing.is_on() else tasks

    def _with_spans(self, task: Task[T]) -> Conversation[T]:
        conversation = task()
        advance = partial(next, conversation)
        while True:
            try:
                calls = advance()
            except StopIteration as finished:
                result: T = finished.value
                return result
            if not calls:
                advance = partial(conversation.send, (yield calls))
                continue
            method, table = calls[0].method, self._options.table
            attributes = {
                "db.system.name": "hbase",
                "db.operation.name": method,
                "db.collection.name": table,
                "db.namespace": table.rpartition(":")[0] or "default",
                **({"db.operation.batch.size": len(calls)} if len(calls) > 1 else {}),
                **self._server_of(calls),
            }
            span = tracing.begun(f"{method} {table}", attributes, kind="CLIENT")
            try:
                answers = yield self._stamped(calls, span)
            except GeneratorExit:
                # Another conversation has failed, and nobody waits for the answers to this one.
                tracing.ended(span, "abandoned")
                conversation.close()
                raise
            except BaseException as error:
                tracing.ended(span, error)
                advance = partial(conversation.throw, error)
            else:
                tracing.ended(span)
                advance = partial(conversation.send, answers)

    def _server_of(self, calls: Sequence[Any]) -> tracing.Attributes:
        """Return the span attributes for the server that calls go to.

        The mapping is empty where the server is not known before the calls are sent.
        """
        gateways = self._options.gateways
        return {"server.address": gateways[0].host, "server.port": gateways[0].port} if len(gateways) == 1 else {}

    def _stamped(self, calls: Sequence[Any], span: tracing.TraceSpan) -> Sequence[Any]:
        """Return calls with the headers that name their span to the server, if the interface can; here unchanged."""
        return calls

    def one(self, task: Task[T], *, repeat: bool = True, timeout_s: float | None = None) -> T:
        """Run one conversation, a generator of calls, and return its result; see `hold`."""
        [result] = self.hold([task], sockets=1, repeat=repeat, timeout_s=timeout_s)
        return result

    def hold_in_parts(
        self,
        page_size: PageSize,
        groups: Sequence[Sequence[K]],
        ask: Callable[[Sequence[K]], Conversation[T]],
        *,
        sockets: int,
        repeat: bool = True,
        writes: bool = False,
    ) -> list[T]:
        """Return the answers for all items of all groups, such as the keys of reads, in their order; see `hold`.

        ``ask(items)`` returns a conversation, a generator of calls, about some items. Each group is one call, or
        several smaller ones after a call that got no answer in time.
        """

        def ask_first(items: Sequence[K], size: int) -> Conversation[T]:
            return ask(items[:size])

        answers: list[list[T]] = [[] for _ in groups]
        left = list(enumerate(groups))
        while left:
            tasks = [partial(page_size.page, len(groups[number]), partial(ask_first, items)) for number, items in left]
            parts = self.hold(tasks, sockets=sockets, repeat=repeat, writes=writes)
            for (number, _), (answer, _) in zip(left, parts, strict=True):
                answers[number].append(answer)
            left = [(n, items[size:]) for (n, items), (_, size) in zip(left, parts, strict=True) if len(items) > size]
        return [answer for group in answers for answer in group]
