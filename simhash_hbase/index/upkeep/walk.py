"""Walks through all cells and rows of an index, a page at a time, and what they meet that no document names.

The progress of a walk is told by its keys: these spread evenly, so nothing has to be counted first.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.index.timestamps import MARGIN_MS
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import Sketches
from simhash_hbase.rows import keys
from simhash_hbase.rows.documentcells import DocumentState, Text, decode_document, decode_member, decode_sketches
from simhash_hbase.rows.keys import BlockRows
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FLAG_DOCUMENT, ID_DIGEST_BYTES, PREFIX_BITS
from simhash_hbase.stores.base import Cell, Store, Transactional
from simhash_hbase.stores.columns import columns_of

PAGE = 10_000  # Cells or rows that are read at a time.
# A delete hides what is written below its timestamp later, as a load writes it: MARGIN_MS behind the server's clock,
# which may itself be as far behind the one that vacuum goes by.
LEAST_GRACE_MS = 2 * MARGIN_MS
# Of one fingerprint; nearly all have one.
MEMBERS_AT_ONCE = 100

T = TypeVar("T")

ProgressCallback = Callable[[int, float], None]
"""Called with the number of cells and rows that are done with, and with the share of the work that is, 0 to 1."""


class Walk:
    """Reports to a watcher after every page."""

    def __init__(self, watch: ProgressCallback | None = None, *, passes: int = 2) -> None:
        self._watch = watch
        self._passes = passes
        self._count = 0

    def cells(self, pages: Iterable[list[Cell]], *, before: int = 0) -> Iterator[list[Cell]]:
        """Hand on pages of cells; so many passes were made before."""
        return self.pages(pages, lambda page: (len(page), keys.row_prefix(page[-1].row)), before=before)

    def rows(self, pages: Iterable[BlockRows], *, before: int = 0) -> Iterator[BlockRows]:
        """Hand on pages of block rows; so many passes were made before."""
        return self.pages(pages, lambda page: (len(page.prefixes), int(page.prefixes[-1])), before=before)

    def pages(self, pages: Iterable[T], last: Callable[[T], tuple[int, int]], *, before: int = 0) -> Iterator[T]:
        """Hand on pages in the order of their keys; `last` gives a page's size and the prefix of its last row."""
        for page in pages:
            yield page
            count, prefix = last(page)
            self._count += count
            if self._watch is not None:
                self._watch(self._count, (before + prefix / keys.ALL_PREFIXES) / self._passes)


def scan_documents(store: Store, watch: ProgressCallback | None = None) -> Iterator[list[DocumentState]]:
    """Read all document cells, a page at a time, in the order of the ids' digests."""
    walk = Walk(watch, passes=1)
    for cells in walk.cells(store.scan_cells(FAMILY_DOCUMENTS, b"", None, page=PAGE)):
        if states := [decode_document(c.value) for c in cells if keys.row_flag(c.row) == FLAG_DOCUMENT]:
            yield states


def cutoff_of(store: Store, profile: Profile, now: int) -> int:
    """Return the latest time that may be deleted."""
    grace_ms = round(profile.grace_s * 1000)
    return now - (grace_ms if isinstance(store, Transactional) else max(grace_ms, LEAST_GRACE_MS))


def decode_cells(cells: Sequence[Cell], bands: int) -> tuple[list[tuple[Cell, DocumentState]], list[Cell]]:
    """Decode documents, and try members and copies; return what does not decode apart."""
    decoded, damaged = [], []
    for cell in cells:
        try:
            if keys.row_flag(cell.row) == FLAG_DOCUMENT:
                decoded.append((cell, decode_document(cell.value)))
            else:
                decode_member(cell.value, bands=bands)
        except CorruptIndex:
            damaged.append(cell)
    return decoded, damaged


def stale_members(store: Store, members: Sequence[Cell]) -> list[Cell]:
    """Select the member cells that no document cell names; one that does not decode may."""
    cell_keys = [keys.document_key(cell.qualifier[:ID_DIGEST_BYTES]) for cell in members]
    states = store.get(FAMILY_DOCUMENTS, cell_keys)
    stale = []
    for member, cell in zip(members, states, strict=True):
        text = Text(keys.row_simhash(member.row), member.qualifier[ID_DIGEST_BYTES:])
        with suppress(CorruptIndex):
            if cell is None or text not in decode_document(cell.value).member_texts():
                stale.append(member)
    return stale


def memberless(store: Store, profile: Profile, rows: BlockRows) -> NDArray[np.bool_]:
    """Tell which rows no document has: of this fingerprint, and for a sketch row with this segment, too."""
    is_sketch = (rows.prefixes & keys.FLAGS) > len(profile.blocks.tables)
    lonely = np.empty(len(is_sketch), np.bool_)
    simhashes, where = np.unique(rows.simhashes[~is_sketch], return_inverse=True)
    members = store.get_rows(FAMILY_DOCUMENTS, keys.member_rows(simhashes), limit=1)
    lonely[~is_sketch] = (np.array(columns_of(members).counts) == 0)[where]
    # Sketch rows are compared with those that the members of their fingerprints have.
    sketch_rows = rows.where(is_sketch)
    simhashes, owners = np.unique(sketch_rows.simhashes, return_inverse=True)
    found = list(store.get_rows(FAMILY_DOCUMENTS, keys.member_rows(simhashes), limit=MEMBERS_AT_ONCE))
    held = _keys_of_members(profile, np.repeat(np.arange(len(found)), [len(cells) for cells in found]), found)
    own = _keys(sketch_rows.prefixes, owners)
    alone = ~np.isin(own, held)
    for number in np.unique(owners[alone]).tolist():
        cells = found[number]
        while len(cells) == MEMBERS_AT_ONCE and alone[owners == number].any():
            after, row = cells[-1].qualifier, keys.member_row(int(simhashes[number]))
            cells = store.read_row(FAMILY_DOCUMENTS, row, after=after, limit=MEMBERS_AT_ONCE)
            alone &= ~np.isin(own, _keys_of_members(profile, np.full(len(cells), number), [cells]))
    lonely[is_sketch] = alone
    return lonely


def _keys_of_members(
    profile: Profile, owners: NDArray[np.intp], members: Sequence[Sequence[Cell]]
) -> NDArray[np.uint64]:
    """List the sketch rows of members; one that does not decode has none."""
    values = [cell.value for cells in members for cell in cells]
    sketches = Sketches.unpacked(decode_sketches(values, bands=profile.bands), profile.bands)
    prefixes = keys.band_prefixes(profile.blocks, sketches.segments, sketches.present)
    return _keys(prefixes, owners[:, np.newaxis]).reshape(-1)


def _keys(prefixes: NDArray[np.uint64], owners: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Put prefix and place of the fingerprint, of which a page has few, into one integer."""
    return prefixes << np.uint64(64 - PREFIX_BITS) | owners.astype(np.uint64)


def up_to_date(store: Store, cells: Sequence[Cell]) -> list[Cell]:
    """Read cells again, now that nobody else writes; where others may, they are as fresh as can be."""
    if not isinstance(store, Transactional):
        return list(cells)
    again = store.get(FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in cells])
    return [cell for cell in again if cell is not None]
