"""Batches: documents that came together, such as a crawl; they are counted, exported and taken back together.

The name of the batch is a field of the document cell, written with the decision about the document's text. A text that
is offered again keeps its batch; another text under the same id belongs to the batch that brought it. There is no list
of batches beside the cells: whoever wants to know reads the document cells, so nothing can disagree with them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.index.arguments import ASKED_DOCUMENTS, ASKED_SHARE
from simhash_hbase.rows.clock import rfc3339
from simhash_hbase.rows.documentcells import DocumentState


@dataclass(frozen=True, slots=True)
class DocumentBatch:
    """The counts of a batch."""

    batch: str | None
    """Its name; None for the documents that came in none."""
    documents: int
    """Documents in it, originals and duplicates."""
    originals: int
    """Documents that queries find: they were added, or decided to be originals."""
    duplicates: int
    """Documents that were decided to be duplicates, of an original of any batch."""
    first: str
    """The time at which the first of them was added or decided, RFC 3339 in UTC."""
    last: str
    """The time at which the last of them was added or decided."""


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """The counts of batches in a part of an index."""

    batches: Sequence[DocumentBatch]
    """The batch that began first comes first."""
    after: str | None
    """The beginning of the next part; None: there are no more."""


@dataclass(frozen=True, slots=True)
class BatchRemoval:
    """The documents of a batch that were removed from a part of an index."""

    removed: Sequence[str]
    """Their ids, as their callers gave them."""
    after: str | None
    """The beginning of the next part; None: there are no more."""


def row_after(after: str | None) -> bytes:
    """Return the row that a part of an index begins with; None: the first.

    Raises
    ------
    InvalidArgument
        When it is none that the answer about an earlier part has.
    """
    try:
        return bytes.fromhex(after or "")
    except ValueError as error:
        raise InvalidArgument("after: wanted what the answer before has") from error


def counted(states: Iterable[DocumentState]) -> Iterator[DocumentBatch]:
    """Yield the counts of the batches of these documents, of which each has a decision in force."""
    counts: dict[str | None, tuple[int, int, int, int]] = {}
    for state in states:
        added = state.order[0]
        documents, duplicates, first, last = counts.get(state.batch, (0, 0, added, added))
        counts[state.batch] = (
            documents + 1, duplicates + state.is_duplicate, min(first, added), max(last, added)
        )  # fmt: skip
    for name, (documents, duplicates, first, last) in counts.items():
        yield DocumentBatch(name, documents, documents - duplicates, duplicates, rfc3339(first), rfc3339(last))


def merged(parts: Iterable[DocumentBatch]) -> list[DocumentBatch]:
    """Join the counts of several parts of an index; the batch that began first comes first."""
    whole: dict[str | None, DocumentBatch] = {}
    for part in parts:
        held = whole.get(part.batch)
        whole[part.batch] = part if held is None else replace(
            held,
            documents=held.documents + part.documents,
            originals=held.originals + part.originals,
            duplicates=held.duplicates + part.duplicates,
            first=min(held.first, part.first),
            last=max(held.last, part.last),
        )  # fmt: skip
    return sorted(whole.values(), key=lambda batch: (batch.first, batch.batch or ""))


def check_share(batches: Iterable[DocumentBatch], name: str) -> None:
    """Raise `InvalidArgument` where a batch has so many of all documents that its removal asks first."""
    sizes = {batch.batch: batch.documents for batch in batches}
    size, documents = sizes.get(name, 0), sum(sizes.values())
    if size > ASKED_DOCUMENTS and size > ASKED_SHARE * documents:
        raise InvalidArgument(
            f"the batch {name!r} has {size:,} of the {documents:,} documents; if all of them are to go, repeat it with "
            "`yes`"
        )
