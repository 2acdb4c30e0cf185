"""Calls of the servers of a cluster: connections that threads share, and conversations run on them."""

import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from simhash_hbase import tracing
from simhash_hbase.errors import IndexClosed, Retryable, SimhashError, StoreBusy, StoreUnavailable
from simhash_hbase.stores.base import Traffic
from simhash_hbase.stores.hbase import exchange
from simhash_hbase.stores.hbase.backoff import Backoff
from simhash_hbase.stores.hbase.options import Gateway, HBaseOptions, format_url
from simhash_hbase.stores.hbase.rpc.connection import RpcConnection
from simhash_hbase.stores.hbase.rpc.errors import NotDone, ServerException, connection_errors, of_exception
from simhash_hbase.stores.hbase.rpc.messages import RpcAnswer, RpcCall, trace_info
from simhash_hbase.stores.hbase.rpc.regions import Locator
from simhash_hbase.stores.hbase.sockets import UnreadableAnswer

T = TypeVar("T")


class Connections:
    """The open connections of one store: one to each service of each server that was called; threads share them.

    After a fork the child starts without connections.
    """

    def __init__(self, options: HBaseOptions) -> None:
        self._options = options
        self._closed = False
        self._open: dict[tuple[Gateway, str], RpcConnection] = {}
        self._start_empty()

    def to(self, server: Gateway, service: str) -> RpcConnection:
        """Return a connection to a service of a server that can take calls; raise `NotDone` if it cannot be made."""
        self._start_after_fork()
        with self._lock:
            if self._closed:
                raise IndexClosed(f"{format_url(self._options)}: this index was closed")
            connection = self._open.get((server, service))
        if connection is not None:
            if connection.is_fresh(self._options.idle_s):
                return connection
            connection.close()
        with connection_errors("connecting", server, self._options.connect_timeout_s, begun=False):
            connection = RpcConnection(server, service, self._options)
        with self._lock:
            other = self._open.get((server, service))
            if self._closed or (other is not None and other.is_open):
                # Another thread was faster, or has closed everything.
                connection.close()
                return self._open.get((server, service), connection)
            self._open[server, service] = connection
        return connection

    def counts(self) -> tuple[int, int]:
        """Return the numbers of open connections, and of those with calls under way."""
        self._start_after_fork()
        with self._lock:
            connections = [each for each in self._open.values() if each.is_open]
        return len(connections), sum(each.calls > 0 for each in connections)

    def close(self) -> None:
        """Close all connections; calls under way get an error, and later ones raise `IndexClosed`."""
        self._start_after_fork()
        with self._lock:
            self._closed = True
            connections, self._open = list(self._open.values()), {}
        for connection in connections:
            connection.close()

    def _start_after_fork(self) -> None:
        """Begin without connections in a forked child: they belong to the parent process, which goes on with them."""
        if os.getpid() != self._process:
            self._start_empty()

    def _start_empty(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._open = {}


class _Ticket(NamedTuple):
    """A call that was sent, with the number by which its answer is found, or the error that kept it from being sent."""

    call: RpcCall
    connection: RpcConnection | None
    number: int
    deadline: float
    error: SimhashError | None


class RpcExchange(exchange.Exchange):
    """Runs conversations, generators of calls, with the servers of a cluster.

    A conversation that failed begins again, with regions that are looked for anew, where repeating is safe: where the
    caller allows it, or where no server has begun with a call of it.
    """

    def __init__(self, options: HBaseOptions, locator: Locator) -> None:
        super().__init__(options)
        self._locator = locator
        self._connections = Connections(options)
        self._retries = 0

    def traffic(self) -> Traffic:
        """Return the numbers of connections, one to each service of each server, and of retries."""
        connections, in_use = self._connections.counts()
        return Traffic(connections, in_use, max(connections, self._options.max_connections), self._retries)

    def close(self) -> None:
        """Close all connections; calls under way get an error, and later ones raise `IndexClosed`."""
        self._connections.close()

    def hold(
        self,
        tasks: Sequence[exchange.Task[T]],
        *,
        sockets: int,
        window: int = 1,
        repeat: bool = True,
        writes: bool = False,
        timeout_s: float | None = None,
    ) -> list[T]:
        """Run many conversations (generators of calls), ``sockets * window`` of them at a time; see `Exchange.hold`.

        `writes` is ignored: servers report a disabled table by an error of their own.
        """
        tasks = self._traced(tasks)
        retries = Backoff(self._options.deadline_s)
        results: dict[int, T] = {}
        while len(results) < len(tasks):
            answered = len(results)
            failures = _Round(self._connections, self._options, tasks, results, timeout_s).hold(sockets * window)
            if not failures:
                continue
            self._locator.forget()
            unclear = [error for error in failures if not isinstance(error, NotDone)]
            if unclear and not repeat:
                raise unclear[0]
            if busy := next((error for error in failures if isinstance(error, StoreBusy)), None):
                raise busy
            retries.wait(failures[0], progress=len(results) > answered)
            # Threads share the count; a lost one does no harm.
            self._retries += 1
        return [results[number] for number in range(len(tasks))]

    def _server_of(self, calls: Sequence[RpcCall]) -> tracing.Attributes:
        servers = {call.server for call in calls}
        return (
            {"server.address": calls[0].server.host, "server.port": calls[0].server.port} if len(servers) == 1 else {}
        )

    def _stamped(self, calls: Sequence[RpcCall], span: tracing.TraceSpan) -> Sequence[RpcCall]:
        headers: dict[str, str] = {}
        tracing.inject(headers, span)
        return [call._replace(trace=trace_info(headers)) for call in calls]


class _Round(Generic[T]):
    """One attempt at all conversations (generators of calls) of a call of `hold` that have no result yet."""

    def __init__(
        self,
        connections: Connections,
        options: HBaseOptions,
        tasks: Sequence[exchange.Task[T]],
        results: dict[int, T],
        timeout_s: float | None,
    ) -> None:
        self._connections = connections
        self._options = options
        self._tasks = tasks
        self._results = results
        self._timeout_s = timeout_s or options.timeout_s
        self._talking: deque[tuple[int, exchange.Conversation[T], list[_Ticket]]] = deque()
        self._failures: list[Retryable] = []

    def hold(self, most: int) -> list[Retryable]:
        """Run the conversations, generators of calls, and keep their results.

        Return the errors after which the others may be repeated.
        """
        waiting = deque(number for number in range(len(self._tasks)) if number not in self._results)
        try:
            while self._talking or (waiting and not self._failures):
                # The first calls of conversations that begin together are sent together.
                asked: list[tuple[int, exchange.Conversation[T], Sequence[RpcCall]]] = []
                while waiting and len(self._talking) + len(asked) < most and not self._failures:
                    number = waiting.popleft()
                    conversation = self._tasks[number]()
                    if (calls := self._step(number, conversation, None)) is not None:
                        asked.append((number, conversation, calls))
                self._send(asked)
                if self._talking:
                    self._advance()
        finally:
            # After an error that ends it all, nobody waits for the other answers.
            for *_, tickets in self._talking:
                _forget(tickets)
        return self._failures

    def _advance(self) -> None:
        """Wait for the answers to the oldest calls, pass them to their conversation, and send the calls that follow.

        A conversation is a generator that yields calls and is sent their answers.
        """
        number, conversation, tickets = self._talking.popleft()
        answers: list[RpcAnswer] = []
        errors: list[SimhashError] = []
        for at, ticket in enumerate(tickets):
            try:
                answers.append(self._answer(ticket))
            except SimhashError as error:
                errors.append(error)
            except BaseException:
                _forget(tickets[at:])
                raise
        calls = self._step(number, conversation, _worst(errors, answers) or answers)
        if calls is not None:
            self._send([(number, conversation, calls)])

    def _step(
        self, number: int, conversation: exchange.Conversation[T], answer: list[RpcAnswer] | SimhashError | None
    ) -> Sequence[RpcCall] | None:
        """Pass answers or an error to a conversation, a generator of calls, and return the calls that it yields next.

        None is returned if it has ended or failed.
        """
        try:
            if isinstance(answer, SimhashError):
                return conversation.throw(answer)
            return next(conversation) if answer is None else conversation.send(answer)
        except StopIteration as finished:
            self._results[number] = finished.value
        except Retryable as error:
            self._failures.append(error)
        except SimhashError:
            raise
        except (UnreadableAnswer, LookupError, TypeError, ValueError) as error:
            self._failures.append(StoreUnavailable(f"HBase: an answer is damaged or not complete: {error}"))
        return None

    def _send(self, asked: Sequence[tuple[int, exchange.Conversation[T], Sequence[RpcCall]]]) -> None:
        """Send the calls that some conversations have yielded; those for one connection go together."""
        places: dict[tuple[Gateway, str], list[RpcCall]] = {}
        for *_, calls in asked:
            for call in calls:
                places.setdefault((call.server, call.service), []).append(call)
        sent = {place: iter(self._send_to(place, calls)) for place, calls in places.items()}
        for number, conversation, calls in asked:
            tickets = [next(sent[call.server, call.service]) for call in calls]
            self._talking.append((number, conversation, tickets))

    def _send_to(self, place: tuple[Gateway, str], calls: Sequence[RpcCall]) -> list[_Ticket]:
        now = time.monotonic()
        try:
            connection = self._connections.to(*place)
            with connection_errors(calls[0].method, place[0], self._timeout_s):
                numbers = connection.send(calls, self._timeout_s)
        except SimhashError as error:
            return [_Ticket(call, None, 0, now, error) for call in calls]
        return [
            _Ticket(call, connection, number, now + (call.timeout_s or self._timeout_s), None)
            for call, number in zip(calls, numbers, strict=True)
        ]

    def _answer(self, ticket: _Ticket) -> RpcAnswer:
        call = ticket.call
        if ticket.error is not None or ticket.connection is None:
            raise ticket.error or StoreUnavailable(f"{call.method} at {call.server}: not sent")
        with connection_errors(call.method, call.server, call.timeout_s or self._timeout_s):
            answer = ticket.connection.answer(ticket.number, ticket.deadline)
        if isinstance(answer, ServerException):
            raise of_exception(answer, f"{call.method} at {call.server}", self._options.table)
        return answer


def _forget(tickets: Sequence[_Ticket]) -> None:
    for ticket in tickets:
        if ticket.connection is not None:
            ticket.connection.forget([ticket.number])


def _worst(errors: Sequence[SimhashError], answers: Sequence[RpcAnswer]) -> SimhashError | None:
    """Return the error to be thrown into a conversation, a generator of calls, some of which failed; None if none did.

    An error after which nothing may be repeated comes first. It is `NotDone`, after which all may be, only if no server
    has begun with a call.
    """
    for harmless in (Retryable, NotDone):
        if worse := [error for error in errors if not isinstance(error, harmless)]:
            return worse[0]
    if errors and answers:
        return StoreUnavailable(f"a part of the servers has answered: {errors[0]}")
    return errors[0] if errors else None
