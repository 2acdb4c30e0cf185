"""Reading of member cells: each stands for one document, in the row of the document's fingerprint.

A search in several steps reads each of them once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import Sketches
from simhash_hbase.rows import documentcells, keys, layout
from simhash_hbase.rows.collections import collection_of
from simhash_hbase.rows.documentcells import DocumentState, Member, Text
from simhash_hbase.stores.base import Cell, Store
from simhash_hbase.stores.columns import Columns, columns_of

# Members that are kept for the next part of a search: about 100 MB.
HELD_MEMBERS = 100_000
MEMBERS_AT_ONCE = 4_096
# Most members of a fingerprint that are read to find those of a collection: half a second in a folder.
OTHERS = 100_000

DocumentFilter: TypeAlias = Callable[[DocumentState, Text], DocumentState | None]
"""Takes a document cell and the text of a member; returns the decision that the member stands for, None if none."""


class MemberPage(NamedTuple):
    """The member cells of several fingerprints, as columns: each cell stands for one document with that fingerprint."""

    simhashes: NDArray[np.uint64]  # The fingerprints, ascending, shape (n,).
    first: NDArray[np.intp]  # Where the members of each fingerprint begin, shape (n,).
    stop: NDArray[np.intp]  # Where they end, shape (n,).
    keys: list[bytes]  # Row and qualifier of each member.
    values: list[bytes]  # The encoded members.
    sketches: Sketches  # The sketch of each member; absent where the cell does not decode, too.

    @property
    def bands(self) -> int:
        """The number of sketch rows (LSH bands) that each document has.

        A sketch row has a hash of a part (band) of the sketch in its key: very similar texts share one or more.
        """
        return int(self.sketches.segments.shape[1])

    @classmethod
    def of(cls, simhashes: NDArray[np.uint64], members: Columns, bands: int) -> MemberPage:
        """Return a page of the member cells of ascending fingerprints, given as columns in the same order.

        A member cell stands for one document, in the row of its fingerprint.
        """
        ends = np.cumsum([0, *members.counts])
        sketches = Sketches.unpacked(documentcells.decode_sketches(members.values, bands=bands), bands)
        return cls(simhashes, ends[:-1], ends[1:], members.keys, members.values, sketches)

    def and_of(self, other: MemberPage) -> MemberPage:
        """Return a page with the member cells of both pages; no fingerprint may be in both."""
        simhashes = np.concatenate([self.simhashes, other.simhashes])
        order = np.argsort(simhashes)
        behind = len(self.keys)
        return MemberPage(
            simhashes[order],
            np.concatenate([self.first, other.first + behind])[order],
            np.concatenate([self.stop, other.stop + behind])[order],
            self.keys + other.keys,
            self.values + other.values,
            self.sketches.and_of(other.sketches),
        )

    def where(self, simhashes: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Return the positions of these fingerprints in the page, which must have all of them."""
        return np.searchsorted(self.simhashes, simhashes)

    def texts(self) -> Iterator[tuple[Text, int]]:
        """Yield for each member cell the fingerprint and digest of its document's text, and the cell's position."""
        for simhash, first, stop in zip(self.simhashes.tolist(), self.first.tolist(), self.stop.tolist(), strict=True):
            for at in range(first, stop):
                yield Text(simhash, self.text_digest(at)), at

    def qualifier(self, at: int) -> bytes:
        """Return the column qualifier of the member cell at position `at`: digests of its document's id and text."""
        return self.keys[at][layout.MEMBER_ROW_BYTES :]

    def id_digest(self, at: int) -> bytes:
        """Return the digest of the id of the document at position `at`."""
        return self.keys[at][layout.MEMBER_ROW_BYTES : layout.MEMBER_ID_BYTES]

    def text_digest(self, at: int) -> bytes:
        """Return the digest of the text of the document at position `at`; empty if the document came without text."""
        return self.keys[at][layout.MEMBER_ID_BYTES :]


