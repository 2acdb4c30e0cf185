"""Changing document cells, and finding out what became of it."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from simhash_hbase.errors import StoreTimeout, StoreUnavailable
from simhash_hbase.index.answers import as_decision
from simhash_hbase.index.claim.state import Claim, Run, Step, renewed
from simhash_hbase.index.documentrows import StoredState, document_cells, read_states
from simhash_hbase.index.timestamps import claim_time
from simhash_hbase.index.write import Change, drop_members, put_first, refresh_within, removal
from simhash_hbase.rows.documents import DocumentState, encode
from simhash_hbase.rows.keys import document_row, id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell, Swap

UNANSWERED = (StoreTimeout, StoreUnavailable)
STEPS = {"pending": Step.WRITE, "yielded": Step.LOOK}

NewCells: TypeAlias = Sequence[tuple[Claim, DocumentState]]
"""Claims, and what their own cells are to say."""


def commit(run: Run, cells: NewCells) -> None:
    """Change the own cells of claims, all in one round of calls."""
    put, swapped = [], []
    for claim, new in cells:
        claim.stamp = max(claim.stamp, new.stamp)
        # To put a pending cell is cheaper than to compare and set it. A family with a time to live takes so old a cell
        # for expired. A delete that `vacuum` made hides it: then the second attempt compares and sets.
        if new.state == "pending" and claim.value is None and not claim.failed and run.profile.ttl_ms is None:
            put.append((claim, new))
        else:
            swapped.append((claim, new))
    _write(run, put, is_first=True)
    _write(run, swapped, is_first=False)


def _write(run: Run, cells: NewCells, *, is_first: bool) -> None:
    """Put cells into empty ones, or compare and set them; then take over those that stand, and look at the others."""
    if not cells:
        return
    values = [encode(new) for _, new in cells]
    try:
        if is_first:
            # A later compare-and-set that finds the value there proves that everybody saw it in between.
            columns = zip(cells, values, strict=True)
            written = put_first(
                run.store,
                [Cell(claim.row, STATE_QUALIFIER, value, claim_time(new.token)) for (claim, new), value in columns],
            )
        else:
            # Before a document is decided a duplicate, its original lists it as a copy.
            if duplicates := [(claim.at, new) for claim, new in cells if new.is_duplicate]:
                places, states = zip(*duplicates, strict=True)
                run.store.put(FAMILY_DOCUMENTS, document_cells(run.entries.take(places), states))
            swaps = [Swap(c.row, STATE_QUALIFIER, c.value, value) for (c, _), value in zip(cells, values, strict=True)]
            written = run.store.compare_and_set(swaps)
    except UNANSWERED:
        written = [False] * len(cells)
    results = list(zip(cells, values, written, strict=True))
    _arrive(run, [(claim, new, value) for (claim, new), value, stands in results if stands])
    look_again(run, [claim for (claim, _), _, stands in results if not stands])


def look_again(run: Run, claims: Sequence[Claim]) -> None:
    """Read the own cells of claims whose compare-and-set was refused or not answered, and go on from there."""
    if not claims:
        return
    arrived = []
    for claim, stored in zip(claims, read_states(run.store, [claim.id for claim in claims]), strict=True):
        cell, value = stored or (None, b"")
        # Another writer may have begun to move what was decided here.
        ours = [state for state in (cell, cell and cell.previous) if state is not None and state.token == claim.token]
        decided = [state for state in ours if not state.is_undecided and state.state != "aborted"]
        if decided or (cell is not None and cell in ours and cell.is_undecided):
            arrived.append((claim, *((decided[0], value) if decided else (ours[0], value))))
        else:
            run.start_over(claim)
    _arrive(run, arrived)


def _arrive(run: Run, claims: Sequence[tuple[Claim, DocumentState, bytes]]) -> None:
    """Take over what the own cells hold now."""
    changes = []
    for claim, new, value in claims:
        # When a claim is decided, the member or copy of the decision before it goes. The member of a claim that ends as
        # a duplicate is left to `vacuum`: that saves a call.
        before = claim.state and claim.state.shown()
        changes.append(Change(claim.at, claim.row, before, claim.value, new))
        claim.state, claim.value, claim.written_s = new, value, run.timer.monotonic()
        if new.is_undecided:
            claim.step = STEPS[new.state]
        else:
            run.answer(claim, as_decision(new))
    drop_members(run.store, changes)


def renew(run: Run, claims: Iterable[Claim]) -> None:
    """Show other writers that this one is alive."""
    due = run.timer.monotonic() - run.profile.lease_s / 3
    holders = [claim for claim in claims if claim.holds_cell and claim.written_s <= due]
    steps = [claim.step for claim in holders]
    commit(run, [(claim, renewed(claim.state, now=run.clock())) for claim in holders if claim.state is not None])
    for claim, step in zip(holders, steps, strict=True):
        # A slow store must not send a claim back to what it is just doing.
        if claim.holds_cell:
            claim.step = step


def give_up(run: Run, cells: Iterable[StoredState]) -> None:
    """Put back the cells of crashed writers; whether it was done is seen by the next look."""
    swaps = [
        Swap(document_row(id_digest(state.id)), STATE_QUALIFIER, value, encode(state.abandoned()))
        for state, value in {state.id: (state, value) for state, value in cells}.values()
    ]
    _swap(run, swaps)


def bury(run: Run, cells: Iterable[StoredState]) -> None:
    """Remove originals that have expired: only then are they no obstacle, to this writer and to others."""
    changes = []
    for at, (state, value) in enumerate({cell[0].id: cell for cell in cells}.values()):
        change = removal(at, state, value)
        if state.is_undecided:
            # The decision before it has expired; the claim goes on.
            change = change._replace(new=msgspec.structs.replace(state, previous=None))
        changes.append(change)
    swaps = [Swap(change.row, STATE_QUALIFIER, change.old_value, encode(change.new)) for change in changes]
    buried = [change for change, done in zip(changes, _swap(run, swaps), strict=True) if done]
    _follow(run, buried)
    drop_members(run.store, buried)


def _follow(run: Run, changes: Sequence[Change]) -> None:
    """Take over what a burial or a refresh wrote into the cells of undecided claims of this batch.

    A claim that missed it would start over, and be decided after later documents of the input.
    """
    claims = {(claim.id, claim.value): claim for claim in run.claims if claim.answer is None}
    for change in changes:
        if claim := claims.get((change.new.id, change.old_value)):
            claim.state, claim.value = change.new, encode(change.new)


def refresh(run: Run, originals: Iterable[str | None]) -> set[str]:
    """Write down that originals were named; return those that have to be looked at again."""
    named = sorted({name for name in originals if name is not None})
    try:
        made, refused = refresh_within(run.store, run.profile, named, now=run.clock()) if named else ((), ())
    except UNANSWERED:
        return set(named)
    _follow(run, made)
    return {change.new.id for change in refused}


def _swap(run: Run, swaps: Sequence[Swap]) -> list[bool]:
    """Change cells of other writers: what is refused or not answered is seen by the next look."""
    try:
        return run.store.compare_and_set(swaps) if swaps else []
    except UNANSWERED:
        return [False] * len(swaps)
