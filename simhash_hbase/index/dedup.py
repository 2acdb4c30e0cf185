"""De-duplicating a corpus: greedy, in input order, against the index and itself.

Each document is compared with the originals within reach, in the index or kept before it. Which documents are kept does
not depend on how the input is cut into batches; which original a duplicate names may, where more than a hundred
documents share one fingerprint (see `find_nearest`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.index.answers import Decision, NearCopy, recorded_decision
from simhash_hbase.index.candidates import find_crowded_documents
from simhash_hbase.index.documentrows import DocumentCells, decisions_in_force, find_documents, read_states
from simhash_hbase.index.exact import TextJudge, TextVerdict
from simhash_hbase.index.search import Hit, Queries, find_nearest, found_since
from simhash_hbase.index.timestamps import decision_time, writing_time
from simhash_hbase.index.write import Outcome, refresh_documents, write_documents
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import distances, estimated_containment, joined_within, judge, known_similarity
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.collections import collection_of, own_id
from simhash_hbase.rows.documentcells import DocumentState, Text, is_of_removed
from simhash_hbase.stores.base import Store

ORIGINAL = Outcome("original")


class Plan(NamedTuple):
    """What a batch is to become."""

    decisions: list[Decision]  # One a document.
    entries: Entries  # The documents that have no recorded decision.
    outcomes: list[Outcome]  # One for each of `entries`.
    cells: DocumentCells  # What the place that is written to holds of `entries`.
    seen: list[str]  # Ids that were offered again or named as originals that stand.
    expired: list[str]  # Originals within reach that were not seen for too long.


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
    judge : TextJudge, optional
        Looks at the texts of pairs that the sketches bring together; it is used for one corpus.

    Notes
    -----
    Other writers of the same documents meanwhile are not arbitrated.
    """

    def __init__(
        self, store: Store, profile: Profile, *, scratch: Store | None = None, judge: TextJudge | None = None
    ) -> None:
        self._places = [store] if scratch is None else [store, scratch]
        self._profile = profile
        self._judge = judge
        self._searched = profile if judge is None else judge.candidates

    def decide(self, entries: Entries, *, now: int, texts: Sequence[str] = ()) -> list[Decision]:
        """Decide a batch and write it; return one decision a document, of an id with a known text the recorded one.

        Parameters
        ----------
        entries : Entries
            The next documents of the corpus, in its order; no id that was in an earlier batch, none twice.
        now : int
            Milliseconds since 1970, higher than in the batch before.
        texts : sequence of str
            One a document, where texts are judged.

        Raises
        ------
        InvalidArgument
            When an id is there twice.
        """
        now = writing_time(self._places[-1], now)
        if self._judge is not None:
            self._judge.begin(entries, texts)
        plan = self.plan(entries, now=now)
        write_documents(self._places[-1], self._profile, plan.entries, plan.outcomes, now=now, cells=plan.cells)
        if len(self._places) == 1:
            refresh_documents(self._places[0], self._profile, plan.seen, now=now)
        if self._judge is not None:
            for text, decision in zip(entries.texts, plan.decisions, strict=True):
                if decision.is_original:
                    self._judge.keep(text)
        return plan.decisions

    def plan(self, entries: Entries, *, now: int) -> Plan:
        """Decide a batch without writing it; parameters and errors as for `decide`."""
        if len(set(entries.ids)) != len(entries.ids):
            raise InvalidArgument("an id is in one batch twice")
        target = self._places[-1]
        own = find_documents(target, entries.ids, below=decision_time(target, len(entries)))
        # A dry run's own word comes before the index's.
        states = decisions_in_force(own, *(find_documents(store, entries.ids) for store in self._places[:-1]))
        oldest = self._profile.oldest(now)
        recorded = [recorded_decision(*each, oldest) for each in zip(entries.texts, states, strict=True)]
        fresh = [at for at, decision in enumerate(recorded) if decision is None]
        if self._judge is not None:
            for text, decision in zip(entries.texts, recorded, strict=True):
                if decision is not None and decision.is_original:
                    self._judge.keep(text)
        batch = UndecidedBatch(
            entries.take(fresh) if len(fresh) < len(entries) else entries,
            [states[at] for at in fresh],
            self._searched,
            now,
            self._judge,
        )

        def take_hit_unless_decided_again(at: int, hit: Hit) -> bool:
            # A dry run's own word replaces the index's.
            return read_states(target, [hit.state.id]) == [None] and batch.take_hit(at, hit)

        for store in self._places:
            # Whatever the limits of the index say, nothing is left out: a decision must not rest on a part.
            take_hit = batch.take_hit if store is target else take_hit_unless_decided_again
            find_nearest(store, batch.queries, found_since(0), take_hit)
        decided = dict(zip(fresh, batch.decide(), strict=True))
        decisions = [decision or decided[at] for at, decision in enumerate(recorded)]
        self._mark_removed(entries, decisions, decided, states, oldest)
        repeated = [decision.id for at, decision in enumerate(decisions) if at not in decided]
        named = [decision.of for decision in decisions if decision.of is not None and not decision.of_removed]
        sizes = zip(decisions, entries.features.tolist(), entries.lengths.tolist(), strict=True)
        return Plan(
            [with_short(self._profile, *each) for each in sizes],
            batch.queries.entries,
            batch.outcomes,
            own.take(fresh),
            list(dict.fromkeys([*repeated, *named])),
            sorted(batch.expired),
        )

    def _mark_removed(
        self,
        entries: Entries,
        decisions: list[Decision],
        decided: dict[int, Decision],
        states: Sequence[DocumentState | None],
        oldest: int,
    ) -> None:
        """Say of recorded duplicates whether their original still stands, at their place in the input."""
        named = [(at, d.of) for at, d in enumerate(decisions) if at not in decided and d.of is not None]
        if not named:
            return
        ids = [of for _, of in named]
        originals = decisions_in_force(*(find_documents(store, ids) for store in reversed(self._places)))
        places = {decision.id: at for at, decision in decided.items()}
        for (at, of), state in zip(named, originals, strict=True):
            original = state and state.found(oldest)
            text = original.text if original else None
            if (place := places.get(of, at)) < at:
                # It was decided anew before this document's turn.
                text = entries.texts[place] if decided[place].is_original else None
            duplicate = states[at]
            if is_of_removed(duplicate.of_text if duplicate else None, text):
                decisions[at] = replace(decisions[at], of_removed=True)


