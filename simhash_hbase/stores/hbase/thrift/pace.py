"""The size of a page: half after each time-out, and step by step the whole again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from simhash_hbase.errors import StoreTimeout
from simhash_hbase.stores.hbase.thrift.exchange import Conversation

T = TypeVar("T")

# A page of this many rows or prefixes is not cut further: a gateway that cannot answer it answers nothing.
LEAST = 16
MOST_DIVISOR = 1 << 10
# A page that is too large costs a time-out, so larger ones are tried rarely.
ANSWERS_TO_GROW = 16


class Pace:
    """The share of a whole page that is asked for.

    Threads share it without a lock: a lost change is made after the next answer or time-out.
    """

    def __init__(self) -> None:
        self._divisor = 1
        self._answers = 0

    def share(self, most: int) -> int:
        """Return the size to ask for, where `most` is a whole page."""
        return max(min(most, LEAST), most // self._divisor)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Learn from the page that is requested inside the block."""
        try:
            yield
        except StoreTimeout:
            self._divisor = min(2 * self._divisor, MOST_DIVISOR)
            self._answers = 0
            raise
        self._answers += 1
        if self._answers >= ANSWERS_TO_GROW:
            self._divisor = max(1, self._divisor // 2)
            self._answers = 0


def paged(pace: Pace, most: int, ask: Callable[[int], Conversation[T]]) -> Conversation[tuple[T, int]]:
    """Read one page."""
    size = pace.share(most)
    with pace.watched():
        found = yield from ask(size)
    return found, size