class Members:
    """Reads the member cells of fingerprints and the document cells of ids, and caches both for one search.

    A member cell stands for one document in the row of its fingerprint; the document cell has the document's decision.
    """

    def __init__(
        self,
        store: Store,
        profile: Profile,
        counts: DocumentFilter,
        *,
        limit: int,
        collections: frozenset[str] = frozenset(),
    ) -> None:
        self._store = store
        self._collections = collections
        self._bands = profile.bands
        self._counts = counts
        self._limit = limit
        self._held: MemberPage | None = None
        self._states: dict[bytes, DocumentState | None] = {}
        self._decoded: dict[bytes, Member] = {}
        self.wide: dict[int, bytes] = {}
        """Fingerprints with more members than the limit, and the qualifier of the last member that was read of each."""

    def page(self, simhashes: NDArray[np.uint64]) -> MemberPage:
        """Return a page with the member cells of sorted distinct fingerprints, up to the limit for each fingerprint.

        The page may also hold member cells that were read before, of other fingerprints.
        """
        held, self._held = self._held, None
        if held is not None and len(held.keys) > HELD_MEMBERS:
            held = None
        if held is None:
            held = self._read(simhashes)
        elif len(missing := np.setdiff1d(simhashes, held.simhashes, assume_unique=True)):
            held = held.and_of(self._read(missing))
        self._held = held
        return held

    def _read(self, simhashes: NDArray[np.uint64]) -> MemberPage:
        rows = self._store.get_rows(layout.FAMILY_DOCUMENTS, keys.member_rows(simhashes), limit=self._limit + 1)
        members = columns_of(rows)
        if self._collections and max(members.counts, default=0) > self._limit:
            members = columns_of([self._own(cells) if len(cells) > self._limit else cells for cells in rows])
        page = MemberPage.of(simhashes, members, self._bands)
        if max(members.counts, default=0) <= self._limit:
            return page
        kept = np.minimum(page.stop, page.first + self._limit)
        for at in np.flatnonzero(kept < page.stop).tolist():
            self.wide[int(simhashes[at])] = page.qualifier(int(kept[at]) - 1)
        return page._replace(stop=kept)

    def _own(self, cells: list[Cell]) -> list[Cell]:
        """Return the member cells of the searched collections from a row that has more than the limit.

        At most one more than the limit is returned. Cells of other collections are left out. Only if the first `OTHERS`
        cells of the row hold too few, the result is filled up with cells of other collections, so that the row counts
        as cut.
        """
        own: list[Cell] = []
        seen = 0
        while True:
            own += [cell for cell in cells if self._is_asked(cell)]
            seen += len(cells)
            if len(own) > self._limit or len(cells) <= self._limit:
                return own[: self._limit + 1]
            if seen > OTHERS:
                return (own + [cell for cell in cells if not self._is_asked(cell)])[: self._limit + 1]
            row, after = cells[-1].row, cells[-1].qualifier
            cells = self._store.read_row(layout.FAMILY_DOCUMENTS, row, after=after, limit=self._limit + 1)

    def _is_asked(self, cell: Cell) -> bool:
        try:
            return collection_of(documentcells.decode_member(cell.value, bands=self._bands).id) in self._collections
        except CorruptIndex:
            return True

    def next_page(self, simhash: int, after: bytes, limit: int) -> MemberPage:
        """Return up to `limit` more member cells of a fingerprint: those after the cell with the qualifier `after`."""
        cells = self._store.read_row(layout.FAMILY_DOCUMENTS, keys.member_row(simhash), after=after, limit=limit)
        return MemberPage.of(np.array([simhash], dtype=np.uint64), columns_of([cells]), self._bands)

    def know(self, digests: Iterable[bytes]) -> None:
        """Read the document cells of ids with these digests, unless they were read before; `found` needs them.

        A document cell has the decision about one document, in the row of its id.
        """
        if len(self._states) > HELD_MEMBERS:
            self._states = {}
        missing = sorted(set(digests) - self._states.keys())
        if missing:
            cells = self._store.get(layout.FAMILY_DOCUMENTS, [keys.document_key(digest) for digest in missing])
            states = [cell and documentcells.decode_document(cell.value) for cell in cells]
            self._states.update(zip(missing, states, strict=True))

    def order_of_ids(self, page: MemberPage, at: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return, for the member cells at positions `at` of a page, their ranks in the order of the documents' ids."""
        places = at.tolist()
        ids = dict.fromkeys(sorted(set(places)), "")
        for place in ids:
            # A damaged member is reported later, by `found`, if its document counts.
            with suppress(CorruptIndex):
                ids[place] = self._member(page, place).id
        order = {place: number for number, place in enumerate(sorted(ids, key=ids.__getitem__))}
        return np.array([order[place] for place in places], np.intp)

    def _member(self, page: MemberPage, at: int) -> Member:
        """Return the decoded member cell at position `at` of a page; it is decoded once and cached."""
        key = page.keys[at]
        if (member := self._decoded.get(key)) is None:
            if len(self._decoded) > HELD_MEMBERS:
                self._decoded = {}
            member = self._decoded[key] = documentcells.decode_member(page.values[at], bands=self._bands)
        return member

    def found(self, text: Text, page: MemberPage, at: int) -> tuple[Member, DocumentState] | None:
        """Return the decoded member cell at `at` and the decision about its document; None if it does not count.

        A member cell stands for one document, in the row of its fingerprint; its document cell, in the row of its id,
        has the decision about it, which `know` must have read before. A document does not count if it was removed or
        has expired, has another text since, or is left out by the filter.
        """
        named = self._states[page.id_digest(at)]
        state = named and self._counts(named, text)
        if state is None:
            return None
        member = self._member(page, at)
        return (member, state) if member.id == state.id else None


def found_since(oldest: int) -> DocumentFilter:
    """Return a filter for documents that queries find (no duplicates) and that were last seen at `oldest` or later.

    `oldest` is in ms since 1970.
    """
    return lambda cell, text: cell.found_under(text, oldest)


def are_found(profile: Profile, store: Store, simhashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return a mask: which of the ascending fingerprints have a document that queries find; expired ones count, too."""
    found: set[int] = set()
    for start in range(0, len(simhashes), MEMBERS_AT_ONCE):
        members = Members(store, profile, found_since(0), limit=profile.max_members)
        page = members.page(simhashes[start : start + MEMBERS_AT_ONCE])
        members.know(map(page.id_digest, range(len(page.keys))))
        # A fingerprint with more members than are read counts as found.
        found.update(members.wide)
        found.update(text.simhash for text, at in page.texts() if members.found(text, page, at) is not None)
    return np.isin(simhashes, np.fromiter(found, np.uint64, len(found)))
