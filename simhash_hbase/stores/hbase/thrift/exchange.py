"""Many calls of gateways at once without threads, repeated where that is safe."""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Generic, TypeVar

from simhash_hbase.errors import Retryable, SimhashError, StoreBusy, StoreRefused
from simhash_hbase.stores.base import Traffic
from simhash_hbase.stores.hbase.backoff import Backoff
from simhash_hbase.stores.hbase.exchange import Conversation, Exchange, Task
from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions
from simhash_hbase.stores.hbase.sockets import UnreadableAnswer
from simhash_hbase.stores.hbase.thrift.pool import Pool
from simhash_hbase.stores.hbase.thrift.wire import Call, GatewayConnection, Reply, thrift_errors

T = TypeVar("T")

DOUBT_S = 2.0


class GatewayExchange(Exchange):
    """Runs conversations, generators of calls, by Thrift gateways."""

    def __init__(self, pool: Pool, options: HBaseOptions, is_disabled: Task[bool]) -> None:
        super().__init__(options)
        self._pool = pool
        self._is_disabled = is_disabled
        self._retries = 0

    def traffic(self) -> Traffic:
        """Return the numbers of connections, of those in use, and of retries."""
        idle, lent = self._pool.counts()
        return Traffic(idle + lent, lent, self._options.max_connections, self._retries)

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
        """Run many conversations, generators of calls, by gateways; see `Exchange.hold`."""
        retries = Backoff(self._options.deadline_s)
        work = _TaskQueue(self._traced(tasks))
        doubt = self._refuse_if_disabled if writes else None
        while waiting := work.start_over():
            answered = len(work.results)
            try:
                with self._pool.lend(min(sockets, waiting)) as connections:
                    _talk([_Line(each, self._options.table, timeout_s, doubt) for each in connections], work, window)
            except Retryable as error:
                if isinstance(error, StoreBusy) or (work.begun and not repeat):
                    raise
                retries.wait(error, progress=len(work.results) > answered)
                # Threads share the count; a lost one does no harm.
                self._retries += 1
        return [work.results[number] for number in range(len(tasks))]

    def _refuse_if_disabled(self, gateway: Gateway) -> None:
        """Raise `StoreRefused` if the table is disabled, which the gateway is asked on a separate connection.

        This is for writes that wait long, since a gateway does not answer them while the table is disabled. A gateway
        that does not answer there either proves nothing about the table.
        """
        work = _TaskQueue([self._is_disabled])
        try:
            with closing(GatewayConnection(gateway, self._options)) as connection:
                line: _Line[bool] = _Line(connection, self._options.table, self._options.connect_timeout_s)
                _talk([line], work, 1)
        except (OSError, Retryable):
            return
        if work.results[0]:
            raise StoreRefused(
                f"{gateway} does not write, since table {self._options.table} is disabled: enable it in the HBase "
                "shell; calls under way may still be written then"
            )


class _TaskQueue(Generic[T]):
    """The tasks of one call of `hold`, each of which makes a conversation, a generator of calls; and their results."""

    def __init__(self, tasks: Sequence[Task[T]]) -> None:
        self.tasks = tasks
        self.results: dict[int, T] = {}
        self.begun = False
        self._waiting = deque(range(len(tasks)))

    @property
    def waiting(self) -> int:
        """The number of tasks whose conversations, generators of calls, have not begun."""
        return len(self._waiting)

    def start_over(self) -> int:
        """Queue every task that has no result yet, after an error or at first, and return their number."""
        self._waiting = deque(number for number in range(len(self.tasks)) if number not in self.results)
        return self.waiting

    def next_task(self) -> tuple[int, Conversation[T]] | None:
        """Begin the conversation (generator of calls) of the next task, and return it with the task's number.

        None is returned when all have begun.
        """
        if not self._waiting:
            return None
        self.begun = True
        number = self._waiting.popleft()
        return number, self.tasks[number]()


class _Line(Generic[T]):
    """The conversations (generators of calls) under way on one connection; answers come in the order of the calls."""

    def __init__(
        self,
        connection: GatewayConnection,
        table: str,
        timeout_s: float | None,
        doubt: Callable[[Gateway], None] | None = None,
    ) -> None:
        self.connection = connection
        self._table = table
        self._timeout_s = timeout_s
        self._doubt = doubt
        self._talking: deque[tuple[int, Conversation[T], Sequence[Call]]] = deque()

    def begin(self, work: _TaskQueue[T], conversations: int) -> None:
        """Start up to `conversations` of the waiting conversations, generators of calls, and send their first calls."""
        for _ in range(conversations):
            if (task := work.next_task()) is None:
                break
            number, conversation = task
            self._write(number, conversation, next(conversation))
        self._push()

    def advance(self, work: _TaskQueue[T]) -> bool:
        """Read the answers to the oldest calls, and send the calls that their conversation yields next.

        Return False if no calls were under way.
        """
        if not self._talking:
            return False
        number, conversation, calls = self._talking.popleft()
        try:
            with thrift_errors(calls[0].method, self.connection.gateway, self._table):
                if self._doubt is not None and self.connection.is_silent_for(DOUBT_S):
                    self._doubt(self.connection.gateway)
                answers = [self.connection.receive(timeout_s=self._timeout_s) for _ in calls]
        except SimhashError as error:
            conversation.throw(error)
            raise
        try:
            with thrift_errors(calls[0].method, self.connection.gateway, self._table):
                calls = _go_on(conversation, answers)
        except StopIteration as finished:
            work.results[number] = finished.value
            if work.waiting:
                self.begin(work, 1)
        else:
            self._write(number, conversation, calls)
            self._push()
        return True

    def _write(self, number: int, conversation: Conversation[T], calls: Sequence[Call]) -> None:
        self.connection.write(calls)
        self._talking.append((number, conversation, calls))

    def _push(self) -> None:
        method = self._talking[-1][2][0].method
        with thrift_errors(method, self.connection.gateway, self._table):
            self.connection.push(timeout_s=self._timeout_s)


def _go_on(conversation: Conversation[T], answers: list[Reply]) -> Sequence[Call]:
    """Pass answers to a conversation, a generator of calls, and return the calls that it yields next.

    Raises `UnreadableAnswer` if an answer lacks a part: thriftpy2 checks types in answers, not their number or absent
    parts.
    """
    try:
        return conversation.send(answers)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, SimhashError):
            raise
        raise UnreadableAnswer(f"an answer is not complete: {error}") from error


def _talk(lines: list[_Line[T]], work: _TaskQueue[T], window: int) -> None:
    """Run the conversations of a queue on some connections: send calls on all, then read answers from each in turn.

    `window` conversations, generators of calls, are under way on each at a time. An error closes the connection on
    which it occurred; the pool closes those that still wait for answers.
    """
    line = lines[0]
    try:
        for left, line in zip(range(len(lines), 0, -1), lines, strict=True):
            line.begin(work, min(window, -(-work.waiting // left)))
        busy = True
        while busy:
            busy = False
            for line in lines:
                busy = line.advance(work) or busy
    except BaseException:
        line.connection.close()
        raise
