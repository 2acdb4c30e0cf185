"""What stands in the way of a claim, by its neighbours' document cells."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from simhash_hbase.index.changes import read_states
from simhash_hbase.index.claim.cells import as_duplicate, as_original, as_pending_again, give_way
from simhash_hbase.index.claim.commit import bury, commit, give_up, refresh
from simhash_hbase.index.claim.machine import Claim, Neighbour, Run, Step, key_of
from simhash_hbase.index.decide.greedy import rank_of
from simhash_hbase.index.write import Outcome
from simhash_hbase.rows.documents import DocumentState

Held = tuple[DocumentState, bytes]


@dataclass(slots=True)
class _Verdicts:
    """What a look at the neighbours of many claims says has to be written."""

    oldest: int
    now: int
    own: list[tuple[Claim, DocumentState]] = field(default_factory=list)
    overdue: list[Held] = field(default_factory=list)
    expired: list[Held] = field(default_factory=list)


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
    give_up(run, verdicts.overdue)
    bury(run, verdicts.expired)
    changed = refresh(run, [new.of for _, new in verdicts.own])
    commit(run, [(claim, new) for claim, new in verdicts.own if new.of not in changed])


def _judge_pending(
    run: Run, claim: Claim, state: DocumentState, cells: dict[str, Held | None], verdicts: _Verdicts
) -> None:
    near = [(neighbour, held) for neighbour in claim.near if (held := cells[neighbour.id])]
    originals = [(n, decision, held) for n, held in near if (decision := held[0].found_under(n.text))]
    live = [(n, decision) for n, decision, _ in originals if decision.seen >= verdicts.oldest]
    pending = [(n, held) for n, held in near if held[0].state == "pending" and held[0].text == n.text]
    ahead = [(key_of(held[0]), n) for n, held in pending if key_of(held[0]) < claim.key]
    if live:
        verdicts.own.append((claim, _duplicate(claim, live, verdicts.now)))
    elif claim.is_partial:
        # The original that was found is gone, and who else is there was not looked for.
        claim.step = Step.QUERY_AGAIN
    elif ahead:
        verdicts.own.append((claim, give_way(claim, state, min(ahead)[1])))
    elif pending:
        # Each of them sees this claim and gives way, or is decided before it could.
        verdicts.overdue += [held for n, held in pending if run.leases.has_expired(n.id, held[1])]
    elif originals:
        verdicts.expired += [held for _, _, held in originals]
    else:
        verdicts.own.append((claim, as_original(state)))


def _judge_yielded(
    run: Run, claim: Claim, state: DocumentState, cells: dict[str, Held | None], verdicts: _Verdicts
) -> None:
    awaited = claim.awaited
    held = cells.get(awaited.id) if awaited else None
    decision = held[0].found_under(awaited.text, verdicts.oldest) if awaited and held else None
    if awaited and decision:
        verdicts.own.append((claim, _duplicate(claim, [(awaited, decision)], verdicts.now)))
    elif awaited and held and _is_ahead(claim, awaited, held[0]):
        verdicts.overdue += [held] if run.leases.has_expired(awaited.id, held[1]) else []
    else:
        # Others may have passed by meanwhile: it stands again, and queries again.
        verdicts.own.append((claim, as_pending_again(state)))


def _is_ahead(claim: Claim, awaited: Neighbour, cell: DocumentState) -> bool:
    """Return whether the one waited for is still under way; another attempt, with a larger order, is not waited for."""
    return cell.is_undecided and cell.text == awaited.text and key_of(cell) < claim.key


def _duplicate(claim: Claim, originals: Sequence[tuple[Neighbour, DocumentState]], now: int) -> DocumentState:
    ranked = [(rank_of(n.distance, n.similarity, decision.order, n.id), n) for n, decision in originals]
    _, best = min(ranked)
    return as_duplicate(claim, Outcome("duplicate", best.id, best.distance, best.similarity, best.text), now=now)
