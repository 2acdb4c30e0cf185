"""The classes of an index's answers: matches of a query, decisions, records of stored documents, counts of batches.

Notebooks show them as small HTML tables, in which strings from documents are escaped and cut.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import chain, zip_longest
from typing import NamedTuple

from simhash_hbase.index.candidates import Queries
from simhash_hbase.index.search import Neighbours
from simhash_hbase.profile.matching import rounded
from simhash_hbase.rows.analysed import Metadata
from simhash_hbase.rows.clock import rfc3339
from simhash_hbase.rows.collections import Collection, own_id
from simhash_hbase.rows.documentcells import FOUND_STATES, DocumentState, Member, Outcome

# Limits of an HTML table.
MOST_ROWS = 20
MOST_CHARACTERS = 200


class Shown:
    """A base class of dataclasses that notebooks show as an HTML table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return html_of(self)


@dataclass(frozen=True, slots=True)
class Match:
    """One stored document that is a near-duplicate of a query."""

    id: str
    """The document's id, as its caller gave it."""
    distance: int
    """Bits in which the fingerprints of query and match differ."""
    similarity: float | None
    """Estimated Jaccard similarity of 5-character shingles, 0 to 1; None when a side has no sketch."""
    containment: float | None
    """Estimated share of the query's shingles that the match has, 0 to 1; None when a side has no sketch."""
    exact: bool
    """Whether the normalised texts of query and match are equal."""
    added: str
    """The time at which the match was added, RFC 3339 in UTC."""


@dataclass(frozen=True, slots=True)
class Answer(Shown):
    """The answer to a query: the stored documents that are near-duplicates of it, nearest first."""

    matches: Sequence[Match]
    """Matches, sorted by distance upwards, similarity downwards and id; without the document that was asked for."""
    truncated: bool
    """Whether a limit kept rows or documents from being read, or matches from being returned."""
    complete: bool
    """Whether all documents within the distance are listed: rule ``distance``, at most the index's, not truncated."""
    short: bool
    """Whether the text has so few features that near copies may be missed; exact copies are found."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text, from `start` up to `stop`, counted in characters of the text as it was given."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class ClueMatch:
    """A stored document that holds a clue, such as a sentence, or a part of it."""

    id: str
    """The document's id, as its caller gave it."""
    share: float
    """The share of the clue that the document holds, above 0 to 1; of a clue that is not complete it may hold more.

    A document that holds only a part of a short clue can have 1, too: few runs of such a clue are sure to be stored.
    """
    spans: Sequence[Span]
    """The parts of the clue that the document holds; some characters at each end of a part may be missing."""
    added: str
    """The time at which the match was added, RFC 3339 in UTC."""


@dataclass(frozen=True, slots=True)
class ClueAnswer(Shown):
    """The answer to a search for a clue, such as a sentence: the stored documents that hold it, or a part of it."""

    matches: Sequence[ClueMatch]
    """Matches, sorted by share downwards, time of adding and id; without the document that was asked for."""
    truncated: bool
    """Whether a limit kept rows or documents from being read, or matches from being returned."""
    complete: bool
    """Whether all documents that hold the whole clue are listed: a clue has to be as long as the index's passages."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a text that other documents hold, too, from `start` up to `stop`, in characters of the given text."""

    start: int
    stop: int
    documents: int
    """The number of other documents that hold some of the span."""
    at_least: bool
    """Whether there may be more such documents than were read and counted."""
    first: str
    """The id of the one of these documents that was added first."""
    most: str
    """The id of the one of these documents that holds most of the span."""


@dataclass(frozen=True, slots=True)
class PassagesAnswer(Shown):
    """The answer to a search for the parts of a text, its passages, that other documents hold, too."""

    id: str
    """The document's id, as its caller gave it; empty if it has none."""
    passages: Sequence[Passage]
    """The passages, in the order of the text; they do not overlap."""
    share: float
    """The share of the text's letters, numbers and marks that is in passages, 0 to 1."""
    truncated: bool
    """Whether a limit kept rows or documents from being read."""

    def longest(self) -> "PassagesAnswer":
        """Return this answer with only its longest passage, the first one of several."""
        longest = max(self.passages, key=lambda passage: passage.stop - passage.start, default=None)
        return replace(self, passages=[] if longest is None else [longest])

    def cut(self, text: str) -> str:
        """Return `text`, to which this is the answer, without the passages that other documents hold."""
        return "".join(_between(text, self.passages))

    def mark(self, text: str) -> str:
        """Return `text`, to which this is the answer, with ⟦ and ⟧ around each passage that other documents hold."""
        marked = [f"⟦{text[passage.start : passage.stop]}⟧" for passage in self.passages]
        return "".join(chain.from_iterable(zip_longest(_between(text, self.passages), marked, fillvalue="")))


