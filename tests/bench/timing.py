"""Durations that can be compared: contestants take turns in one run, and each counts by its best."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import Any

__all__ = ["Timed", "in_turns", "one_by_one", "percentile"]


@dataclass(frozen=True, kw_only=True)
class Timed:
    """What one contestant took and gave."""

    seconds: tuple[float, ...]
    """One a repetition."""
    result: Any
    """What its last call returned."""

    @property
    def best(self) -> float:
        """The least disturbed repetition."""
        return min(self.seconds)

    @property
    def typical(self) -> float:
        """The median."""
        return median(self.seconds)


def in_turns(
    contestants: Sequence[Callable[[], Any]], *, repeats: int, clock: Callable[[], float] = process_time
) -> list[Timed]:
    """Let each contestant do its work, then each again, so that what else the machine does hits all alike.

    Parameters
    ----------
    contestants : sequence of callable
        Each does all of its work in one call.
    repeats : int
        Calls of each.
    clock : callable
        Processor time of this process; for work that waits for the disk, pass `time.perf_counter`.

    Returns
    -------
    list of Timed
        In the order of the contestants.
    """
    seconds: list[list[float]] = [[] for _ in contestants]
    results: list[Any] = [None] * len(contestants)
    for _ in range(repeats):
        for at, work in enumerate(contestants):
            start = clock()
            results[at] = work()
            seconds[at].append(clock() - start)
    return [Timed(seconds=tuple(s), result=r) for s, r in zip(seconds, results, strict=True)]


def one_by_one(work: Callable[[Any], Any], items: Sequence[Any]) -> list[float]:
    """Time every call of its own, in seconds, sorted."""
    seconds = []
    for item in items:
        start = perf_counter()
        work(item)
        seconds.append(perf_counter() - start)
    return sorted(seconds)


def percentile(ascending: Sequence[float], share: float) -> float:
    """Pick from sorted values the one that a share of them does not exceed.

    Examples
    --------
    >>> percentile([1, 2, 3, 4], 0.5), percentile([1, 2, 3, 4], 0.99)
    (2, 4)
    """
    return ascending[max(0, -(-round(share * 10_000) * len(ascending) // 10_000) - 1)]
