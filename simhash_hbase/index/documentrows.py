"""The rows and cells of documents, and how they change: search rows, member cells, copy cells and document cells.

The one place where analysed documents become cells, and member cells such documents again. An index has for a document:

* a *document cell*, the decision about it, in the row of its id; a `Change` replaces one by another;
* a *member cell*, with its sketch and metadata, in the row of its fingerprint; for a duplicate a *copy cell* instead,
  of the same form without sketch, in the row that lists the copies of its original;
* *search rows* (all `BlockRows`), unless it is a duplicate: keys without a value that lead a query to its fingerprint.
  Block rows begin with blocks of the fingerprint, sketch rows with a band of its MinHash sketch, passage rows with the
  hash of a passage of its text.

Member cells are written first, then the search rows, then the document cells: the document cell is the commit point, so
at every moment a document that `get` shows can be found. A crash before it leaves rows that no answer counts and
`vacuum` deletes.
"""

from collections.abc import Iterable, Sequence
from itertools import compress, islice, repeat
from operator import add
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.index.timestamps import ServerClock, stamp_above
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import Sketches
from simhash_hbase.rows import documentcells
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.documentcells import Change, DocumentState, Member, Outcome, RowFields, StoredState
from simhash_hbase.rows.keys import (
    BlockRows,
    band_prefixes,
    band_rows,
    block_rows,
    copies_row,
    document_rows,
    id_digest,
    member_rows,
    passage_rows,
)
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER, TEXT_BYTES
from simhash_hbase.stores.base import Cell, Store, Swap, Transactional, atomically
from simhash_hbase.stores.columns import CellColumns

# A single compare-and-set takes less time than a put and a second read; several take more.
FEW = 1


def read_states(store: Store, ids: Sequence[str], digests: Sequence[bytes] | None = None) -> list[StoredState | None]:
    """Return the document cell of each id, decoded and as bytes; None where there is none.

    `digests` are those of the ids, if the caller has them. `CorruptIndex` is raised for a cell with another id.
    """
    digests = digests or [id_digest(name) for name in ids]
    cells = store.get(FAMILY_DOCUMENTS, list(zip(document_rows(digests), repeat(STATE_QUALIFIER), strict=False)))
    states: list[StoredState | None] = []
    for name, cell in zip(ids, cells, strict=True):
        state = cell and documentcells.decode_document(cell.value)
        if state and state.id != name:
            both = f": that of {name!r} has {state.id!r}"
            raise CorruptIndex("a document cell holds another id than its own", named=both)
        states.append((state, cell.value) if state and cell else None)
    return states


def entry_rows(
    profile: Profile,
    entries: Entries,
    *,
    with_blocks: NDArray[np.bool_] | None = None,
    with_bands: NDArray[np.bool_] | None = None,
) -> BlockRows:
    """Return the search rows to write for documents: block rows, and sketch and passage rows if the index has them.

    Only documents that the mask `with_blocks` marks get block rows, and only those that `with_bands` marks get sketch
    and passage rows. Without a mask all documents get them.
    """
    segments = entries.segments_for(profile.bands)
    passages = entries.passages_for(kept=profile.passages is not None)
    simhashes = entries.simhashes
    blocks = block_rows(profile.blocks, simhashes if with_blocks is None else simhashes[with_blocks])
    kinds = [blocks]
    if profile.bands:
        sketched = entries.sketched if with_bands is None else entries.sketched & with_bands
        kinds.append(band_rows(band_prefixes(profile.blocks, segments, sketched), simhashes))
    if profile.passages is not None:
        if with_bands is not None:
            passages = [packed if is_marked else b"" for packed, is_marked in zip(passages, with_bands, strict=True)]
        kinds.append(passage_rows(passages, simhashes))
    return BlockRows.merged(*kinds) if len(kinds) > 1 else blocks


def stored_rows(profile: Profile, simhashes: NDArray[np.uint64], fields: RowFields) -> BlockRows:
    """Return all search rows of stored documents, made from their fingerprints and the fields of their member cells."""
    kinds = [block_rows(profile.blocks, simhashes)]
    if profile.bands:
        held = Sketches.unpacked(fields.sketches, profile.bands)
        kinds.append(band_rows(band_prefixes(profile.blocks, held.segments, held.present), simhashes))
    if profile.passages is not None:
        kinds.append(passage_rows(fields.passages, simhashes))
    return BlockRows.merged(*kinds) if len(kinds) > 1 else kinds[0]


