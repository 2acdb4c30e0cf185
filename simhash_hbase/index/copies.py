"""The copies of an original: everything in the index that was decided a duplicate of it, with its source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simhash_hbase.index.changes import read_states
from simhash_hbase.index.copycells import names
from simhash_hbase.profile import Profile
from simhash_hbase.rows.clock import rfc3339
from simhash_hbase.rows.collections import own_id
from simhash_hbase.rows.documents import DocumentState, decode_document, decode_member
from simhash_hbase.rows.entries import Metadata
from simhash_hbase.rows.keys import copies_row, document_row, id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell, Store


@dataclass(frozen=True, slots=True)
class Copy:
    """One document that was decided a duplicate."""

    id: str
    """The document's id, as its caller gave it."""
    added: str
    """When it was decided, RFC 3339 in UTC."""
    seen: str
    """When it was last offered; without a ttl, when it was decided."""
    distance: int | None
    """Bits between its fingerprint and that of the original."""
    similarity: float | None
    """Estimated Jaccard similarity to the original; None without sketches."""
    metadata: Metadata | None
    """What came with it, such as its source."""
    of_removed: bool
    """The original has another text since."""


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies of an original."""

    id: str
    """The id that was asked for."""
    of: str
    """The original: the id itself, or of a copy the one that it duplicates."""
    of_removed: bool
    """The original of the id was removed or has another text since."""
    count: int
    """Copies below; there are more if `truncated`."""
    first: str | None
    """When the first of them was decided; None without copies."""
    last: str | None
    """When one of them was last seen."""
    truncated: bool
    """The original has more copies than the index's ``max_members``; which ones are missing is arbitrary."""
    copies: Sequence[Copy]
    """In the order in which they were decided."""


def find_copies(store: Store, profile: Profile, name: str, oldest: int) -> Copies | None:
    """List the copies of an original, or of that of a copy; None when the index does not hold the id.

    Parameters
    ----------
    store, profile
        The index.
    name : str
        The id of an original or of a copy.
    oldest : int
        What was last seen before does not count, ms since 1970.
    """
    [asked] = read_states(store, [name])
    state = asked and asked[0].shown(oldest)
    if state is None:
        return None
    of = state.of or name
    [held] = [asked] if of == name else read_states(store, [of])
    original = held and held[0].found(oldest)
    cells = store.get_rows(FAMILY_DOCUMENTS, [copies_row(id_digest(of))], limit=profile.max_members + 1)[0]
    found = list(_copies(store, profile, cells[: profile.max_members], original, oldest)) if original else []
    copies = sorted(found, key=lambda copy: (copy.added, copy.id))
    return Copies(
        id=own_id(name),
        of=own_id(of),
        of_removed=state.is_duplicate and (original is None or not state.names_text(original.text)),
        count=len(copies),
        first=copies[0].added if copies else None,
        last=max((copy.seen for copy in copies), default=None),
        truncated=original is not None and len(cells) > profile.max_members,
        copies=copies,
    )


def _copies(
    store: Store, profile: Profile, cells: Sequence[Cell], original: DocumentState, oldest: int
) -> Iterator[Copy]:
    keys = [(document_row(cell.qualifier), STATE_QUALIFIER) for cell in cells]
    for cell, held in zip(cells, store.get(FAMILY_DOCUMENTS, keys), strict=True):
        copy = held and decode_document(held.value).shown(oldest)
        if copy is not None and names(copy, cell):
            yield Copy(
                id=own_id(copy.id),
                added=rfc3339(copy.order[0]),
                seen=rfc3339(copy.seen),
                distance=copy.distance,
                similarity=copy.similarity,
                metadata=decode_member(cell.value, bands=profile.bands).metadata,
                of_removed=not copy.names_text(original.text),
            )
