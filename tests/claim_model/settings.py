"""Settings in which a few writers meet: who claims, adds and removes what, and what is near to what."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

from claim_model.cells import FOUND, Cell, Member, Place
from claim_model.checks import Near, is_near
from claim_model.claims import Claim
from claim_model.others import Add, Remove
from claim_model.rules import Rules
from claim_model.store import ACKNOWLEDGED, COUNTED, GONE

# The ranks of claims are whole numbers below.
ABOVE_CLAIMS = 10


class Setting(NamedTuple):
    """What `explore` searches."""

    writers: tuple
    near: Near
    slots: Mapping[Hashable, Hashable]
    late: int
    """Requests that may be late."""
    renewals: int
    bytes_repeat: bool
    """Whether a cell may hold again what it held before; else late requests that were refused are forgotten."""


@dataclass(frozen=True)
class Case:
    """A setting in short."""

    writers: tuple[tuple[type, Place, dict[str, Any]], ...]
    near: Near = frozenset()
    held: Mapping[int, Cell] = field(default_factory=dict)
    """Document cells that are there before."""
    late: int = 0
    renewals: int = 0
    ttl: bool = False
    """Documents may expire, so first cells are not put below the clocks."""
    blind: frozenset[tuple[int, int]] = frozenset()
    """Pairs of texts of which a query for the first does not come upon the second; none in the protocol."""

    def setting(self, rules: Rules = Rules()) -> Setting:  # noqa: B008
        """Write it out."""
        places = {place for _, place, _ in self.writers} | {Place(name, cell.text) for name, cell in self.held.items()}
        writers = tuple(self._writer(number, sorted(places), rules) for number in range(len(self.writers)))
        slots: dict[Hashable, Hashable] = {name: self.held.get(name) for name, _ in places}
        slots |= {place: self._member(place) for place in places}
        added = frozenset(Place(name, cell.text) for name, cell in self.held.items() if cell.state == "added")
        slots |= {ACKNOWLEDGED: added, COUNTED: frozenset(), GONE: frozenset()}
        bytes_repeat = not rules.counting or any(kind is not Claim for kind, _, _ in self.writers)
        return Setting(writers, self.near, slots, self.late, self.renewals, bytes_repeat)

    def _writer(self, number: int, places: list[Place], rules: Rules):
        kind, place, options = self.writers[number]
        if kind is Remove:
            return Remove(number, place)
        if kind is Add:
            return Add(number, place, rules, (ABOVE_CLAIMS if rules.above_claims else 0) + (number + 1) / 10, **options)
        rank = 0 if self.ttl else number + 1
        within = tuple(p for p in places if p.id != place.id and self._finds(place.text, p.text))
        return Claim(number, place, within, **{"order": number, "rules": rules, "rank": rank, **options})

    def _finds(self, asked: int, other: int) -> bool:
        return is_near(self.near, asked, other) and (asked, other) not in self.blind

    def _member(self, place: Place) -> Member:
        cell = self.held.get(place.id)
        is_there = cell is not None and cell.text == place.text and cell.state in FOUND
        return Member(written=cell.stamp) if is_there else Member()


def near(*pairs: tuple[int, int]) -> Near:
    """Say which texts are within reach of each other."""
    return frozenset(map(frozenset, pairs))


def joined(rows: Mapping[int, set[str]], *unlike: tuple[int, int]) -> Near:
    """Say which texts share a row, of whatever kind, but for pairs that their sketches call unlike."""
    pairs = {frozenset(pair) for pair in combinations(rows, 2) if rows[pair[0]] & rows[pair[1]]}
    return frozenset(pairs) - near(*unlike)


def claim(name: int, text: int, **options):
    """Let a writer claim a document: its ``order``, its ``clock`` for timestamps, and whether it ``is_fast``."""
    return Claim, Place(name, text), options


def add(name: int, text: int, **options):
    """Let a writer add a document."""
    return Add, Place(name, text), options


def remove(name: int):
    """Let a writer remove a document."""
    return Remove, Place(name, 0), {}


def original(text: int, *, seen: int = 1):
    """Make the cell of an original that is there before."""
    return Cell("original", text, stamp=1, seen=seen)


PAIR = near((0, 1))
CHAIN = near((0, 1), (1, 2))
CLIQUE = near((0, 1), (0, 2), (1, 2))

# All orders of a clique are one, and there are three of a chain, and of a pair of which one is claimed twice. A late
# request makes ten times as many states: one order of each has it.
CLAIMS = {
    "a pair": Case((claim(0, 0), claim(1, 1)), PAIR, late=1, renewals=1),
    "one id twice": Case((claim(0, 0), claim(0, 0)), late=1, renewals=1),
    "one id twice, the second above": Case((claim(0, 0, rank=2), claim(0, 0, rank=1)), late=1, renewals=1),
    "a clique": Case((claim(0, 0), claim(1, 1), claim(2, 2)), CLIQUE, late=1),
    "a chain, an end first": Case((claim(0, 0), claim(1, 1), claim(2, 2)), CHAIN, late=1),
    "a chain, both ends first": Case((claim(0, 0), claim(1, 1, order=2), claim(2, 2, order=1)), CHAIN),
    "a chain, its middle first": Case((claim(0, 0, order=1), claim(1, 1, order=0), claim(2, 2)), CHAIN),
    "one id twice, then a near copy": Case((claim(0, 0), claim(0, 0), claim(1, 1)), PAIR, late=1),
    "one id, a near copy, the id": Case((claim(0, 0), claim(0, 0, order=2), claim(1, 1, order=1)), PAIR),
    "one id twice, the second above, then a near copy": Case(
        (claim(0, 0, rank=2), claim(0, 0, rank=1), claim(1, 1)), PAIR
    ),
    "one id twice with two texts, a near copy of each": Case(
        (claim(0, 0), claim(0, 1, order=2), claim(2, 2, order=1)), near((0, 2), (1, 2))
    ),
    "a near copy, then one id twice": Case((claim(0, 0), claim(0, 0), claim(1, 1, order=-1)), PAIR),
    "a chain by a block row and a sketch row": Case(
        (claim(0, 0), claim(1, 1, order=2), claim(2, 2, order=1)),
        joined({0: {"block", "sketch"}, 1: {"block"}, 2: {"sketch"}}),
    ),
    "a row that all share, a pair that is unlike": Case(
        (claim(0, 0), claim(1, 1, order=2), claim(2, 2, order=1)),
        joined({0: {"sketch"}, 1: {"sketch"}, 2: {"sketch", "block"}}, (0, 1)),
    ),
}
ONE_SIDED = {
    "a pair": Case((claim(0, 0), claim(1, 1)), PAIR, blind=frozenset({(0, 1)})),
    "a pair, the second is blind": Case((claim(0, 0), claim(1, 1)), PAIR, blind=frozenset({(1, 0)})),
    "a chain": Case((claim(0, 0), claim(1, 1), claim(2, 2)), CHAIN, blind=frozenset({(2, 1)})),
}
"""Reach that is not symmetric, which the protocol does not bear."""

HELD = {0: original(0)}
# Another writer's clock is four ahead: more than all timestamps that a run gives out.
ADDS_AND_REMOVALS = {
    "a near copy is added": Case((claim(0, 0), add(1, 1)), PAIR, late=1, renewals=1),
    "the id itself is added": Case((claim(0, 0), add(0, 0)), PAIR, late=1, renewals=1),
    "two claims and an addition": Case((claim(0, 0), claim(1, 1), add(2, 2)), CLIQUE, late=1),
    "the id itself is added, by a clock behind": Case((claim(0, 0, clock=5), add(0, 0), claim(1, 1)), PAIR, late=1),
    "the id is added with another text": Case((claim(0, 0), add(0, 1), claim(1, 2)), near((0, 2))),
    "the original is removed": Case((claim(1, 1), remove(0)), PAIR, HELD, late=1, renewals=1),
    "the original is removed and claimed": Case((claim(1, 1), remove(0), claim(0, 0)), PAIR, HELD, late=1),
    "the original is removed under two claims": Case((claim(1, 1), remove(0), claim(2, 2)), CLIQUE, HELD, late=1),
    "what is claimed is removed": Case((claim(0, 0, clock=5), claim(1, 1), remove(0)), PAIR, late=1),
    "the id is added with another text and removed": Case((claim(0, 0), add(0, 1), remove(0)), late=1),
}

# No claim is among them; what is asked is that late requests undo nothing.
ADDED = {0: Cell("added", 0, stamp=1)}
ADDITIONS = {
    "and a removal": Case((add(0, 0), remove(0)), late=2),
    "and a move": Case((add(0, 0), add(0, 1)), late=2),
    "a move and a removal": Case((add(0, 0), add(0, 1), remove(0)), late=1),
    "twice, and a removal": Case((add(0, 0), add(0, 0), remove(0)), late=1),
    "three texts": Case((add(0, 0), add(0, 1), add(0, 2)), late=1),
    "of what is removed twice": Case((remove(0), add(0, 0), remove(0)), held=ADDED, late=2),
    "twice of what is removed twice": Case((remove(0), add(0, 0), remove(0), add(0, 0)), held=ADDED, late=1),
    "that move there and back": Case((add(0, 1), add(0, 0), add(0, 1)), held=ADDED, late=2),
    "of what is moved and removed": Case((add(0, 1), add(0, 0), remove(0)), held=ADDED, late=1),
}

# Document 0 is an original with text 0 and is claimed with text 3.
MOVES = {
    "beside its old text": Case((claim(0, 3), claim(1, 1)), near((0, 1)), HELD, late=1, renewals=1),
    "beside its new text": Case((claim(0, 3), claim(1, 1)), near((3, 1)), HELD, late=1, renewals=1),
    "beside both texts": Case((claim(0, 3), claim(1, 1)), near((0, 1), (3, 1), (0, 3)), HELD, late=1, renewals=1),
    "one beside each text": Case((claim(0, 3), claim(1, 1), claim(2, 2)), near((0, 1), (3, 2)), HELD),
    "two beside the new text": Case((claim(0, 3), claim(1, 1), claim(2, 2)), near((3, 1), (3, 2), (1, 2)), HELD),
    "moved twice": Case((claim(0, 3), claim(0, 3), claim(1, 1)), near((3, 1)), HELD),
    "moved to two texts": Case((claim(0, 3), claim(0, 4), claim(1, 1)), near((3, 1), (4, 1)), HELD),
    "while its first text is decided": Case((claim(0, 0), claim(0, 3)), late=1, renewals=1),
    "two that change places": Case(
        (claim(0, 3), claim(1, 4)), near((0, 4), (3, 1)), {0: original(0), 1: original(1)}, late=1, renewals=1
    ),
    "added again with the old text": Case((claim(0, 3), add(0, 0), claim(1, 1)), near((0, 1), (3, 1)), HELD, late=1),
    "removed on the way": Case((claim(0, 3), remove(0), claim(1, 1)), near((0, 1), (3, 1)), HELD, late=1),
    "a duplicate that moves": Case(
        (claim(0, 3), claim(1, 1), claim(2, 2)),
        near((0, 1), (3, 2)),
        {0: Cell("duplicate", 0, of=Place(1, 1), stamp=1), 1: original(1)},
    ),
}

OLD = {0: original(0, seen=0)}
EXPIRY = {
    "two clocks": Case((claim(1, 1, is_fast=True), claim(2, 2)), CLIQUE, OLD, late=1, renewals=1, ttl=True),
    "two clocks, and the original itself": Case(
        (claim(1, 1, is_fast=True), claim(2, 2), claim(0, 0)), CLIQUE, OLD, ttl=True
    ),
    "the original itself has expired": Case(
        (claim(1, 1, is_fast=True), claim(0, 0, is_fast=True)), PAIR, OLD, late=1, renewals=1, ttl=True
    ),
    "two clocks, and the original itself has expired": Case(
        (claim(1, 1, is_fast=True), claim(2, 2), claim(0, 0, is_fast=True)), CLIQUE, OLD, ttl=True
    ),
    "an original that moves": Case((claim(0, 3), claim(1, 1, is_fast=True), claim(2, 2)), CLIQUE, OLD, ttl=True),
    "an original that has expired moves": Case(
        (claim(0, 3, is_fast=True), claim(1, 1), claim(2, 2)), CLIQUE, OLD, ttl=True
    ),
}

CASES = {
    **CLAIMS,
    **{f"adds and removals: {name}": case for name, case in ADDS_AND_REMOVALS.items()},
    **{f"additions: {name}": case for name, case in ADDITIONS.items()},
    **{f"a move: {name}": case for name, case in MOVES.items()},
    **{f"expiry: {name}": case for name, case in EXPIRY.items()},
}
