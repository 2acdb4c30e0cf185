"""Time, faults and the scheduler: who goes on after each piece of each call follows from a seed."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import NamedTuple

from greenlet import GreenletExit, getcurrent, greenlet

from simhash_hbase.errors import StoreTimeout, StoreUnavailable
from simhash_hbase.stores.base import Cell, Swap

BEGAN_MS = 1_790_000_000_000
MOST_STEPS = 30_000
STEP_S = 0.002
MINUTES_MS = 300_000
# Clocks of region servers differ by less than a minute: see `simhash_hbase.index.timestamps`.
SERVER_STEP_MS = 25_000
# No request is later than what `vacuum` leaves alone, where HBase may forget its deletes meanwhile.
LATEST_S = 100.0
DEADLINE_S = 20.0


class Killed(GreenletExit):
    """Ends a writer as a crash does."""


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """The amount of trouble: shares of calls that go wrong, and how often each event comes in a step."""

    events: dict[str, float]
    stick: float  # How often the writer that went on last goes on again.
    late: float = 0.0  # Writes that are done late, and perhaps twice.
    lost: float = 0.0  # Writes whose answer is lost.
    unanswered: float = 0.0  # Calls that fail, done or not.
    cut: float = 0.3  # Calls during which others may go on.
    compacts: bool = False


class Late(NamedTuple):
    """A part of a request that is still to be done."""

    due: float
    operation: object
    name: str
    part: partial


class Actor:
    """A writer's life: a greenlet that stops where others may go on."""

    def __init__(self, name: str, act: Callable[["Actor"], None]) -> None:
        self.name = name
        self.wake = 0.0
        self.ahead_ms = 0
        self.cut_until = 0.0
        self.operation: object = None
        self.left: list = []
        self.greenlet = greenlet(partial(act, self))

    @property
    def is_done(self) -> bool:
        """Whether it has come to its end."""
        return self.greenlet.dead

    def kill(self) -> None:
        self.greenlet.throw(Killed)