class Rank(NamedTuple):
    """How good an original is for a duplicate; the least is taken."""

    distance: int
    dissimilarity: float
    order: tuple[int, int]
    id: str


class OriginalOption(NamedTuple):
    """An original that a document may be a duplicate of."""

    rank: Rank
    similarity: float | None
    containment: float | None
    text: Text
    mate: int | None = None  # Its position, if it is of the same batch.


class UndecidedBatch:
    """The undecided documents of one batch, and everything they are compared with."""

    def __init__(
        self,
        entries: Entries,
        states: Sequence[DocumentState | None],
        profile: Profile,
        now: int,
        judge: TextJudge | None = None,
    ) -> None:
        self._texts = entries.texts
        self.queries = Queries.of(profile, entries)
        self.outcomes: list[Outcome] = []
        self.mates: list[int | None] = []
        """For a duplicate of a document that was kept before in this batch: its position."""
        self._leaving: list[set[int]] = [set() for _ in entries.ids]
        """For each document: earlier ones whose old text is within its reach and is about to be replaced."""
        self._left_by: list[set[int]] = [set() for _ in entries.ids]
        """The same for later documents; their old text still counts."""
        # Numbers of the collections; None if all are of one.
        names = list(map(collection_of, entries.ids))
        self._collections = np.unique(names, return_inverse=True)[1] if len(set(names)) > 1 else None
        self._now = now
        self._oldest = profile.oldest(now)
        self.expired: set[str] = set()
        """Originals within reach that were not seen for too long."""
        self._judge = judge
        self._crowded = find_crowded_documents(entries.simhashes, self.queries.prefixes, self.queries.reach).tolist()
        # Positions of documents that were kept, and that others of the batch are near to.
        self._kept = np.empty(len(entries), np.intp)
        self._kept_count = 0
        self._end = len(entries)
        self._stored: list[OriginalOption | None] = [None] * self._end
        # For documents: the first near copy that does not hold enough of them.
        self._uncontained: dict[int, NearCopy] = {}
        # Ids whose own earlier text stands in the index until their turn comes.
        self._moving = {entries.ids[at]: at for at, state in enumerate(states) if state is not None}

    def take_hit(self, at: int, hit: Hit) -> bool:
        """Remember an original of a store; return whether it stays one whatever the batch becomes."""
        state, similarity, containment = hit.state, hit.similarity, hit.containment
        if state.seen < self._oldest:
            self.expired.add(state.id)
            return False
        if self._judge is not None:
            verdict = self._judge.judge_stored(self._texts[at], hit)
            if not self._accept(at, state.id, verdict):
                return False
            similarity, containment = verdict.similarity, verdict.containment
        turn = self._moving.get(state.id, self._end)
        if turn < at:
            self._leaving[at].add(turn)
        elif turn > at:
            if turn < self._end:
                self._left_by[at].add(turn)
            rank = rank_of(hit.distance, hit.similarity, state.order, state.id)
            option = OriginalOption(rank, similarity, containment, hit.text)
            self._stored[at] = _better(self._stored[at], option)
        return turn == self._end

    def decide(self) -> list[Decision]:
        """Go through the batch in order."""
        decisions = []
        for at, name in enumerate(self.queries.entries.ids):
            best = self._stored[at]
            if self._crowded[at] and (kept := self._best_kept(at)):
                best = _better(best, kept)
            if best is not None:
                self.mates.append(best.mate)
                likeness = best.rank.id, best.rank.distance, best.similarity, best.containment
                self.outcomes.append(Outcome("duplicate", *likeness, best.text))
                decisions.append(Decision(name, False, *likeness))
                continue
            if self._crowded[at]:
                self._kept[self._kept_count] = at
                self._kept_count += 1
            self.mates.append(None)
            self.outcomes.append(ORIGINAL)
            decisions.append(Decision(name, True, near=self._uncontained.get(at)))
        return decisions

    def later_near(self, at: int) -> list[int]:
        """Find the later documents of this batch that the rule accepts beside one."""
        later, _, _ = self._accepted_mates(at, np.arange(at + 1, self._end))
        return [int(turn) for turn in later]

    def earlier_mates(self) -> list[set[int]]:
        """List for each document those before it in the batch that have to be decided first."""
        held = [
            {*leaving, *(() if mate is None else (mate,))}
            for leaving, mate in zip(self._leaving, self.mates, strict=True)
        ]
        open_: set[int] = set()
        for at, mate in enumerate(self.mates):
            if not held[at]:
                continue
            later = set(self._left_by[at])
            # A held document without a plan may become anything: what is near it waits, or it would be decided before.
            if held[at] != {mate} or mate in open_:
                open_.add(at)
                later.update(self.later_near(at))
            for turn in later:
                held[turn].add(at)
        return held

    def _best_kept(self, at: int) -> OriginalOption | None:
        """Find the best of the documents of this batch that were kept before."""
        if not self._kept_count:
            return None
        kept, apart, similarities = self._accepted_mates(at, self._kept[: self._kept_count])
        ids = self.queries.entries.ids
        options = []
        for mate, distance, estimate in zip(kept.tolist(), apart.tolist(), similarities.tolist(), strict=True):
            similarity = known_similarity(estimate)
            numbers = (int(self.queries.entries.shingles[place]) for place in (at, mate))
            share = estimated_containment(similarity, *numbers)
            rank = rank_of(distance, similarity, (self._now, mate), ids[mate])
            options.append(OriginalOption(rank, similarity, share, self._texts[mate], mate))
        if self._judge is None:
            return min(options, default=None, key=lambda o: o.rank)
        for option in sorted(options, key=lambda o: o.rank):
            verdict = self._judge.judge_mate(self._texts[at], option.text)
            if self._accept(at, option.rank.id, verdict):
                return option._replace(similarity=verdict.similarity, containment=verdict.containment)
        return None

    def _accept(self, at: int, name: str, verdict: TextVerdict) -> bool:
        """Return whether a document duplicates an original by their texts; note one that does not hold enough of it."""
        if verdict.is_similar and not verdict.is_contained:
            near = NearCopy(own_id(name), verdict.similarity or 0.0, verdict.containment or 0.0)
            self._uncontained.setdefault(at, near)
        return verdict.is_similar and verdict.is_contained

    def _accepted_mates(
        self, at: int, others: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.uint8], NDArray[np.float64]]:
        """Judge a document beside others of this batch; return those accepted, with distances and similarities."""
        _, entries, rule, reach, prefixes, sketches = self.queries
        apart = distances(entries.simhashes[others], entries.simhashes[at])
        blocks, bands = slice(reach.tables), slice(reach.tables, None)
        near = apart <= reach.blocks
        if reach.bands is not None:
            # Two that have no sketch seem to share all sketch rows: the rule knows better.
            far = np.flatnonzero(~near & (apart <= reach.bands[-1]))
            shared = (prefixes[others[far], bands] == prefixes[at, bands]).sum(axis=1)
            near[far] = apart[far] <= joined_within(reach.bands, shared)
        if self._collections is not None:
            near &= self._collections[others] == self._collections[at]
        others, apart = others[near], apart[near]
        # Only what a scan would find counts: so a batch decides as the index would.
        by_blocks = (prefixes[others, blocks] == prefixes[at, blocks]).any(axis=1)
        own = sketches.at(np.array([at]))
        accepted, similarities = judge(rule, apart, own, sketches.at(others), by_blocks=by_blocks)
        return others[accepted], apart[accepted], similarities[accepted]


def _better(held: OriginalOption | None, other: OriginalOption) -> OriginalOption:
    """Choose the option with the least rank; of equals the one that is held."""
    return other if held is None or other.rank < held.rank else held


def rank_of(distance: int, similarity: float | None, order: tuple[int, int], name: str) -> Rank:
    """Rank an original: the nearest comes first, then the most similar, then the earliest."""
    return Rank(distance, 1.0 if similarity is None else -similarity, order, name)


def with_short(profile: Profile, decision: Decision, features: int, length: int) -> Decision:
    """Say of a decision whether the text was short, as the profile says."""
    return replace(decision, short=True) if profile.is_short(features, length) else decision
