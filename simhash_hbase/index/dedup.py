"""De-duplication of a corpus: greedy, in input order, against the index and the corpus itself.

Each document is compared with the originals that its search rows reach, in the index or kept before it, and becomes an
*original* or a *duplicate* that names its original. Which documents are kept does not depend on how the input is cut
into batches; which original a duplicate names may, where more than a hundred documents share one fingerprint (see
`find_nearest`). A document's *turn* is the moment in this order at which it is decided. A *mate* is another document
of its batch. Documents are given by their *position*, from 0, in the batch.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.index.answers import NearCopy, as_decision
from simhash_hbase.index.candidates import Queries, find_crowded_documents
from simhash_hbase.index.copied import CopiedBatch, Hashes, passage_containment
from simhash_hbase.index.decisions import Decisions
from simhash_hbase.index.documentrows import WriteBatch, read_states, refresh_documents, refresh_within
from simhash_hbase.index.exact import TextJudge
from simhash_hbase.index.members import are_found, found_since
from simhash_hbase.index.search import Further, Hit, find_nearest
from simhash_hbase.index.timestamps import ServerClock
from simhash_hbase.index.write import ReadCells, at_once, write_documents
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import distances, judge, known_likeness, rounded
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.collections import collection_of, own_id
from simhash_hbase.rows.documentcells import DocumentState, Outcome, StoredState, Text, is_of_removed, passages_of
from simhash_hbase.rows.keys import unpack_simhashes
from simhash_hbase.stores.base import Store, Transactional

ORIGINAL = Outcome("original")


class Plan(NamedTuple):
    """The decisions about a batch, with the documents, outcomes and stored cells from which they are written."""

    decisions: Decisions
    entries: Entries  # The documents that have no recorded decision.
    outcomes: list[Outcome]  # An outcome for each of `entries`.
    states: list[StoredState | None]  # The cells of `entries` in the store that is written to.
    seen: list[str]  # Ids to note as seen: of documents offered again, and of originals that duplicates name.
    expired: list[str]  # Originals within reach that were not seen for too long.


class Deduplicator:
    """Decides batch after batch which documents are kept, and writes the decisions.

    Parameters
    ----------
    store : Store
        Holds the index; its originals win over all documents of the corpus.
    profile : Profile
        The index's profile: its rule decides.
    scratch : Store, optional
        For a dry run: a temporary store that is written to instead of `store`; both are searched.
    judge : TextJudge, optional
        Compares the texts of pairs that may be similar by their sketches, and decides; it is used for one corpus.
    server_clock : ServerClock, optional
        The clock of the server of `store`, if the caller has such an object already; else one is made.

    Notes
    -----
    Documents that other writers add at the same time may be missed: use a claim (`simhash_hbase.index.claim`) then.
    """

    def __init__(
        self,
        store: Store,
        profile: Profile,
        *,
        scratch: Store | None = None,
        judge: TextJudge | None = None,
        server_clock: ServerClock | None = None,
    ) -> None:
        self._places = [store] if scratch is None else [store, scratch]
        self._server_clock = server_clock if server_clock and scratch is None else ServerClock(self._places[-1])
        self._profile = profile
        self._judge = judge
        self._searched = profile if judge is None else judge.candidates

    @property
    def target(self) -> Store:
        """The store to which decisions are written: the scratch store, if there is one."""
        return self._places[-1]

    def decide(self, entries: Entries, *, now: int, texts: Sequence[str] = ()) -> Decisions:
        """Decide a batch, write the decisions and return them; a known id with the same text keeps its decision.

        Parameters
        ----------
        entries : Entries
            The next documents of the corpus, in its order; no id that was in an earlier batch, none twice.
        now : int
            Milliseconds since 1970, higher than in the batch before.
        texts : sequence of str
            The text of each document, where texts are judged.

        Raises
        ------
        InvalidArgument
            When an id is in the batch twice.
        """
        target, server_clock = self.target, self._server_clock
        now, below = server_clock.writing_time(now), server_clock.decision_time()
        if self._judge is not None:
            self._judge.begin(entries, texts)
        if isinstance(target, Transactional):
            return at_once(target, entries, partial(self._decide_within, entries, now))
        plan = self.plan(entries, now=now)
        cells = ReadCells(plan.states, below)
        batch = WriteBatch(target, self._profile, plan.entries)
        write_documents(batch, plan.outcomes, server_clock=server_clock, now=now, cells=cells)
        if len(self._places) == 1:
            refresh_documents(target, self._profile, plan.seen, server_clock=server_clock, now=now)
        return plan.decisions

    def _decide_within(self, entries: Entries, now: int) -> Decisions:
        """Decide a batch and write it in the caller's transaction, so that no other writer changes cells meanwhile."""
        plan = self.plan(entries, now=now)
        batch = WriteBatch(self.target, self._profile, plan.entries)
        batch.apply(batch.plan(plan.outcomes, range(len(plan.entries)), plan.states, now=now))
        if len(self._places) == 1:
            refresh_within(self.target, self._profile, plan.seen, now=now)
        return plan.decisions

    def plan(self, entries: Entries, *, now: int) -> Plan:
        """Return the decisions about a batch, and what is to be written for them, without writing it.

        Parameters and errors are those of `decide`.
        """
        if len(set(entries.ids)) != len(entries.ids):
            raise InvalidArgument("an id is in one batch twice")
        target = self.target
        own, states = self._read(entries.ids, entries.id_digests)
        oldest = self._profile.oldest(now)
        known = {at: state.recorded(entries.text(at), oldest) for at, state in enumerate(states) if state is not None}
        recorded = {at: state for at, state in known.items() if state is not None}
        fresh = [at for at in range(len(entries)) if at not in recorded]
        if self._judge is not None:
            for at, state in recorded.items():
                if state.is_found:
                    self._judge.keep(entries.text(at))
        batch = UndecidedBatch(
            entries.take(fresh) if recorded else entries, [states[at] for at in fresh], self._searched, now, self._judge
        )

        def accept_unless_decided_again(at: int, hit: Hit) -> Further:
            # Where a dry run has decided a document anew, its decision replaces that of the index.
            return batch.accept(at, hit) if read_states(target, [hit.state.id]) == [None] else "more"

        for store in self._places:
            # The limits of the index do not apply: a decision must not rest on a part of the documents.
            accept = batch.accept if store is target else accept_unless_decided_again
            find_nearest(store, batch.queries, found_since(0), accept)
        batch.decide(self._places)
        outcomes = dict(zip(fresh, batch.outcomes, strict=True))
        near = {fresh[at]: copy for at, copy in batch.near.items()}
        removed = self._without_original(entries, recorded, outcomes, oldest)
        decided: dict[int, DocumentState | Outcome] = {
            **recorded,
            **{at: outcome for at, outcome in outcomes.items() if outcome is not ORIGINAL or at in near},
        }
        shorts = self._profile.are_short(entries.features, entries.lengths)
        others = {
            at: as_decision(entries.ids[at], each, short=shorts[at], of_removed=at in removed, near=near.get(at))
            for at, each in sorted(decided.items())
        }
        repeated = [state.id for state in recorded.values()]
        named = [decision.of for decision in others.values() if decision.of is not None and not decision.of_removed]
        return Plan(
            Decisions(entries.ids, shorts, others),
            batch.queries.entries,
            batch.outcomes,
            [own[at] for at in fresh],
            list(dict.fromkeys([*repeated, *named])),
            sorted(batch.expired),
        )

    def _read(
        self, ids: Sequence[str], digests: Sequence[bytes] | None = None
    ) -> tuple[list[StoredState | None], list[DocumentState | None]]:
        """Return for each id its document cell in the target store, and its decision in force; None where it has none.

        In a dry run the decision in the scratch store goes before that of the index.
        """
        own, *others = (read_states(store, ids, digests) for store in reversed(self._places))
        cells = own if not others else [next(filter(None, each), None) for each in zip(own, *others, strict=True)]
        return own, [stored and stored[0].in_force() for stored in cells]

    def _without_original(
        self, entries: Entries, recorded: Mapping[int, DocumentState], outcomes: Mapping[int, Outcome], oldest: int
    ) -> set[int]:
        """Return the positions of duplicates by a recorded decision whose original is gone or has another text by now.

        A document of the batch that is decided before them counts with its new text. `outcomes` has the new decisions
        by position, and `oldest`, ms since 1970, is when a document must have been seen to be in the index still.
        """
        duplicates = [(at, state, state.of) for at, state in recorded.items() if state.of is not None]
        if not duplicates:
            return set()
        _, originals = self._read([of for _, _, of in duplicates])
        places = {entries.ids[at]: at for at in outcomes}
        removed = set()
        for (at, state, of), original in zip(duplicates, originals, strict=True):
            text = original.text if original and original.found(oldest) else None
            if (place := places.get(of, at)) < at:
                # The earlier document was decided anew before this document's turn.
                text = entries.text(place) if outcomes[place].of is None else None
            if is_of_removed(state.of_text, text):
                removed.add(at)
        return removed


