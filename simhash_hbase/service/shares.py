"""An amount that clients share, so that none of them can take all of it."""

import asyncio
from collections import Counter, deque

SHARE = 3 / 4


class Shares:
    """Places, bytes or processes.

    Belongs to one event loop. Waiting clients are served in order; one that waits for its own share holds up nobody.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0
        self._of: Counter[str] = Counter()
        self._waiting: deque[Ticket] = deque()

    def take(self, client: str, amount: int = 1) -> bool:
        """Take some if it is there now; tell whether it was."""
        if not (self._has(amount) and self._may(client, amount)):
            return False
        self._taken += amount
        self._of[client] += amount
        return True

    def give_back(self, client: str, amount: int = 1) -> None:
        """Return what was taken."""
        self._taken -= amount
        self._of[client] -= amount
        if not self._of[client]:
            del self._of[client]
        self._serve()

    def ask(self, client: str, amount: int = 1) -> "Ticket":
        """Queue for some; the caller must close the ticket."""
        ticket = Ticket(self, client, amount)
        self._waiting.append(ticket)
        self._serve()
        return ticket

    def leave(self, ticket: "Ticket") -> None:
        """Leave the queue."""
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
                # Otherwise small amounts would overtake a large one for ever.
                break
        self._waiting.extendleft(reversed(left))

    def _has(self, amount: int) -> bool:
        return self._taken == 0 or self._taken + amount <= self._most

    def _may(self, client: str, amount: int) -> bool:
        held = self._of[client]
        return not held or held + amount <= int(self._most * SHARE)


class Ticket:
    """A place in the queue, then the amount itself."""

    def __init__(self, shares: Shares, client: str, amount: int) -> None:
        self._shares = shares
        self._is_closed = False
        self.client = client
        self.amount = amount
        self.served = asyncio.Event()

    def close(self) -> None:
        """Return the amount, or leave the queue; may be called again."""
        if self._is_closed:
            return
        self._is_closed = True
        if self.served.is_set():
            self._shares.give_back(self.client, self.amount)
        else:
            self._shares.leave(self)
