"""How much one page asks for: half as much after each time-out, and by and by all again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from simhash_hbase.errors import StoreTimeout
from simhash_hbase.stores.hbase.thrift.exchange import Conversation

T = TypeVar("T")

# A page of so many rows or prefixes is not cut: if it is not answered in time, nothing is.
LEAST = 16
MOST_DIVISOR = 1 << 10
# A page that is too large costs a time-out, so few pages try whether a larger one is answered.
ANSWERS_TO_GROW = 16


class Pace:
    """The share of a whole page that is asked for.

    Threads share it without a lock: a change that is lost between them is made after the next answer or time-out.
    """

    def __init__(self) -> None:
        self._divisor = 1
        self._answers = 0

    def share(self, most: int) -> int:
        """Tell how much to ask for where so much would be a whole page."""
        return max(min(most, LEAST), most // self._divisor)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Learn from a page that is asked for inside of the block."""
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
