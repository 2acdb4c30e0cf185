"""A store that is slow, loses answers, does what it is asked too late, and ends its writer."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from random import Random

from support.swapping import SwappingOnly

from simhash_hbase.errors import StoreTimeout, StoreUnavailable
from simhash_hbase.rows.layout import STATE_QUALIFIER
from simhash_hbase.stores.base import Store

SOON_S = 0.01
CALLS = ("scan", "get", "get_rows", "put", "put_rows", "delete", "compare_and_set")


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """How much goes wrong: each a share of the calls it is about."""

    paused: float = 0.5
    pause_ms: float = 6.0
    """At most; one in fifty is ten times as long."""
    lost: float = 0.06
    """Changes of document cells that are done, and whose answer is lost."""
    late: float = 0.06
    """Changes of document cells that are not answered, and done after up to a hundred milliseconds."""
    unanswered: float = 0.003
    """Other calls that are done and not answered."""
    killed: float = 0.004
    """Calls before, after, or in the middle of which the writer is killed."""


class FaultyStore(SwappingOnly):
    """Passes calls on to a store without its transactions.

    Parameters
    ----------
    store : Store
        The real one.
    trouble : Trouble
        How much goes wrong.
    chosen : Random
        What goes wrong.
    kill : callable
        Ends the writer.
    kill_within : callable or None
        Ends the writer so many seconds later, whatever it does then; None where that cannot be done.
    """

    def __init__(
        self,
        store: Store,
        trouble: Trouble,
        chosen: Random,
        kill: Callable[[], None],
        kill_within: Callable[[float], None] | None,
    ) -> None:
        super().__init__(store)
        self._trouble = trouble
        self._chosen = chosen
        self._kill = kill
        self._kill_within = kill_within

    def call(self, name: str, *arguments, **named):
        """Make one call, and what goes wrong with it."""
        self.pause()
        self.perhaps_kill()
        self.perhaps_kill_soon()
        act = getattr(self.behind, name)
        changes = name == "compare_and_set" or (name == "put" and _is_document(arguments[1]))
        drawn = self._chosen.random()
        if changes and drawn < self._trouble.late:
            threading.Timer(self._chosen.uniform(0, 0.1), _quietly, (act, arguments, named)).start()
            self.pause()
            raise StoreTimeout(f"{name}: the answer did not come")
        answer = act(*arguments, **named)
        self.perhaps_kill()
        if drawn > 1 - (self._trouble.lost if changes else self._trouble.unanswered):
            raise (StoreTimeout if changes else StoreUnavailable)(f"{name}: the answer was lost")
        return answer

    def pause(self) -> None:
        """Let the others go on, perhaps."""
        if self._chosen.random() < self._trouble.paused:
            longest = self._trouble.pause_ms * (10 if self._chosen.random() < 0.02 else 1)
            time.sleep(self._chosen.uniform(0, longest) / 1000)

    def perhaps_kill(self) -> None:
        """End the writer, perhaps."""
        if self._chosen.random() < self._trouble.killed / 3:
            self._kill()

    def perhaps_kill_soon(self) -> None:
        """End the writer, perhaps, while the call that comes is under way."""
        if self._chosen.random() < self._trouble.killed / 3 and self._kill_within:
            self._kill_within(self._chosen.uniform(0, SOON_S))


class FaultyTransactions(FaultyStore):
    """The same of a store with transactions, of which only the commit can lose its answer."""

    _is_held = False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the store behind it; see `Transactional.transaction`."""
        self.pause()
        with self.behind.transaction():
            self._is_held = True
            try:
                yield
                self.perhaps_kill()
            finally:
                self._is_held = False
        self.perhaps_kill()
        if self._chosen.random() < self._trouble.lost:
            raise StoreTimeout("the answer to a commit was lost")

    def call(self, name: str, *arguments, **named):
        """Make one call; within a transaction nobody else could do anything meanwhile."""
        if not self._is_held:
            self.pause()
        self.perhaps_kill()
        self.perhaps_kill_soon()
        return getattr(self.behind, name)(*arguments, **named)


def _passed_on(name: str):
    def call(self, *arguments, **named):
        return self.call(name, *arguments, **named)

    return call


for _name in CALLS:
    setattr(FaultyStore, _name, _passed_on(_name))


def _is_document(cells) -> bool:
    """Tell whether cells are document cells; members carry a client's time, and repeating them is no matter."""
    return bool(cells) and cells[0].qualifier == STATE_QUALIFIER


def _quietly(act, arguments, named) -> None:
    with suppress(StoreTimeout, StoreUnavailable):
        act(*arguments, **named)
