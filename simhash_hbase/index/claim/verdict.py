"""The verdict on a claim: its neighbours' cells decide whether it stands, gives way, becomes a duplicate or waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from simhash_hbase.index.claim.run import Run
from simhash_hbase.index.claim.state import (
    Claim,
    Leases,
    Neighbour,
    Step,
    anew,
    as_duplicate,
    as_original,
    give_way,
    key_of,
)
from simhash_hbase.index.dedup import rank_of
from simhash_hbase.index.documentrows import StoredState, read_states
from simhash_hbase.index.write import Outcome
from simhash_hbase.rows.documents import DocumentState


def look(run: Run, claims: Sequence[Claim]) -> None:
    """Read the neighbours' cells, then decide, give way, or leave a claim as it is: it waits."""
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
    """What a look at the neighbours of many claims says has to be written."""

    cells: Mapping[str, StoredState | None]  # The neighbours' document cells, by their ids.
    leases: Leases
    oldest: int
    now: int
    own: list[tuple[Claim, DocumentState]] = field(default_factory=list)
    overdue: list[StoredState] = field(default_factory=list)
    expired: list[StoredState] = field(default_factory=list)

    def judge_pending(self, claim: Claim, state: DocumentState) -> None:
        """Judge a claim whose members and rows are written."""
        near = [(neighbour, stored) for neighbour in claim.near if (stored := self.cells[neighbour.id])]
        originals = [(n, decision, stored) for n, stored in near if (decision := stored[0].found_under(n.text))]
        live = [(n, decision) for n, decision, _ in originals if decision.seen >= self.oldest]
        pending = [(n, stored) for n, stored in near if stored[0].state == "pending" and stored[0].text == n.text]
        ahead = [(key_of(stored[0]), n) for n, stored in pending if key_of(stored[0]) < claim.key]
        if live:
            self.own.append((claim, _duplicate(claim, live, self.now)))
        elif claim.is_partial:
            # The original that was found is gone, and who else is there was not looked for.
            claim.step = Step.QUERY_AGAIN
        elif ahead:
            self.own.append((claim, give_way(claim, state, min(ahead)[1])))
        elif pending:
            # Each of them sees this claim and gives way, or is decided before it could.
            self.overdue += [stored for n, stored in pending if self.leases.observe(n.id, stored[1])]
        elif originals:
            self.expired += [stored for _, _, stored in originals]
        else:
            self.own.append((claim, as_original(state)))

    def judge_yielded(self, claim: Claim, state: DocumentState) -> None:
        """Judge a claim that gave way to another one."""
        awaited = claim.awaited
        stored = self.cells.get(awaited.id) if awaited else None
        if awaited and stored:
            cell, value = stored
            if decision := cell.found_under(awaited.text, self.oldest):
                self.own.append((claim, _duplicate(claim, [(awaited, decision)], self.now)))
                return
            # Another attempt of the one waited for, with a larger order, is not waited for.
            if cell.is_undecided and cell.text == awaited.text and key_of(cell) < claim.key:
                self.overdue += [stored] if self.leases.observe(awaited.id, value) else []
                return
        # Others may have passed by meanwhile: it stands again, and queries again.
        self.own.append((claim, anew(state, "pending")))


def _duplicate(claim: Claim, originals: Sequence[tuple[Neighbour, DocumentState]], now: int) -> DocumentState:
    ranked = [(rank_of(n.distance, n.similarity, decision.order, n.id), n) for n, decision in originals]
    _, best = min(ranked)
    named = Outcome("duplicate", best.id, best.distance, best.similarity, best.containment, best.text)
    return as_duplicate(claim, named, now=now)
