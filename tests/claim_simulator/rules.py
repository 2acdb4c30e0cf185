"""What must hold of every state of the store, and of every change of a document cell.

* No two documents within reach of each other are originals by claim. Only claims are arbitrated: a pair of which one
  came from ``add`` may stand, but not when the ``add`` was acknowledged before the claim began.
* A duplicate names an original within its reach that is decided and in force; or that was, and has been removed, moved
  to another text or expired since it was looked at.
* What is decided for an id and its text never changes, but for a removal, an ``add``, a claim of that id with another
  text once that is decided, and expiry. What a duplicate has just named does not expire.
* No late request of an addition or a removal changes a cell once that was acknowledged.
* Whatever counts as an original or as added is found: its member and block rows are there, and no delete hides them.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple, Optional

FOUND = ("added", "original")
DECIDED = (*FOUND, "duplicate")
UNDECIDED = ("pending", "yielded")
Near = frozenset[frozenset[int]]
"""Pairs of texts within reach of each other."""


class Place(NamedTuple):
    """A document under one of its texts; both are numbers."""

    id: int
    text: int

    def __str__(self) -> str:
        return f"document {self.id} text {self.text}"


class Cell(NamedTuple):
    """What a document cell says."""

    state: str
    text: int
    of: Place | None = None
    seen: int = 1
    """0: so long ago that it may have expired for a writer whose clock runs ahead."""
    previous: Optional["Cell"] = None


class Rows(NamedTuple):
    """What the store holds."""

    cells: Mapping[int, Cell | None]
    findable: Mapping[Place, bool]
    """Whether a query comes upon an original."""
    gone: set[Place]
    """What counted as an original once and was removed, moved or expired."""


def decisions(cell: Cell | None) -> Iterator[Cell]:
    """Yield the decisions that a cell holds: its own, or the one before the claim under way."""
    if cell is not None and cell.state in UNDECIDED:
        cell = cell.previous
    if cell is not None and cell.state in DECIDED:
        yield cell


def originals(cell: Cell | None) -> Iterator[Cell]:
    """Yield the decisions that let a text count as an original."""
    return (each for each in decisions(cell) if each.state in FOUND)


def lost_decisions(before: Cell | None, after: Cell | None) -> list[Cell]:
    """Return the decisions that a change of a cell put an end to."""
    kept = {(each.state, each.text, each.of) for each in decisions(after)}
    return [each for each in decisions(before) if (each.state, each.text, each.of) not in kept]


def wrong_state(near: Near, rows: Rows) -> str | None:
    """Return what is wrong with a state of the store, if anything is."""
    found = {Place(name, each.text): each.state for name, cell in rows.cells.items() for each in originals(cell)}
    claimed = [place for place, state in found.items() if state == "original"]
    for one, other in combinations(claimed, 2):
        if one.id != other.id and _is_near(near, one.text, other.text):
            return f"two originals: {one}, {other}"
    return next((f"an original that queries miss: {place}" for place in found if not rows.findable[place]), None)


def wrong_change(operation, name: int, after: Cell | None, near: Near, rows: Rows) -> str | None:
    """Return what is wrong with a change of a document cell, if anything is; `rows` are those before it."""
    before = rows.cells[name]
    for lost in lost_decisions(before, after):
        if operation.claims and not _may_end(lost, before, after):
            return f"a decision that changed: document {name} was {lost.state}"
        is_expired = lost.state in FOUND and lost.seen == 0
        if operation.claims and is_expired and Place(name, lost.text) in _just_named(rows):
            return f"an original that expired though it had just been named: document {name}"
    made = lost_decisions(after, before) if operation.claims else []
    return next((wrong for each in made if (wrong := _wrong_decision(operation, name, each, near, rows))), None)


def _is_near(near: Near, one: int, other: int) -> bool:
    return one == other or frozenset((one, other)) in near


def _may_end(lost: Cell, before: Cell, after: Cell | None) -> bool:
    """Return whether a claim may end a decision: it moves to another text, or has expired."""
    decided = after is not None and after.state in DECIDED
    moved = decided and after.text != lost.text and lost in (before, before.previous)
    return moved or lost.seen == 0


def _just_named(rows: Rows) -> set[Place]:
    return {cell.of for cell in rows.cells.values() if cell is not None and cell.of is not None and cell.seen}


def _wrong_decision(operation, name: int, decided: Cell, near: Near, rows: Rows) -> str | None:
    if decided.state == "original":
        return _wrong_original(operation, Place(name, decided.text), near, rows)
    of = decided.of
    if not _is_near(near, decided.text, of.text):
        return f"a wrong duplicate: its original, {of}, is not within its reach"
    stands = any(each.text == of.text for each in originals(rows.cells[of.id]))
    return None if stands or of in rows.gone else f"a wrong duplicate: its original, {of}, is not decided"


def _wrong_original(operation, place: Place, near: Near, rows: Rows) -> str | None:
    for added in operation.acknowledged:
        stands = any(each.text == added.text and each.state == "added" for each in originals(rows.cells[added.id]))
        if stands and added.id != place.id and _is_near(near, added.text, place.text):
            return f"two originals: {added} was added before the claim of {place} began"
    return None