def member_values(
    entries: Entries, added: Iterable[int], *, checksum: bool, with_sketch: NDArray[np.bool_] | None = None
) -> list[bytes]:
    """Return the encoded member cell of each document; `added` is when each was added, in ms since 1970.

    Documents that the mask `with_sketch` does not mark get neither sketch nor passages, as copy cells have none.
    """
    sketches, passages = Sketches.of_entries(entries), entries.packed_passages
    if with_sketch is not None:
        sketches = sketches._replace(shingles=sketches.shingles * with_sketch)
        passages = [packed if is_marked else b"" for packed, is_marked in zip(passages, with_sketch, strict=True)]
    columns = (
        entries.ids,
        islice(added, len(entries)),
        entries.lengths.tolist(),
        entries.features.tolist(),
        entries.digests,
        sketches.packed(),
        [dict(metadata) if metadata else None for metadata in entries.metadata],
        passages,
    )
    return documentcells.encode_columns(columns, checksum=checksum)


def document_cells(entries: Entries, changes: Sequence[Change]) -> list[Cell]:
    """Return the cell to write along with each changed document cell: its member cell, or copy cell of a duplicate."""
    is_found = np.array([not change.new.is_duplicate for change in changes], np.bool_)
    values = member_values(
        entries,
        [change.new.order[0] for change in changes],
        checksum=any(change.checksum for change in changes),
        with_sketch=is_found,
    )
    return [Cell(*change.kept_key, value, change.new.stamp) for change, value in zip(changes, values, strict=True)]


def bare_entries(states: Sequence[DocumentState]) -> Entries:
    """Return entries with ids and fingerprints only, from document cells, for documents without a member cell."""
    simhashes = np.array([state.simhash for state in states], dtype=np.uint64)
    return Entries.of_fingerprints([state.id for state in states], simhashes)


def member_entries(members: Sequence[Member], simhashes: Sequence[int], *, bands: int) -> Entries:
    """Return analysed documents again from their member cells and fingerprints, in the order of the cells.

    `bands` is the number of bands of a sketch in the index.
    """
    sketches = Sketches.unpacked([member.sketch for member in members], bands)
    return Entries(
        ids=[member.id for member in members],
        simhashes=np.array(simhashes, dtype=np.uint64),
        sketches=sketches.words,
        shingles=sketches.shingles,
        features=np.array([member.features for member in members], dtype=np.int32),
        lengths=np.array([member.length for member in members], dtype=np.int32),
        digests=[member.digest for member in members],
        metadata=[member.metadata for member in members],
        bands=sketches.segments,
        passages=list(map(documentcells.passages_of, members)),
    )


class NewCells(NamedTuple):
    """The new document cells to write for a batch, a column for each field of `DocumentState`.

    A cell that replaces another one has a `Change`, too. Nearly all documents of a corpus have no cell yet, and an
    object for each would take longer than to decide them.
    """

    entries: Entries  # The documents.
    places: Sequence[int]  # Their positions in the batch.
    columns: Sequence[list[Any]]  # In the order of the fields of `DocumentState`.
    changes: dict[int, Change]  # The changes of cells that replace another, by their numbers among the cells.

    @property
    def are_found(self) -> NDArray[np.bool_]:
        """A mask of the documents that queries find by their new cells: those that are not duplicates."""
        return np.array([state != "duplicate" for state in self.columns[_STATE]], np.bool_)

    def kept(self, *, checksum: bool) -> CellColumns:
        """Return the cell to write along with each document cell: its member cell, or copy cell of a duplicate."""
        entries, found, digests = self.entries, self.are_found, self.entries.id_digests
        values = member_values(
            entries, (added for added, _ in self.columns[_ORDER]), checksum=checksum, with_sketch=found
        )
        rows = member_rows(entries.simhashes)
        qualifiers = list(map(add, digests, self.columns[_DIGEST]))
        for number in np.flatnonzero(~found).tolist():
            rows[number] = copies_row(id_digest(self.columns[_OF][number]))
            qualifiers[number] = digests[number]
        return CellColumns(rows, qualifiers, values, self.columns[_STAMP])


_STATE, _SEEN, _STAMP, _ORDER, _OF, _DIGEST = map(
    DocumentState.__struct_fields__.index, ("state", "seen", "stamp", "order", "of", "digest")
)


