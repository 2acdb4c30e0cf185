"""How long work reports its progress to whoever started it."""

from contextlib import AbstractContextManager, nullcontext
from typing import Literal, Protocol, TypeAlias

Unit: TypeAlias = Literal["things", "bytes", "share"]
"""Of a total: the things that are counted, the bytes of the input, or the whole of an index, which is 1."""


class Meter(Protocol):
    """Takes the progress of one task."""

    def show(self, count: int, done: float | None = None) -> None:
        """Take how many things are finished, and how much of the total that is."""


class Metering(Protocol):
    """Makes meters."""

    def __call__(
        self, name: str, total: float | None = None, *, noun: str = "documents", count: int = 0, unit: Unit = "things"
    ) -> AbstractContextManager[Meter]:
        """Begin a task; `count` things were finished by an earlier run."""


class _Silent:
    def show(self, count: int, done: float | None = None) -> None:
        """Do nothing."""


def silent(name: str, total: float | None = None, **_: object) -> AbstractContextManager[Meter]:
    """Show nothing."""
    return nullcontext(_Silent())
