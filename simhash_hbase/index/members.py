"""The documents behind fingerprints, read once for all parts of a search."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.profile import Profile
from simhash_hbase.profile.near import Sketches
from simhash_hbase.rows.documents import DocumentState, Member, Text, decode_document, decode_member, decode_sketches
from simhash_hbase.rows.keys import document_row, member_row, member_rows
from simhash_hbase.rows.layout import BLOCK_ROW_BYTES, FAMILY_DOCUMENTS, ID_DIGEST_BYTES, STATE_QUALIFIER
from simhash_hbase.stores.base import Store
from simhash_hbase.stores.columns import Columns, columns_of

# Members that are kept for the next part of a search: about 100 MB.
HELD_MEMBERS = 100_000
MEMBER_ROW_BYTES = BLOCK_ROW_BYTES  # A row of members has the form of a block row.
MEMBER_ID_BYTES = MEMBER_ROW_BYTES + ID_DIGEST_BYTES
# Cells that are decoded at a time: some megabytes, of which the sketches are kept.
DECODED_AT_ONCE = 4_096


Counts: TypeAlias = Callable[[DocumentState, Text], DocumentState | None]
"""Takes a document cell and the text of a member: what the member stands for, or None when it does not count."""


class Page(NamedTuple):
    """Members of fingerprints, as columns."""

    simhashes: NDArray[np.uint64]  # The fingerprints, ascending, shape (n,).
    first: NDArray[np.intp]  # Where the members of each begin, shape (n,).
    stop: NDArray[np.intp]  # Where they end, shape (n,).
    keys: list[bytes]  # Row and qualifier of each member.
    values: list[bytes]
    sketches: Sketches  # None where a cell does not decode, too.

    @classmethod
    def of(cls, simhashes: NDArray[np.uint64], members: Columns, bands: int) -> "Page":
        """Put the members of each of some fingerprints one behind the other."""
        ends = np.cumsum([0, *members.counts])
        sketches: list[bytes] = []
        for start in range(0, len(members.values), DECODED_AT_ONCE):
            sketches += decode_sketches(members.values[start : start + DECODED_AT_ONCE], bands=bands)
        unpacked = Sketches.unpacked(sketches, bands)
        return cls(simhashes, ends[:-1], ends[1:], members.keys, members.values, unpacked)

    def and_of(self, other: "Page") -> "Page":
        """Join with members of other fingerprints."""
        simhashes = np.concatenate([self.simhashes, other.simhashes])
        order = np.argsort(simhashes)
        behind = len(self.keys)
        return Page(
            simhashes[order],
            np.concatenate([self.first, other.first + behind])[order],
            np.concatenate([self.stop, other.stop + behind])[order],
            self.keys + other.keys,
            self.values + other.values,
            self.sketches.and_of(other.sketches),
        )

    def where(self, simhashes: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Find fingerprints that it has."""
        return np.searchsorted(self.simhashes, simhashes)

    def qualifier(self, at: int) -> bytes:
        """Return the qualifier of a member's cell."""
        return self.keys[at][MEMBER_ROW_BYTES:]

    def id_digest(self, at: int) -> bytes:
        """Return the digest of a member's id."""
        return self.keys[at][MEMBER_ROW_BYTES:MEMBER_ID_BYTES]

    def text_digest(self, at: int) -> bytes:
        """Return what a member's key holds of the digest of its text."""
        return self.keys[at][MEMBER_ID_BYTES:]


class Members:
    """Reads members and document cells, and keeps some for the next part of the same search."""

    def __init__(self, store: Store, profile: Profile, counts: Counts, *, limit: int) -> None:
        self._store = store
        self._bands = profile.bands
        self._counts = counts
        self._limit = limit
        self._held: Page | None = None
        self._states: dict[bytes, DocumentState | None] = {}
        self._decoded: dict[bytes, Member] = {}
        self.wide: dict[int, bytes] = {}
        """Fingerprints with more members than the limit, and the qualifier of the last one that was read."""

    def page(self, simhashes: NDArray[np.uint64]) -> Page:
        """Read the members of sorted distinct fingerprints, up to the limit each.

        The page may also hold members that were read before.
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

    def _read(self, simhashes: NDArray[np.uint64]) -> Page:
        rows = self._store.get_rows(FAMILY_DOCUMENTS, member_rows(simhashes), limit=self._limit + 1)
        members = columns_of(rows)
        page = Page.of(simhashes, members, self._bands)
        if max(members.counts, default=0) <= self._limit:
            return page
        kept = np.minimum(page.stop, page.first + self._limit)
        for at in np.flatnonzero(kept < page.stop).tolist():
            self.wide[int(simhashes[at])] = page.qualifier(int(kept[at]) - 1)
        return page._replace(stop=kept)

    def next_page(self, simhash: int, after: bytes, limit: int) -> Page:
        """Read on behind a member of one fingerprint."""
        cells = self._store.read_row(FAMILY_DOCUMENTS, member_row(simhash), after=after, limit=limit)
        return Page.of(np.array([simhash], dtype=np.uint64), columns_of([cells]), self._bands)

    def know(self, digests: Iterable[bytes]) -> None:
        """Read the document cells of ids with these digests, those that were not read before."""
        if len(self._states) > HELD_MEMBERS:
            self._states = {}
        missing = sorted(set(digests) - self._states.keys())
        if missing:
            cells = self._store.get(FAMILY_DOCUMENTS, [(document_row(digest), STATE_QUALIFIER) for digest in missing])
            states = [cell and decode_document(cell.value) for cell in cells]
            self._states.update(zip(missing, states, strict=True))

    def order_of_ids(self, page: Page, at: NDArray[np.intp]) -> NDArray[np.intp]:
        """Give members numbers that are in the order of their ids."""
        places = at.tolist()
        ids = {place: self._id(page, place) for place in sorted(set(places))}
        order = {place: number for number, place in enumerate(sorted(ids, key=ids.__getitem__))}
        return np.array([order[place] for place in places], np.intp)

    def _id(self, page: Page, at: int) -> str:
        try:
            return self._member(page, at).id
        except CorruptIndex:
            # Whether it matters is seen when its document counts.
            return ""

    def _member(self, page: Page, at: int) -> Member:
        """Decode a member, or take it from those that were decoded before."""
        key = page.keys[at]
        if (member := self._decoded.get(key)) is None:
            if len(self._decoded) > HELD_MEMBERS:
                self._decoded = {}
            member = self._decoded[key] = decode_member(page.values[at], bands=self._bands)
        return member

    def found(self, text: Text, page: Page, at: int) -> tuple[Member, DocumentState] | None:
        """Return which document a member stands for; None when its document cell, read before, says otherwise."""
        named = self._states[page.id_digest(at)]
        state = named and self._counts(named, text)
        if state is None:
            return None
        member = self._member(page, at)
        return (member, state) if member.id == state.id else None
