"""The list of copies of an original: a cell for every document in the index that was decided a duplicate of it.

The cells are in one row of the original. Each has the form of a member cell, with the copy's metadata and without a
sketch. It only says where to look: a copy counts while its own document cell, which holds the decision, names the
original. So a cell that is left over or arrives late changes no answer. It is written before the decision, with the
timestamp that the copy's document cell notes for it: later than every delete of it.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.index.documentrows import read_states
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import rounded
from simhash_hbase.rows.analysed import Metadata
from simhash_hbase.rows.clock import rfc3339
from simhash_hbase.rows.collections import own_id
from simhash_hbase.rows.documentcells import DocumentState, decode_document, decode_member, is_of_removed
from simhash_hbase.rows.keys import copies_row, document_key, id_digest, row_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Cell, Store

FIRST_COPIES = 100
MORE_COPIES = 10_000


@dataclass(frozen=True, slots=True)
class Copy:
    """One document that was decided a duplicate of an original, as an entry in the list of its copies."""

    id: str
    """The document's id, as its caller gave it."""
    added: str
    """The time of the decision, RFC 3339 in UTC."""
    seen: str
    """The time at which the copy was last offered; without a ttl, that of the decision."""
    distance: int | None
    """Bits between the fingerprints of the copy and the original."""
    similarity: float | None
    """Estimated Jaccard similarity of the copy to the original; None without sketches."""
    containment: float | None
    """Estimated share of the copy's shingles that the original has; None without sketches."""
    metadata: Metadata | None
    """The metadata that the caller gave with the copy, such as its source."""
    of_removed: bool
    """Whether the original has got another text since the decision."""


@dataclass(frozen=True, slots=True)
class Copies:
    """The answer to the question which documents were decided duplicates of an original."""

    id: str
    """The id that was asked for."""
    of: str
    """The id of the original: the id that was asked for, or, if that is a copy, the id that it duplicates."""
    of_removed: bool
    """Whether the id is a copy whose original was removed or has got another text since."""
    count: int
    """The number of copies that are listed; there are more if `truncated`."""
    first: str | None
    """The time at which the first listed copy was decided; None without copies."""
    last: str | None
    """The time at which a listed copy was last offered; None without copies."""
    truncated: bool
    """Whether the original has more copies than the index's ``max_members``; which ones are missing is arbitrary."""
    copies: Sequence[Copy]
    """The copies, in the order in which they were decided."""


def find_copies(store: Store, profile: Profile, name: str, oldest: int) -> Copies | None:
    """Return the copies of an original, which `name` is or is a copy of; None if the index does not hold that id.

    Documents that were last seen before `oldest`, in ms since 1970, do not count.
    """
    [asked] = read_states(store, [name])
    state = asked and asked[0].shown(oldest)
    if state is None:
        return None
    of = state.of or name
    [held] = [asked] if of == name else read_states(store, [of])
    original = held and held[0].found(oldest)
    cells = store.get_rows(FAMILY_DOCUMENTS, [copies_row(id_digest(of))], limit=profile.max_members + 1)[0]
    listed = cells[: profile.max_members] if original else []
    own_cells = store.get(FAMILY_DOCUMENTS, [document_key(cell.qualifier) for cell in listed])
    copies = []
    for cell, document in zip(listed, own_cells, strict=True):
        copy = document and decode_document(document.value).shown(oldest)
        # A copy counts while its own document cell names the original.
        if original and copy and copy.copy_key == (cell.row, cell.qualifier):
            copies.append(
                Copy(
                    id=own_id(copy.id),
                    added=rfc3339(copy.order[0]),
                    seen=rfc3339(copy.seen),
                    distance=copy.distance,
                    similarity=rounded(copy.similarity),
                    containment=rounded(copy.containment),
                    metadata=decode_member(cell.value, bands=profile.bands).metadata,
                    of_removed=is_of_removed(copy.of_text, original.text),
                )
            )
    copies.sort(key=lambda copy: (copy.added, copy.id))
    return Copies(
        id=own_id(name),
        of=own_id(of),
        of_removed=state.is_duplicate and is_of_removed(state.of_text, original.text if original else None),
        count=len(copies),
        first=copies[0].added if copies else None,
        last=max((copy.seen for copy in copies), default=None),
        truncated=original is not None and len(cells) > profile.max_members,
        copies=copies,
    )


def delete_copies(store: Store, originals: Sequence[bytes]) -> None:
    """Delete the whole lists of copies of some originals, given by the digests of their ids."""
    if not originals:
        return
    rows = [copies_row(digest) for digest in originals]
    for row, first in zip(rows, store.get_rows(FAMILY_DOCUMENTS, rows, limit=FIRST_COPIES), strict=True):
        cells, limit = first, FIRST_COPIES
        while cells:
            store.delete(FAMILY_DOCUMENTS, cells)
            is_last, limit = len(cells) < limit, MORE_COPIES
            after = cells[-1].qualifier
            cells = [] if is_last else store.read_row(FAMILY_DOCUMENTS, row, after=after, limit=limit)


def stale_copies(store: Store, cells: Sequence[Cell], oldest: int = 0) -> list[Cell]:
    """Return those of some entries in lists of copies that are stale: their document does not name that original.

    Documents that were last seen before `oldest`, in ms since 1970, count as missing. Entries of an original that has
    expired, or is a duplicate itself, are not stale: it may be an original again.
    """
    stale = []
    for cell, copy in zip(cells, _read_documents(store, [cell.qualifier for cell in cells]), strict=True):
        # A copy whose document cell does not decode may name the original.
        with suppress(CorruptIndex):
            state = copy and decode_document(copy.value).shown(oldest)
            if state is None or state.copy_key != (cell.row, cell.qualifier):
                stale.append(cell)
    return stale


def missing_copies(store: Store, states: Sequence[DocumentState]) -> list[DocumentState]:
    """Return the duplicates among `states` that lack their entry in the original's list of copies.

    Those are left out whose original queries do not find.
    """
    keyed = [(key, state) for state in states if (key := state.copy_key)]
    cells = store.get(FAMILY_DOCUMENTS, [key for key, _ in keyed])
    lacking = [pair for pair, cell in zip(keyed, cells, strict=True) if cell is None]
    originals = _read_documents(store, [row_digest(row) for (row, _), _ in lacking])
    missing = []
    for (_, state), original in zip(lacking, originals, strict=True):
        try:
            may_be_found = original is not None and decode_document(original.value).found() is not None
        except CorruptIndex:
            may_be_found = True
        if may_be_found:
            missing.append(state)
    return missing


def count_without_original(store: Store, states: Sequence[DocumentState]) -> int:
    """Return how many of the documents are duplicates whose original is missing, or is not found by queries."""
    originals = _read_documents(store, [id_digest(state.of) for state in states if state.is_duplicate and state.of])
    count = 0
    for original in originals:
        # An original that does not decode is counted itself.
        with suppress(CorruptIndex):
            count += original is None or decode_document(original.value).found() is None
    return count


def _read_documents(store: Store, digests: Sequence[bytes]) -> list[Cell | None]:
    """Return the document cell of each id, given by its digest, in order; None for an id without one."""
    distinct = sorted(set(digests))
    found = store.get(FAMILY_DOCUMENTS, [document_key(digest) for digest in distinct])
    held = dict(zip(distinct, found, strict=True))
    return [held[digest] for digest in digests]
