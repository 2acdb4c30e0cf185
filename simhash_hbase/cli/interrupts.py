"""Ctrl-C in the middle of what has to be done whole."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["whole"]


@contextmanager
def whole() -> Iterator[None]:
    """Put a first Ctrl-C off until the block is done; a second ends it at once.

    Raises
    ------
    KeyboardInterrupt
        Behind the block, or in it when Ctrl-C came twice.
    """
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    asked = False

    def note(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked:
        raise KeyboardInterrupt
