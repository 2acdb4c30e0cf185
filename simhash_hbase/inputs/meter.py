"""Progress of long work: the interface by which a caller shows it, and numbers and rates as text."""

from contextlib import AbstractContextManager, nullcontext
from typing import Literal, Protocol, TypeAlias

Unit: TypeAlias = Literal["things", "bytes", "share"]
"""The unit of a total: the things that are counted, the bytes of the input, or the whole of an index, which is 1."""
_PLURALS = "cells", "documents", "duplicates", "ids", "originals", "pairs", "records", "rows", "tasks"
_SINGULARS = {noun: noun.removesuffix("s") for noun in _PLURALS} | {"batches": "batch"}


class Meter(Protocol):
    """Receives the progress of one task, such as a progress bar."""

    def show(self, count: int, done: float | None = None) -> None:
        """Receive the number of things that are finished, and how much of the task's `total` is done."""


class Metering(Protocol):
    """A function that begins a task and returns the task's `Meter`; a caller passes one to have progress shown."""

    def __call__(
        self, name: str, total: float | None = None, *, noun: str = "documents", count: int = 0, unit: Unit = "things"
    ) -> AbstractContextManager[Meter]:
        """Begin a task called `name`; return a context manager for its `Meter`.

        `total` is the amount of work in units of `unit`, None if unknown. `noun` says what is counted, and `count` how
        many were finished by an earlier run.
        """


class _Silent:
    def show(self, count: int, done: float | None = None) -> None:
        """Do nothing."""


def silent(name: str, total: float | None = None, **_: object) -> AbstractContextManager[Meter]:
    """Return a `Meter` that shows nothing: the `Metering` used if the caller passes none."""
    return nullcontext(_Silent())


def counted(count: int, noun: str) -> str:
    """Return a number with its noun as text, such as ``2 duplicates``; the noun is in the singular after 1.

    Examples
    --------
    >>> counted(1, "duplicates"), counted(1_200, "duplicates"), counted(1, "refused")
    ('1 duplicate', '1,200 duplicates', '1 refused')
    """
    return f"{count:,} {_SINGULARS.get(noun, noun) if count == 1 else noun}"


def per_second(rate: float) -> str:
    """Return a rate per second as text: a whole number, or below 1 its first significant digit.

    Examples
    --------
    >>> per_second(1_234.5), per_second(0.049), per_second(0)
    ('1,234', '0.05', '0')
    """
    return f"{rate:,.0f}" if rate >= 1 else f"{rate:.1g}"
