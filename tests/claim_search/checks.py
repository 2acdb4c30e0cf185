"""What must hold of the answers and of what is stored, found out by comparing everything with everything."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from support.bruteforce import similarity

from claim_search.plan import Document
from claim_search.writers import DECIDED, Answer
from simhash_hbase.index.documentrows import read_states
from simhash_hbase.index.index import Index
from simhash_hbase.profile import Profile
from simhash_hbase.rows.documents import FOUND_STATES

TYPED = ("ClaimContended", "StoreTimeout", "StoreUnavailable", "StoreBusy")


Stored: TypeAlias = tuple[str, str | None, int | None, float | None]
"""What an index holds of a document: its state, and of a duplicate its original, distance and similarity."""


class Judge:
    """Remembers every answer of one index, and compares.

    Parameters
    ----------
    index : Index
        Over a store that does as it is told.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._profile: Profile = index.profile
        self.documents: dict[str, Document] = {}
        self._decided: dict[str, Answer] = {}

    @property
    def undecided(self) -> int:
        """Documents that no claim was told a decision of, only errors."""
        return len(self.documents) - len(self._decided)

    def wrong_round(self, documents: Mapping[str, Document], answers: Sequence[Answer]) -> list[str]:
        """List what is wrong with a round: with its answers, and with what is stored of its documents."""
        self.documents |= documents
        unanswered = set(documents) - {answer.id for answer in answers}
        found = [*self._wrong_answers(answers), *(f"{name} was not answered" for name in sorted(unanswered))]
        told = {answer.of for name in documents if (answer := self._decided.get(name)) and answer.of}
        names = sorted({*documents, *told})
        held = read_states(self._index.store, names)
        stored = {name: _stored(each[0]) for name, each in zip(names, held, strict=True) if each is not None}
        found += self._wrong_documents(documents, stored)
        return [*found, *self._wrong_originals(documents, stored), *self._wrong_copies(stored)]

    def wrong_index(self) -> list[str]:
        """List what is wrong with all that the index exports, and with the rows behind it."""
        stored = {each.id: _stored(each) for each in self._index.export()}
        verified = self._index.verify()
        found = [*self._wrong_documents(self.documents, stored), *self._wrong_originals(stored, stored)]
        found += [*self._wrong_clusters(stored), *self._wrong_copies(stored)]
        return found + ([f"verify: {verified}"] if verified.wrong or verified.missing_copies else [])

    def _wrong_answers(self, answers: Iterable[Answer]) -> Iterator[str]:
        for answer in answers:
            if answer.said not in (*DECIDED, *TYPED):
                yield f"{answer.id} was answered {answer.said}"
            elif answer.said in DECIDED and self._decided.setdefault(answer.id, answer) != answer:
                yield f"{answer.id} was answered {_told(self._decided[answer.id])}, then {_told(answer)}"

    def _wrong_documents(self, names: Iterable[str], stored: Mapping[str, Stored]) -> Iterator[str]:
        """Compare answers with what is stored, and duplicates with their originals; both are there, so is an original.

        Of a document that nobody was told a decision of one may stand all the same: it is held to be right, too.
        """
        for name in names:
            answer, there = self._decided.get(name), stored.get(name)
            if answer is not None and there != _expected(answer):
                yield f"{name} was answered {_told(answer)}, stored is {there}"
            elif there is not None and (wrong := self._wrong_duplicate(name, there, stored)):
                yield wrong

    def _wrong_duplicate(self, name: str, there: Stored, stored: Mapping[str, Stored]) -> str | None:
        state, of, *given = there
        if state != "duplicate":
            return None
        original = stored.get(str(of))
        if original is None or original[0] not in FOUND_STATES:
            return f"{name} is a duplicate of {of}, which is {original[0] if original else 'not there'}"
        one, other = self.documents[name], self.documents[str(of)]
        measured = [_distance(one, other), similarity(one.sketch, other.sketch)]
        if measured != given or not self._are_near(one, other):
            return f"{name} is a duplicate of {of} by {given}, measured are {measured}"
        return None

    def _wrong_originals(self, names: Iterable[str], stored: Mapping[str, Stored]) -> Iterator[str]:
        """Compare each original with every other."""
        originals = [self.documents[name] for name in names if (there := stored.get(name)) and there[0] in FOUND_STATES]
        simhashes = np.array([document.simhash for document in originals], dtype=np.uint64)
        reach = max(self._profile.rule.reach, self._profile.rule.farthest)
        for at, one in enumerate(originals):
            distances = np.bitwise_count(simhashes[at + 1 :] ^ simhashes[at])
            for behind in np.flatnonzero(distances <= reach).tolist():
                other = originals[at + 1 + behind]
                if self._are_near(one, other):
                    yield f"two originals within reach of each other: {one.id}, {other.id}"

    def _wrong_copies(self, stored: Mapping[str, Stored]) -> Iterator[str]:
        """Compare duplicates with the lists of their originals."""
        lists = {
            name: [[copy.id, copy.distance, copy.similarity] for copy in found.copies]
            for name, (state, *_) in stored.items()
            if state in FOUND_STATES and (found := self._index.copies(name))
        }
        for name, (_, of, *given) in stored.items():
            if of in lists and [name, *given] not in lists[of]:
                yield f"{name} is a duplicate of {of}, which does not list it"

    def _wrong_clusters(self, stored: Mapping[str, Stored]) -> Iterator[str]:
        having = {self.documents[name].cluster for name, there in stored.items() if there[0] in FOUND_STATES}
        for cluster in sorted({document.cluster for document in self.documents.values()} - having):
            yield f"a cluster without an original: {cluster}"

    def _are_near(self, one: Document, other: Document) -> bool:
        """Apply the rule of the index as simhash_hbase/features/README.md states it."""
        rule, distance = self._profile.rule, _distance(one, other)
        alike = similarity(one.sketch, other.sketch)
        if rule.match == "distance" or alike is None:
            return distance <= rule.distance
        by_block = len(_blocks(one.simhash) & _blocks(other.simhash)) >= TABLE_BLOCKS and distance <= rule.radius
        shared = sum(a == b for a, b in zip(one.segments, other.segments, strict=True))
        by_band = bool(shared and rule.band_distance) and distance <= [*rule.band_distance][:shared][-1]
        free = 64 if rule.free_distance is None else rule.free_distance
        return (by_block or by_band) and alike - max(0, distance - free) / 256 >= rule.similarity


WIDTHS = (13, 13, 13, 13, 12)
TABLE_BLOCKS = 2


def _blocks(simhash: int) -> set[tuple[int, int]]:
    """Cut a fingerprint into the blocks of scheme 5x2, each with its number."""
    bits, start, blocks = f"{simhash:064b}", 0, set()
    for number, width in enumerate(WIDTHS):
        blocks.add((number, int(bits[start : start + width], 2)))
        start += width
    return blocks


def _distance(one: Document, other: Document) -> int:
    return (one.simhash ^ other.simhash).bit_count()


def _stored(state) -> Stored:
    return state.state, state.of, state.distance, state.similarity


def _expected(answer: Answer) -> Stored:
    return answer.said, answer.of, answer.distance, answer.similarity


def _told(answer: Answer) -> str:
    if answer.of is None:
        return answer.said
    return f"{answer.said} of {answer.of} (distance {answer.distance}, similarity {answer.similarity})"
