"""Signals that end a command: it cleans up after itself and finishes what must not be torn."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """SIGTERM or SIGHUP has come; raised where the work is, as Ctrl-C is."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def stoppable() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP raise in the block, so that it closes and removes what it opened."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
    if before[signal.SIGINT] is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in ENDING:
        if before[number] is signal.SIG_DFL:
            signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, _frame: FrameType | None) -> None:
    # A terminal that is closed sends its signal twice: the second must not end the cleaning up.
    for ending in ENDING:
        signal.signal(ending, signal.SIG_IGN)
    raise Stopped(number)


@contextmanager
def whole() -> Iterator[None]:
    """Delay a signal until the block is done; a second Ctrl-C ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
    ours = {number: handler for number, handler in ours.items() if handler in (signal.default_int_handler, _stop)}
    asked: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT and number in asked:
            raise KeyboardInterrupt
        asked.append(number)

    for number in ours:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
    if asked:
        signal.raise_signal(signal.Signals(asked[0]))
