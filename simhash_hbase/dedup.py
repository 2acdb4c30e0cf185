"""De-duplicating a corpus: greedy, in input order, against the index and itself.

Each document is compared with the originals within reach, in the index or kept before it. The decisions do not depend
on how the input is cut into batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from simhash_hbase.candidates import near_pairs
from simhash_hbase.entries import Entries
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.hamming import hamming
from simhash_hbase.profile import MatchRule, Profile
from simhash_hbase.records import FOUND_STATES, DocumentState
from simhash_hbase.rowkey import distinct
from simhash_hbase.search import Found, Reached, accept, accepted_hits, reach, sketch_integers
from simhash_hbase.stores.base import UNLIMITED, Store
from simhash_hbase.write import Outcome, read_states, refresh_documents, write_documents

__all__ = ["Decision", "Deduplicator"]


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


class Deduplicator:
    """Decides batch after batch which documents are kept, and writes the decisions.

    Parameters
    ----------
    store : Store
        Holds the index; what it holds already always wins.
    profile : Profile
        The index's profile: its rule decides.
    scratch : Store, optional
        Takes the writes instead of `store`, and is searched too: for a dry run.

    Notes
    -----
    Other writers of the same documents meanwhile are not arbitrated.
    """

    def __init__(self, store: Store, profile: Profile, *, scratch: Store | None = None) -> None:
        self._places = [store] if scratch is None else [store, scratch]
        self._profile = profile

    def decide(self, entries: Entries, *, now: int) -> list[Decision]:
        """Decide a batch and write it.

        Parameters
        ----------
        entries : Entries
            The next documents of the corpus, in its order; no id that was in an earlier batch, none twice.
        now : int
            Milliseconds since 1970, higher than in the batch before.

        Returns
        -------
        list of Decision
            One a document. An id that the index held with the same fingerprint gets its recorded answer.

        Raises
        ------
        InvalidArgument
            When an id is there twice.
        """
        if len(set(entries.ids)) != len(entries.ids):
            raise InvalidArgument("an id is in one batch twice")
        states = self._states(entries.ids)
        oldest = self._profile.oldest(now)
        recorded = {at: _recorded(entries, at, state, oldest) for at, state in enumerate(states)}
        fresh = [at for at, decision in recorded.items() if decision is None]
        batch = _Batch(entries.take(fresh), [states[at] for at in fresh], self._profile, now)
        self._compare(batch, now)
        decided = dict(zip(fresh, batch.decide(), strict=True))
        decisions = [recorded[at] or decided[at] for at in range(len(entries))]
        self._mark_removed(entries, decisions, decided, oldest)
        write_documents(self._places[-1], self._profile, batch.entries, batch.outcomes, now=now)
        self._refresh(decisions, decided, now)
        return [_with_short(d, entries, at, self._profile.short) for at, d in enumerate(decisions)]

    def _refresh(self, decisions: Sequence[Decision], decided: dict[int, Decision], now: int) -> None:
        """Being offered again, and being named as an original, counts as seen; not in a dry run."""
        if len(self._places) == 1:
            repeated = [d.id for at, d in enumerate(decisions) if at not in decided]
            named = [d.of for d in decisions if d.of is not None]
            refresh_documents(self._places[0], self._profile, list(dict.fromkeys([*repeated, *named])), now=now)

    def _compare(self, batch: "_Batch", now: int) -> None:
        """Search the index and, in a dry run, what the run would have written.

        Nothing is left out, whatever the limits of the index say: a decision must not rest on a part.
        """
        entries, rule = batch.entries, self._profile.rule
        for store in self._places:
            found = reach(store, self._profile, entries, rule=rule, now=now, rows=UNLIMITED, members=UNLIMITED)
            members = self._not_decided_anew(found.members) if store is not self._places[-1] else found.members
            batch.compare_stored(Reached(found.near, members))

    def _not_decided_anew(self, members: dict[int, list[Found]]) -> dict[int, list[Found]]:
        """Leave out what a dry run has decided again: its own word replaces the index's."""
        ids = [found.state.id for some in members.values() for found in some]
        anew = {name for name, held in zip(ids, read_states(self._places[-1], ids), strict=True) if held is not None}
        return {simhash: [f for f in some if f.state.id not in anew] for simhash, some in members.items()}

    def _states(self, ids: Sequence[str]) -> list[DocumentState | None]:
        """Read what the places hold of ids; a dry run's own word comes before the index's."""
        states: list[DocumentState | None] = [None] * len(ids)
        for store in self._places:
            for at, held in enumerate(read_states(store, ids)):
                states[at] = held[0] if held is not None else states[at]
        return states

    def _mark_removed(
        self, entries: Entries, decisions: list[Decision], decided: dict[int, Decision], oldest: int
    ) -> None:
        """Say of recorded duplicates whether their original still stands, at their place in the input."""
        named = [(at, d.of) for at, d in enumerate(decisions) if at not in decided and d.of is not None]
        states = self._states([of for _, of in named])
        places = {decision.id: at for at, decision in decided.items()}
        for (at, of), state in zip(named, states, strict=True):
            simhash = state.simhash if state and state.state in FOUND_STATES and state.seen >= oldest else None
            if (place := places.get(of, at)) < at:
                # It was decided anew before this document's turn.
                simhash = int(entries.simhashes[place]) if decided[place].is_original else None
            d = decisions[at]
            # An original that has moved to another text has another distance now.
            if simhash is None or hamming(simhash, int(entries.simhashes[at])) != d.distance:
                decisions[at] = replace(d, of_removed=True)


