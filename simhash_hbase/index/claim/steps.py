"""The steps of a claim up to its verdict, each for many claims at a time: two queries, and the writes between them."""

from collections.abc import Sequence
from dataclasses import replace

from simhash_hbase.index.answers import Decision, recorded_decision
from simhash_hbase.index.claim.run import Run
from simhash_hbase.index.claim.state import Claim, Neighbour, Step, as_duplicate, as_pending
from simhash_hbase.index.dedup import UndecidedBatch
from simhash_hbase.index.documentrows import read_states
from simhash_hbase.index.search import Hit, Queries, find_nearest, found_since
from simhash_hbase.index.write import Change, WriteBatch
from simhash_hbase.rows.documents import is_of_removed


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
    run.give_up(overdue)


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
    find_nearest(run.store, batch.queries, found_since(oldest), batch.take_hit)
    decisions = batch.decide()
    held = _earlier_mates(batch)
    named = [None if held[at] else decision.of for at, decision in enumerate(decisions)]
    changed = run.refresh(named)
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
    run.commit(wanted)


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
    run.commit(wanted)


def write(run: Run, claims: Sequence[Claim]) -> None:
    """Write members and block rows of pending claims: others' second queries find them from then on."""
    changes = [Change(claim.at, claim.row, None, None, claim.state) for claim in claims if claim.state is not None]
    WriteBatch(run.store, run.profile, run.entries).put_rows_and_members(changes)
    for claim in claims:
        claim.step = Step.QUERY_AGAIN


def second_query(run: Run, claims: Sequence[Claim]) -> None:
    """Find everything within reach, whatever its state: whoever does not find this claim is found by it."""
    is_original = found_since(run.profile.oldest(run.clock()))
    for claim in claims:
        claim.near, claim.is_partial = [], False
        claim.step = Step.LOOK

    def take_hit(at: int, hit: Hit) -> bool:
        claim = claims[at]
        if hit.state.id == claim.id:
            return False
        claim.near.append(Neighbour(hit.state.id, hit.text, hit.distance, hit.similarity, hit.containment))
        # One original in force decides; who else is there matters only where it goes meanwhile.
        enough = is_original(hit.state, hit.text) is not None
        claim.is_partial |= enough
        return enough

    queries = Queries.of(run.profile, run.entries.take([claim.at for claim in claims]))
    find_nearest(run.store, queries, lambda cell, text: cell if text in cell.member_texts() else None, take_hit)


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
        of_text = claim.state.of_text if claim.state else None
        if is_of_removed(of_text, original.text if original else None):
            claim.answer = replace(decision, of_removed=True)
        else:
            seen.append(decision.of)
    run.refresh(seen)
