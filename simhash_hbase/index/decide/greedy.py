"""Deciding a batch greedily, in input order: each document against what a store holds and what was kept before it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.index.answers import Decision, as_decision
from simhash_hbase.index.candidates import Reach, find_crowded
from simhash_hbase.index.lookup import asked_prefixes
from simhash_hbase.index.search import Hit
from simhash_hbase.index.write import Outcome
from simhash_hbase.profile import Profile
from simhash_hbase.profile.near import MatchRule, Sketches, distances, joined_within, judge, known_similarity
from simhash_hbase.rows.collections import collection_of
from simhash_hbase.rows.documents import DocumentState, Text
from simhash_hbase.rows.entries import Entries

if TYPE_CHECKING:
    from simhash_hbase.index.decide.exact import TextJudge


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
    text: Text
    mate: int | None = None  # Its position, if it is of the same batch.


ORIGINAL = Outcome("original")


class Batch:
    """The undecided documents of one batch, and everything they are compared with."""

    def __init__(
        self,
        entries: Entries,
        states: Sequence[DocumentState | None],
        profile: Profile,
        now: int,
        judge: "TextJudge | None" = None,
    ) -> None:
        self.entries = entries
        self.outcomes: list[Outcome] = []
        self.mates: list[int | None] = []
        """For a duplicate of a document that was kept before in this batch: its position."""
        self.leaving: list[set[int]] = [set() for _ in entries.ids]
        """For each document: earlier ones whose old text is within its reach and is about to be replaced."""
        self.left_by: list[set[int]] = [set() for _ in entries.ids]
        """The same for later documents; their old text still counts."""
        self._texts = entries.texts()
        # Numbers of the collections; None if all are of one.
        names = list(map(collection_of, entries.ids))
        self._collections = np.unique(names, return_inverse=True)[1] if len(set(names)) > 1 else None
        self._now = now
        self._judge = judge
        self._rule: MatchRule = profile.rule
        self._sketches = Sketches.of_entries(entries)
        self._reach = Reach.of(profile, profile.rule)
        self._prefixes = asked_prefixes(profile, entries, profile.rule)
        self._crowded = _crowded(entries.simhashes, self._prefixes, self._reach).tolist()
        # Positions of documents that were kept, and that others of the batch are near to.
        self._kept = np.empty(len(entries), np.intp)
        self._kept_count = 0
        self._end = len(entries)
        self._stored: list[Option | None] = [None] * self._end
        # Ids whose own earlier text stands in the index until their turn comes.
        self._moving = {entries.ids[at]: at for at, state in enumerate(states) if state is not None}

    def offer(self, at: int, hit: Hit) -> bool:
        """Remember an original of a store; return whether it stays one whatever the batch becomes."""
        state, similarity = hit.state, hit.similarity
        if self._judge is not None:
            accepted, similarity = self._judge.judge_stored(at, hit)
            if not accepted:
                return False
        turn = self._moving.get(state.id, self._end)
        if turn < at:
            self.leaving[at].add(turn)
        elif turn > at:
            if turn < self._end:
                self.left_by[at].add(turn)
            rank = rank_of(hit.distance, hit.similarity, state.order, state.id)
            self._stored[at] = _better(self._stored[at], Option(rank, similarity, hit.text))
        return turn == self._end

    def decide(self) -> list[Decision]:
        """Go through the batch in order."""
        return [self._decide(at, name) for at, name in enumerate(self.entries.ids)]

    def _decide(self, at: int, name: str) -> Decision:
        best = self._stored[at]
        if self._crowded[at] and (kept := self._kept_option(at)):
            best = _better(best, kept)
        if best is None:
            self._keep(at)
            self.mates.append(None)
            self.outcomes.append(ORIGINAL)
            return Decision(name, True, near=self._judge.uncontained.get(at) if self._judge else None)
        rank = best.rank
        self.mates.append(best.mate)
        self.outcomes.append(Outcome("duplicate", rank.id, rank.distance, best.similarity, best.text))
        return Decision(name, False, rank.id, rank.distance, best.similarity)

    def _keep(self, at: int) -> None:
        if self._crowded[at]:
            self._kept[self._kept_count] = at
            self._kept_count += 1

    def later_near(self, at: int) -> list[int]:
        """Find the later documents of this batch that the rule accepts beside one."""
        later, _, _ = self._accepted(at, np.arange(at + 1, len(self.entries)))
        return [int(turn) for turn in later]

    def _kept_option(self, at: int) -> Option | None:
        """Find the best of the documents of this batch that were kept before."""
        if not self._kept_count:
            return None
        kept, apart, similarities = self._accepted(at, self._kept[: self._kept_count])
        columns = zip(kept.tolist(), apart.tolist(), similarities.tolist(), strict=True)
        options = (self._option(*each) for each in columns)
        if self._judge is None:
            return min(options, default=None, key=lambda o: o.rank)
        for option in sorted(options, key=lambda o: o.rank):
            accepted, similarity = self._judge.judge_mate(at, option.mate or 0, option.rank.id)
            if accepted:
                return option._replace(similarity=similarity)
        return None

    def _accepted(
        self, at: int, others: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.uint8], NDArray[np.float64]]:
        """Judge a document beside others of this batch; return those accepted, with distances and similarities."""
        simhashes = self.entries.simhashes
        apart = distances(simhashes[others], simhashes[at])
        blocks, bands = slice(self._reach.tables), slice(self._reach.tables, None)
        near = apart <= self._reach.blocks
        if self._reach.bands is not None:
            # Two that have no sketch seem to share all sketch rows: the rule knows better.
            far = np.flatnonzero(~near & (apart <= self._reach.bands[-1]))
            shared = (self._prefixes[others[far], bands] == self._prefixes[at, bands]).sum(axis=1)
            near[far] = apart[far] <= joined_within(self._reach.bands, shared)
        if self._collections is not None:
            near &= self._collections[others] == self._collections[at]
        others, apart = others[near], apart[near]
        # Only what a scan would find counts: so a batch decides as the index would.
        by_blocks = (self._prefixes[others, blocks] == self._prefixes[at, blocks]).any(axis=1)
        own = self._sketches.at(np.array([at]))
        accepted, similarities = judge(self._rule, apart, own, self._sketches.at(others), by_blocks=by_blocks)
        return others[accepted], apart[accepted], similarities[accepted]

    def _option(self, kept: int, distance: int, estimate: float) -> Option:
        similarity = known_similarity(estimate)
        rank = rank_of(distance, similarity, (self._now, kept), self.entries.ids[kept])
        return Option(rank, similarity, self._texts[kept], kept)


def _better(held: Option | None, other: Option) -> Option:
    """Choose the option with the least rank; of equals the one that is held."""
    return other if held is None or other.rank < held.rank else held


def _crowded(simhashes: NDArray[np.uint64], prefixes: NDArray[np.uint64], reach: Reach) -> NDArray[np.bool_]:
    """Tell which documents of a batch have others of it within reach."""
    distinct, first, where, counts = np.unique(simhashes, return_index=True, return_inverse=True, return_counts=True)
    crowded = find_crowded(distinct, prefixes[first, : reach.tables], reach=(reach.blocks,)) | (counts > 1)
    found = np.asarray(crowded[where], np.bool_)
    if reach.bands is not None:
        # A flood of copies was found by its fingerprint: here it counts as one document.
        rows = np.column_stack([simhashes, prefixes[:, reach.tables :]])
        apart, where = np.unique(rows, axis=0, return_inverse=True)
        found |= find_crowded(apart[:, 0], apart[:, 1:], reach=reach.bands)[where.reshape(-1)]
    return found


def rank_of(distance: int, similarity: float | None, order: tuple[int, int], name: str) -> Rank:
    """Rank an original: the nearest comes first, then the most similar, then the earliest."""
    return Rank(distance, 1.0 if similarity is None else -similarity, order, name)


def recorded_decision(text: Text, state: DocumentState | None, oldest: int) -> Decision | None:
    """Repeat what the index holds of an id with the same text; None when it must be decided."""
    decision = state and state.shown(oldest)
    return as_decision(decision) if decision and decision.text.is_same(text) else None


def with_short(profile: Profile, decision: Decision, features: int, length: int) -> Decision:
    """Say of a decision whether the text was short, as the profile says."""
    return replace(decision, short=True) if profile.is_short(features, length) else decision
