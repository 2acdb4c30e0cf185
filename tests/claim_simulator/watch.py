"""All changes of document cells and all answers of one schedule, held against rules.

* No two documents within reach of each other are originals by claim. Only claims are arbitrated: a pair of which one
  came from ``add`` may stand, but not when the ``add`` was acknowledged before the claim began.
* A duplicate names an original within its reach that is decided and in force; or that was, and has been removed, moved
  to another text or expired since it was looked at.
* What is decided for an id and its text never changes, but for a removal, an ``add``, a claim of that id with another
  text once that is decided, and expiry. What a duplicate has just named does not expire.
* No late request of an addition or a removal changes a cell once that was acknowledged.
* Whatever counts as an original or as added is found: its member and block rows are there, and no delete hides them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple, Optional

from support.bruteforce import Written, matches, similarity

from claim_simulator.schedule import Document
from simhash_hbase.index.answers import Decision
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import rounded
from simhash_hbase.rows.collections import collection_of
from simhash_hbase.rows.documentcells import DocumentState, decode_document
from simhash_hbase.rows.layout import TEXT_BYTES
from simhash_hbase.stores.base import Cell

CHANGES = ("add", "remove", "dedup")
UNARBITRATED = ("add", "dedup")
FOUND = ("added", "original")
DECIDED = (*FOUND, "duplicate")
UNDECIDED = ("pending", "yielded")
NO_TEXT = -1


@dataclass(eq=False)
class Operation:
    """One task of a writer, tried once."""

    kind: str
    writer: str
    acknowledged: frozenset[int] = frozenset()  # The texts whose addition was acknowledged when it began.
    is_over: bool = False  # Whether the call was acknowledged.

    def __str__(self) -> str:
        return f"{self.kind} of {self.writer}"

    @property
    def claims(self) -> bool:
        """Whether it may end no decision but one that has expired."""
        return self.kind not in CHANGES


class Told(NamedTuple):
    """The meaning of a document cell; texts are numbers of documents."""

    state: str
    text: int
    of: int | None
    is_old: bool  # Whether it may have expired for a writer whose clock runs ahead.
    previous: Optional["Told"]

    @property
    def decision(self) -> Optional["Told"]:
        """The decision that the cell holds: its own, or the one before the claim under way."""
        held = self.previous if self.state in UNDECIDED else self
        return held if held is not None and held.state in DECIDED else None


def ended(before: Told | None, after: Told | None) -> Told | None:
    """Return the decision that a change of a cell put an end to."""
    lost, kept = (None if told is None else told.decision for told in (before, after))
    return lost if lost is not None and (kept is None or kept[:3] != lost[:3]) else None


class Stood(NamedTuple):
    """A decision that stood at some time."""

    text: int
    is_found: bool
    of: str | None
    distance: int | None
    similarity: float | None


@dataclass
class Watch:
    """Follows all document cells of one schedule."""

    profile: Profile
    documents: list[Document]  # All texts, each under its id.
    latest: Callable[[], int]  # A time in ms that no clock is ahead of.
    is_findable: Callable[[Document], bool]  # Whether the server holds all rows of a text.
    acknowledged: set[int] = field(default_factory=set)
    _states: dict[str, DocumentState] = field(default_factory=dict)
    _gone: set[int] = field(default_factory=set)  # What counted as an original and was removed, moved or expired.
    _stood: set[Stood] = field(default_factory=set)
    _unarbitrated: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._texts = {(each.id, each.simhash, each.digest[:TEXT_BYTES]): at for at, each in enumerate(self.documents)}
        self._near = {
            frozenset((one, other))
            for one, other in combinations(range(len(self.documents)), 2)
            if collection_of(self.documents[one].id) == collection_of(self.documents[other].id)
            and matches(_written(self.documents[one]), _written(self.documents[other]), self.profile.rule)
        }

    # -- changes

    def changed(self, operation: Operation, before: Cell | None, after: Cell | None, *, is_late: bool) -> str | None:
        """Take a change of a document cell over; say what is wrong with it, if anything is."""
        new = None if after is None else decode_document(after.value)
        name = decode_document(before.value).id if new is None else new.id
        old, told = self._told(self._states.get(name)), self._told(new)
        # What is not acknowledged may take effect at any time; what is has done so.
        if is_late and operation.is_over and not operation.claims and told != old:
            return f"an acknowledged change that a late request undid: {name} by {operation}"
        lost, made = ended(old, told), ended(told, old)
        if lost and lost.state in FOUND:
            self._unarbitrated.discard(lost.text)
        if made and made.state in FOUND and operation.kind in UNARBITRATED:
            self._unarbitrated.add(made.text)
        wrong = self._wrong_change(operation, name, old, self._told(new)) if operation.claims else None
        if lost:
            self._gone.add(lost.text)
        self._keep(name, new)
        return f"{wrong} ({name}, by {operation})" if wrong else self.wrong_state()

    def _keep(self, name: str, new: DocumentState | None) -> None:
        if new is None:
            self._states.pop(name, None)
            return
        self._states[name] = new
        if shown := new.shown():
            text = self._texts[name, *shown.text]
            self._stood.add(Stood(text, shown.is_found, shown.of, shown.distance, rounded(shown.similarity)))

    def wrong_state(self) -> str | None:
        """Say what is wrong with what the server holds, if anything is."""
        decisions = [self._decision(name) for name in self._states]
        found = {each.text: each.state for each in decisions if each and each.state in FOUND}
        claimed = [text for text, state in found.items() if state == "original"]
        for one, other in combinations(claimed, 2):
            if self._is_near(one, other):
                return f"two originals: {self._name(one)}, {self._name(other)}"
        missed = (text for text in found if not self.is_findable(self.documents[text]))
        return next((f"an original that queries miss: {self._name(text)}" for text in missed), None)

    def _wrong_change(self, operation: Operation, name: str, old: Told | None, new: Told | None) -> str | None:
        lost, made = ended(old, new), ended(new, old)
        if lost:
            is_moved = new is not None and new.state in DECIDED and new.text != lost.text
            if not is_moved and not lost.is_old:
                return f"a decision that changed: it was {lost.state}"
            if lost.state in FOUND and lost.is_old and lost.text in self._just_named(name):
                return "an original that expired though it had just been named"
        return self._wrong_decision(operation, made) if made else None

    def _wrong_decision(self, operation: Operation, made: Told) -> str | None:
        if made.state == "original":
            for added in operation.acknowledged:
                held = self._decision(self.documents[added].id)
                stands = held is not None and (held.state, held.text) == ("added", added)
                if stands and self._is_near(added, made.text):
                    return f"two originals: {self._name(added)} was added before the claim began"
            return None
        if made.of == NO_TEXT or frozenset((made.of, made.text)) not in self._near:
            return "a wrong duplicate: its original is not within its reach"
        held = self._decision(self.documents[made.of].id)
        stands = held is not None and held.state in FOUND and held.text == made.of
        return None if stands or made.of in self._gone else "a wrong duplicate: its original is not decided"

    def _just_named(self, name: str) -> set[int | None]:
        """Return what the copies name that were seen lately; not those whose answer said that it had expired."""
        told = (
            self._told(state)
            for other, state in self._states.items()
            if other == name or not self._is_named_too_late(state)
        )
        return {each.of for each in told if not each.is_old}

    def _is_named_too_late(self, state: DocumentState) -> bool:
        """Tell whether a duplicate was last seen when its original had expired: its answer said so."""
        if state.of is None or state.of_text is None or state.of not in self._states:
            return False
        original = self._states[state.of].found_under(state.of_text)
        return original is not None and original.seen < self.profile.oldest(state.seen)

    # -- what cells say

    def _decision(self, name: str) -> Told | None:
        told = self._told(self._states.get(name))
        return told and told.decision

    def _told(self, state: DocumentState | None) -> Told | None:
        if state is None:
            return None
        text = self._texts[state.id, *state.text]
        is_marked = state.state == "original" and text in self._unarbitrated
        return Told(
            "added" if is_marked else state.state,
            text,
            self._original(state, self.documents[text]),
            self._is_old(state),
            self._told(state.previous),
        )

    def _is_old(self, state: DocumentState) -> bool:
        if self.profile.ttl_ms is None:
            return False
        # What a duplicate names was seen at most a tenth of the time to live before.
        room = self.profile.ttl_ms // 2 if state.of is not None else 0
        return state.seen < self.profile.oldest(self.latest()) + room

    def _original(self, state: DocumentState, own: Document) -> int | None:
        """Say which text of its original a duplicate names; that of no document where it is not like that one."""
        if state.of is None or state.of_text is None:
            return None
        text = self._texts[state.of, *state.of_text]
        other = self.documents[text]
        measured = (own.simhash ^ other.simhash).bit_count(), similarity(own.sketch, other.sketch)
        return text if measured == (state.distance, state.similarity) else NO_TEXT

    def _is_near(self, one: int, other: int) -> bool:
        """Tell whether two documents are within reach of each other; not whether two texts of one are."""
        return self.documents[one].id != self.documents[other].id and frozenset((one, other)) in self._near

    def _name(self, text: int) -> str:
        return f"{self.documents[text].id} with text {text}"

    # -- answers

    def wrong_claim(self, documents: Iterable[Document], answers: Iterable[object]) -> str | None:
        """Say which answer of a claim never stood in its cell."""
        for document, answer in zip(documents, answers, strict=True):
            if isinstance(answer, Decision):
                told = Stood(self._text(document), answer.is_original, answer.of, answer.distance, answer.similarity)
                if answer.id != document.id or told not in self._stood:
                    return f"an answer that never stood: {answer}"
        return None

    def acknowledge(self, documents: Iterable[Document]) -> str | None:
        """Note an addition that was acknowledged; say what of it has never stood."""
        for document in documents:
            text = self._text(document)
            if not any(stood.text == text and stood.is_found for stood in self._stood):
                return f"an addition that was acknowledged and never stood: {document.id}"
            self.acknowledged.add(text)
        return None

    def _text(self, document: Document) -> int:
        return self._texts[document.id, document.simhash, document.digest[:TEXT_BYTES]]

    def undecided(self) -> list[str]:
        return [name for name in dict.fromkeys(each.id for each in self.documents) if self._decision(name) is None]


def _written(document: Document) -> Written:
    return Written(document.simhash, document.sketch, document.segments)
