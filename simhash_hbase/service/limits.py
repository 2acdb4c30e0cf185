"""Limits on the size and the time of a client's requests, and on its share of the memory and processes that all use."""

import asyncio
from collections import Counter, deque
from dataclasses import dataclass, fields, replace

from simhash_hbase.errors import InvalidArgument

SCOPES = ("read", "write", "metrics")  # Scopes of a key: queries and look-ups; changes and claims; the metrics.
# A longer body or line waits for its share of memory, and is processed in a process of its own: to decode it here would
# keep others waiting.
LARGE_BYTES = 64 << 10
QUEUED = 1024  # Connections that the system keeps until they are accepted.
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder of the metrics of all processes; prometheus_client reads it on import."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of the service, such as the number of requests at a time; checked on construction."""

    requests: int = 64  # Requests under way at a time; one more gets 503.
    body_bytes: int = 4 << 20  # Of a JSON body, and of a line of a stream; `requests` refuses a larger one.
    bytes_in_flight: int = 16 << 20
    """Bytes of JSON bodies and of lines that are longer than `LARGE_BYTES`, held at a time; the next one waits."""
    work_s: float = 10  # Seconds of work for a large text or a comparison, which is then ended.
    batch: int = 2_000  # Documents of a stream in one commit.
    request_s: float = 30  # Seconds for a request that is not a stream, from its header to its answer.
    idle_s: float = 30  # Seconds that a stream may send no line end, or leave an answer unread.
    stream_s: float = 3600  # Seconds after which a stream ends; the client continues in another request.

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise InvalidArgument(f"{field.name} is {getattr(self, field.name)}: wanted more than 0")

    def part(self, processes: int) -> "Limits":
        """Return the limits of one of several processes, among which the service's requests and bytes are divided."""
        return replace(
            self,
            requests=-(-self.requests // processes),
            bytes_in_flight=max(self.body_bytes, self.bytes_in_flight // processes),
        )


SHARE = 3 / 4


class Shares:
    """A limited amount of requests, bytes or processes that clients share; one client may have three quarters of it.

    Belongs to one event loop. Waiting clients are served in order; one that waits because it has its share already
    delays nobody.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0
        self._of: Counter[str] = Counter()
        self._waiting: deque[Ticket] = deque()

    def take(self, client: str, amount: int = 1) -> bool:
        """Take an amount for a client if it is free at once, without waiting; return whether it was."""
        if not (self._has(amount) and self._may(client, amount)):
            return False
        self._taken += amount
        self._of[client] += amount
        return True

    def give_back(self, client: str, amount: int = 1) -> None:
        """Give back an amount that a client has taken, and serve the clients that wait for one."""
        self._taken -= amount
        self._of[client] -= amount
        if not self._of[client]:
            del self._of[client]
        self._serve()

    def ask(self, client: str, amount: int = 1) -> "Ticket":
        """Put a client into the queue for an amount, and return its ticket.

        The caller waits for `Ticket.served`, and must close the ticket at the end.
        """
        ticket = Ticket(self, client, amount)
        self._waiting.append(ticket)
        self._serve()
        return ticket

    def leave(self, ticket: "Ticket") -> None:
        """Remove the ticket of a client that no longer waits from the queue."""
        self._waiting.remove(ticket)
        self._serve()

    def _serve(self) -> None:
        left: list[Ticket] = []
        while self._waiting:
            first = self._waiting.popleft()
            if self.take(first.client, first.amount):
                first.served.set()
                continue
            left.append(first)
            if not self._has(first.amount) and self._may(first.client, first.amount):
                # Small amounts must not overtake a large one for ever.
                break
        self._waiting.extendleft(reversed(left))

    def _has(self, amount: int) -> bool:
        return self._taken == 0 or self._taken + amount <= self._most

    def _may(self, client: str, amount: int) -> bool:
        held = self._of[client]
        return not held or held + amount <= int(self._most * SHARE)


class Ticket:
    """A client's place in the queue for an amount of `Shares`; once `served` is set, the client has the amount."""

    def __init__(self, shares: Shares, client: str, amount: int) -> None:
        self._shares = shares
        self._is_closed = False
        self.client = client
        self.amount = amount
        self.served = asyncio.Event()

    def close(self) -> None:
        """Give the amount back, or leave the queue if the client still waits; a second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        if self.served.is_set():
            self._shares.give_back(self.client, self.amount)
        else:
            self._shares.leave(self)
