"""What an index answers: matches of a query, and what it holds of a document."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from simhash_hbase.index.notebook import Shown
from simhash_hbase.index.search import Hit, Neighbours
from simhash_hbase.profile import Profile
from simhash_hbase.profile.near import MatchRule
from simhash_hbase.rows.clock import rfc3339
from simhash_hbase.rows.collections import Collection, own_id
from simhash_hbase.rows.documents import DocumentState, Member
from simhash_hbase.rows.entries import Entries, Metadata


@dataclass(frozen=True, slots=True)
class Match:
    """One near-duplicate of a query."""

    id: str
    """The document's id, as its caller gave it."""
    distance: int
    """Bits between the fingerprints."""
    similarity: float | None
    """Estimated Jaccard similarity of 5-character shingles, 0 to 1; None when a side has no sketch."""
    exact: bool
    """The normalised texts are equal."""
    added: str
    """When the match was added, RFC 3339 in UTC."""


@dataclass(frozen=True, slots=True)
class Answer(Shown):
    """All near-duplicates of a query, nearest first."""

    matches: Sequence[Match]
    """By distance upwards, then by similarity downwards, then by id; never the document that was asked for itself."""
    truncated: bool
    """A limit kept something from being read or returned."""
    complete: bool
    """Every document within the asked distance is there: rule ``distance`` up to the index's k, not truncated."""
    short: bool
    """The text has so few features that near copies may be missed; exact ones are found."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What the index holds of one document; no text."""

    id: str
    """The document's id, as its caller gave it."""
    simhash: int
    """Its fingerprint, 64 bits."""
    state: str
    """``added``, or what was decided: ``original`` or ``duplicate``."""
    added: str
    """When it was added or decided, RFC 3339 in UTC."""
    seen: str
    """When it was last offered, RFC 3339 in UTC; without a ttl, when it was added or decided."""
    length: int | None = None
    """Characters of the text; None where it is not known."""
    features: int | None = None
    """Distinct features of the text; None where it is not known."""
    metadata: Metadata | None = None
    """What the caller wanted to be kept with it."""
    of: str | None = None
    """Of a duplicate: the id of its original."""
    distance: int | None = None
    """Of a duplicate: bits between its fingerprint and that of its original."""
    similarity: float | None = None
    """Of a duplicate: estimated Jaccard similarity to its original; None without sketches."""


def make_answers(
    neighbours: Neighbours, entries: Entries, profile: Profile, rule: MatchRule, *, limit: int | None
) -> Iterator[Answer]:
    """Yield the answer of each query as its hits are found."""
    complete = rule.match == "distance" and rule.distance <= profile.distance
    sizes = map(profile.is_short, entries.features.tolist(), entries.lengths.tolist())
    columns = zip(entries.ids, entries.digests, sizes, neighbours, strict=True)
    for at, (name, digest, short, hits) in enumerate(columns):
        matches = _matches(hits, name, digest)
        cut = bool(neighbours.truncated[at]) or (limit is not None and len(matches) > limit)
        yield Answer(matches[:limit], cut, complete and not cut, short)


def stored_document(collection: Collection, state: DocumentState, member: Member | None) -> Stored:
    """Join the two cells of a document of a collection."""
    return Stored(
        id=own_id(state.id),
        simhash=collection.masked(state.simhash),
        state=state.state,
        added=rfc3339(state.order[0]),
        seen=rfc3339(state.seen),
        length=member.length if member else None,
        features=member.features if member else None,
        metadata=member.metadata if member else None,
        of=state.of and own_id(state.of),
        distance=state.distance,
        similarity=state.similarity,
    )


def as_given(decision: "Decision") -> "Decision":
    """Name the documents of a decision by their callers' ids."""
    name, of = own_id(decision.id), decision.of and own_id(decision.of)
    return decision if name is decision.id and of is decision.of else replace(decision, id=name, of=of)


def as_decision(state: DocumentState) -> "Decision":
    """Read the answer out of a decided document cell."""
    if state.is_found:
        return Decision(state.id, True)
    return Decision(state.id, False, state.of, state.distance, state.similarity)


def _matches(hits: Iterable[Hit], name: str, digest: bytes) -> list[Match]:
    return [
        Match(
            id=own_id(member.id),
            distance=hit.distance,
            similarity=hit.similarity,
            exact=bool(digest) and member.digest == digest,
            added=rfc3339(hit.state.order[0]),
        )
        for hit in hits
        if (member := hit.member).id != name
    ]


@dataclass(frozen=True, slots=True)
class NearCopy:
    """An original that does not hold enough of a document for that to be dropped."""

    id: str
    similarity: float
    """Jaccard similarity of the 5-character shingles of both."""
    containment: float
    """Share of the document's shingles that the original has."""


@dataclass(frozen=True, slots=True)
class Decision(Shown):
    """What became of one document."""

    id: str
    """The document's id, as its caller gave it."""
    is_original: bool
    """Whether no original near to it was there before; else it is a duplicate."""
    of: str | None = None
    """For a duplicate: the id of the original it is nearest to."""
    distance: int | None = None
    """Bits between its fingerprint and that of the original."""
    similarity: float | None = None
    """Estimated Jaccard similarity to that original; None without sketches."""
    short: bool = False
    """The text has so few features that near copies may be missed."""
    of_removed: bool = False
    """The original was removed or changed since."""
    near: NearCopy | None = None
    """For a document that was kept although it has a near copy, since too little of it is in that one."""
