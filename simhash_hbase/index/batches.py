"""Batches: documents that came together, such as a crawl; they are counted, exported and removed together.

The name of the batch is a field of the document cell, written with the decision about the document's text. A text that
is offered again keeps its batch; another text under the same id belongs to the batch that brought it. There is no list
of batches beside the cells: whoever wants to know reads the document cells, so nothing can disagree with them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import compress, islice

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.index.answers import BatchCounts, BatchRemoval, DocumentBatch
from simhash_hbase.index.arguments import ASKED_DOCUMENTS, ASKED_SHARE, batches
from simhash_hbase.index.documents import StoredDocuments
from simhash_hbase.index.upkeep.walk import DocumentPage, ProgressCallback, scan_documents
from simhash_hbase.index.write import is_in, remove_documents
from simhash_hbase.rows.clock import rfc3339
from simhash_hbase.rows.collections import own_id
from simhash_hbase.rows.documentcells import DocumentState


def count_batches(documents: StoredDocuments, watch: ProgressCallback | None) -> list[DocumentBatch]:
    """Return the counts of each batch, by reading all document cells; see `Index.batches`."""
    return merged(part for page in scan_documents(documents.store, watch) for part in counted(documents.shown(page)))


def count_batches_after(documents: StoredDocuments, after: str | None, *, pages: int) -> BatchCounts:
    """Return the counts of batches in a part of the index: the next `pages` pages, each of some document cells.

    `after` is that of the answer before, which says where it ended; None: begin with the first page. A batch may be in
    several parts: add up its counts.
    """
    read = list(islice(scan_documents(documents.store, start=row_after(after)), pages))
    parts = merged(part for page in read for part in counted(documents.shown(page)))
    return BatchCounts(parts, read[-1].after.hex() if len(read) == pages else None)


def remove_batch(documents: StoredDocuments, name: str, watch: ProgressCallback | None) -> Iterator[str]:
    """Remove the documents of a batch, by reading all document cells; yield the id of each when it is removed."""
    for page in scan_documents(documents.store, watch):
        yield from _remove_within(documents, page, name)


def remove_batch_after(documents: StoredDocuments, name: str, after: str | None, *, pages: int) -> BatchRemoval:
    """Remove the documents of a batch that are in the next page of document cells with any; return their ids.

    At most `pages` pages are read. `after` is that of the answer before, which says where it ended; None: begin with
    the first page.
    """
    read = 0
    for page in islice(scan_documents(documents.store, start=row_after(after)), pages):
        read += 1
        after = page.after.hex()
        if removed := list(_remove_within(documents, page, name)):
            return BatchRemoval(removed, after)
    return BatchRemoval([], after if read == pages else None)


def _remove_within(documents: StoredDocuments, page: DocumentPage, name: str) -> Iterator[str]:
    """Remove the documents of the batch `name` that are in a page of document cells; yield their ids."""
    own = [state.id for state in page.states if is_in(name, state) and documents.collection.holds(state.id)]
    for ids in batches(own):
        # Documents that other writers have moved to another batch since they were read are not removed.
        removed = remove_documents(documents.store, documents.profile, ids, oldest=documents.oldest(), batch=name)
        yield from map(own_id, compress(ids, removed))


def row_after(after: str | None) -> bytes:
    """Return the row key with which the next part of an index begins; `after` is that of the answer before, or None.

    Raises
    ------
    InvalidArgument
        When `after` comes from no earlier answer.
    """
    try:
        return bytes.fromhex(after or "")
    except ValueError as error:
        raise InvalidArgument("after: wanted what the answer before has") from error


def counted(states: Iterable[DocumentState]) -> Iterator[DocumentBatch]:
    """Yield for each batch the numbers of its documents among `states`, which are decisions in force."""
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
    """Return the counts of each batch, summed over parts of an index; the batch that began first comes first."""
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


def check_share(counts: Iterable[DocumentBatch], name: str) -> None:
    """Raise `InvalidArgument` if a batch has more than half of all documents, and more than 10, to be confirmed.

    Called before the batch is removed, unless the caller has confirmed that with `yes`. `counts` are those of all
    batches.
    """
    documents_of = {batch.batch: batch.documents for batch in counts}
    size, documents = documents_of.get(name, 0), sum(documents_of.values())
    if size > ASKED_DOCUMENTS and size > ASKED_SHARE * documents:
        raise InvalidArgument(
            f"the batch {name!r} has {size:,} of the {documents:,} documents; if all of them are to go, repeat it with "
            "`yes`"
        )
