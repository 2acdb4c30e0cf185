"""The counts of the histograms: distance and similarity of duplicates to the kept documents."""

import sqlite3
from typing import NamedTuple

_BINS = 50  # Bins of similarity, from 0 to 1.
_SHOWN_FROM = 35


class Bar(NamedTuple):
    """One bar of a histogram."""

    label: str
    tick: str
    height: int
    start: float  # The least value in the bar.


def distance_bars(database: sqlite3.Connection) -> list[Bar]:
    """Count duplicates by their distance to what was kept."""
    counts = dict(database.execute("SELECT distance, COUNT(*) FROM duplicate GROUP BY distance"))
    return [
        Bar(f"distance {distance}", str(distance), counts.get(distance, 0), distance)
        for distance in range(max(counts, default=0) + 1)
    ]


def similarity_bars(database: sqlite3.Connection) -> list[Bar]:
    """Count duplicates by their similarity to what was kept, where it is known."""
    bins = f"CAST(similarity * {_BINS} + 1e-9 AS INTEGER)"
    counts = dict(
        database.execute(f"SELECT {bins}, COUNT(*) FROM duplicate WHERE similarity IS NOT NULL GROUP BY {bins}")
    )
    if not counts:
        return []
    return [_bin(number, counts.get(number, 0)) for number in range(min(*counts, _SHOWN_FROM), _BINS + 1)]


def _bin(number: int, count: int) -> Bar:
    low, high = f"{number / _BINS:.2f}", f"{(number + 1) / _BINS:.2f}"
    label = "similarity 1" if number == _BINS else f"similarity from {low} to below {high}"
    return Bar(label, "1" if number == _BINS else low, count, number / _BINS)
