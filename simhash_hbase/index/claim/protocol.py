"""Claiming a batch: in one transaction, or, where the store can only compare and set, by the protocol.

In a transaction a batch is queried, decided and written. By the protocol, many small state machines are advanced by one
loop. Each claim first makes its own cell pending and itself findable, and only then looks who else is there. Of two
claims within each other's reach at least one finds the other, whatever the interleaving: it waits, or gives way to the
one with the smaller order. `Step` lists the steps; each is one round of calls for all claims that have come to it.
"""

import random
from collections.abc import Callable

from simhash_hbase.errors import ClaimContended, StoreBusy
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.claim.run import Run
from simhash_hbase.index.claim.state import Claim, Claimed, Leases, Step, SwappingStore
from simhash_hbase.index.claim.steps import first_query, read_own, release, second_query, see_recorded, write
from simhash_hbase.index.claim.verdict import look
from simhash_hbase.index.dedup import Deduplicator
from simhash_hbase.index.documentrows import find_documents, read_states
from simhash_hbase.index.timestamps import Timer
from simhash_hbase.index.write import WriteBatch, attempts, commit, drop_members, refresh_within, removal
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.collections import own_id
from simhash_hbase.stores.base import Store, atomically

FIRST_PAUSE_S = 0.005
LONGEST_PAUSE_S = 0.25


def claim_in_transaction(store: Store, profile: Profile, entries: Entries, *, now: int) -> list[Decision]:
    """Decide and write a batch inside one transaction."""
    deduplicator = Deduplicator(store, profile)
    for attempt in attempts(store):
        with attempt:
            with atomically(store):
                plan = deduplicator.plan(entries, now=now)
                cells = plan.cells
                if plan.expired:
                    # What has expired by this clock must not come back by another one, which is behind.
                    expired = enumerate(read_states(store, plan.expired))
                    burials = [removal(at, *stored) for at, stored in expired if stored is not None]
                    commit(store, burials)
                    drop_members(store, burials)
                    # What was buried may be a document of this batch.
                    cells = find_documents(store, plan.entries.ids)
                batch = WriteBatch(store, profile, plan.entries)
                batch.apply(batch.plan(plan.outcomes, range(len(plan.entries)), cells, now=now))
                refresh_within(store, profile, plan.seen, now=now)
            return plan.decisions
    raise StoreBusy(f"{store.url} kept growing under a batch of {len(entries)} documents")


def claim_by_protocol(
    store: SwappingStore,
    profile: Profile,
    entries: Entries,
    *,
    clock: Callable[[], int],
    timer: Timer,
    deadline_s: float | None = None,
) -> list[Claimed]:
    """Decide and write a batch by compare-and-set.

    For a batch of new documents: two queries, two rounds of compare-and-set, and the writes of `add` between them. A
    process that ends in the middle leaves claims that others give up after the profile's lease.
    """
    began = clock()
    claims = [
        Claim(at, name, text, (began, at))
        for at, (name, text) in enumerate(zip(entries.ids, entries.texts, strict=True))
    ]
    for claim in claims:
        claim.begin()
    run = Run(store, profile, entries, clock, timer, Leases(profile.lease_s, timer), claims)
    end = None if deadline_s is None else timer.monotonic() + deadline_s
    idle = 0
    while waiting := run.undecided():
        if end is not None and timer.monotonic() >= end:
            # What is not decided is given up, so that nobody has to wait for it.
            held = [claim for claim in waiting if claim.holds_cell]
            run.give_up([(c.state, c.value) for c in held if c.state is not None and c.value is not None])
            for claim in waiting:
                claim.answer = ClaimContended(f"{own_id(claim.id)!r} was not decided within {deadline_s:g} s")
            break
        before = [(claim.step, claim.value) for claim in waiting]
        _advance(run)
        moved = before != [(claim.step, claim.value) for claim in waiting] or len(run.undecided()) < len(waiting)
        idle = 0 if moved else idle + 1
        if idle:
            _pause(run, idle, end)
    see_recorded(run, [claim for claim in claims if claim.is_recorded])
    return [claim.answer for claim in claims if claim.answer is not None]


def _advance(run: Run) -> None:
    """Let every claim do what its step is; one that has come to a later step does that too."""
    for step, act in (
        (Step.READ_OWN, read_own),
        (Step.QUERY, first_query),
        (Step.WRITE, write),
        (Step.QUERY_AGAIN, second_query),
        (Step.LOOK, look),
        (Step.HELD, release),
    ):
        run.renew()
        if claims := [claim for claim in run.undecided() if claim.step is step]:
            act(run, claims)


def _pause(run: Run, idle: int, end: float | None) -> None:
    """Wait for other writers, longer each time and at random, so that two do not wait in step."""
    longest = min(LONGEST_PAUSE_S, run.profile.lease_s / 6)
    pause = random.uniform(0.5, 1.0) * min(longest, FIRST_PAUSE_S * 2 ** min(idle, 10))
    left = pause if end is None else end - run.timer.monotonic()
    run.timer.sleep(max(0.0, min(pause, left)))
