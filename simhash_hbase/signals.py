"""Signals that end a program (SIGINT, SIGTERM, SIGHUP), and blocks of code that they do not interrupt."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)
STOPPING = (signal.SIGINT, *ENDING)


@contextmanager
def whole() -> Iterator[None]:
    """Delay SIGINT, SIGTERM and SIGHUP until the block is done; a second Ctrl-C interrupts it at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: handler for number in STOPPING if callable(handler := signal.getsignal(number))}
    asked: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT and number in asked:
            raise KeyboardInterrupt
        asked.append(number)

    try:
        for number in handlers:
            signal.signal(number, note)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for came in dict.fromkeys(asked):
            signal.raise_signal(signal.Signals(came))
