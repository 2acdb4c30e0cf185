"""Keeping an index whole: whether rows, members and document cells agree."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.index.copies import missing_copies, stale_copies
from simhash_hbase.index.documentrows import bare_entries, document_cells, stored_rows
from simhash_hbase.index.timestamps import cleaning_time, writing_time
from simhash_hbase.index.upkeep.walk import (
    PAGE,
    ProgressCallback,
    Walk,
    cutoff_of,
    decode_cells,
    memberless,
    stale_members,
    up_to_date,
)
from simhash_hbase.profile import Profile
from simhash_hbase.rows.documents import (
    DocumentState,
    decode_document,
    decode_sketches,
    document_key,
    encode,
    member_key,
)
from simhash_hbase.rows.keys import ALL_PREFIXES, FLAGS, BlockRows, id_digest, row_flag
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FLAG_COPIES, FLAG_MEMBERS
from simhash_hbase.stores.base import Cell, CompareAndSet, Store, Swap, Transactional, atomically


@dataclass(slots=True)
class Verified:
    """What `verify` counted: the first five what there is, the next two what is left over, the others what is wrong.

    Lists of copies are apart: what they lack, or have too much, makes no answer to a query or a claim wrong.
    """

    documents: int = 0  # Documents that queries find.
    duplicates: int = 0  # Ids with a decision that they duplicate another one.
    undecided: int = 0
    """Claims under way, or left by a writer that crashed: other claims give those up after a lease, else `vacuum`."""
    members: int = 0
    rows: int = 0  # Block rows.
    stale_members: int = 0
    """Member cells that their document cell does not name: no answer counts them, `vacuum` deletes them. Claims that
    had to give way leave them, and crashes in the middle of a write."""
    orphan_rows: int = 0
    """Block rows without members, and sketch rows of which no member has the segment: removing leaves them to
    `vacuum`."""
    missing_members: int = 0  # Documents without a member cell: no query finds them.
    incomplete: int = 0  # Documents that lack some of their block rows: some queries miss them.
    malformed_rows: int = 0
    """Block rows whose segment is not that of their fingerprint, and rows of flags that the index does not have."""
    undecodable: int = 0
    """Cells whose bytes do not decode; repairing removes them, and with a document's cell the document."""
    copies: int = 0  # Entries in the originals' lists of copies.
    missing_copies: int = 0
    """Duplicates that their original's list lacks, as those of an earlier release: repairing adds them, without their
    metadata."""
    stale_copies: int = 0  # Entries whose copy is gone, or names another original.
    repaired_copies: int = 0  # Entries that ``--repair`` added or removed.
    repaired: int = 0  # Completed or removed by ``--repair``: what it reads back afterwards.
    not_repaired: int = 0
    """What ``--repair`` wrote or deleted in vain. Deletes that a clock ahead of the server's made hide what is written
    until their time has come, or until HBase compacts the table; what such a clock wrote is not deleted before."""

    def count_repairs(self, wanted: int, done: int) -> None:
        """Count what was to be repaired, and was."""
        self.repaired += done
        self.not_repaired += wanted - done

    @property
    def wrong(self) -> int:
        """Number of things wrong that were not repaired."""
        return self.missing_members + self.incomplete + self.malformed_rows + self.undecodable - self.repaired


def verify(
    store: Store, profile: Profile, *, now: int, repair: bool, watch: ProgressCallback | None = None
) -> Verified:
    """Check that rows, members and document cells agree.

    Memory is bounded by a page. While others write, what they are in the middle of may be counted.
    """
    times = Times(writing_time(store, now), cleaning_time(store, now)) if repair else None
    verification = _Verification(store, profile, times, Verified())
    walk = Walk(watch)
    for cells in walk.cells(store.scan_cells(FAMILY_DOCUMENTS, b"", None, page=PAGE)):
        with atomically(store) if repair else nullcontext():
            verification.check_cells(up_to_date(store, cells) if repair else cells)
    for rows in walk.rows(store.scan_range(0, ALL_PREFIXES, page=PAGE), before=1):
        verification.check_block_rows(rows)
    return verification.result


class Times(NamedTuple):
    """When a repair writes and deletes, in ms since 1970."""

    writing: int
    cleaning: int


