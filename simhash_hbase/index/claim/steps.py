"""The steps of a claim, each for many claims at a time: two queries, the writes between them, and a look around."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from simhash_hbase.index.answers import Decision
from simhash_hbase.index.claim.commit import bury, commit, give_up, refresh
from simhash_hbase.index.claim.machine import (
    Claim,
    Neighbour,
    Run,
    Step,
    as_duplicate,
    as_original,
    as_pending,
    as_pending_again,
    give_way,
    key_of,
)
from simhash_hbase.index.dedup import UndecidedBatch, rank_of, recorded_decision
from simhash_hbase.index.documentrows import StoredState, read_states
from simhash_hbase.index.search import Hit, find_nearest, found_since
from simhash_hbase.index.write import Change, Outcome, put_documents
from simhash_hbase.rows.documents import DocumentState


def read_own(run: Run, claims: Sequence[Claim]) -> None:
    """Read the own cells: repeat a decision for this text, wait for another attempt, or go on."""
    overdue = []
    oldest = run.profile.oldest(run.clock())
    for claim, stored in zip(claims, read_states(run.store, [claim.id for claim in claims]), strict=True):
        claim.state, claim.value = stored or (None, None)
        if stored is not None and stored[0].is_undecided:
            if run.leases.observe(claim.id, stored[1]):
                overdue.append(stored)
        elif decision := recorded_decision(claim.text, claim.state, oldest):
            claim.is_recorded = True
            run.answer(claim, decision)
        else:
            claim.step = Step.QUERY
    give_up(run, overdue)


def first_query(run: Run, claims: Sequence[Claim]) -> None:
    """Decide as if nobody else wrote; what would be an original becomes pending.

    Held until the earlier document of the batch is decided: a duplicate of it, a document near a text that it is moving
    away from, a document that is moving away from a text near a held one, and a document near a held one whose decision
    is open. Other writers cannot see what is held, so nobody waits for it.
    """
    now = run.clock()
    oldest = run.profile.oldest(now)
    before = [claim.state and claim.state.in_force() for claim in claims]
    batch = UndecidedBatch(run.entries.take([claim.at for claim in claims]), before, run.profile, now)
    find_nearest(run.store, run.profile, batch.entries, found_since(oldest), batch.offer)
    decisions = batch.decide()
    held = _earlier_mates(batch)
    named = [None if held[at] else decision.of for at, decision in enumerate(decisions)]
    changed = refresh(run, named)
    wanted = []
    for at, (claim, decision) in enumerate(zip(claims, decisions, strict=True)):
        if held[at]:
            claim.step = Step.HELD
            claim.mates = [claims[mate] for mate in sorted(held[at])]
            claim.planned = batch.outcomes[at] if held[at] == {batch.mates[at]} else None
        elif decision.is_original:
            wanted.append((claim, as_pending(claim, now=now, oldest=oldest)))
        elif decision.of not in changed:
            wanted.append((claim, as_duplicate(claim, batch.outcomes[at], now=now)))
    commit(run, wanted)


def _earlier_mates(batch: UndecidedBatch) -> list[set[int]]:
    """List for each document those before it in its batch that have to be decided first."""
    held = [{*batch.leaving[at], *(() if mate is None else (mate,))} for at, mate in enumerate(batch.mates)]
    open_: set[int] = set()
    for at, (mate, left_by) in enumerate(zip(batch.mates, batch.left_by, strict=True)):
        if not held[at]:
            continue
        later = set(left_by)
        # A held document without a plan may become anything: what is near it waits, or it would be decided before it.
        if held[at] != {mate} or mate in open_:
            open_.add(at)
            later.update(batch.later_near(at))
        for turn in later:
            held[turn].add(at)
    return held


def release(run: Run, claims: Sequence[Claim]) -> None:
    """Go on with claims whose mates are decided: a duplicate as planned, or from the beginning."""
    now = run.clock()
    wanted = []
    for claim in claims:
        answers = [mate.answer for mate in claim.mates]
        if None in answers:
            continue
        [*_, last] = answers
        if claim.planned is not None and isinstance(last, Decision) and last.is_original:
            wanted.append((claim, as_duplicate(claim, claim.planned, now=now)))
        else:
            claim.step = Step.READ_OWN
    commit(run, wanted)


def write(run: Run, claims: Sequence[Claim]) -> None:
    """Write members and block rows of pending claims: others' second queries find them from then on."""
    changes = [Change(claim.at, claim.row, None, None, claim.state) for claim in claims if claim.state is not None]
    put_documents(run.store, run.profile, run.entries, changes)
    for claim in claims:
        claim.step = Step.QUERY_AGAIN


def second_query(run: Run, claims: Sequence[Claim]) -> None:
    """Find everything within reach, whatever its state: whoever does not find this claim is found by it."""
    entries = run.entries.take([claim.at for claim in claims])
    is_original = found_since(run.profile.oldest(run.clock()))
    for claim in claims:
        claim.near, claim.is_partial = [], False
        claim.step = Step.LOOK

    def offer(at: int, hit: Hit) -> bool:
        claim = claims[at]
        if hit.state.id == claim.id:
            return False
        claim.near.append(Neighbour(hit.state.id, hit.text, hit.distance, hit.similarity))
        # One original in force decides; who else is there matters only where it goes meanwhile.
        enough = is_original(hit.state, hit.text) is not None
        claim.is_partial |= enough
        return enough

    find_nearest(
        run.store, run.profile, entries, lambda cell, text: cell if text in cell.member_texts() else None, offer
    )


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
    give_up(run, verdicts.overdue)
    bury(run, verdicts.expired)
    changed = refresh(run, [new.of for _, new in verdicts.own])
    commit(run, [(claim, new) for claim, new in verdicts.own if new.of not in changed])


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
        verdicts.own.append((claim, as_pending_again(state)))


def _is_ahead(claim: Claim, awaited: Neighbour, cell: DocumentState) -> bool:
    """Return whether the one waited for is still under way; another attempt, with a larger order, is not waited for."""
    return cell.is_undecided and cell.text == awaited.text and key_of(cell) < claim.key


def _duplicate(claim: Claim, originals: Sequence[tuple[Neighbour, DocumentState]], now: int) -> DocumentState:
    ranked = [(rank_of(n.distance, n.similarity, decision.order, n.id), n) for n, decision in originals]
    _, best = min(ranked)
    return as_duplicate(claim, Outcome("duplicate", best.id, best.distance, best.similarity, best.text), now=now)


def see_recorded(run: Run, claims: Sequence[Claim]) -> None:
    """Write down that documents with a decision were offered again; say of duplicates whether their original stands."""
    repeated = [(claim, claim.answer) for claim in claims if isinstance(claim.answer, Decision)]
    if not repeated:
        return
    duplicates = [(claim, decision) for claim, decision in repeated if decision.of is not None]
    oldest = run.profile.oldest(run.clock())
    stored = read_states(run.store, [str(decision.of) for _, decision in duplicates]) if duplicates else []
    seen: list[str | None] = [claim.id for claim, _ in repeated]
    for (claim, decision), cell in zip(duplicates, stored, strict=True):
        original = cell and cell[0].found(oldest)
        if claim.state is None or original is None or not claim.state.names_text(original.text):
            claim.answer = replace(decision, of_removed=True)
        else:
            seen.append(decision.of)
    refresh(run, seen)
