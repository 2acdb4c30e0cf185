"""Deciding a batch greedily, in input order: each document against what a store holds and what was kept before it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from simhash_hbase.candidates import near_pairs
from simhash_hbase.entries import Entries
from simhash_hbase.hamming import hamming
from simhash_hbase.profile import MatchRule, Profile
from simhash_hbase.records import FOUND_STATES, DocumentState
from simhash_hbase.rowkey import distinct
from simhash_hbase.search import Found, Reached, accept, accepted_hits, sketch_integers
from simhash_hbase.write import Outcome

__all__ = ["Batch", "Decision", "Rank", "rank_of", "recorded_decision", "with_original", "with_short"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one document."""

    id: str
    is_original: bool
    of: str | None = None
    """For a duplicate: the id of the original it is nearest to."""
    distance: int | None = None
    similarity: float | None = None
    """Estimated Jaccard similarity to that original; None without sketches."""
    short: bool = False
    """The text has so few features that near copies may be missed."""
    of_removed: bool = False
    """The original was removed or changed since."""


class Rank(NamedTuple):
    """How good an original is for a duplicate; the least is taken."""

    distance: int
    dissimilarity: float
    order: tuple[int, int]
    id: str


class Option(NamedTuple):
    """An original that a document may be a duplicate of."""

    rank: Rank
    similarity: float | None
    mate: int | None = None
    """Its position, if it is of the same batch."""


class Batch:
    """The undecided documents of one batch, and everything they are compared with.

    Parameters
    ----------
    entries : Entries
        The documents; no id twice.
    states : sequence of DocumentState or None
        What is in force for their ids.
    profile : Profile
        Its rule decides.
    now : int
        Milliseconds since 1970.
    """

    def __init__(self, entries: Entries, states: Sequence[DocumentState | None], profile: Profile, now: int) -> None:
        self.entries = entries
        self.outcomes: list[Outcome] = []
        self.mates: list[int | None] = []
        """For a duplicate of a document that was kept before in this batch: its position."""
        self.leaving: list[set[int]] = [set() for _ in entries.ids]
        """Documents before it in this batch whose earlier text, within its reach, they are about to leave."""
        self.left_by: list[set[int]] = [set() for _ in entries.ids]
        """The same of documents behind it: their earlier text stands until its turn has come."""
        self._now = now
        self._rule: MatchRule = profile.rule
        self._sketches = sketch_integers(entries)
        self._simhashes: list[int] = entries.simhashes.tolist()
        self._kept: dict[int, list[int]] = {}
        self._near = _near_within(profile, entries)
        self._stored: list[list[Option]] = [[] for _ in range(len(entries))]
        # Ids whose own earlier text stands in the index until their turn comes.
        self._moving = {entries.ids[at]: at for at, state in enumerate(states) if state is not None}

    def compare_stored(self, reached: Reached) -> None:
        """Remember for each document the best original that stands in a store."""
        if not self._moving:
            # Of documents with one fingerprint and one sketch only the earliest can be the best.
            members = {simhash: _earliest(some) for simhash, some in reached.members.items()}
            reached = Reached(reached.near, members)
        for at, hit in accepted_hits(reached, self.entries, self._rule):
            state = hit.found.state
            turn = self._moving.get(state.id, len(self.entries))
            if turn < at:
                self.leaving[at].add(turn)
            elif turn > at:
                if turn < len(self.entries):
                    self.left_by[at].add(turn)
                rank = rank_of(hit.distance, hit.similarity, state.order, state.id)
                self._stored[at] = [min([*self._stored[at], Option(rank, hit.similarity)], key=lambda o: o.rank)]

    def decide(self) -> list[Decision]:
        """Go through the batch in order."""
        return [self._decide(at) for at in range(len(self.entries))]

    def _decide(self, at: int) -> Decision:
        name, simhash = self.entries.ids[at], self._simhashes[at]
        best = min([*self._stored[at], *self._kept_options(at)], default=None, key=lambda option: option.rank)
        self.mates.append(best.mate if best else None)
        if best is None:
            self._kept.setdefault(simhash, []).append(at)
            self.outcomes.append(Outcome("original"))
            return Decision(name, True)
        rank = best.rank
        self.outcomes.append(Outcome("duplicate", rank.id, rank.distance, best.similarity))
        return Decision(name, False, rank.id, rank.distance, best.similarity)

    def _kept_options(self, at: int) -> list[Option]:
        """Compare with the documents of this batch that were kept before."""
        simhash, options = self._simhashes[at], []
        for other in (simhash, *self._near.get(simhash, ())):
            distance = hamming(simhash, other)
            for kept in self._kept.get(other, ()):
                accepted, similarity = accept(self._rule, distance, self._sketches[at], self._sketches[kept])
                if accepted:
                    rank = rank_of(distance, similarity, (self._now, kept), self.entries.ids[kept])
                    options.append(Option(rank, similarity, kept))
        return options


def _near_within(profile: Profile, entries: Entries) -> dict[int, list[int]]:
    """List for each fingerprint of a batch the others of it within reach."""
    ascending = distinct(entries.simhashes)
    first, second, _ = near_pairs(profile.blocks, ascending, reach=profile.rule.reach)
    near: dict[int, list[int]] = {}
    for a, b in zip(ascending[first].tolist(), ascending[second].tolist(), strict=True):
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    return near


def _earliest(members: Sequence[Found]) -> list[Found]:
    """Keep of documents with equal sketches the earliest."""
    first: dict[int | None, Found] = {}
    for found in members:
        held = first.get(found.sketch)
        if held is None or (found.state.order, found.state.id) < (held.state.order, held.state.id):
            first[found.sketch] = found
    return list(first.values())


def rank_of(distance: int, similarity: float | None, order: tuple[int, int], name: str) -> Rank:
    """Rank an original: the nearest comes first, then the most similar, then the earliest."""
    return Rank(distance, 1.0 if similarity is None else -similarity, order, name)


def recorded_decision(entries: Entries, at: int, state: DocumentState | None, oldest: int) -> Decision | None:
    """Repeat what the index holds of an id with the same fingerprint; None when it must be decided."""
    if state is None or state.simhash != int(entries.simhashes[at]) or state.seen < oldest:
        return None
    if state.state in FOUND_STATES:
        return Decision(state.id, True)
    if state.state == "duplicate":
        return Decision(state.id, False, state.of, state.distance, state.similarity)
    return None


def with_original(decision: Decision, simhash: int, original: int | None) -> Decision:
    """Say of a recorded duplicate whether its original still stands under the fingerprint that it had."""
    # An original that has moved to another text has another distance now.
    if original is None or hamming(original, simhash) != decision.distance:
        return replace(decision, of_removed=True)
    return decision


def with_short(decision: Decision, entries: Entries, at: int, profile: Profile) -> Decision:
    """Say of a decision whether the text was short, as the profile says."""
    if not profile.is_short(int(entries.features[at]), int(entries.lengths[at])):
        return decision
    return replace(decision, short=True)
