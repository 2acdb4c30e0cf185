"""The differing stretches of two sequences, by their longest common subsequence; for any length.

Hyyrö (2004), "Bit-parallel LCS-length computation revisited": a row of the table of lengths is one integer, so a row
costs a few additions of Python's own. Sequences too long for the whole table are first cut at items that occur once in
both, as in Bram Cohen's "patience" diff.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile
from math import isqrt
from typing import NamedTuple

TABLE_CELLS = 1 << 28
"""A stretch with more pairs of items, 16,000 x 16,000, is not compared item by item: 36 MB, a tenth of a second."""
_LEVELS = 20


class Change(NamedTuple):
    """A stretch of the one sequence that stands in place of a stretch of the other; half-open, one may be empty."""

    start_a: int
    stop_a: int
    start_b: int
    stop_b: int


def align(a: Sequence[str], b: Sequence[str], *, cells: int = TABLE_CELLS) -> list[Change]:
    """Find what differs.

    Examples
    --------
    >>> align("the cat sat".split(), "the dog sat down".split())
    [Change(start_a=1, stop_a=2, start_b=1, stop_b=2), Change(start_a=3, stop_a=3, start_b=3, stop_b=4)]
    """
    pairs = [*_pairs(a, b, Change(0, len(a), 0, len(b)), cells), (len(a), len(b))]
    changes = []
    next_a = next_b = 0
    for at_a, at_b in pairs:
        if (at_a, at_b) != (next_a, next_b):
            changes.append(Change(next_a, at_a, next_b, at_b))
        next_a, next_b = at_a + 1, at_b + 1
    return changes


def _pairs(
    a: Sequence[str], b: Sequence[str], stretch: Change, cells: int, levels: int = _LEVELS
) -> Iterator[tuple[int, int]]:
    start_a, stop_a, start_b, stop_b = stretch
    head = _common(zip(a[start_a:stop_a], b[start_b:stop_b], strict=False))
    yield from zip(range(start_a, start_a + head), range(start_b, start_b + head), strict=True)
    start_a, start_b = start_a + head, start_b + head
    tail = _common(zip(reversed(a[start_a:stop_a]), reversed(b[start_b:stop_b]), strict=False))
    stop_a, stop_b = stop_a - tail, stop_b - tail
    middle = Change(start_a, stop_a, start_b, stop_b)
    if (stop_a - start_a) * (stop_b - start_b) <= cells:
        found = _longest(a[start_a:stop_a], b[start_b:stop_b])
        yield from ((start_a + at_a, start_b + at_b) for at_a, at_b in found)
    else:
        yield from _cut_pairs(a, b, middle, cells, levels)
    yield from zip(range(stop_a, stop_a + tail), range(stop_b, stop_b + tail), strict=True)


def _common(pairs: Iterator[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _cut_pairs(
    a: Sequence[str], b: Sequence[str], stretch: Change, cells: int, levels: int
) -> Iterator[tuple[int, int]]:
    """Cut a long stretch at its anchors, and compare the parts."""
    start_a, stop_a, start_b, stop_b = stretch
    anchors = _anchors(a[start_a:stop_a], b[start_b:stop_b]) if levels else []
    if not anchors:
        yield from _windowed_pairs(a, b, stretch, isqrt(cells))
        return
    for at_a, at_b in anchors:
        anchor = stretch.start_a + at_a, stretch.start_b + at_b
        yield from _pairs(a, b, Change(start_a, anchor[0], start_b, anchor[1]), cells, levels - 1)
        yield anchor
        start_a, start_b = anchor[0] + 1, anchor[1] + 1
    yield from _pairs(a, b, Change(start_a, stop_a, start_b, stop_b), cells, levels - 1)


def _windowed_pairs(a: Sequence[str], b: Sequence[str], stretch: Change, side: int) -> Iterator[tuple[int, int]]:
    """Compare a stretch window by window: of each one that is not the last only the first half is trusted."""
    start_a, stop_a, start_b, stop_b = stretch
    side = max(side, 2)
    while start_a < stop_a and start_b < stop_b:
        end_a, end_b = min(start_a + side, stop_a), min(start_b + side, stop_b)
        found = [(start_a + at_a, start_b + at_b) for at_a, at_b in _longest(a[start_a:end_a], b[start_b:end_b])]
        is_last = (end_a, end_b) == (stop_a, stop_b)
        half_a, half_b = (end_a, end_b) if is_last else (start_a + side // 2, start_b + side // 2)
        trusted = sum(1 for at_a, at_b in found if at_a < half_a or at_b < half_b)
        yield from found[:trusted]
        start_a, start_b = [*found, (end_a, end_b)][trusted]


def _longest(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Find a longest common subsequence, as places in both."""
    places = dict.fromkeys(a, 0)
    for at, item in enumerate(b):
        if item in places:
            places[item] |= 1 << at
    full = (1 << len(b)) - 1
    row = full
    # In row i bit j is 0 where the subsequence of a[:i] and b[:j + 1] is one longer than that of a[:i] and b[:j].
    rows = [row]
    for item in a:
        found = row & places[item]
        row = (row + found | row - found) & full
        rows.append(row)
    pairs = []
    at_a, at_b = len(a), len(b)
    while at_a and at_b:
        if rows[at_a] >> at_b - 1 & 1:
            at_b -= 1
        elif rows[at_a - 1] >> at_b - 1 & 1:
            at_a, at_b = at_a - 1, at_b - 1
            pairs.append((at_a, at_b))
        else:
            at_a -= 1
    return pairs[::-1]


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Find the longest increasing sequence of items that occur once in both."""
    single = {item for item, times in Counter(b).items() if times == 1}
    place = {item: at for at, item in enumerate(b) if item in single}
    once = {item for item, times in Counter(a).items() if times == 1}
    found = [(at, place[item]) for at, item in enumerate(a) if item in once and item in place]
    # The least end of an increasing sequence of each length, where it is, and what comes before each item.
    ends: list[int] = []
    last: list[int] = []
    before: list[int | None] = []
    for number, (_, at_b) in enumerate(found):
        length = bisect_left(ends, at_b)
        before.append(last[length - 1] if length else None)
        ends[length : length + 1] = [at_b]
        last[length : length + 1] = [number]
    chosen = []
    step = last[-1] if last else None
    while step is not None:
        chosen.append(found[step])
        step = before[step]
    return chosen[::-1]