def _between(text: str, passages: Sequence[Passage]) -> list[str]:
    """Return the parts of a text before, between and after its passages."""
    starts = [0, *(passage.stop for passage in passages)]
    stops = [*(passage.start for passage in passages), len(text)]
    return [text[start:stop] for start, stop in zip(starts, stops, strict=True)]


@dataclass(frozen=True, slots=True)
class HeldItem:
    """A stored document, such as a question of an evaluation set, that was found inside a text, whole or in part."""

    id: str
    """The item's id, as its caller gave it."""
    share: float
    """The share of the item's passages that the text has, above 0 to 1."""
    spans: Sequence[Span]
    """The item's places in the text, in characters of the text as it came; ends of a span may lack some characters."""


@dataclass(frozen=True, slots=True)
class ItemsAnswer(Shown):
    """The answer to a search for items: the documents of a collection, such as questions, that a text holds."""

    id: str
    """The text's id, as its caller gave it; empty if it has none."""
    items: Sequence[HeldItem]
    """The items, sorted by share downwards and id."""
    truncated: bool
    """Whether a limit kept rows or documents from being read, or items from being returned."""


class ItemCounts(NamedTuple):
    """How many documents of a collection `Index.items` can find inside texts, and how many it cannot find."""

    found: int
    without_passages: int
    """Duplicates, documents shorter than a hashed run, and documents without a text."""
    has_seen_passages: bool = True
    """Whether passages were read for the counts; a service reads none and counts all originals as found."""


@dataclass(frozen=True, slots=True)
class Added:
    """The result of adding one document."""

    id: str
    """The document's id, as its caller gave it."""
    simhash: int
    """Fingerprint of the document, 64 bits."""
    known: bool | None = None
    """Whether the index held the id before; None where a service does not say so."""
    moved: bool | None = None
    """Whether the index held the id with another text; None where a service does not say so."""


@dataclass(frozen=True, slots=True)
class Removed:
    """The result of removing one document."""

    id: str
    """The document's id, as its caller gave it."""
    removed: bool
    """Whether the index held the document."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The record that the index keeps of one document; it has no text."""

    id: str
    """The document's id, as its caller gave it."""
    simhash: int
    """Fingerprint of the document, 64 bits."""
    state: str
    """``added``, or the decision: ``original`` or ``duplicate``."""
    added: str
    """The time at which the document was added or decided, RFC 3339 in UTC."""
    seen: str
    """The time at which the document was last offered, RFC 3339 in UTC; without a ttl, the time in `added`."""
    length: int | None = None
    """Characters of the text; None where it is not known."""
    features: int | None = None
    """Distinct features of the text; None where it is not known."""
    metadata: Metadata | None = None
    """Metadata that the caller gave with the document."""
    of: str | None = None
    """The id of a duplicate's original; None for others."""
    distance: int | None = None
    """Bits between the fingerprints of a duplicate and its original; None for others."""
    similarity: float | None = None
    """Estimated Jaccard similarity of a duplicate to its original; None for others and without sketches."""
    containment: float | None = None
    """Estimated share of a duplicate's shingles that its original has; None for others and without sketches."""
    batch: str | None = None
    """The batch in which the text came; None if it came in none."""


@dataclass(frozen=True, slots=True)
class NearCopy:
    """The original that a kept document is near to: it holds less of the document than `contained` asks for."""

    id: str
    similarity: float
    """Jaccard similarity of the 5-character shingles of both."""
    containment: float
    """Share of the document's shingles that the original has; estimated, as the similarity, if that has no text."""


@dataclass(frozen=True, slots=True)
class Decision(Shown):
    """The decision about one document: it is an original, or a duplicate of one."""

    id: str
    """The document's id, as its caller gave it."""
    is_original: bool
    """Whether the document is an original: none near it was there before. Else it is a duplicate."""
    of: str | None = None
    """The id of the original that a duplicate is nearest to; None for an original."""
    distance: int | None = None
    """Bits between the fingerprints of a duplicate and its original; None for an original."""
    similarity: float | None = None
    """Estimated Jaccard similarity of a duplicate to its original; None for an original and without sketches."""
    containment: float | None = None
    """Estimated share of a duplicate's shingles that its original has; None for an original and without sketches."""
    short: bool = False
    """Whether the text has so few features that near copies may be missed."""
    of_removed: bool = False
    """Whether the original of a duplicate was removed or has got another text since."""
    near: NearCopy | None = None
    """An original that is near but holds too little of the document, which was therefore kept; else None."""


