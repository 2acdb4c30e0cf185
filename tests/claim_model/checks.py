"""What must hold of every state, and of every change of a document cell."""

from collections.abc import Mapping
from itertools import combinations

from claim_model.cells import DECIDED, FOUND, Cell, Place, decisions, originals
from claim_model.store import COUNTED, GONE

Near = frozenset[frozenset[int]]
"""Pairs of texts within reach of each other."""


def is_near(near: Near, one: int, other: int) -> bool:
    """Tell whether two texts are within reach of each other."""
    return one == other or frozenset((one, other)) in near


def wrong_state(near: Near, slots: Mapping) -> str | None:
    """Say what is wrong with a state of the store, if anything is."""
    found = {Place(name, each.text): each.state for name, cell in _cells(slots) for each in originals(cell)}
    claimed = [place for place, state in found.items() if state == "original"]
    for one, other in combinations(claimed, 2):
        if one.id != other.id and is_near(near, one.text, other.text):
            return f"two originals: {one}, {other}"
    return next((f"an original that queries miss: {place}" for place in found if not slots[place].is_found), None)


def wrong_change(writer, local, name: int, after: Cell | None, near: Near, slots: Mapping) -> str | None:
    """Say what is wrong with a change of a document cell, if anything is; ``slots`` are those before it."""
    before = slots[name]
    for lost in lost_decisions(before, after):
        if not _may_end(writer, lost, before, after):
            return f"a decision that changed: document {name} was {lost.state}"
        is_expired = lost.state in FOUND and lost.seen == 0
        if writer.claims and is_expired and Place(name, lost.text) in _just_named(slots):
            return f"an original that expired though it had just been named: document {name}"
    made = lost_decisions(after, before) if writer.claims else []
    return next((wrong for each in made if (wrong := _wrong_decision(local, name, each, near, slots))), None)


def wrong_acknowledgement(number: int, slots: Mapping) -> str | None:
    """Say what is wrong with an addition that is acknowledged, if anything is."""
    return None if number in slots[COUNTED] else "an addition that was acknowledged and never stood"


def wrong_late_change(writer, local) -> str | None:
    """Say what is wrong with a late request that changes a cell, if anything is; ``local`` is where its writer is now.

    An addition or a removal that is not acknowledged may take effect at any time, one that is has done so.
    """
    is_over = not writer.claims and writer.is_done(local)
    return "an acknowledged change that a late request undid" if is_over else None


def lost_decisions(before: Cell | None, after: Cell | None) -> list[Cell]:
    """List the decisions that a change of a cell put an end to."""
    kept = {(each.state, each.text, each.of) for each in decisions(after)}
    return [each for each in decisions(before) if (each.state, each.text, each.of) not in kept]


def _cells(slots: Mapping) -> list[tuple[int, Cell]]:
    return [(name, cell) for name, cell in slots.items() if isinstance(name, int) and cell is not None]


def _may_end(writer, lost: Cell, before: Cell, after: Cell | None) -> bool:
    """Removed, added, moved to another text, or expired for a writer whose clock runs ahead."""
    if not writer.claims:
        return True
    decided = after is not None and after.state in DECIDED
    moved = decided and after.text != lost.text and lost in (before, before.previous)
    return moved or (writer.is_fast and lost.seen == 0)


def _just_named(slots: Mapping) -> set[Place]:
    return {cell.of for _, cell in _cells(slots) if cell.of is not None and cell.seen}


def _wrong_decision(local, name: int, decided: Cell, near: Near, slots: Mapping) -> str | None:
    if decided.state == "original":
        return _wrong_original(local, Place(name, decided.text), near, slots)
    of = decided.of
    if not is_near(near, decided.text, of.text):
        return f"a wrong duplicate: its original, {of}, is not within its reach"
    stands = any(each.text == of.text for each in originals(slots[of.id]))
    return None if stands or of in slots[GONE] else f"a wrong duplicate: its original, {of}, is not decided"


def _wrong_original(local, place: Place, near: Near, slots: Mapping) -> str | None:
    for added in local.acknowledged:
        stands = any(each.text == added.text and each.state == "added" for each in originals(slots[added.id]))
        if stands and added.id != place.id and is_near(near, added.text, place.text):
            return f"two originals: {added} was added before the claim of {place} began"
    return None
