"""What the package asks of the system, put in the hands of a world: time, chance and tokens."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from unittest.mock import patch

from simhash_hbase.index import timestamps, write
from simhash_hbase.index.claim import protocol, state


class _Time:
    def __init__(self, world) -> None:
        self._world = world
        self.sleep = world.sleep

    def monotonic(self) -> float:
        return self._world.now

    def time(self) -> float:
        """Not what writers go by; only whether it and the monotonic clock differ is asked."""
        return self._world.now


@contextmanager
def simulated(world, chosen: Random) -> Iterator[None]:
    """Let the package live in a world for a while."""
    time = _Time(world)
    with ExitStack() as stack:
        for module, name, stand_in in (
            (write, "time", time),
            (write, "random", chosen),
            (timestamps, "time", time),
            (protocol, "random", chosen),
            (state, "urandom", chosen.randbytes),
        ):
            stack.enter_context(patch.object(module, name, stand_in))
        yield
