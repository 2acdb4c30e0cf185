"""Which parts of the key space a sample of an index reads: of each region alike, and chosen at random."""

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from simhash_hbase.rows.keys import ALL_PREFIXES, row_prefix

# A sample reads one part in so many, of this many stretches or more.
ONE_IN = 64
STRETCHES = 64

Bounds = tuple[int, int]


class Slice(NamedTuple):
    """Prefixes ``[start, stop)`` of one region."""

    region: int  # Its number.
    start: int
    stop: int
    weight: float  # What is found in it stands for so much.


def region_bounds(starts: Sequence[bytes]) -> list[Bounds]:
    r"""Turn the first keys of regions into ranges of prefixes.

    Examples
    --------
    >>> region_bounds([b"", b"\x80"]) == [(0, 1 << 39), (1 << 39, 1 << 40)]
    True
    """
    edges = [*map(row_prefix, starts), ALL_PREFIXES]
    return list(pairwise(edges))


def whole_slices(bounds: Sequence[Bounds]) -> list[Slice]:
    """Read everything: a slice a region."""
    return [Slice(number, start, stop, 1.0) for number, (start, stop) in enumerate(bounds)]


def sampled_slices(bounds: Sequence[Bounds]) -> list[Slice]:
    """Choose a 64th of every region, anew each time, spread over 64 places of the key space or more."""
    places = -(-STRETCHES // len(bounds))
    return [part for number, (start, stop) in enumerate(bounds) for part in _sampled(number, start, stop, places)]


def _sampled(region: int, start: int, stop: int, places: int) -> Iterator[Slice]:
    for place in range(places):
        first, end = (start + (stop - start) * edge // places for edge in (place, place + 1))
        length = -(-(end - first) // ONE_IN)
        if length:
            begin = random.randrange(first, end - length + 1)
            yield Slice(region, begin, begin + length, (end - first) / length)