class _Verification(NamedTuple):
    """Checks an index page by page, repairs what is wrong if it is given the times for that, and counts."""

    store: Store
    profile: Profile
    times: Times | None
    result: Verified

    def check_cells(self, cells: Sequence[Cell]) -> None:
        """Check a page of document cells, members and copies, and the rows that its documents need."""
        result, store = self.result, self.store
        documents, damaged = decode_cells(cells, self.profile.bands)
        states = [state for _, document in documents if (state := document.in_force())]
        result.undecided += sum(document.is_undecided for _, document in documents)
        result.undecodable += len(damaged)
        if self.times and damaged:
            latest = self.times.cleaning
            store.delete(FAMILY_DOCUMENTS, [cell for cell in damaged if (cell.timestamp or 0) <= latest])
            result.count_repairs(len(damaged), len(damaged) - len(_still_there(store, damaged)))
        found = [state for state in states if state.is_found]
        result.documents += len(found)
        result.duplicates += sum(state.is_duplicate for state in states)
        self._check_rows(found, self._check_members(found))
        members = [cell for cell in cells if row_flag(cell.row) == FLAG_MEMBERS]
        result.members += len(members)
        result.stale_members += len(_still_there(store, stale_members(store, members)))
        self._check_copies([cell for cell in cells if row_flag(cell.row) == FLAG_COPIES], states)

    def _check_members(self, found: Sequence[DocumentState]) -> list[bytes]:
        """Look for the members of documents; return their sketches, empty where there is none."""
        cells = self.store.get(FAMILY_DOCUMENTS, [member_key(state.text, id_digest(state.id)) for state in found])
        missing = _unchanged(self.store, [state for state, cell in zip(found, cells, strict=True) if cell is None])
        self.result.missing_members += len(missing)
        if self.times and missing:
            self.result.count_repairs(len(missing), self._make_cells(missing, self.times))
        values = [cell.value for cell in cells if cell is not None]
        sketches = iter(decode_sketches(values, bands=self.profile.bands))
        return [b"" if cell is None else next(sketches) for cell in cells]

    def _check_rows(self, found: Sequence[DocumentState], sketches: Sequence[bytes]) -> None:
        """Look for the block rows and the sketch rows of documents."""
        simhashes = np.array([state.simhash for state in found], dtype=np.uint64)
        rows = stored_rows(self.profile, simhashes, sketches)
        lacking = rows.where(~self.store.has_rows(rows))
        incomplete = np.isin(simhashes, lacking.simhashes)
        self.result.incomplete += int(incomplete.sum())
        if self.times and incomplete.any():
            self.store.put_rows(lacking, timestamp=self.times.writing)
            left = np.isin(simhashes, lacking.simhashes[~self.store.has_rows(lacking)])
            self.result.count_repairs(int(incomplete.sum()), int((incomplete & ~left).sum()))

    def _check_copies(self, copies: Sequence[Cell], states: Sequence[DocumentState]) -> None:
        """Compare the lists of copies with the document cells."""
        store, result = self.store, self.result
        stale = _still_there(store, stale_copies(store, copies))
        missing = missing_copies(store, states)
        result.copies += len(copies)
        result.stale_copies += len(stale)
        result.missing_copies += len(missing)
        if self.times and (stale or missing):
            # An entry is there before its decision: where there are no transactions, a new one may be that of a claim
            # under way.
            latest = self.times.cleaning
            latest = latest if isinstance(store, Transactional) else cutoff_of(store, self.profile, latest)
            store.delete(FAMILY_DOCUMENTS, [cell for cell in stale if (cell.timestamp or 0) <= latest])
            made = self._make_cells(missing, self.times)
            result.repaired_copies += len(stale) - len(_still_there(store, stale)) + made

    def check_block_rows(self, rows: BlockRows) -> None:
        """Check a page of block rows."""
        self.result.rows += len(rows.prefixes)
        malformed = ~_well_formed(self.profile, rows)
        self.result.malformed_rows += int(malformed.sum())
        orphans = memberless(self.store, self.profile, rows)
        self.result.orphan_rows += int((orphans & ~malformed).sum())
        if self.times and malformed.any():
            doomed = rows.where(malformed)
            self.store.delete_rows(doomed, timestamp=self.times.cleaning)
            self.result.count_repairs(len(doomed.prefixes), int((~self.store.has_rows(doomed)).sum()))

    def _make_cells(self, states: Sequence[DocumentState], times: Times) -> int:
        """Write the cell that goes with each document cell, and its time into that; count those that are read back."""
        again = [msgspec.structs.replace(state, stamp=max(times.writing, state.stamp + 1)) for state in states]
        made = document_cells(bare_entries(again), again)
        self.store.put(FAMILY_DOCUMENTS, made)
        held = self.store.get(FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in made])
        if not isinstance(self.store, CompareAndSet):
            return 0
        pairs = [pair for *pair, cell in zip(states, again, held, strict=True) if cell is not None]
        swaps = [Swap(*document_key(id_digest(old.id)), encode(old), encode(new)) for old, new in pairs]
        return sum(self.store.compare_and_set(swaps))


def _still_there(store: Store, cells: Sequence[Cell]) -> list[Cell]:
    """Leave out what a writer has changed since it was read."""
    again = store.get(FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in cells])
    return [cell for cell, now in zip(cells, again, strict=True) if now == cell]


def _unchanged(store: Store, states: Sequence[DocumentState]) -> list[DocumentState]:
    """Leave out documents that a writer has changed since they were read."""
    again = store.get(FAMILY_DOCUMENTS, [document_key(id_digest(state.id)) for state in states])
    now = [cell and decode_document(cell.value).in_force() for cell in again]
    return [state for state, present in zip(states, now, strict=True) if state == present]


def _well_formed(profile: Profile, rows: BlockRows) -> NDArray[np.bool_]:
    """Tell which rows have the segment that their fingerprint and flag call for; a sketch row may have any."""
    tables = len(profile.blocks.tables)
    expected = profile.blocks.prefixes(rows.simhashes)
    flags = (rows.prefixes & FLAGS).astype(np.intp)
    known = (flags >= 1) & (flags <= tables)
    column = np.where(known, flags - 1, 0)
    fits: NDArray[np.bool_] = known & (expected[np.arange(len(flags)), column] == rows.prefixes)
    return fits | ((flags > tables) & (flags <= tables + profile.bands))
