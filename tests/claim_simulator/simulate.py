"""One schedule: writers on a simulated server, what they do, and what is checked in the end."""

import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from types import SimpleNamespace
from unittest.mock import patch

from claim_simulator.schedule import LEASE_S, Document, Schedule, Task, as_entries, make_schedule
from claim_simulator.server import Server, SimulatedStore, call_at_once
from claim_simulator.watch import Operation, Watch
from claim_simulator.world import MINUTES_MS, Actor, World
from simhash_hbase.errors import Retryable, StoreBusy
from simhash_hbase.index import answers, decisions, write
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.claim import machine, protocol
from simhash_hbase.index.documentrows import entry_rows
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.index.timestamps import ServerClock, Timer
from simhash_hbase.rows.collections import Collection
from simhash_hbase.rows.keys import id_digest, member_row
from simhash_hbase.rows.layout import TEXT_BYTES

TRIES = 4
DAY_S = 86_400.0
LONG_S = 7200.0


def simulate(seed: int) -> World:
    """Run the schedule of a seed, the same one each time; return what came of it."""
    chosen = Random(seed)
    return _Simulation(make_schedule(chosen, seed), chosen).run()


def outcome_of(seed: int) -> tuple[Counter[str], list[str]]:
    """Return what happened in the schedule of a seed, the answers of claims among it, and what is wrong with it."""
    world = simulate(seed)
    return world.had, world.wrong


