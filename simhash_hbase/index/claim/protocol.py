"""Claiming a batch of documents: in one transaction, or by a protocol for stores that can only compare and set.

By the protocol each claim is a small state machine, and one loop does the next steps of all. A claim first makes its
own document cell pending, and writes the rows by which queries find it; only then it looks for near copies. So at least
one of two near claims finds the other, in whatever order they run: it waits, or gives way to the one with the smaller
order. `Step` lists the steps; each is one round of calls for all claims that have come to it.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from simhash_hbase.errors import ClaimContended
from simhash_hbase.index import documentrows
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.candidates import Queries
from simhash_hbase.index.claim import machine
from simhash_hbase.index.claim.machine import Claim, ClaimBatch, Neighbour, Step, Watched
from simhash_hbase.index.decisions import Decisions
from simhash_hbase.index.dedup import Deduplicator, UndecidedBatch, rank_of
from simhash_hbase.index.documentrows import read_states
from simhash_hbase.index.members import found_since
from simhash_hbase.index.search import Further, Hit, find_nearest
from simhash_hbase.index.timestamps import Timer
from simhash_hbase.index.write import at_once
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.collections import own_id
from simhash_hbase.rows.documentcells import DocumentState, Outcome, StoredState, is_of_removed, removal
from simhash_hbase.stores.base import Store

FIRST_PAUSE_S = 0.005
LONGEST_PAUSE_S = 0.25


def claim_in_transaction(store: Store, profile: Profile, entries: Entries, *, now: int) -> Decisions:
    """Claim a batch in a store with transactions: decide and write it in a single one; return the decisions.

    `now` is the time in ms since 1970.
    """
    deduplicator = Deduplicator(store, profile)

    def decide() -> Decisions:
        plan = deduplicator.plan(entries, now=now)
        states = plan.states
        if plan.expired:
            # A document that has expired by this clock must not come back by another one, which is behind.
            expired = enumerate(read_states(store, plan.expired))
            burials = [removal(at, stored, checksum=profile.checksums) for at, stored in expired if stored is not None]
            documentrows.commit(store, burials)
            documentrows.drop_members(store, burials)
            # A buried document may be one of this batch.
            states = read_states(store, plan.entries.ids)
        batch = documentrows.WriteBatch(store, profile, plan.entries)
        batch.apply(batch.plan(plan.outcomes, range(len(plan.entries)), states, now=now))
        documentrows.refresh_within(store, profile, plan.seen, now=now)
        return plan.decisions

    return at_once(store, entries, decide)


def claim_by_protocol(
    store: Store,
    profile: Profile,
    entries: Entries,
    *,
    clock: Callable[[], int],
    timer: Timer,
    deadline_s: float | None = None,
) -> list[machine.Claimed]:
    """Claim a batch in a store without transactions, while other writers claim; return an answer to each document.

    A batch of new documents takes two queries, two rounds of compare-and-set, and the writes of `add` between them. A
    process that ends in the middle leaves claims that other writers end after the profile's lease. After `deadline_s`
    seconds, if not None, documents that are still undecided get `ClaimContended`.
    """
    began = clock()
    claims = [
        Claim(at, name, text, (began, at), entries.batch)
        for at, (name, text) in enumerate(zip(entries.ids, entries.texts, strict=True))
    ]
    for claim in claims:
        claim.begin()
    run = ClaimBatch(store, profile, entries, clock, timer, Watched(profile.lease_s, timer), claims)
    end = None if deadline_s is None else timer.monotonic() + deadline_s
    idle = 0
    while waiting := run.undecided():
        if end is not None and timer.monotonic() >= end:
            # Undecided claims are given up, so that nobody has to wait for them.
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
            # Longer each time and at random, so that two do not wait in step.
            longest = min(LONGEST_PAUSE_S, profile.lease_s / 6, FIRST_PAUSE_S * 2 ** min(idle, 10))
            pause = random.uniform(0.5, 1.0) * longest
            left = pause if end is None else end - timer.monotonic()
            timer.sleep(max(0.0, min(pause, left)))
    see_recorded(run, [claim for claim in claims if claim.is_recorded])
    return [claim.answer for claim in claims if claim.answer is not None]


def _advance(run: ClaimBatch) -> None:
    """Do all steps once, one after the other, each for the undecided claims that have come to it."""
    for step, act in (
        (Step.READ_OWN, read_own),
        (Step.QUERY, first_query),
        (Step.WRITE, write_rows),
        (Step.QUERY_AGAIN, second_query),
        (Step.LOOK, look),
        (Step.HELD, release),
    ):
        run.renew()
        if claims := [claim for claim in run.undecided() if claim.step is step]:
            act(run, claims)


def read_own(run: ClaimBatch, claims: Sequence[Claim]) -> None:
    """Do the step `READ_OWN`: read the claims' own document cells.

    A decision about the same text is the answer. If another writer claims the document, this claim waits; else it goes
    on to the first query.
    """
    overdue = []
    oldest = run.profile.oldest(run.clock())
    for claim, stored in zip(claims, read_states(run.store, [claim.id for claim in claims]), strict=True):
        claim.state, claim.value = stored or (None, None)
        known = claim.state and claim.state.found(oldest)
        claim.standing = known.text if known else None
        if stored is not None and stored[0].is_undecided:
            if run.leases.observe(claim.id, stored[1]):
                overdue.append(stored)
        elif recorded := claim.state and claim.state.recorded(claim.text, oldest):
            claim.is_recorded = True
            run.answer(claim, recorded)
        else:
            claim.step = Step.QUERY
    run.give_up(overdue)


def first_query(run: ClaimBatch, claims: Sequence[Claim]) -> None:
    """Do the step `QUERY`: decide claims by the originals in the index, as if there were no other writers.

    A document near an original becomes a duplicate; another one becomes pending. Some are held, that is, wait in memory
    until an earlier document of the batch is decided: a duplicate of it, a document near its former text, which it
    replaces, a document whose former text is near a held one, and a document near a held one whose decision is open.
    Other writers cannot see held documents, so nobody waits for them.
    """
    now = run.clock()
    oldest = run.profile.oldest(now)
    before = [claim.state and claim.state.in_force() for claim in claims]
    documents, orders = run.entries.take([claim.at for claim in claims]), [claim.order for claim in claims]
    batch = UndecidedBatch(documents, before, run.profile, now, orders=orders)
    find_nearest(run.store, batch.queries, found_since(oldest), batch.accept)
    batch.decide([run.store])
    held = batch.earlier_mates()
    named = [None if held[at] else outcome.of for at, outcome in enumerate(batch.outcomes)]
    changed = run.refresh(named)
    wanted = []
    for at, (claim, outcome) in enumerate(zip(claims, batch.outcomes, strict=True)):
        if held[at]:
            claim.step = Step.HELD
            claim.mates = [claims[mate] for mate in sorted(held[at])]
            claim.planned = outcome if held[at] == {batch.mates[at]} else None
        elif outcome.of is None:
            wanted.append((claim, machine.as_pending(claim, now=now, oldest=oldest)))
        elif outcome.of not in changed:
            wanted.append((claim, machine.as_duplicate(claim, outcome, now=now)))
    run.commit(wanted)


def release(run: ClaimBatch, claims: Sequence[Claim]) -> None:
    """Do the step `HELD`: go on with claims whose mates, the earlier documents that they are held for, are decided.

    A claim becomes the duplicate that it was planned to be if its mate became an original; else it begins again, with
    those that are held for it alone. The first query compares these with each other in their order, as before. So very
    many equal texts take a few passes, not one for each text.
    """
    now = run.clock()
    wanted = []
    again: set[Claim] = set()
    for claim in claims:
        if any(mate.answer is None and mate not in again for mate in claim.mates):
            continue
        last = claim.mates[-1].answer
        if claim.planned is not None and isinstance(last, Decision) and last.is_original:
            wanted.append((claim, machine.as_duplicate(claim, claim.planned, now=now)))
        else:
            claim.step = Step.READ_OWN
            again.add(claim)
    run.commit(wanted)


def write_rows(run: ClaimBatch, claims: Sequence[Claim]) -> None:
    """Do the step `WRITE`: write the member cells and block rows of pending claims, by which other claims find them."""
    changes = [run.change(claim, claim.state) for claim in claims if claim.state is not None]
    documentrows.WriteBatch(run.store, run.profile, run.entries).put_rows_and_members(changes)
    for claim in claims:
        claim.step = Step.QUERY_AGAIN


def second_query(run: ClaimBatch, claims: Sequence[Claim]) -> None:
    """Do the step `QUERY_AGAIN`: find all documents near the claims, those with undecided claims too, as neighbours.

    The claims' own rows are written: so of two near claims at least one finds the other.
    """
    is_original = found_since(run.profile.oldest(run.clock()))
    for claim in claims:
        claim.near, claim.is_partial = [], False
        claim.step = Step.LOOK

    def accept(at: int, hit: Hit) -> Further:
        claim = claims[at]
        if hit.state.id == claim.id:
            return "more"
        claim.near.append(Neighbour(hit.state.id, hit.text, hit.distance, hit.similarity, hit.containment))
        # One original in force decides; other neighbours matter only where that one goes meanwhile.
        if is_original(hit.state, hit.text) is None:
            return "more"
        claim.is_partial = True
        return "done"

    queries = Queries.of(run.profile, run.entries.take([claim.at for claim in claims]))
    find_nearest(run.store, queries, lambda cell, text: cell if text in cell.member_texts() else None, accept)


def see_recorded(run: ClaimBatch, claims: Sequence[Claim]) -> None:
    """Note that documents were offered again whose text was decided before: they, and their originals, do not expire.

    A duplicate whose original was removed or has got another text since is answered with ``of_removed``.
    """
    repeated = [(claim, claim.answer) for claim in claims if isinstance(claim.answer, Decision)]
    if not repeated:
        return
    duplicates = [(claim, decision) for claim, decision in repeated if decision.of is not None]
    oldest = run.profile.oldest(run.clock())
    stored = read_states(run.store, [str(decision.of) for _, decision in duplicates]) if duplicates else []
    seen: list[str | None] = [claim.id for claim, _ in repeated]
    decided = {claim.id: claim for claim in run.claims if not claim.is_recorded}
    for (claim, decision), cell in zip(duplicates, stored, strict=True):
        original = cell and cell[0].found(oldest)
        standing = original.text if original else None
        if (later := decided.get(str(decision.of), claim)).at > claim.at:
            # The original has got another text after this document's turn: the text before counts.
            standing = later.standing
        of_text = claim.state.of_text if claim.state else None
        if is_of_removed(of_text, standing):
            claim.answer = replace(decision, of_removed=True)
        else:
            seen.append(decision.of)
    run.refresh(seen)


def look(run: ClaimBatch, claims: Sequence[Claim]) -> None:
    """Do the step `LOOK`: read the document cells of the claims' neighbours, then decide each claim or let it wait."""
    names = sorted({neighbour.id for claim in claims for neighbour in claim.near})
    cells = dict(zip(names, read_states(run.store, names) if names else (), strict=True))
    now = run.clock()
    verdicts = Verdicts(cells, run.leases, run.profile.oldest(now), now)
    for claim in claims:
        if claim.state is not None and claim.state.state == "yielded":
            verdicts.judge_yielded(claim, claim.state)
        elif claim.state is not None:
            verdicts.judge_pending(claim, claim.state)
    run.give_up(verdicts.overdue)
    run.bury(verdicts.expired)
    changed = run.refresh([new.of for _, new in verdicts.own])
    run.commit([(claim, new) for claim, new in verdicts.own if new.of not in changed])


