"""De-duplicating a corpus: greedy, in input order, against the index and itself.

Each document is compared with the originals within reach, in the index or kept before it. Which documents are kept does
not depend on how the input is cut into batches; which original a duplicate names may, where more than a hundred
documents share one fingerprint (see `find_nearest`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.changes import Found, find_documents, read_states
from simhash_hbase.index.decide.exact import TextJudge
from simhash_hbase.index.decide.greedy import Batch, recorded_decision, with_short
from simhash_hbase.index.search import Hit, Offer, find_nearest, found_since
from simhash_hbase.index.servertime import writing_time
from simhash_hbase.index.write import Outcome, refresh_documents, write_documents
from simhash_hbase.profile import Profile
from simhash_hbase.rows.documents import DocumentState
from simhash_hbase.rows.entries import Entries
from simhash_hbase.stores.base import Store


class Plan(NamedTuple):
    """What a batch is to become."""

    decisions: list[Decision]  # One a document.
    entries: Entries  # The documents that have no recorded decision.
    outcomes: list[Outcome]  # One for each of `entries`.
    found: Found  # What the place that is written to holds of `entries`.
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
        """Decide a batch and write it.

        Parameters
        ----------
        entries : Entries
            The next documents of the corpus, in its order; no id that was in an earlier batch, none twice.
        now : int
            Milliseconds since 1970, higher than in the batch before.
        texts : sequence of str
            One a document, where texts are judged.

        Returns
        -------
        list of Decision
            One a document. An id that the index held with the same text gets its recorded answer.

        Raises
        ------
        InvalidArgument
            When an id is there twice.
        """
        now = writing_time(self._places[-1], now)
        if self._judge is not None:
            self._judge.begin(entries, texts)
        plan = self.plan(entries, now=now)
        write_documents(self._places[-1], self._profile, plan.entries, plan.outcomes, now=now)
        if len(self._places) == 1:
            refresh_documents(self._places[0], self._profile, plan.seen, now=now)
        if self._judge is not None:
            for text, decision in zip(entries.texts(), plan.decisions, strict=True):
                if decision.is_original:
                    self._judge.keep(text)
        return plan.decisions

    def plan(self, entries: Entries, *, now: int) -> "Plan":
        """Decide a batch without writing it; parameters and errors as for `decide`."""
        if len(set(entries.ids)) != len(entries.ids):
            raise InvalidArgument("an id is in one batch twice")
        found = [find_documents(store, entries.ids) for store in self._places]
        states = _in_force(found)
        oldest = self._profile.oldest(now)
        recorded = {
            at: recorded_decision(text, state, oldest)
            for at, (text, state) in enumerate(zip(entries.texts(), states, strict=True))
        }
        fresh = [at for at, decision in recorded.items() if decision is None]
        few = entries.take(fresh) if len(fresh) < len(entries) else entries
        if self._judge is not None:
            for at, text in enumerate(entries.texts()):
                earlier = recorded[at]
                if earlier is not None and earlier.is_original:
                    self._judge.keep(text)
            self._judge.choose(fresh)
        batch = Batch(few, [states[at] for at in fresh], self._searched, now, self._judge)
        expired = self._compare(batch, oldest)
        decided = dict(zip(fresh, batch.decide(), strict=True))
        decisions = [recorded[at] or decided[at] for at in range(len(entries))]
        self._mark_removed(entries, decisions, decided, states, oldest)
        repeated = [d.id for at, d in enumerate(decisions) if at not in decided]
        named = [d.of for d in decisions if d.of is not None and not d.of_removed]
        sizes = zip(decisions, entries.features.tolist(), entries.lengths.tolist(), strict=True)
        decisions = [with_short(self._profile, *each) for each in sizes]
        seen = list(dict.fromkeys([*repeated, *named]))
        return Plan(decisions, batch.entries, batch.outcomes, found[-1].take(fresh), seen, sorted(expired))

    def _compare(self, batch: Batch, oldest: int) -> set[str]:
        """Search the index and, in a dry run, what the run would have written; return what has expired of it.

        Nothing is left out, whatever the limits of the index say: a decision must not rest on a part.
        """
        expired: set[str] = set()
        for store in self._places:
            find_nearest(
                store, self._searched, batch.entries, found_since(0), self._offer(store, batch, oldest, expired)
            )
        return expired

    def _offer(self, store: Store, batch: Batch, oldest: int, expired: set[str]) -> Offer:
        """Make what takes the hits of one place."""

        def offer(at: int, hit: Hit) -> bool:
            if store is not self._places[-1] and self._is_decided_anew(hit.state.id):
                return False
            if hit.state.seen < oldest:
                expired.add(hit.state.id)
                return False
            return batch.offer(at, hit)

        return offer

    def _is_decided_anew(self, name: str) -> bool:
        """Return whether a dry run has decided a document again: its own word replaces the index's."""
        return read_states(self._places[-1], [name]) != [None]

    def _mark_removed(
        self,
        entries: Entries,
        decisions: list[Decision],
        decided: dict[int, Decision],
        recorded: Sequence[DocumentState | None],
        oldest: int,
    ) -> None:
        """Say of recorded duplicates whether their original still stands, at their place in the input."""
        named = [(at, d.of) for at, d in enumerate(decisions) if at not in decided and d.of is not None]
        if not named:
            return
        ids = [of for _, of in named]
        states = _in_force([find_documents(store, ids) for store in self._places])
        places = {decision.id: at for at, decision in decided.items()}
        texts = entries.texts()
        for (at, of), state in zip(named, states, strict=True):
            original = state and state.found(oldest)
            text = original.text if original else None
            if (place := places.get(of, at)) < at:
                # It was decided anew before this document's turn.
                text = texts[place] if decided[place].is_original else None
            held = recorded[at]
            if text is None or held is None or not held.names_text(text):
                decisions[at] = replace(decisions[at], of_removed=True)


def _in_force(found: Sequence[Found]) -> list[DocumentState | None]:
    """Take the decisions that places hold of the same documents; a dry run's own word comes before the index's."""
    return [
        next((held[0].in_force() for held in reversed(each) if held), None)
        for each in zip(*(place.held for place in found), strict=True)
    ]
