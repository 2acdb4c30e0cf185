"""The lines of a request's body, as they arrive."""

import asyncio
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from starlette.types import Message, Receive

from simhash_hbase.service.limits import LARGE_BYTES, Limits
from simhash_hbase.service.shares import Ticket

PIECE_BYTES = 16 << 10


class End(StrEnum):
    """Why there are no more lines."""

    COMPLETE = "complete"
    DISCONNECTED = "disconnected"
    STOPPING = "stopping"
    IDLE = "idle"
    TIME = "time"
    KEY = "key_removed"


class Line(NamedTuple):
    """One line that is not blank."""

    number: int  # Counted from 1, blank ones too.
    raw: bytes | None  # Without its end; None when it is too long, and was dropped.


class Lines:
    """Cuts a body into lines.

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
        self._served: asyncio.Future[Any] | None = None
        self._uncut = b""
        self._is_whole = False
        self._arriving: asyncio.Future[Message] | None = None
        self._part = bytearray()
        self._is_dropping = False
        self._waited_s = 0.0
        self.read = 0
        """Lines read, blank ones too."""
        self.end: End | None = None

    async def begin(self) -> None:
        """Trigger `100 Continue` now: the server does not send it once response headers are out."""
        self._arriving = asyncio.ensure_future(self._receive())
        await asyncio.sleep(0)

    async def more(self, patience_s: float | None = None) -> list[Line]:
        """Wait for lines."""
        if not await self._has_room(patience_s):
            return []
        if not self._uncut and not self._is_whole:
            message = await self._next(patience_s)
            if message is None:
                return []
            if message["type"] == "http.disconnect":
                self.end = End.DISCONNECTED
                return []
            self._uncut = message.get("body", b"")
            self._is_whole = not message.get("more_body", False)
        # Others go on between pieces of a body that has many short lines.
        await asyncio.sleep(0)
        piece, self._uncut = self._uncut[:PIECE_BYTES], self._uncut[PIECE_BYTES:]
        found = list(self._cut(piece))
        if self._is_dropping:
            self.give_back()
        if self._is_whole and not self._uncut:
            self.end = End.COMPLETE
            # The last line may go without its end.
            found += self._cut(b"\n") if self._part or self._is_dropping else ()
        return found

    @property
    def stopped(self) -> End | None:
        """Why the stream is to end before its client ends it."""
        return self._stop.result() if self._stop.done() else None

    def give_back(self) -> None:
        """Return the memory for large lines once they are answered."""
        if self._served is not None:
            self._served.cancel()
        if self._ticket is not None:
            self._ticket.close()
        self._ticket = self._served = None

    def close(self) -> None:
        """Wait for nothing any more."""
        self._stop.cancel()
        self.give_back()
        if self._arriving is not None:
            self._arriving.cancel()

    async def _has_room(self, patience_s: float | None) -> bool:
        """Wait for the memory that the rest of a large line may take; this does not count as the client's silence."""
        if len(self._part) <= LARGE_BYTES:
            return True
        if self._ticket is None:
            self._ticket = self._ask()
            self._served = asyncio.ensure_future(self._ticket.served.wait())
        if self._served is not None:
            await asyncio.wait({self._served, self._stop}, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
        self.end = self.stopped
        return self._ticket.served.is_set() and self.end is None

    async def _next(self, patience_s: float | None) -> Message | None:
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

    def _cut(self, piece: bytes) -> Iterator[Line]:
        *whole, rest = piece.split(b"\n")
        if whole:
            self._waited_s = 0.0
        for end in whole:
            self.read += 1
            if not (end or self._part or self._is_dropping):
                continue
            line = self._finished(end)
            if line is None or line.strip():
                yield Line(self.read, line)
        self._keep(rest)

    def _finished(self, end: bytes) -> bytes | None:
        self._keep(end)
        line = None if self._is_dropping else bytes(self._part)
        self._part.clear()
        self._is_dropping = False
        return line

    def _keep(self, part: bytes) -> None:
        if self._is_dropping:
            return
        self._part += part
        if len(self._part) > self._longest:
            self._part.clear()
            self._is_dropping = True