class WriteBatch(NamedTuple):
    """A batch of analysed documents, with the store and the profile of the index into which they are written."""

    store: Store
    profile: Profile  # The profile of the index.
    entries: Entries

    def plan(
        self, outcomes: Sequence[Outcome], places: Sequence[int], states: Sequence[StoredState | None], *, now: int
    ) -> NewCells:
        """Return the new document cells, not yet written, of the documents at the positions `places` of the batch.

        `outcomes` has the decision about each document of the batch. `states` has the stored document cell of each
        place, None where there is none. `now` is in ms since 1970.
        """
        if not places:
            return NewCells(self.entries.take([]), [], [], {})
        entries = self._at(places)
        columns = self._columns(entries, [outcomes[at] for at in places], places, now)
        changes = {}
        for number, stored in enumerate(states):
            if stored is not None:
                planned = DocumentState(*(column[number] for column in columns))
                new = self._over(stored, planned, now)
                changes[number] = Change.of(
                    places[number], entries.id_digests[number], stored, new, checksum=self.profile.checksums
                )
                for column, value in zip(columns, msgspec.structs.astuple(new), strict=True):
                    column[number] = value
        return NewCells(entries, places, columns, changes)

    def _columns(
        self, entries: Entries, outcomes: Sequence[Outcome], places: Sequence[int], now: int
    ) -> list[list[Any]]:
        """Return new document cells as columns, one for each field of `DocumentState`, as if none replaced another."""
        count = len(places)
        state, of, distance, similarity, containment, of_text = map(list, zip(*outcomes, strict=True))
        texts = [digest[:TEXT_BYTES] for digest in entries.digests]
        return [
            list(entries.ids),
            entries.simhashes.tolist(),
            state,
            [now] * count,  # When it was seen.
            [now] * count,  # Its stamp.
            [(now, at) for at in places],
            [b""] * count,  # Of claims: their tokens.
            *(of, distance, similarity, containment),
            [None] * count,  # Of claims: the decision before.
            texts,
            of_text,
            [entries.batch] * count,
        ]

    def _over(self, stored: StoredState, new: DocumentState, now: int) -> DocumentState:
        """Return the new document cell with the fields that depend on the stored one that it replaces.

        Its stamp, the timestamp of its member cell, goes above the stored one. Where the document is known with the
        same text, it keeps the order and the batch of its first decision.
        """
        old, _ = stored
        new = msgspec.structs.replace(new, stamp=stamp_above(now, old.stamp))
        known = old.found(self.profile.oldest(now))
        if known is None or not known.text.is_same(new.text):
            return new
        # A known original that is added again stays an original, unless it has expired.
        state = known.state if new.state == "added" else new.state
        # The document stays in the batch that brought its text.
        return msgspec.structs.replace(new, state=state, order=known.order, batch=known.batch)

    def apply(self, cells: NewCells, *, below: int | None = None) -> list[int]:
        """Write planned document cells with their member cells and rows, in the order that keeps documents findable.

        Return the positions in the batch of documents that another writer changed first: their cells were not written.
        In a store without transactions, first cells of documents are put at the timestamp `below`, the result of
        `ServerClock.decision_time`. If that is None, or there is just one, they are written by compare-and-set.
        """
        if not cells.places:
            return []
        has_rows = np.zeros(len(cells.places), np.bool_)
        has_rows[[number for number, change in cells.changes.items() if change.has_rows]] = True
        kept = cells.kept(checksum=self.profile.checksums)
        self._put(cells.entries, kept, cells.are_found, has_rows, cells.columns[_SEEN])
        lost = self._commit(cells, below)
        drop_members(self.store, [change for number, change in cells.changes.items() if number not in lost])
        return [cells.places[number] for number in sorted(lost)]

    def put_rows_and_members(self, changes: Sequence[Change]) -> None:
        """Write the member and copy cells of changes, then missing search rows, but no document cells.

        A claim calls this for undecided documents, so that the searches of other claims find them.
        """
        if changes:
            entries = self._at([change.at for change in changes])
            found = np.array([not change.new.is_duplicate for change in changes], np.bool_)
            has_rows = np.array([change.has_rows for change in changes], np.bool_)
            seen = [change.new.seen for change in changes]
            self._put(entries, document_cells(entries, changes), found, has_rows, seen)

    def _put(
        self,
        entries: Entries,
        cells: Sequence[Cell],
        found: NDArray[np.bool_],
        has_rows: NDArray[np.bool_],
        seen: Sequence[int],
    ) -> None:
        # Where HBase removes old cells, a refresh rewrites all cells of a document.
        lacking = found & ~has_rows if self.profile.ttl_ms is None else found
        # Another text may have the same fingerprint, so the other rows are written whatever stands there.
        rows = entry_rows(self.profile, entries, with_blocks=lacking, with_bands=found)
        self.store.put(FAMILY_DOCUMENTS, cells)
        if len(rows.prefixes):
            self.store.put_rows(rows, timestamp=max(compress(seen, found.tolist())))

    def _commit(self, cells: NewCells, below: int | None) -> set[int]:
        """Write document cells, so that a request that reaches the server late overwrites no other writer's decision.

        Return the positions, in `cells`, of the cells that other writers wrote first. `below` is as for `apply`.
        """
        values = documentcells.encode_columns(cells.columns, checksum=self.profile.checksums)
        rows, qualifiers = document_rows(cells.entries.id_digests), [STATE_QUALIFIER] * len(values)
        is_transaction = isinstance(self.store, Transactional)
        written = CellColumns(rows, qualifiers, values, [None if is_transaction else below] * len(values))
        new, compared = [number for number in range(len(rows)) if number not in cells.changes], list(cells.changes)
        lost: set[int] = set()
        if is_transaction:
            # Inside the transaction the cells that were read as empty are still empty.
            if new:
                self.store.put(FAMILY_DOCUMENTS, written.take(new))
        elif below is None or len(new) <= FEW:
            compared = list(range(len(rows)))
        else:
            stand = put_first(self.store, written.take(new))
            lost.update(number for number, stands in zip(new, stand, strict=True) if not stands)
        if compared:
            old = {number: change.old_value for number, change in cells.changes.items()}
            swaps = [Swap(rows[number], STATE_QUALIFIER, old.get(number), values[number]) for number in compared]
            swapped = self.store.compare_and_set(swaps)
            lost.update(number for number, done in zip(compared, swapped, strict=True) if not done)
        return lost

    def _at(self, places: Sequence[int]) -> Entries:
        return self.entries if list(places) == list(range(len(self.entries))) else self.entries.take(places)


