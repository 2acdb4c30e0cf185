"""Locks of a folder: readers end before its memory map moves, and one writer at a time sees whether others wait."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Condition, Lock, RLock, get_ident


class Gate:
    """Counts the readers of this process, so that the memory map is never moved while one reads.

    LMDB does not check this itself: a reader whose map moves away reads freed addresses.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._changed = Condition(self._lock)
        self._readers = 0
        self._closed = False

    def __enter__(self) -> None:
        """Begin to read the memory map; wait first while it is being moved."""
        with self._lock:
            while self._closed:
                self._changed.wait()
            self._readers += 1

    def __exit__(self, *_: object) -> None:
        """End reading the memory map, so that it may be moved."""
        with self._lock:
            self._readers -= 1
            if self._closed:
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nobody reads, and let nobody begin to read until the block ends. Not to be called by a reader."""
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


class WriteTurns:
    """Lets one thread of this process write at a time, and tells whether another thread or process waits.

    LMDB lets one process write at a time. It does not tell who waits, so whoever waits holds a shared lock on the file.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._lock = RLock()
        self._waiting: list[int] = []

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Wait until no other thread of this process writes, and keep others from it within the block.

        Blocks may nest.
        """
        self._waiting.append(get_ident())
        try:
            self._lock.acquire()
        finally:
            self._waiting.remove(get_ident())
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Show other processes, within the block, that this one waits to write: by a shared lock on the folder's file.

        File systems without locks show nothing.
        """
        with ExitStack() as stack:
            with suppress(OSError):
                self._lock_file(stack, fcntl.LOCK_SH)
            yield

    def is_awaited(self) -> bool:
        """Return whether another thread or process waits to write; to be called by the thread that writes."""
        if self._waiting:
            return True
        try:
            with ExitStack() as stack:
                self._lock_file(stack, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        return False

    def _lock_file(self, stack: ExitStack, kind: int) -> None:
        # A file that is opened anew: the lock ends with it, and a child that is forked later shares none.
        file = os.open(self._file, os.O_RDONLY)
        stack.callback(os.close, file)
        fcntl.flock(file, kind)