@dataclass(slots=True)
class Verdicts:
    """Judges claims by the document cells of their neighbours, and collects the writes that follow."""

    cells: Mapping[str, StoredState | None]  # The neighbours' document cells, by their ids.
    leases: Watched
    oldest: int
    now: int
    own: list[tuple[Claim, DocumentState]] = field(default_factory=list)  # Claims and their new cells.
    overdue: list[StoredState] = field(default_factory=list)  # Cells of claims whose writers have crashed.
    expired: list[StoredState] = field(default_factory=list)  # Cells of originals that have expired.

    def judge_pending(self, claim: Claim, state: DocumentState) -> None:
        """Judge a pending claim, which others can find: it is decided, gives way to an earlier claim, or waits."""
        near = [(neighbour, stored) for neighbour in claim.near if (stored := self.cells[neighbour.id])]
        originals = [(n, decision, stored) for n, stored in near if (decision := stored[0].found_under(n.text))]
        live = [(n, decision) for n, decision, _ in originals if decision.seen >= self.oldest]
        pending = [(n, stored) for n, stored in near if stored[0].state == "pending" and stored[0].text == n.text]
        ahead = [(machine.key_of(stored[0]), n) for n, stored in pending if machine.key_of(stored[0]) < claim.key]
        if live:
            self.own.append((claim, _duplicate(claim, live, self.now)))
        elif claim.is_partial:
            # The original that was found is gone, and other originals were not looked for.
            claim.step = Step.QUERY_AGAIN
        elif ahead:
            self.own.append((claim, machine.give_way(claim, state, min(ahead)[1])))
        elif pending:
            # Each of them sees this claim and gives way, or is decided before it could.
            self.overdue += [stored for n, stored in pending if self.leases.observe(n.id, stored[1])]
        elif originals:
            self.expired += [stored for _, _, stored in originals]
        else:
            self.own.append((claim, machine.as_original(state)))

    def judge_yielded(self, claim: Claim, state: DocumentState) -> None:
        """Judge a claim that gave way to an earlier one: it is its duplicate, waits on, or becomes pending again."""
        awaited = claim.awaited
        stored = self.cells.get(awaited.id) if awaited else None
        if awaited and stored:
            cell, value = stored
            if decision := cell.found_under(awaited.text, self.oldest):
                self.own.append((claim, _duplicate(claim, [(awaited, decision)], self.now)))
                return
            # A later attempt of the awaited claim, with a larger order, is not waited for.
            if cell.is_undecided and cell.text == awaited.text and machine.key_of(cell) < claim.key:
                self.overdue += [stored] if self.leases.observe(awaited.id, value) else []
                return
        # Other claims may have been decided meanwhile: this one becomes pending again, and queries again.
        self.own.append((claim, machine.anew(state, "pending")))


def _duplicate(claim: Claim, originals: Sequence[tuple[Neighbour, DocumentState]], now: int) -> DocumentState:
    ranked = [(rank_of(n.distance, n.similarity, decision.order, n.id), n) for n, decision in originals]
    _, best = min(ranked)
    named = Outcome("duplicate", best.id, best.distance, best.similarity, best.containment, best.text)
    return machine.as_duplicate(claim, named, now=now)