class _Batch:
    """The undecided documents of one batch, and everything they are compared with."""

    def __init__(self, entries: Entries, states: Sequence[DocumentState | None], profile: Profile, now: int) -> None:
        self.entries = entries
        self.outcomes: list[Outcome] = []
        self._now = now
        self._rule: MatchRule = profile.rule
        self._sketches = sketch_integers(entries)
        self._simhashes: list[int] = entries.simhashes.tolist()
        self._kept: dict[int, list[int]] = {}
        self._near = _near_within(profile, entries)
        self._stored: list[list[tuple[Rank, float | None]]] = [[] for _ in range(len(entries))]
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
            if self._moving.get(state.id, len(self.entries)) > at:
                ranked = _rank(hit.distance, hit.similarity, state.order, state.id), hit.similarity
                self._stored[at] = [min([*self._stored[at], ranked], key=lambda pair: pair[0])]

    def decide(self) -> list[Decision]:
        """Go through the batch in order."""
        return [self._decide(at) for at in range(len(self.entries))]

    def _decide(self, at: int) -> Decision:
        name, simhash = self.entries.ids[at], self._simhashes[at]
        best = min([*self._stored[at], *self._kept_ranks(at)], default=None, key=lambda ranked: ranked[0])
        if best is None:
            self._kept.setdefault(simhash, []).append(at)
            self.outcomes.append(Outcome("original"))
            return Decision(name, True)
        rank, similarity = best
        self.outcomes.append(Outcome("duplicate", rank.id, rank.distance, similarity))
        return Decision(name, False, rank.id, rank.distance, similarity)

    def _kept_ranks(self, at: int) -> list[tuple[Rank, float | None]]:
        """Compare with the documents of this batch that were kept before."""
        simhash, ranks = self._simhashes[at], []
        for other in (simhash, *self._near.get(simhash, ())):
            distance = hamming(simhash, other)
            for kept in self._kept.get(other, ()):
                accepted, similarity = accept(self._rule, distance, self._sketches[at], self._sketches[kept])
                if accepted:
                    rank = _rank(distance, similarity, (self._now, kept), self.entries.ids[kept])
                    ranks.append((rank, similarity))
        return ranks


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


def _rank(distance: int, similarity: float | None, order: tuple[int, int], name: str) -> Rank:
    return Rank(distance, 1.0 if similarity is None else -similarity, order, name)


def _recorded(entries: Entries, at: int, state: DocumentState | None, oldest: int) -> Decision | None:
    """Repeat what the index holds of an id with the same fingerprint; None when it must be decided."""
    if state is None or state.simhash != int(entries.simhashes[at]) or state.seen < oldest:
        return None
    if state.state in FOUND_STATES:
        return Decision(state.id, True)
    if state.state == "duplicate":
        return Decision(state.id, False, state.of, state.distance, state.similarity)
    return None


def _with_short(decision: Decision, entries: Entries, at: int, limit: int) -> Decision:
    if not 0 < int(entries.features[at]) < limit:
        return decision
    return replace(decision, short=True)