@dataclass(frozen=True, slots=True)
class DocumentBatch:
    """The numbers of documents that came in one batch, such as a crawl, and when they came."""

    batch: str | None
    """The name of the batch; under None are the documents that came in no batch."""
    documents: int
    """Documents in the batch, originals and duplicates."""
    originals: int
    """Documents of the batch that queries find: they were added, or decided to be originals."""
    duplicates: int
    """Documents of the batch that were decided to be duplicates, of an original of any batch."""
    first: str
    """The time at which the first document of the batch was added or decided, RFC 3339 in UTC."""
    last: str
    """The time at which the last document of the batch was added or decided."""


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """The counts of batches in a part of an index, a range of its rows; `after` says where the next part begins."""

    batches: Sequence[DocumentBatch]
    """The counts of each batch; the batch that began first comes first."""
    after: str | None
    """Where the next part of the index begins, for the next call; None after the last part."""


@dataclass(frozen=True, slots=True)
class BatchRemoval:
    """The ids of the documents of a batch that were removed from a part of an index, a range of its rows."""

    removed: Sequence[str]
    """The ids of the removed documents, as their callers gave them."""
    after: str | None
    """Where the next part of the index begins, for the next call; None after the last part."""


def make_answers(queries: Queries, neighbours: Neighbours, *, limit: int | None) -> Iterator[Answer]:
    """Yield the answer to each query, in order, made from the stored documents that match it, its neighbours.

    `limit` is the most matches of an answer; None: all.
    """
    entries, rule = queries.entries, queries.rule
    complete = rule.match == "distance" and rule.distance <= queries.profile.distance
    shorts = queries.profile.are_short(entries.features, entries.lengths)
    columns = zip(entries.ids, entries.digests, shorts, neighbours, strict=True)
    for at, (name, digest, short, hits) in enumerate(columns):
        matches = [
            Match(
                id=own_id(hit.member.id),
                distance=hit.distance,
                similarity=rounded(hit.similarity),
                containment=hit.containment,
                exact=bool(digest) and hit.member.digest == digest,
                added=rfc3339(hit.state.order[0]),
            )
            for hit in hits
            if hit.member.id != name
        ]
        cut = bool(neighbours.truncated[at]) or (limit is not None and len(matches) > limit)
        yield Answer(matches[:limit], cut, complete and not cut, short)


def stored_document(collection: Collection, state: DocumentState, member: Member | None) -> Stored:
    """Return the record of a document as callers get it, made from its document cell and its member cell.

    The member cell holds length, features and metadata; if it is missing, `member` is None.
    """
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
        similarity=rounded(state.similarity),
        containment=rounded(state.containment),
        batch=state.batch,
    )


def as_given(decision: Decision) -> Decision:
    """Return a decision with ids as callers gave them; inside the index an id may also contain its collection."""
    name, of = own_id(decision.id), decision.of and own_id(decision.of)
    return decision if name is decision.id and of is decision.of else replace(decision, id=name, of=of)


def as_decision(
    name: str, decided: DocumentState | Outcome, *, short: bool, of_removed: bool = False, near: NearCopy | None = None
) -> Decision:
    """Return the decision about a document as callers get it, made from its document cell or from a new outcome.

    `of_removed` says that the original was removed or got another text; `near` is set for a document that was kept
    although it has a near copy.
    """
    return Decision(
        name,
        decided.state in FOUND_STATES,
        decided.of,
        decided.distance,
        rounded(decided.similarity),
        rounded(decided.containment),
        short,
        of_removed,
        near,
    )


def html_of(value: object) -> str:
    """Return a value as HTML: dataclasses and mappings as tables with a row a field, sequences with a row an item.

    Examples
    --------
    >>> html_of({"id": "<b>", "similarity": 0.123456})
    '<table><tr><th>id</th><td>&lt;b&gt;</td></tr><tr><th>similarity</th><td>0.1235</td></tr></table>'
    """
    # html loads a table of all entities, and most processes show nothing.
    from html import escape  # noqa: PLC0415

    if (row := _columns(value)) is not None:
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{html_of(item)}</td></tr>" for name, item in row.items())
        return f"<table>{cells}</table>" if cells else "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        rows = [_columns(item) or {"": item} for item in value[:MOST_ROWS]]
        if not rows:
            return "none"
        head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
        body = "".join(f"<tr>{''.join(f'<td>{html_of(item)}</td>' for item in row.values())}</tr>" for row in rows)
        rest = f"<p>and {len(value) - MOST_ROWS:,} more</p>" if len(value) > MOST_ROWS else ""
        return f"<table><tr>{head}</tr>{body}</table>{rest}"
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:,}" if isinstance(value, int) else str(rounded(value) if isinstance(value, float) else value)
    return escape(text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…")


def _columns(value: object) -> Mapping[str, object] | None:
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: getattr(value, item.name) for item in fields(value)}
    return {str(name): item for name, item in value.items()} if isinstance(value, Mapping) else None