class World:
    """Everything outside of the writers."""

    def __init__(self, chosen: Random, trouble: Trouble) -> None:
        self.chosen = chosen
        self.trouble = trouble
        self.now = 0.0
        self.server_ahead_ms = 0
        self.operation: object = None  # On whose account the server does what it does.
        self.is_late = False  # Whether that is a request that was kept.
        self.is_quiet = False  # Whether nothing goes wrong any more.
        self.wrong: list[str] = []
        self.trace: list[str] = []
        self.had: Counter[str] = Counter()  # What went wrong, and how often.
        self.killed: Callable[[Actor], None] = lambda actor: None
        self.compact: Callable[[], None] = lambda: None
        self._actors: list[Actor] = []
        self._late: list[Late] = []
        self._hub = getcurrent()

    # -- clocks

    def server_ms(self) -> int:
        return BEGAN_MS + int(self.now * 1000) + self.server_ahead_ms

    def wall_ms(self, actor: Actor) -> int:
        return BEGAN_MS + int(self.now * 1000) + actor.ahead_ms

    def sleep(self, seconds: float) -> None:
        """Let a writer sleep, or time pass where nobody else is there."""
        here = getcurrent()
        actor = next((actor for actor in self._actors if actor.greenlet is here), None)
        if actor is None:
            self.now += seconds
        else:
            actor.wake = max(actor.wake, self.now + seconds)
            self._stop(actor, "sleep")

    # -- the scheduler

    def enter(self, actor: Actor, *, after: float = 0.0) -> None:
        actor.wake = self.now + after
        self._actors.append(actor)

    def run(self) -> None:
        """Let writers go on until all are done, or something is wrong."""
        last, steps = None, 0
        while not self.wrong and (alive := [actor for actor in self._actors if not actor.is_done]):
            self.now += self.chosen.uniform(0, STEP_S)
            self._do_late()
            self._have_trouble(alive)
            ready = [actor for actor in alive if actor.wake <= self.now and not actor.is_done]
            if not ready:
                wakes = [actor.wake for actor in alive if not actor.is_done]
                self.now = max(self.now, min([*wakes, *(late.due for late in self._late)], default=self.now))
                continue
            if last not in ready or self.chosen.random() >= self.trouble.stick:
                last = self.chosen.choice(ready)
            last.greenlet.switch()
            steps += 1
            if steps > MOST_STEPS:
                self.wrong.append(f"no end after {MOST_STEPS:,} steps")
        for actor in self._actors:
            if not actor.is_done:
                actor.kill()

    def calm_down(self) -> None:
        """Do all that is late; from now on nothing goes wrong."""
        self.is_quiet = True
        self.server_ahead_ms = 0
        for late in sorted(self._late, key=lambda late: late.due):
            self._do(late.operation, late.name, late.part, is_late=True)
        self._late.clear()

    def hasten(self, cell: Cell) -> None:
        """Do perhaps soon what is late and expects what a cell has come to hold: the moment in which it does harm."""
        for number, late in enumerate(self._late):
            [first, *_] = late.part.args
            is_awaited = isinstance(first, Swap) and (first.row, first.expected) == (cell.row, cell.value)
            if is_awaited and self.chosen.random() < 0.5:
                self._late[number] = late._replace(due=self.now + self.chosen.uniform(0, 3 * STEP_S))

    def _stop(self, actor: Actor, what: str) -> None:
        self.trace.append(f"{self.now:9.3f} {actor.name} {what}")
        self._hub.switch()

    def _do(self, operation: object, what: str, part: Callable[[], object], *, is_late: bool = False) -> object:
        self.trace.append(f"{self.now:9.3f}   {operation}: {'late ' * is_late}{what}")
        self.operation, self.is_late = operation, is_late
        return part()

    def _do_late(self) -> None:
        for late in sorted((late for late in self._late if late.due <= self.now), key=lambda late: late.due):
            self._late.remove(late)
            self._do(late.operation, late.name, late.part, is_late=True)

    # -- trouble

    def _have_trouble(self, alive: Sequence[Actor]) -> None:
        events = self.trouble.events
        if self.chosen.random() < sum(events.values()):
            [event] = self.chosen.choices(list(events), events.values())
            actor = self.chosen.choice(alive)
            self.trace.append(f"{self.now:9.3f} {actor.name} *** {event}")
            self.had[event] += 1
            getattr(self, f"_{event}")(actor)

    def _kill(self, actor: Actor) -> None:
        actor.kill()
        self.killed(actor)

    def _pause(self, actor: Actor) -> None:
        actor.wake = self.now + math.exp(self.chosen.uniform(math.log(0.01), math.log(400.0)))

    def _step(self, actor: Actor) -> None:
        actor.ahead_ms += self.chosen.randint(-MINUTES_MS, MINUTES_MS)

    def _server_step(self, _: Actor) -> None:
        self.server_ahead_ms = self.chosen.randint(-SERVER_STEP_MS, SERVER_STEP_MS)

    def _partition(self, actor: Actor) -> None:
        actor.cut_until = self.now + self.chosen.uniform(0, 2 * DEADLINE_S)

    def _compaction(self, _: Actor) -> None:
        self.compact()

    # -- calls

    def call(self, actor: Actor, name: str, parts: list, *, writes: bool = False, repeat: bool = True) -> list:
        """Do one call of a writer's store, and what goes wrong with it."""
        operation = actor.operation
        if self.is_quiet:
            return [self._do(operation, name, part) for part in parts]
        self._stop(actor, name)
        self._reach(actor, name, parts, writes=writes, repeat=repeat)
        drawn = self.chosen.random()
        trouble = self.trouble
        if writes and drawn < trouble.late:
            self.had["late"] += 1
            self._keep(operation, name, parts)
            if not repeat or self.chosen.random() < 0.1:
                raise StoreTimeout(f"{name}: the answer did not come")
        results = self._in_pieces(actor, name, parts, writes=writes)
        if writes and drawn > 1 - trouble.lost:
            self.had["lost"] += 1
            if not repeat:
                raise StoreTimeout(f"{name}: the answer was lost")
            results = self._in_pieces(actor, f"{name} again", parts, writes=writes)
        elif self.chosen.random() < trouble.unanswered:
            raise StoreUnavailable(f"{name}: the answer was lost")
        return results

    def _in_pieces(self, actor: Actor, name: str, parts: list, *, writes: bool) -> list:
        results: list = []
        operation = actor.operation
        cuts = len(parts) > 1 and self.chosen.random() < self.trouble.cut
        at = {self.chosen.randrange(1, len(parts)) for _ in range(2)} if cuts else ()
        try:
            for number, part in enumerate(parts):
                if number in at:
                    self._stop(actor, f"{name}, {number} of {len(parts)} done")
                results.append(self._do(operation, name, part))
        except Killed:
            if writes and self.chosen.random() < 0.5:
                self._keep(operation, name, parts[len(results) :])
            raise
        return results

    def _keep(self, operation: object, name: str, parts: list) -> None:
        """Do some parts now, and keep the others."""
        longest = LATEST_S if self.trouble.compacts else 1000.0
        due = self.now + math.exp(self.chosen.uniform(math.log(0.002), math.log(longest)))
        for part in parts:
            if self.chosen.random() < 0.2:
                self._do(operation, name, part)
            else:
                self._late.append(Late(due, operation, name, part))

    def _reach(self, actor: Actor, name: str, parts: list, *, writes: bool, repeat: bool) -> None:
        """Wait while the writer is cut off from the server; give up after the deadline."""
        if actor.cut_until <= self.now:
            return
        if writes and self.chosen.random() < 0.3:
            self._keep(actor.operation, name, parts)
        waits = min(actor.cut_until - self.now, DEADLINE_S) if repeat else self.chosen.uniform(0, 1)
        self.sleep(waits)
        if not repeat or waits == DEADLINE_S:
            raise StoreUnavailable(f"{name}: no answer for {waits:.1f} s")
