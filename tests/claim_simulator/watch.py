"""All changes of document cells and all answers of one schedule, held against the rules."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from support.bruteforce import Written, matches, similarity

from claim_simulator import rules
from claim_simulator.clusters import Document
from claim_simulator.rules import FOUND, Place, Rows, decisions, lost_decisions, originals
from simhash_hbase.index.answers import Decision
from simhash_hbase.profile import Profile
from simhash_hbase.rows.collections import collection_of
from simhash_hbase.rows.documents import DocumentState, decode_document
from simhash_hbase.rows.layout import TEXT_BYTES
from simhash_hbase.stores.base import Cell

CHANGES = ("add", "remove", "dedup")
UNARBITRATED = ("add", "dedup")


@dataclass(eq=False)
class Operation:
    """One task of a writer, tried once."""

    kind: str
    writer: str
    acknowledged: frozenset[Place] = frozenset()
    """What was added, and acknowledged, when it began."""
    is_over: bool = False
    """It was acknowledged."""

    def __str__(self) -> str:
        return f"{self.kind} of {self.writer}"

    @property
    def claims(self) -> bool:
        """Whether it may end no decision but one that has expired."""
        return self.kind not in CHANGES


class _Stood(NamedTuple):
    """A decision that stood at some time."""

    place: Place
    is_found: bool
    of: str | None
    distance: int | None
    similarity: float | None


@dataclass
class Watch:
    """Follows all document cells of one schedule.

    Parameters
    ----------
    profile : Profile
        Its rule says what is near.
    documents : list of Document
        All texts, each under its id.
    latest : callable
        A time in ms that no clock is ahead of.
    is_findable : callable
        Tells whether the server holds all rows of a text.
    """

    profile: Profile
    documents: list[Document]
    latest: Callable[[], int]
    is_findable: Callable[[Document], bool]
    acknowledged: set[Place] = field(default_factory=set)
    _cells: dict[str, DocumentState] = field(default_factory=dict)
    _gone: set[Place] = field(default_factory=set)
    _stood: set[_Stood] = field(default_factory=set)
    _unarbitrated: set[Place] = field(default_factory=set)

    def __post_init__(self) -> None:
        names = list(dict.fromkeys(document.id for document in self.documents))
        self._ids = {name: number for number, name in enumerate(names)}
        self._texts = {(each.id, each.simhash, each.digest[:TEXT_BYTES]): at for at, each in enumerate(self.documents)}
        self._near = frozenset(
            frozenset((one, other))
            for one, other in combinations(range(len(self.documents)), 2)
            if collection_of(self.documents[one].id) == collection_of(self.documents[other].id)
            and matches(_written(self.documents[one]), _written(self.documents[other]), self.profile.rule)
        )

    # -- changes

    def changed(self, operation: Operation, before: Cell | None, after: Cell | None, *, is_late: bool) -> str | None:
        """Take a change of a document cell over; say what is wrong with it, if anything is."""
        new = None if after is None else decode_document(after.value)
        name = decode_document(before.value).id if new is None else new.id
        rows, number, cell = self._rows(), self._ids[name], self._cell(new)
        old = rows.cells[number]
        # What is not acknowledged may take effect at any time; what is has done so.
        if is_late and operation.is_over and not operation.claims and cell != old:
            return f"an acknowledged change that a late request undid: {name} by {operation}"
        lost, made = lost_decisions(old, cell), lost_decisions(cell, old)
        late = {other: rows.cells[other]._replace(seen=0) for other in self._named_too_late() - {number}}
        rows = rows._replace(cells={**rows.cells, **late})
        self._mark(operation, number, lost, made)
        wrong = rules.wrong_change(operation, number, self._cell(new), self._near, rows)
        self._gone |= {Place(number, each.text) for each in lost}
        self._keep(name, new)
        return f"{wrong} ({name}, by {operation})" if wrong else self.wrong_state()

    def _mark(self, operation: Operation, number: int, lost: Iterable[rules.Cell], made: Iterable[rules.Cell]) -> None:
        self._unarbitrated -= {Place(number, each.text) for each in lost if each.state in FOUND}
        if operation.kind in UNARBITRATED:
            self._unarbitrated |= {Place(number, each.text) for each in made if each.state in FOUND}

    def _keep(self, name: str, new: DocumentState | None) -> None:
        if new is None:
            self._cells.pop(name, None)
            return
        self._cells[name] = new
        if decision := new.shown():
            place = Place(self._ids[name], self._texts[name, *decision.text])
            self._stood.add(_Stood(place, decision.is_found, decision.of, decision.distance, decision.similarity))

    def wrong_state(self) -> str | None:
        """Say what is wrong with what the server holds, if anything is."""
        return rules.wrong_state(self._near, self._rows())

    def _rows(self) -> Rows:
        cells = {number: self._cell(self._cells.get(name)) for name, number in self._ids.items()}
        places = [Place(number, each.text) for number, cell in cells.items() for each in originals(cell)]
        return Rows(cells, {place: self.is_findable(self.documents[place.text]) for place in places}, self._gone)

    def _cell(self, state: DocumentState | None) -> rules.Cell | None:
        """Write a document cell as the rules do: it has not been seen for long once it may have expired."""
        if state is None:
            return None
        place = Place(self._ids[state.id], self._texts[state.id, *state.text])
        is_marked = state.state == "original" and place in self._unarbitrated
        return rules.Cell(
            "added" if is_marked else state.state,
            place.text,
            of=self._original(state),
            seen=self._seen(state),
            previous=self._cell(state.previous),
        )

    def _seen(self, state: DocumentState) -> int:
        if self.profile.ttl_ms is None:
            return 1
        # What a duplicate names was seen at most a tenth of the time to live before.
        room = self.profile.ttl_ms // 2 if state.of is not None else 0
        return int(state.seen >= self.profile.oldest(self.latest()) + room)

    def _named_too_late(self) -> set[int]:
        """List the duplicates that were last seen when their original had expired: their answer said so."""
        originals_of = {
            name: held.found_under(state.of_text)
            for name, state in self._cells.items()
            if state.of is not None and state.of_text is not None and (held := self._cells.get(state.of))
        }
        return {
            self._ids[name]
            for name, original in originals_of.items()
            if original is not None and original.seen < self.profile.oldest(self._cells[name].seen)
        }

    def _original(self, state: DocumentState) -> Place | None:
        """Say which text of its original a duplicate names; a text of no document where that one is not like it."""
        if state.of is None or state.of_text is None:
            return None
        own = self.documents[self._texts[state.id, *state.text]]
        text = self._texts[state.of, *state.of_text]
        is_alike = _measured(own, self.documents[text]) == (state.distance, state.similarity)
        return Place(self._ids[state.of], text if is_alike else len(self.documents))

    # -- answers

    def wrong_claim(self, documents: Iterable[Document], answers: Iterable[object]) -> str | None:
        """Say which answer of a claim never stood in its cell."""
        for document, answer in zip(documents, answers, strict=True):
            if isinstance(answer, Decision):
                place = Place(self._ids[document.id], self._text(document))
                told = _Stood(place, answer.is_original, answer.of, answer.distance, answer.similarity)
                if answer.id != document.id or told not in self._stood:
                    return f"an answer that never stood: {answer}"
        return None

    def acknowledge(self, documents: Iterable[Document]) -> str | None:
        """Note an addition that was acknowledged; say what of it has never stood."""
        for document in documents:
            place = Place(self._ids[document.id], self._text(document))
            if not any(stood.place == place and stood.is_found for stood in self._stood):
                return f"an addition that was acknowledged and never stood: {document.id}"
            self.acknowledged.add(place)
        return None

    def _text(self, document: Document) -> int:
        return self._texts[document.id, document.simhash, document.digest[:TEXT_BYTES]]

    def undecided(self) -> list[str]:
        """List the ids without a decision."""
        cells = {name: self._cell(self._cells.get(name)) for name in self._ids}
        return [name for name, cell in cells.items() if not any(decisions(cell))]


def _written(document: Document) -> Written:
    return Written(document.simhash, document.sketch, document.segments)


def _measured(one: Document, other: Document) -> tuple[int, float | None]:
    return (one.simhash ^ other.simhash).bit_count(), similarity(one.sketch, other.sketch)
