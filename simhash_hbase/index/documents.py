"""Reading the stored documents of one collection: by their ids, or all of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.index.answers import ItemCounts, Stored, stored_document
from simhash_hbase.index.documentrows import bare_entries, member_entries, read_states
from simhash_hbase.index.upkeep.walk import DamageCallback, DocumentPage, ProgressCallback, scan_documents
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.collections import Collection
from simhash_hbase.rows.documentcells import DocumentState, Member, decode_member, passages_of
from simhash_hbase.rows.keys import id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Store


@dataclass(frozen=True, slots=True)
class StoredDocuments:
    """Reads the documents of one collection from the store, without those that have expired."""

    store: Store
    profile: Profile
    collection: Collection
    oldest: Callable[[], int]
    """Returns the time since which a document must have been seen to count, ms since 1970."""

    def get(self, ids: Iterable[str]) -> list[tuple[DocumentState, Member | None] | None]:
        """Return for each id, in order, the document cell of its decision in force, and its member cell.

        The decision in force is the last one that is complete: a claim for another text may be under way. The member
        cell holds the sketch and the metadata; None in its place: it is missing. None for an id that is not stored.
        """
        oldest = self.oldest()
        states = [
            held and held[0].shown(oldest)
            for held in read_states(self.store, list(map(self.collection.stored_id, ids)))
        ]
        members = iter(self.members([state for state in states if state is not None]))
        return [None if state is None else (state, next(members)) for state in states]

    def records(self, ids: Iterable[str]) -> list[Stored | None]:
        """Return the record of each id, as callers get it, in order; None for an id that is not stored."""
        return [None if held is None else stored_document(self.collection, *held) for held in self.get(ids)]

    def entries(self, document_id: str) -> Entries | None:
        """Return a stored document with fingerprint and sketch, as analysis made it; None if it is not stored.

        A duplicate has no sketch, since the index keeps none for it.
        """
        [held] = self.get([document_id])
        if held is None:
            return None
        state, member = held
        if member is None or state.is_duplicate:
            bare = bare_entries([state])
            return self.collection.given(replace(bare, metadata=[None if member is None else member.metadata]))
        return self.collection.given(member_entries([member], [state.simhash], bands=self.profile.bands))

    def members(self, states: Sequence[DocumentState], on_damage: DamageCallback | None = None) -> list[Member | None]:
        """Return the member cell of each document, or of a duplicate its entry in the list of copies; None if missing.

        A damaged cell raises `CorruptIndex`, or if `on_damage` is given, is passed to that and becomes None.
        """
        cells = self.store.get(FAMILY_DOCUMENTS, [state.kept_key(id_digest(state.id)) for state in states])
        members: list[Member | None] = []
        for cell in cells:
            member = None
            if cell is not None:
                try:
                    member = decode_member(cell.value, bands=self.profile.bands)
                except CorruptIndex as error:
                    if on_damage is None:
                        raise
                    on_damage(cell.row, error)
            members.append(member)
        return members

    def shown(self, page: DocumentPage) -> list[DocumentState]:
        """Return the decisions in force of a page's documents, without other collections and expired documents."""
        oldest = self.oldest()
        own = filter(lambda state: self.collection.holds(state.id), page.states)
        return [shown for state in own if (shown := state.shown(oldest))]

    def export(
        self, batch: str | None, watch: ProgressCallback | None, on_damage: DamageCallback | None
    ) -> Iterator[Stored]:
        """Yield the records of all documents, or only of those that came in a batch; see `LocalIndex.export`."""
        for page in scan_documents(self.store, watch, on_damage):
            live = [state for state in self.shown(page) if batch is None or state.batch == batch]
            for state, member in zip(live, self.members(live, on_damage), strict=True):
                yield stored_document(self.collection, state, member)

    def count_items(self, watch: ProgressCallback | None) -> ItemCounts:
        """Return how many documents have passages, so that they are found in texts, and how many have none.

        See `Index.count_items`.
        """
        counts = ItemCounts(0, 0)
        for page in scan_documents(self.store, watch):
            live = self.shown(page)
            kept = sum(
                member is not None and not state.is_duplicate and bool(passages_of(member))
                for state, member in zip(live, self.members(live), strict=True)
            )
            counts = ItemCounts(counts.found + kept, counts.without_passages + len(live) - kept)
        return counts
