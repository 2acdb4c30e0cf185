"""Changes of documents on their way into a store, and what is written for them.

Every document is written member first, then block rows, then the document cell: that is the commit point.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.index.copycells import copy_cells, copy_key, read_copies
from simhash_hbase.index.firstcells import put_first
from simhash_hbase.index.lookup import check_bands, entry_band_rows, entry_rows
from simhash_hbase.index.membercells import member_cells, member_key
from simhash_hbase.profile import Profile
from simhash_hbase.rows.documents import DocumentState, decode_document, encode
from simhash_hbase.rows.entries import Entries
from simhash_hbase.rows.keys import BlockRows, copies_row, document_row, id_digest, row_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell, CompareAndSet, Store, Swap, Transactional


class Change(NamedTuple):
    """One document of a batch on its way into the store."""

    at: int  # Its position in the batch.
    row: bytes
    old: DocumentState | None
    old_value: bytes | None
    new: DocumentState

    @property
    def before(self) -> DocumentState | None:
        """The decision that the change replaces."""
        return self.old and self.old.in_force()

    @property
    def moves(self) -> bool:
        """Whether the document was there with another text."""
        return self.before is not None and not self.before.text.is_same(self.new.text)

    @property
    def is_known(self) -> bool:
        """Whether the index held the id."""
        return self.before is not None and not self.before.is_gone

    @property
    def has_rows(self) -> bool:
        """Whether the block rows stand already, because the document counts under this fingerprint."""
        return self.before is not None and self.before.is_found and self.before.simhash == self.new.simhash

    def was_shown_since(self, oldest: int) -> bool:
        """Return whether the index showed the document, last seen at that time or later, in ms since 1970."""
        return self.old is not None and self.old.shown(oldest) is not None


class Found(NamedTuple):
    """The document cells of some ids."""

    rows: Sequence[bytes]  # Their row keys.
    held: Sequence[tuple[DocumentState, bytes] | None]  # What they say, and their bytes; None where there is none.

    def take(self, places: Sequence[int]) -> "Found":
        """Select by position."""
        return Found([self.rows[at] for at in places], [self.held[at] for at in places])


def find_documents(store: Store, ids: Sequence[str]) -> Found:
    """Read the document cells of ids, and tell their rows."""
    rows = [document_row(id_digest(name)) for name in ids]
    cells = store.get(FAMILY_DOCUMENTS, [(row, STATE_QUALIFIER) for row in rows])
    pairs = zip(ids, cells, strict=True)
    return Found(rows, [None if cell is None else (_own(name, cell), cell.value) for name, cell in pairs])


def read_states(store: Store, ids: Sequence[str]) -> Sequence[tuple[DocumentState, bytes] | None]:
    """Read the document cells of ids."""
    return find_documents(store, ids).held


def removal(at: int, old: DocumentState, value: bytes) -> Change:
    """Make the change that takes a document out of the index."""
    gone = DocumentState(old.id, old.simhash, "removed", seen=old.seen, stamp=old.stamp, digest=old.digest)
    return Change(at, document_row(id_digest(old.id)), old, value, gone)


def put_documents(store: Store, profile: Profile, entries: Entries, changes: Sequence[Change]) -> None:
    """Write what makes documents findable: members and copies, then the rows that are not there."""
    if not changes:
        return
    check_bands(profile, entries)
    duplicates = [change for change in changes if change.new.is_duplicate]
    changes = [change for change in changes if not change.new.is_duplicate]
    copies = copy_cells(entries, [(change.at, change.new) for change in duplicates], digests=_digests(duplicates))
    kept = entries.take([change.at for change in changes])
    members = member_cells(kept, [change.new for change in changes], digests=_digests(changes))
    store.put(FAMILY_DOCUMENTS, members + copies)
    # Where HBase collects what is old, a refresh rewrites all cells of a document.
    again = profile.ttl_ms is not None
    fresh = [change.at for change in changes if again or not change.has_rows]
    # Another text may have the same fingerprint, so its sketch rows are written whatever stands there.
    known = sorted({change.at for change in changes} - set(fresh)) if profile.bands else []
    all_fresh = len(fresh) == len(changes)
    rows = [entry_rows(profile, kept if all_fresh else entries.take(fresh))] if fresh else []
    rows += [entry_band_rows(profile, entries.take(known))] if known else []
    if rows:
        store.put_rows(BlockRows.merged(*rows), timestamp=max(change.new.seen for change in changes))


def _digests(changes: Sequence[Change]) -> list[bytes]:
    return [row_digest(change.row) for change in changes]


def commit(store: Store, changes: Sequence[Change], *, below: int | None = None) -> list[Change]:
    """Write the document cells: in a store without transactions so that no request of it does harm when it is late."""
    first = [change for change in changes if change.old is None]
    if not isinstance(store, CompareAndSet):
        _put(store, changes)
        return []
    if isinstance(store, Transactional):
        _put(store, first)
        return _compare_and_set(store, [change for change in changes if change.old is not None])
    if below is None:
        return _compare_and_set(store, changes)
    stand = put_first(store, [Cell(change.row, STATE_QUALIFIER, encode(change.new), below) for change in first])
    refused = [change for change, stands in zip(first, stand, strict=True) if not stands]
    return refused + _compare_and_set(store, [change for change in changes if change.old is not None])


def _put(store: Store, changes: Sequence[Change]) -> None:
    if changes:
        store.put(FAMILY_DOCUMENTS, [Cell(change.row, STATE_QUALIFIER, encode(change.new)) for change in changes])


def _compare_and_set(store: CompareAndSet, changes: Sequence[Change]) -> list[Change]:
    if not changes:
        return []
    asked = [Swap(change.row, STATE_QUALIFIER, change.old_value, encode(change.new)) for change in changes]
    return [change for change, done in zip(changes, store.compare_and_set(asked), strict=True) if not done]


def drop_members(store: Store, changes: Sequence[Change]) -> None:
    """Delete the members and copies that no document cell names after the changes, up to the stamps of their ids."""
    if cells := [cell for change in changes for cell in _outdated(change)]:
        store.delete(FAMILY_DOCUMENTS, cells)


def _outdated(change: Change) -> Iterator[Cell]:
    old = change.old
    if old is None:
        return
    named = {state.text for state in (old, old.previous) if state is not None}
    for text in sorted(named - change.new.member_texts()):
        yield Cell(*member_key(text, row_digest(change.row)), b"", old.stamp)
    key = copy_key(old)
    if key and key != copy_key(change.new):
        yield Cell(*key, b"", old.stamp)


def drop_copies(store: Store, changes: Sequence[Change]) -> None:
    """Delete the copies of originals that the changes take out of the index."""
    gone = [change.row for change in changes if change.before and change.before.is_found and change.new.is_gone]
    if not gone or not isinstance(store, CompareAndSet):
        return
    for cells in read_copies(store, [copies_row(row_digest(row)) for row in gone]):
        store.delete(FAMILY_DOCUMENTS, cells)


def _own(name: str, cell: Cell) -> DocumentState:
    state = decode_document(cell.value)
    if state.id != name:
        both = f": that of {name!r} has {state.id!r}"
        raise CorruptIndex("a document cell holds another id than its own", named=both)
    return state
