"""The documents behind fingerprints, read once for all parts of a search."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.profile import Profile
from simhash_hbase.profile.near import Sketches
from simhash_hbase.rows.documents import DocumentState, Member, decode_document, decode_member, decode_sketches
from simhash_hbase.rows.keys import document_row, member_row, member_rows
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell, Store

# Members that are kept for the next part of a search: about 100 MB.
HELD_MEMBERS = 100_000
# Cells that are decoded at a time: some megabytes, of which the sketches are kept.
DECODED_AT_ONCE = 4_096


Counts: TypeAlias = Callable[[DocumentState, int], DocumentState | None]
"""Takes a document cell and the fingerprint of a member: what the member stands for, or None when it does not count."""


class Page(NamedTuple):
    """Members of fingerprints, as columns."""

    simhashes: NDArray[np.uint64]  # The fingerprints, ascending, shape (n,).
    starts: NDArray[np.intp]  # Where the members of each begin, and the end of all, shape (n + 1,).
    cells: Sequence[Cell]
    sketches: Sketches  # None where a cell does not decode, too.

    @classmethod
    def of(cls, simhashes: NDArray[np.uint64], members: Sequence[Sequence[Cell]], bands: int) -> "Page":
        """Put the members of each of some fingerprints one behind the other."""
        cells = list(chain.from_iterable(members))
        starts = np.cumsum([0, *map(len, members)])
        sketches: list[bytes] = []
        for first in range(0, len(cells), DECODED_AT_ONCE):
            few = cells[first : first + DECODED_AT_ONCE]
            sketches += decode_sketches([cell.value for cell in few], bands=bands)
        return cls(simhashes, starts, cells, Sketches.unpacked(sketches, bands))


class Members:
    """Reads members and document cells, and keeps some for the next part of the same search."""

    def __init__(self, store: Store, profile: Profile, counts: Counts, *, limit: int) -> None:
        self._store = store
        self._bands = profile.bands
        self._counts = counts
        self._limit = limit
        self._members: dict[int, list[Cell]] = {}
        self._states: dict[bytes, DocumentState | None] = {}
        self._held = 0
        self.wide: dict[int, bytes] = {}
        """Fingerprints with more members than the limit, and the qualifier of the last one that was read."""

    def page(self, simhashes: NDArray[np.uint64]) -> Page:
        """Read the members of sorted distinct fingerprints, up to the limit each."""
        if self._held > HELD_MEMBERS:
            self._members, self._held = {}, 0
        missing = np.array([s for s in simhashes.tolist() if s not in self._members], dtype=np.uint64)
        if len(missing):
            rows = self._store.get_rows(FAMILY_DOCUMENTS, member_rows(missing), limit=self._limit + 1)
            for simhash, cells in zip(missing.tolist(), rows, strict=True):
                if len(cells) > self._limit:
                    self.wide[simhash] = cells[self._limit - 1].qualifier
                    del cells[self._limit :]
                self._members[simhash] = cells
                self._held += len(cells)
        return Page.of(simhashes, [self._members[simhash] for simhash in simhashes.tolist()], self._bands)

    def next_page(self, simhash: int, after: bytes, limit: int) -> Page:
        """Read on behind a member of one fingerprint."""
        cells = self._store.read_row(FAMILY_DOCUMENTS, member_row(simhash), after=after, limit=limit)
        return Page.of(np.array([simhash], dtype=np.uint64), [cells], self._bands)

    def know(self, members: Iterable[Cell]) -> None:
        """Read the document cells of members, those that were not read before."""
        if len(self._states) > HELD_MEMBERS:
            self._states = {}
        digests = {cell.qualifier for cell in members}
        missing = sorted(digests - self._states.keys())
        if missing:
            cells = self._store.get(FAMILY_DOCUMENTS, [(document_row(digest), STATE_QUALIFIER) for digest in missing])
            states = [cell and decode_document(cell.value) for cell in cells]
            self._states.update(zip(missing, states, strict=True))

    def found(self, simhash: int, cell: Cell) -> tuple[Member, DocumentState] | None:
        """Return which document a member stands for; None when its document cell, read before, says otherwise."""
        named = self._states[cell.qualifier]
        state = named and self._counts(named, simhash)
        if state is None:
            return None
        member = decode_member(cell.value, bands=self._bands)
        return (member, state) if member.id == state.id else None
