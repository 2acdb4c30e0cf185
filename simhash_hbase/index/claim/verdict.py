"""The verdict on a claim: its neighbours' cells decide whether it stands, gives way, becomes a duplicate or waits."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from simhash_hbase.index.claim.run import Run
from simhash_hbase.index.claim.state import Claim, Neighbour, Step, anew, as_duplicate, as_original, give_way, key_of
from simhash_hbase.index.dedup import rank_of
from simhash_hbase.index.documentrows import StoredState, read_states
from simhash_hbase.index.write import Outcome
from simhash_hbase.rows.documents import DocumentState


@dataclass(slots=True)
class _Verdicts:
    """What a look at the neighbours of many claims says has to be written."""

    oldest: int
    now: int
    own: list[tuple[Claim, DocumentState]] = field(default_factory=list)
    overdue: list[StoredState] = field(default_factory=list)
    expired: list[StoredState] = field(default_factory=list)


def look(run: Run, claims: Sequence[Claim]) -> None:
    """Read the neighbours' cells, then decide, give way, or leave a claim as it is: it waits."""
    names = sorted({neighbour.id for claim in claims for neighbour in claim.near})
    cells = dict(zip(names, read_states(run.store, names) if names else (), strict=True))
    now = run.clock()
    verdicts = _Verdicts(run.profile.oldest(now), now)
    for claim in claims:
        if claim.state is not None and claim.state.state == "yielded":
            _judge_yielded(run, claim, claim.state, cells, verdicts)
        elif claim.state is not None:
            _judge_pending(run, claim, claim.state, cells, verdicts)
    run.give_up(verdicts.overdue)
    run.bury(verdicts.expired)
    changed = run.refresh([new.of for _, new in verdicts.own])
    run.commit([(claim, new) for claim, new in verdicts.own if new.of not in changed])


def _judge_pending(
    run: Run, claim: Claim, state: DocumentState, cells: dict[str, StoredState | None], verdicts: _Verdicts
) -> None:
    near = [(neighbour, stored) for neighbour in claim.near if (stored := cells[neighbour.id])]
    originals = [(n, decision, stored) for n, stored in near if (decision := stored[0].found_under(n.text))]
    live = [(n, decision) for n, decision, _ in originals if decision.seen >= verdicts.oldest]
    pending = [(n, stored) for n, stored in near if stored[0].state == "pending" and stored[0].text == n.text]
    ahead = [(key_of(stored[0]), n) for n, stored in pending if key_of(stored[0]) < claim.key]
    if live:
        verdicts.own.append((claim, _duplicate(claim, live, verdicts.now)))
    elif claim.is_partial:
        # The original that was found is gone, and who else is there was not looked for.
        claim.step = Step.QUERY_AGAIN
    elif ahead:
        verdicts.own.append((claim, give_way(claim, state, min(ahead)[1])))
    elif pending:
        # Each of them sees this claim and gives way, or is decided before it could.
        verdicts.overdue += [stored for n, stored in pending if run.leases.observe(n.id, stored[1])]
    elif originals:
        verdicts.expired += [stored for _, _, stored in originals]
    else:
        verdicts.own.append((claim, as_original(state)))


def _judge_yielded(
    run: Run, claim: Claim, state: DocumentState, cells: dict[str, StoredState | None], verdicts: _Verdicts
) -> None:
    awaited = claim.awaited
    stored = cells.get(awaited.id) if awaited else None
    decision = stored[0].found_under(awaited.text, verdicts.oldest) if awaited and stored else None
    if awaited and decision:
        verdicts.own.append((claim, _duplicate(claim, [(awaited, decision)], verdicts.now)))
    elif awaited and stored and _is_ahead(claim, awaited, stored[0]):
        verdicts.overdue += [stored] if run.leases.observe(awaited.id, stored[1]) else []
    else:
        # Others may have passed by meanwhile: it stands again, and queries again.
        verdicts.own.append((claim, anew(state, "pending")))


def _is_ahead(claim: Claim, awaited: Neighbour, cell: DocumentState) -> bool:
    """Return whether the one waited for is still under way; another attempt, with a larger order, is not waited for."""
    return cell.is_undecided and cell.text == awaited.text and key_of(cell) < claim.key


def _duplicate(claim: Claim, originals: Sequence[tuple[Neighbour, DocumentState]], now: int) -> DocumentState:
    ranked = [(rank_of(n.distance, n.similarity, decision.order, n.id), n) for n, decision in originals]
    _, best = min(ranked)
    named = Outcome("duplicate", best.id, best.distance, best.similarity, best.containment, best.text)
    return as_duplicate(claim, named, now=now)
