"""Several claimers in one process, of whom one at a time does one call of its store: any interleaving, repeatable."""

import time
from collections import deque
from functools import partial

from greenlet import GreenletExit, greenlet

from simhash_hbase.errors import StoreTimeout
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.index.timestamps import ServerClock, Timer
from support.server_doubles import SwappingOnly


class Actor:
    """One claimer: a greenlet that stops before every call of its store, and when it sleeps, until it is let go on."""

    def __init__(self, name, act):
        self.name = name
        self.calls, self.late = deque(maxlen=40), deque()
        self.waits_for = self.result = None
        self._greenlet = greenlet(self._run)
        self._greenlet.switch(act)

    @property
    def is_done(self):
        return self._greenlet.dead

    def _run(self, act):
        self.stop("start")
        self.result = act(self)

    def stop(self, what):
        """Wait to be let go on; return what it was told."""
        self.waits_for = what
        order = self._greenlet.parent.switch()
        if order == "kill":
            raise GreenletExit
        self.calls.append(what if order is None else f"{what} ({order})")
        return order

    def step(self, order=None):
        """Let the actor do the call that it waits for.

        ``kill`` ends it before. ``lose`` loses the answer. With ``delay`` it gets no answer either, and the call is
        done when the test calls what `late` then holds.
        """
        assert not self.is_done, f"{self.name} has ended after {list(self.calls)}"
        self._greenlet.switch(order)


class SteppingStore(SwappingOnly):
    """A store of one actor."""

    def __init__(self, store, actor):
        super().__init__(store)
        self.actor = actor


def _stepping(name, passed_on):
    def call(self, *arguments, **named):
        order = self.actor.stop(name)
        if order == "delay":
            self.actor.late.append(partial(passed_on, self, *arguments, **named))
            raise StoreTimeout("no answer came")
        answer = passed_on(self, *arguments, **named)
        if order == "lose":
            raise StoreTimeout("the answer was lost")
        return answer

    return call


for _name in ("scan", "get", "get_rows", "put", "put_rows", "delete", "compare_and_set"):
    setattr(SteppingStore, _name, _stepping(_name, getattr(SwappingOnly, _name)))


class Stage:
    """Actors on one store, with one clock for their leases that moves when they sleep, or when a test says so."""

    def __init__(self, store):
        self.store = store
        self.seconds = 0.0
        self.actors = []
        self._began_ms = time.time_ns() // 1_000_000

    @property
    def now_ms(self):
        """The time by clocks that are right."""
        return self._began_ms + int(self.seconds * 1000)

    def claim(self, name, entries, *, clock_ms=0, deadline_s=None):
        """Put a claimer of a batch on the stage, whose wall clock is so much ahead."""

        def act(actor):
            store = SteppingStore(self.store, actor)

            def sleep(seconds):
                actor.stop("sleep")
                self.advance(seconds)

            index = self.index(store, clock_ms=clock_ms, sleep=sleep)
            return index.claim_entries(entries, deadline_s=deadline_s)

        self.actors.append(Actor(name, act))
        return self.actors[-1]

    def index(self, store, *, clock_ms=0, sleep=None):
        return LocalIndex(
            store,
            clock=lambda: self.now_ms + clock_ms,
            timer=Timer(lambda: self.seconds, sleep or self.advance),
            # To ask for the time is no step of the protocol.
            server_clock=ServerClock(SwappingOnly(self.store)),
        )

    def advance(self, seconds):
        self.seconds += seconds

    def finish(self, *actors):
        """Let actors take turns until they are done."""
        for _ in range(100_000):
            waiting = [actor for actor in actors or self.actors if not actor.is_done]
            if not waiting:
                return
            for actor in waiting:
                actor.step()
        raise AssertionError("they never end")

    def close(self):
        for actor in self.actors:
            if not actor.is_done:
                actor.step("kill")