class _Simulation:
    def __init__(self, schedule: Schedule, chosen: Random) -> None:
        self._schedule = schedule
        self._chosen = chosen
        self._world = world = World(chosen, schedule.trouble)
        self._server = Server(world.server_ms, self._changed, self._hidden)
        self._rows = {id(each): entry_rows(schedule.profile, as_entries([each])) for each in schedule.documents}
        self._watch = Watch(
            schedule.profile, schedule.documents, lambda: world.server_ms() + 4 * MINUTES_MS, self._is_findable
        )
        world.killed, world.compact = self._return, self._server.compact

    def _is_findable(self, each: Document) -> bool:
        member = member_row(each.simhash), id_digest(each.id) + each.digest[:TEXT_BYTES]
        return self._server.is_findable(self._rows[id(each)], member)

    def run(self) -> World:
        world = self._world
        with simulated(world, self._chosen):
            LocalIndex.create(SimulatedStore(self._server, call_at_once), self._schedule.profile, clock=world.server_ms)
            for number, tasks in enumerate(self._schedule.writers):
                self._enter(f"writer {number}", tasks, world.chosen.uniform(0, 0.02))
            world.run()
            if not world.wrong:
                self._end()
        return world

    # -- writers

    def _enter(self, name: str, tasks: list[Task], after: float) -> None:
        actor = Actor(name, self._work)
        actor.left = list(tasks)
        actor.ahead_ms = self._chosen.choice((0, 0, self._chosen.randint(-MINUTES_MS, MINUTES_MS)))
        self._world.enter(actor, after=after)

    def _return(self, actor: Actor) -> None:
        """Let a writer that was killed come back and do again what it was at."""
        if actor.left and self._chosen.random() < 0.8:
            self._enter(f"{actor.name}'", actor.left, self._chosen.uniform(0, 3 * LEASE_S))

    def _work(self, actor: Actor) -> None:
        try:
            index = self._index(actor)
            while actor.left:
                self._try(actor, index, actor.left[0])
                actor.left = actor.left[1:]
        except Exception:
            self._world.wrong.append(f"{actor.name}: {traceback.format_exc()}")

    def _index(self, actor: Actor) -> LocalIndex:
        world = self._world
        timer = Timer(lambda: world.now, world.sleep)
        store = self._store(actor)
        # The wall clock is not what writers go by; only whether it and the monotonic clock differ is asked.
        server_clock = ServerClock(store, monotonic=lambda: world.now, wall=lambda: world.now)
        index = LocalIndex(
            SimulatedStore(self._server, call_at_once),
            clock=lambda: world.wall_ms(actor),
            timer=timer,
            server_clock=server_clock,
        )
        index._store = store
        index.collection = _AsStored()
        return index

    def _store(self, actor: Actor) -> SimulatedStore:
        return SimulatedStore(self._server, lambda *given, **named: self._world.call(actor, *given, **named))

    def _try(self, actor: Actor, index: LocalIndex, task: Task) -> None:
        """Do a task until nothing of it is left; a claim returns the documents that have no decision yet."""
        documents = task.documents
        for _ in range(TRIES):
            actor.operation = Operation(task.kind, actor.name, frozenset(self._watch.acknowledged))
            try:
                documents = getattr(self, f"_{task.kind}")(index, documents)
            except StoreBusy:
                return
            except Retryable:
                self._world.sleep(0.05)
            else:
                actor.operation.is_over = True
                if not documents:
                    return

    def _claim(self, index: LocalIndex, documents: tuple[Document, ...]) -> tuple[Document, ...]:
        # Behind several crashed writers a claim waits for several leases.
        deadline = None if self._world.is_quiet else self._chosen.choice((None, None, 2 * LEASE_S))
        answers = index.claim_entries(as_entries(documents), deadline_s=deadline)
        self._note(self._watch.wrong_claim(documents, answers))
        self._world.had["claims"] += len(answers)
        return tuple(d for d, answer in zip(documents, answers, strict=True) if not isinstance(answer, Decision))

    def _add(self, index: LocalIndex, documents: tuple[Document, ...]) -> None:
        index.add_entries(as_entries(documents))
        self._note(self._watch.acknowledge(documents))

    def _dedup(self, index: LocalIndex, documents: tuple[Document, ...]) -> None:
        decided = index.dedup_entries(as_entries(documents), index.deduplicator())
        self._note(self._watch.wrong_claim(documents, decided))

    def _remove(self, index: LocalIndex, documents: tuple[Document, ...]) -> None:
        list(index.remove_many([document.id for document in documents]))

    def _vacuum(self, index: LocalIndex, _: object) -> None:
        index.vacuum(yes=True)

    def _repair(self, index: LocalIndex, _: object) -> None:
        index.verify(repair=True)

    def _day(self, *_: object) -> None:
        self._world.sleep(self._chosen.uniform(0.2, 1.1) * DAY_S)

    # -- what is checked

    def _changed(self, before, after) -> None:
        world = self._world
        self._note(self._watch.changed(world.operation, before, after, is_late=world.is_late))
        if after is not None:
            world.hasten(after)

    def _hidden(self) -> None:
        self._note(self._watch.wrong_state())

    def _note(self, wrong: str | None) -> None:
        if wrong:
            self._world.trace.append(f"{self._world.now:9.3f} WRONG {wrong}")
            self._world.wrong.append(wrong)

    def _end(self) -> None:
        """Claim everything, with nothing going wrong; then the index is whole, and clean after vacuum."""
        world, last = self._world, Actor("last", lambda actor: None)
        world.calm_down()
        index = self._index(last)
        for document in self._schedule.documents:
            last.operation = Operation("claim", "last", frozenset(self._watch.acknowledged))
            if left := self._claim(index, (document,)):
                self._note(f"no decision with nothing going wrong: {left}")
        self._note("".join(f"no decision of {name} is left; " for name in self._watch.undecided()))
        last.operation = Operation("vacuum", "last")
        for _ in range(2):
            world.sleep(LONG_S)
            index.vacuum(yes=True)
        verified = index.verify()
        if verified.wrong or verified.undecided or verified.stale_members or verified.orphan_rows:
            self._note(f"not clean after vacuum: {verified}")
        # The list of an original that is removed goes with it.
        has_removals = any(task.kind == "remove" for tasks in self._schedule.writers for task in tasks)
        if verified.stale_copies or (verified.missing_copies and not has_removals):
            self._note(f"lists of copies that are not whole: {verified}")


class _AsStored(Collection):
    """Takes documents as they are stored, of several collections at once, and all on common rows: without masks."""

    def stored_id(self, document_id: str) -> str:
        return document_id


@contextmanager
def simulated(world, chosen: Random) -> Iterator[None]:
    """Let the package live in a world for a while."""
    time = SimpleNamespace(sleep=world.sleep, monotonic=lambda: world.now)
    with ExitStack() as stack:
        for module, name, stand_in in (
            (write, "time", time),
            (write, "random", chosen),
            (protocol, "random", chosen),
            (machine, "urandom", chosen.randbytes),
            # Callers' ids are different in all collections of a schedule, so answers have the stored ones.
            (answers, "own_id", str),
            (decisions, "own_id", str),
        ):
            stack.enter_context(patch.object(module, name, stand_in))
        yield
