"""The lines of a request's body, as they arrive."""

import asyncio
import time
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from starlette.types import Message, Receive

__all__ = ["End", "Line", "Lines"]


class End(StrEnum):
    """Why there are no more lines."""

    COMPLETE = "complete"
    DISCONNECTED = "disconnected"
    STOPPING = "stopping"
    IDLE = "idle"
    TIME = "time"


class Line(NamedTuple):
    """One line that is not blank."""

    number: int
    """Counted from 1, blank ones too."""
    raw: bytes | None
    """Without its end; None when it is too long, and was dropped."""


class Lines:
    """Cuts a body into lines.

    Parameters
    ----------
    receive : Receive
        Of the request.
    longest : int
        Bytes of a line at most; of a longer one no more than that is kept.
    idle_s : float
        Seconds that may be waited for the end of a line, or for a new one.
    stream_s : float
        Seconds after which no more is read.
    stop : asyncio.Event
        When set, no more is read.

    Notes
    -----
    What is not asked for is not read: the server then stops taking bytes from the client.
    """

    def __init__(self, receive: Receive, *, longest: int, idle_s: float, stream_s: float, stop: asyncio.Event) -> None:
        self._receive = receive
        self._longest = longest
        self._idle_s = idle_s
        self._until = time.monotonic() + stream_s
        self._stop = asyncio.ensure_future(stop.wait())
        self._arriving: asyncio.Future[Message] | None = None
        self._part = bytearray()
        self._is_dropping = False
        self._waited_s = 0.0
        self.read = 0
        """Lines read, blank ones too."""
        self.end: End | None = None

    async def begin(self) -> None:
        """Have the server tell a client that waits for it to go on: behind the header of an answer it would not."""
        self._arriving = asyncio.ensure_future(self._receive())
        await asyncio.sleep(0)

    async def more(self, patience_s: float | None = None) -> list[Line]:
        """Wait for lines.

        Parameters
        ----------
        patience_s : float, optional
            Return without one after so many seconds.

        Returns
        -------
        list of Line
            Those that have arrived; it may be empty. When `end` is set, they are the last ones.
        """
        message = await self._next(patience_s)
        if message is None:
            return []
        if message["type"] == "http.disconnect":
            self.end = End.DISCONNECTED
            return []
        found = list(self._cut(message.get("body", b"")))
        if not message.get("more_body", False):
            self.end = End.COMPLETE
            # The last line may go without its end.
            found += self._cut(b"\n") if self._part or self._is_dropping else ()
        return found

    @property
    def is_stopping(self) -> bool:
        """Whether the service is to end."""
        return self._stop.done()

    def close(self) -> None:
        """Wait for nothing any more."""
        self._stop.cancel()
        if self._arriving is not None:
            self._arriving.cancel()

    async def _next(self, patience_s: float | None) -> Message | None:
        if self._arriving is None:
            self._arriving = asyncio.ensure_future(self._receive())
        now = time.monotonic()
        waits_s = min(self._idle_s - self._waited_s, self._until - now)
        waiting: set[asyncio.Future[Any]] = {self._arriving, self._stop}
        timeout = max(0.0, waits_s if patience_s is None else min(patience_s, waits_s))
        await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        # Only what is waited for the client counts, not what it has to wait for us.
        self._waited_s += time.monotonic() - now
        if self._stop.done():
            self.end = End.STOPPING
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
        for end in whole:
            line = self._finished(end)
            self.read += 1
            self._waited_s = 0.0
            if line is None or line.strip():
                yield Line(self.read, line)
        self._keep(rest)

    def _finished(self, end: bytes) -> bytes | None:
        """Join the kept beginning of a line with its end."""
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
