"""Where the regions of a table begin, so that no call of many rows is sent from region to region."""

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

# A table's regions rarely split or move, and an error makes them be read again at once.
REMEMBER_S = 300.0


class Regions:
    """Remembers the first keys of the table's regions."""

    def __init__(self, ask: Callable[[], list[bytes]]) -> None:
        self._ask = ask
        self._known: list[bytes] | None = None
        self._asked = 0.0

    def starts(self) -> list[bytes]:
        """Return the first keys, sorted."""
        # Threads share it: another one may forget at any time.
        known = self._known
        if known is None or time.monotonic() - self._asked > REMEMBER_S:
            known = self._ask()
            self._known, self._asked = known, time.monotonic()
        return known

    def forget(self) -> None:
        """Read them again next time: a region may have been split or moved."""
        self._known = None


def by_region(rows: Sequence[bytes], starts: Sequence[bytes], many: int) -> Iterator[Sequence[bytes]]:
    """Split sorted rows so that each region with at least so many of them has its own; the others stay together.

    Examples
    --------
    >>> list(by_region([b"a", b"b", b"m", b"x", b"y"], [b"", b"h", b"t"], 2))
    [[b'a', b'b'], [b'm'], [b'x', b'y']]
    >>> list(by_region([b"a", b"m", b"x", b"y"], [b"", b"h", b"t"], 2))
    [[b'a', b'm'], [b'x', b'y']]
    """
    first = 0
    for start, stop in pairwise([*(bisect_left(rows, start) for start in starts), len(rows)]):
        if stop - start >= many:
            yield from (part for part in (rows[first:start], rows[start:stop]) if part)
            first = stop
    if first < len(rows):
        yield rows[first:]


def in_one_region(rows: Sequence[bytes], starts: Sequence[bytes]) -> bool:
    """Tell whether sorted rows lie in one region."""
    return bisect_right(starts, rows[0]) == bisect_right(starts, rows[-1])
