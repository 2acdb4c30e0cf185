"""Received bytes, passed to the parser in stretches that take little time.

The HTTP parser takes tens of microseconds for each chunk of a body, however small: 256 KB in chunks of one byte, which
one read of a socket brings, would keep the event loop busy for seconds.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from uvicorn.protocols.http.flow_control import FlowControl

LINE_END = b"\r\n"
STRETCH_LINES = 128
STRETCH_BYTES = 64 << 10


class Turns:
    """Lets waiting connections pass on one stretch in each round of the event loop, in turn."""

    def __init__(self) -> None:
        self._waiting: deque[Intake] = deque()
        self._lines_left = STRETCH_LINES
        self._is_scheduled = False

    def grants(self, lines: int) -> bool:
        """Tell whether a stretch may be passed on at once in this round."""
        if self._waiting or lines > self._lines_left:
            return False
        self._lines_left -= lines
        self._schedule()
        return True

    def add(self, intake: "Intake") -> None:
        """Queue a connection."""
        self._waiting.append(intake)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._is_scheduled = False
        self._lines_left = STRETCH_LINES
        if self._waiting:
            self._waiting.popleft().go_on()
        if self._waiting:
            self._schedule()


class Intake(FlowControl):
    """The flow control of a connection, which holds the bytes that the parser has not got yet."""

    def __init__(self, transport: asyncio.Transport, turns: Turns, feed: Callable[[bytes], None]) -> None:
        super().__init__(transport)
        self._turns = turns
        self._feed = feed
        self._rest = b""
        self._is_waiting = False

    def take(self, data: bytes) -> None:
        """Pass on what has arrived, at once where it is little."""
        if not self._rest and len(data) <= STRETCH_BYTES and self._turns.grants(data.count(LINE_END)):
            self._feed(data)
            return
        self._rest += data
        self._transport.pause_reading()
        self._wait()

    def resume_reading(self) -> None:
        """Continue reading; held bytes go first."""
        if self.read_paused:
            self.read_paused = False
            self._go_on_later()

    def go_on(self) -> None:
        """Pass on one stretch."""
        self._is_waiting = False
        if self.read_paused or self._transport.is_closing():
            return
        stretch, self._rest = _split(self._rest)
        self._feed(stretch)
        if not self.read_paused:
            self._go_on_later()

    def _go_on_later(self) -> None:
        if self._rest:
            self._wait()
        elif not self._transport.is_closing():
            self._transport.resume_reading()

    def _wait(self) -> None:
        if not self._is_waiting:
            self._is_waiting = True
            self._turns.add(self)


def _split(data: bytes) -> tuple[bytes, bytes]:
    """Cut after as many line ends, or bytes, as make one stretch."""
    at = 0
    for _ in range(STRETCH_LINES):
        found = data.find(LINE_END, at, STRETCH_BYTES)
        if found < 0:
            return data[:STRETCH_BYTES], data[STRETCH_BYTES:]
        at = found + len(LINE_END)
    return data[:at], data[at:]