def commit(store: Store, changes: Sequence[Change]) -> list[Change]:
    """Replace document cells by compare-and-set; return the changes that failed as others changed the cell first."""
    if not changes:
        return []
    swapped = store.compare_and_set([Swap(*change.key, change.old_value, change.value) for change in changes])
    return [change for change, done in zip(changes, swapped, strict=True) if not done]


def put_first(store: Store, cells: Sequence[Cell]) -> list[bool]:
    """Put cells of family ``d`` that did not exist when read; return whether each has the put value when read back.

    False means that there is a cell of another writer instead.
    """
    if not cells:
        return []
    store.put(FAMILY_DOCUMENTS, cells)
    stored = store.get(FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in cells])
    return [now is not None and now.value == cell.value for now, cell in zip(stored, cells, strict=True)]


def drop_members(store: Store, changes: Sequence[Change]) -> None:
    """Delete the member and copy cells that changes of document cells made outdated, once these are committed.

    A cell with a later timestamp than the stamp of the old document cell stays.
    """
    cells = [
        Cell(*key, b"", change.old.stamp) for change in changes if change.old is not None for key in change.outdated
    ]
    if cells:
        store.delete(FAMILY_DOCUMENTS, cells)


def refresh_documents(
    store: Store, profile: Profile, ids: Sequence[str], *, server_clock: ServerClock, now: int
) -> None:
    """Write `now` (ms since 1970) as the time at which documents were last seen, so that they do not expire yet.

    Does nothing in an index without a time to live. Only documents last seen longer ago than a tenth of that time are
    written, with all their cells and rows. A document that another writer changes first is left out: that writer has
    seen it, too.
    """
    if profile.ttl_ms is None:
        return
    now = server_clock.writing_time(now)
    with atomically(store):
        refresh_within(store, profile, ids, now=now)


def refresh_within(
    store: Store, profile: Profile, ids: Sequence[str], *, now: int
) -> tuple[Sequence[Change], Sequence[Change]]:
    """Do as `refresh_documents` within the caller's transaction; return the changes made, and those refused.

    A change is refused if another writer changed the document cell first. Expired documents are not refreshed.
    """
    if profile.ttl_ms is None:
        return (), ()
    # Documents that were seen long ago, but have not expired: expired ones are not brought back.
    due = range(profile.oldest(now), now - profile.ttl_ms // 10)
    changes = []
    for at, (old, value) in enumerate(stored for stored in read_states(store, ids) if stored is not None):
        decision = old.shown()
        if decision is not None and decision.seen in due:
            stamp = stamp_above(now, old.stamp)
            new = msgspec.structs.replace(decision, seen=now, stamp=stamp)
            if old.is_undecided:
                # A document that moves is refreshed with the text that still counts.
                new = msgspec.structs.replace(old, previous=new, stamp=stamp)
            changes.append(Change.of(at, id_digest(old.id), (old, value), new, checksum=profile.checksums))
    seen = [(state, change.digest) for change in changes if (state := change.new.shown())]
    kept = store.get(FAMILY_DOCUMENTS, [state.kept_key(digest) for state, digest in seen])
    pairs = [(state, cell) for (state, _), cell in zip(seen, kept, strict=True) if cell is not None]
    if pairs:
        store.put(FAMILY_DOCUMENTS, [cell._replace(timestamp=state.stamp) for state, cell in pairs])
    found = [
        (state, documentcells.decode_member(cell.value, bands=profile.bands)) for state, cell in pairs if state.is_found
    ]
    if found:
        simhashes = np.array([state.simhash for state, _ in found], dtype=np.uint64)
        members = [member for _, member in found]
        fields = RowFields([member.sketch for member in members], list(map(documentcells.passages_of, members)))
        rows = stored_rows(profile, simhashes, fields)
        store.put_rows(rows, timestamp=now)
    refused = commit(store, changes)
    lost = {change.at for change in refused}
    return [change for change in changes if change.at not in lost], refused
