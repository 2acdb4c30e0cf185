"""Groups of rows or cells, each in one call, or in smaller ones after a call that got no answer in time."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from simhash_hbase.stores.hbase.thrift.exchange import Conversation, Exchange
from simhash_hbase.stores.hbase.thrift.pace import Pace, paged

K = TypeVar("K")
V = TypeVar("V")


def hold_in_parts(  # noqa: PLR0913
    exchange: Exchange,
    pace: Pace,
    groups: Sequence[Sequence[K]],
    ask: Callable[[Sequence[K]], Conversation[V]],
    *,
    sockets: int,
    repeat: bool = True,
    writes: bool = False,
) -> list[V]:
    """Ask for all items of all groups, and return the answers in their order; see `Exchange.hold`."""
    answers: list[list[V]] = [[] for _ in groups]
    left = list(enumerate(groups))
    while left:
        tasks = [partial(paged, pace, len(groups[number]), partial(_ask_first, ask, items)) for number, items in left]
        parts = exchange.hold(tasks, sockets=sockets, repeat=repeat, writes=writes)
        for (number, _), (answer, _) in zip(left, parts, strict=True):
            answers[number].append(answer)
        left = [(n, items[size:]) for (n, items), (_, size) in zip(left, parts, strict=True) if len(items) > size]
    return [answer for group in answers for answer in group]


def _ask_first(ask: Callable[[Sequence[K]], Conversation[V]], items: Sequence[K], size: int) -> Conversation[V]:
    return ask(items[:size])
