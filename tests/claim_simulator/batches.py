"""Schedules, some at a time, for processes that share the work."""

from collections import Counter
from typing import NamedTuple

from claim_simulator.mutations import take_out
from claim_simulator.simulate import simulate

AT_ONCE = 50


class Batch(NamedTuple):
    """What came of some schedules."""

    first: int
    schedules: int
    had: Counter[str]
    """Claims that were answered, and what went wrong on the way."""
    wrong: tuple[int, str] | None
    """A seed, and what is wrong with its schedule."""


def begin(mutation: str | None) -> None:
    """Begin a process; what is taken out stays out in it."""
    if mutation:
        take_out(mutation)


def simulate_some(first: int, end: int) -> Batch:
    """Simulate schedules up to the first in which something is wrong."""
    had: Counter[str] = Counter()
    for seed in range(first, min(first + AT_ONCE, end)):
        result = simulate(seed)
        had.update(result.had)
        if result.wrong:
            return Batch(first, seed - first + 1, had, (seed, result.wrong[0]))
    return Batch(first, min(AT_ONCE, end - first), had, None)