class Rank(NamedTuple):
    """The rank of an original for a duplicate: the duplicate names the original of least rank, compared as a tuple."""

    distance: int
    dissimilarity: float
    order: tuple[int, int]
    id: str


class OriginalOption(NamedTuple):
    """An original of which a document may be a duplicate, with its rank and likeness for that document."""

    rank: Rank
    similarity: float | None
    containment: float | None
    text: Text
    mate: int | None = None  # Position of the original, if it is of the same batch.


by_rank = attrgetter("rank")


def nearer(one: OriginalOption | None, other: OriginalOption | None) -> OriginalOption | None:
    """Return the better-ranked of two originals; either may be None."""
    return min(one, other, key=by_rank) if one and other else one or other


class UndecidedBatch:
    """Decides the documents of one batch that have no recorded decision, against stored originals and one another.

    First `accept` is called for each stored original that a search finds; then `decide` fills `outcomes` and `mates`.
    """

    def __init__(
        self,
        entries: Entries,
        states: Sequence[DocumentState | None],
        profile: Profile,
        now: int,
        judge: TextJudge | None = None,
        *,
        orders: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        self._orders = orders or [(now, at) for at in range(len(entries))]
        """The order of each document, ms and position: of equally near originals a duplicate names the first."""
        self._rule = profile.rule
        self._copied = CopiedBatch(profile.rule, entries) if profile.match == "copied" else None
        # For each document the stored originals that share passages with it: how rare these are is known at its turn.
        self._open: list[dict[Text, tuple[OriginalOption, Hashes]]] = [{} for _ in entries.ids if self._copied]
        self.queries = Queries.of(profile, entries, replace(profile.rule, share=0.0) if self._copied else None)
        self.outcomes: list[Outcome] = []
        self.mates: list[int | None] = []
        """For each document the position of its original, if that was kept before in this batch; else None."""
        self._replaced: defaultdict[int, set[int]] = defaultdict(set)
        """By a document's position, those of others of the batch whose old, stored text it may be a duplicate of.

        An old text counts until the turn of its document, when the new text replaces it.
        """
        self._oldest = profile.oldest(now)
        self.expired: set[str] = set()
        """The ids of stored originals that are near a document, but were not seen for the time to live."""
        self._judge = judge
        self._crowded = find_crowded_documents(entries.simhashes, self.queries.prefixes, self.queries.reach)
        # For each document the number of its collection; None if all documents are in the same one.
        names = list(map(collection_of, entries.ids))
        self._collections = np.unique(names, return_inverse=True)[1] if len(set(names)) > 1 else None
        # Positions of documents that were kept, and that others of the batch are near to.
        self._kept = np.empty(len(entries), np.intp)
        self._kept_count = 0
        self._end = len(entries)
        self._stored: dict[int, OriginalOption] = {}
        self.near: dict[int, NearCopy] = {}
        """By position of a kept document: the first original that is similar, but holds too little of its text."""
        # By id, the positions of documents that have an earlier text in the index, which stands until their turn comes.
        self._moving = {entries.ids[at]: at for at, state in enumerate(states) if state is not None}

    def accept(self, at: int, hit: Hit) -> Further:
        """Note a stored original, `hit`, that the document at `at` may duplicate; return what else to search for.

        The search calls this for one original after the other, the nearest first. ``done``: nothing farther, since
        the original stays one whatever is decided in the batch. ``other texts``: only originals with other texts,
        since rule ``copied`` judges this text at the document's turn, by how common its passages are then. ``more``:
        further originals of any text.
        """
        state = hit.state
        if state.id == self.queries.entries.ids[at]:
            # Another writer has added the document since its cell was read: it is no original of itself.
            return "more"
        if state.seen < self._oldest:
            self.expired.add(state.id)
            return "more"
        rank = rank_of(hit.distance, hit.similarity, state.order, state.id)
        option = self._judged(at, OriginalOption(rank, hit.similarity, hit.containment, hit.text))
        if option is None:
            return "more"
        turn = self._moving.get(state.id, self._end)
        passages = self._passages_that_decide(at, hit)
        if turn < self._end:
            self._replaced[at].add(turn)
        if turn > at:
            if passages is None:
                self._stored[at] = nearer(self._stored.get(at), option) or option
            else:
                same_text, _ = self._open[at].get(hit.text, (None, None))
                self._open[at][hit.text] = nearer(same_text, option) or option, passages
        if turn < self._end:
            return "more"
        return "done" if passages is None else "other texts"

    def _passages_that_decide(self, at: int, hit: Hit) -> Hashes | None:
        """Return the hashes of an original's passages if rule ``copied`` must judge them at the turn of document `at`.

        None under another rule, for the same text, and where one of both has too few passages for the rule.
        """
        if self._copied is None or (hit.text.digest and hit.text == self.queries.entries.text(at)):
            return None
        passages = unpack_simhashes(passages_of(hit.member))
        return passages if self._copied.decides(at, passages) else None

    def decide(self, stores: Sequence[Store]) -> None:
        """Decide each document of the batch, in order, and fill `outcomes` and `mates`.

        `stores` are those that were searched; under rule ``copied`` the stored rows of passages are counted in them.
        """
        if self._copied is not None:
            others = (passages for some in self._open for _, passages in some.values())
            self._copied.count(stores, others, partial(are_found, self.queries.profile))
        self.outcomes, self.mates = [ORIGINAL] * self._end, [None] * self._end
        for at in self._doubtful():
            best = self._stored.get(at)
            if self._crowded[at] or self._copied is not None:
                best = nearer(best, self._best_kept(at))
            if self._copied is not None:
                copied = (o for o, passages in self._open[at].values() if self._copied.is_copied(at, passages))
                best = nearer(best, min(copied, key=by_rank, default=None))
            if best is not None:
                self.near.pop(at, None)
                self.mates[at] = best.mate
                likeness = best.rank.distance, best.similarity, best.containment
                self.outcomes[at] = Outcome("duplicate", best.rank.id, *likeness, best.text)
                continue
            if self._crowded[at]:
                self._kept[self._kept_count] = at
                self._kept_count += 1
            if self._judge is not None:
                self._judge.keep(self.queries.entries.text(at))
            if self._copied is not None:
                self._copied.keep(at)

    def _doubtful(self) -> Sequence[int]:
        """Return the positions of the documents that `decide` must look at: those that may be duplicates.

        They are all documents where texts are judged or under rule ``copied``, since kept ones must be remembered.
        """
        if self._judge is not None or self._copied is not None:
            return range(self._end)
        return sorted({*self._stored, *np.flatnonzero(self._crowded).tolist()})

    def later_near(self, at: int) -> list[int]:
        """Return the positions of later documents of this batch that are near-duplicates of the one at `at`."""
        later, _, _ = self._accepted_mates(at, np.arange(at + 1, self._end))
        return [int(turn) for turn in later]

    def earlier_mates(self) -> list[set[int]]:
        """Return for each document the positions of the earlier ones of the batch that must be decided before it.

        A claim calls this after `decide`. A set is empty for a document that waits for no other one.
        """
        held = [set() if mate is None else {mate} for mate in self.mates]
        for at, turns in self._replaced.items():
            held[at].update(turn for turn in turns if turn < at)
        open_: set[int] = set()
        for at, mate in enumerate(self.mates):
            if not held[at]:
                continue
            later = {turn for turn in self._replaced.get(at, ()) if turn > at}
            # A held document without a plan may become anything: documents near it wait, so as not to come before it.
            if held[at] != {mate} or mate in open_:
                open_.add(at)
                later.update(self.later_near(at))
            for turn in later:
                held[turn].add(at)
        return held

    def _best_kept(self, at: int) -> OriginalOption | None:
        """Return the best original for document `at` among those kept before it in the batch; None if none is near."""
        near = self._kept[: self._kept_count if self._crowded[at] else 0]
        mates = None if self._copied is None else self._copied.mates(at)
        if mates is not None:
            near = np.union1d(near, mates)
        if not len(near):
            return None
        kept, apart, similarities = self._accepted_mates(at, near, mates)
        entries, options = self.queries.entries, []
        for mate, distance, estimate in zip(kept.tolist(), apart.tolist(), similarities.tolist(), strict=True):
            similarity, containment = known_likeness(estimate, int(entries.shingles[at]), int(entries.shingles[mate]))
            if self._copied is not None and self._copied.decides(at, self._copied.own[mate]):
                containment = passage_containment(self._copied.own[at], self._copied.own[mate])
            rank = rank_of(distance, similarity, self._orders[mate], entries.ids[mate])
            options.append(OriginalOption(rank, similarity, containment, entries.text(mate), mate))
        return next(filter(None, (self._judged(at, option) for option in sorted(options, key=by_rank))), None)

    def _judged(self, at: int, option: OriginalOption) -> OriginalOption | None:
        """Return an original with its similarity and containment by the whole texts of it and of document `at`.

        None if the texts are too unlike. Without a `TextJudge` the original is returned as it is.
        """
        if self._judge is None:
            return option
        likeness = option.rank.distance, option.similarity, option.containment
        verdict = self._judge.judge(self.queries.entries.text(at), option.text, *likeness)
        if verdict.is_similar and verdict.is_contained:
            return option._replace(similarity=verdict.similarity, containment=verdict.containment)
        if verdict.is_similar:
            near = NearCopy(
                own_id(option.rank.id), rounded(verdict.similarity or 0.0), rounded(verdict.containment or 0.0)
            )
            self.near.setdefault(at, near)
        return None

    def _accepted_mates(
        self, at: int, others: NDArray[np.intp], mates: NDArray[np.intp] | None = None
    ) -> tuple[NDArray[np.intp], NDArray[np.uint8], NDArray[np.float64]]:
        """Return which of the positions `others` match document `at` by the rule, with distances and similarities.

        Distances are in bits of the fingerprints; similarities are estimated by the sketches. `mates` are, under rule
        ``copied``, the positions of documents known to share enough rare passages with it; None: not known.
        """
        _, entries, _, reach, prefixes, sketches, agreement = self.queries
        if agreement is not None:
            others = others[agreement.among(at, others)]
        if self._collections is not None:
            others = others[self._collections[others] == self._collections[at]]
        # Only documents that a scan would find count: so a batch decides as the index would.
        shared = prefixes[others] == prefixes[at]
        if self._copied is None:
            is_met = shared.any(axis=1)
            others, shared = others[is_met], shared[is_met]
            if not len(others):
                return others, np.empty(0, np.uint8), np.empty(0)
        apart = distances(entries.simhashes[others], entries.simhashes[at])
        by_blocks = shared[:, : reach.tables].any(axis=1)
        own = sketches.at(np.array([at]))
        accepted, similarities = judge(self._rule, apart, own, sketches.at(others), by_blocks=by_blocks)
        if self._copied is not None:
            accepted = self._copied.judged(at, others, accepted, mates)
        return others[accepted], apart[accepted], similarities[accepted]


def rank_of(distance: int, similarity: float | None, order: tuple[int, int], name: str) -> Rank:
    """Return the rank of an original for a duplicate: the nearest is first, then the most similar, then the earliest.

    `distance` is in bits, `order` the original's time in ms and position in its batch, and `name` its id.
    """
    return Rank(distance, 1.0 if similarity is None else -similarity, order, name)
