"""The progress of a report that is being written."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Meter(Protocol):
    """Shows progress."""

    def show(self, count: int, done: float | None = None) -> None:
        """Show the number of things done, and how much of the total that is."""


class Metering(Protocol):
    """Makes meters."""

    def __call__(
        self, name: str, total: float | None = None, *, noun: str = "documents"
    ) -> AbstractContextManager[Meter]:
        """Begin to show something."""


class _Silent:
    def show(self, count: int, done: float | None = None) -> None:
        """Show nothing."""


@contextmanager
def silent(name: str, total: float | None = None, *, noun: str = "documents") -> Iterator[Meter]:
    """Show nothing."""
    yield _Silent()
