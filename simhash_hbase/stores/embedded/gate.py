"""Many may read at a time; whoever moves the memory map must be alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock


class Gate:
    """Counts the readers of this process, so that the map is never moved under one of them.

    LMDB does not check this itself: a reader whose map moves away reads freed addresses.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._changed = Condition(self._lock)
        self._readers = 0
        self._closed = False

    def __enter__(self) -> None:
        """Begin to read; waits while the map is being moved."""
        with self._lock:
            while self._closed:
                self._changed.wait()
            self._readers += 1

    def __exit__(self, *_: object) -> None:
        """End reading."""
        with self._lock:
            self._readers -= 1
            if self._closed:
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nobody reads, and let nobody begin until the block ends. Not to be called by a reader."""
        with self._changed:
            while self._closed:
                self._changed.wait()
            self._closed = True
            while self._readers:
                self._changed.wait()
        try:
            yield
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()
