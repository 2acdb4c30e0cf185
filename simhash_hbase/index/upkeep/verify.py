"""Keeping an index whole: whether rows, members and document cells agree."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.index.copies import copy_cells, missing_copies, stale_copies
from simhash_hbase.index.documentrows import bare_entries, member_cells, member_key, stored_rows
from simhash_hbase.index.timestamps import cleaning_time, writing_time
from simhash_hbase.index.upkeep.walk import (
    PAGE,
    ProgressCallback,
    Walk,
    cutoff_of,
    decode_cells,
    member_sketch,
    memberless,
    stale_members,
    up_to_date,
)
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.documents import DocumentState, decode_document, encode
from simhash_hbase.rows.keys import ALL_PREFIXES, FLAGS, BlockRows, document_row, id_digest, row_flag
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FLAG_COPIES, FLAG_MEMBERS, STATE_QUALIFIER
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


class Times(NamedTuple):
    """When a repair writes and deletes, in ms since 1970."""

    writing: int
    cleaning: int


def verify(
    store: Store, profile: Profile, *, now: int, repair: bool, watch: ProgressCallback | None = None
) -> Verified:
    """Check that rows, members and document cells agree.

    Memory is bounded by a page. While others write, what they are in the middle of may be counted.
    """
    result = Verified()
    walk = Walk(watch)
    times = Times(writing_time(store, now), cleaning_time(store, now)) if repair else None
    for cells in walk.cells(store.scan_cells(FAMILY_DOCUMENTS, b"", None, page=PAGE)):
        with atomically(store) if repair else nullcontext():
            _verify_page(store, profile, result, up_to_date(store, cells) if repair else cells, times)
    for rows in walk.rows(store.scan_range(0, ALL_PREFIXES, page=PAGE), before=1):
        _check_block_rows(store, profile, result, rows, times)
    return result


def _verify_page(store: Store, profile: Profile, result: Verified, cells: Sequence[Cell], times: Times | None) -> None:
    documents, damaged = decode_cells(cells, profile.bands)
    states = [state for _, document in documents if (state := document.in_force())]
    result.undecided += sum(document.is_undecided for _, document in documents)
    result.undecodable += len(damaged)
    if times and damaged:
        result.count_repairs(len(damaged), _delete_damaged(store, damaged, times))
    found = [state for state in states if state.is_found]
    result.documents += len(found)
    result.duplicates += sum(state.is_duplicate for state in states)
    held = _check_members(store, result, found, times)
    sketches = [b"" if cell is None else member_sketch(cell, profile.bands) for cell in held]
    _check_rows(store, profile, result, found, sketches, times)
    members = [cell for cell in cells if row_flag(cell.row) == FLAG_MEMBERS]
    result.members += len(members)
    result.stale_members += len(_still_there(store, stale_members(store, members)))
    _check_copies(store, profile, result, cells, states, times)


def _check_copies(
    store: Store,
    profile: Profile,
    result: Verified,
    cells: Sequence[Cell],
    states: Sequence[DocumentState],
    times: Times | None,
) -> None:
    """Compare the lists of copies with the document cells."""
    copies = [cell for cell in cells if row_flag(cell.row) == FLAG_COPIES]
    stale = _still_there(store, stale_copies(store, copies))
    missing = missing_copies(store, states)
    result.copies += len(copies)
    result.stale_copies += len(stale)
    result.missing_copies += len(missing)
    if times and (stale or missing):
        result.repaired_copies += _repair_copies(store, profile, stale, missing, times)


def _repair_copies(
    store: Store, profile: Profile, stale: Sequence[Cell], missing: Sequence[DocumentState], times: Times
) -> int:
    """Delete entries and add others; count those that are gone, and those that are there.

    An entry is there before its decision: where there are no transactions, a new one may be that of a claim under way.
    """
    latest = times.cleaning if isinstance(store, Transactional) else cutoff_of(store, profile, times.cleaning)
    store.delete(FAMILY_DOCUMENTS, [cell for cell in stale if (cell.timestamp or 0) <= latest])
    made = _make_cells(store, missing, times, lambda entries, states: copy_cells(entries, enumerate(states)))
    return len(stale) - len(_still_there(store, stale)) + made


def _delete_damaged(store: Store, damaged: Sequence[Cell], times: Times) -> int:
    """Delete cells; count those that are gone."""
    store.delete(FAMILY_DOCUMENTS, [cell for cell in damaged if (cell.timestamp or 0) <= times.cleaning])
    return len(damaged) - len(_still_there(store, damaged))


def _still_there(store: Store, cells: Sequence[Cell]) -> list[Cell]:
    """Leave out what a writer has changed since it was read."""
    again = store.get(FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in cells])
    return [cell for cell, now in zip(cells, again, strict=True) if now == cell]


def _unchanged(store: Store, states: Sequence[DocumentState]) -> list[DocumentState]:
    """Leave out documents that a writer has changed since they were read."""
    again = store.get(FAMILY_DOCUMENTS, [(document_row(id_digest(state.id)), STATE_QUALIFIER) for state in states])
    now = [cell and decode_document(cell.value).in_force() for cell in again]
    return [state for state, present in zip(states, now, strict=True) if state == present]


def _check_members(
    store: Store, result: Verified, found: Sequence[DocumentState], times: Times | None
) -> list[Cell | None]:
    """Look for the members of documents; return those that there are."""
    keys = [member_key(state.text, id_digest(state.id)) for state in found]
    cells = store.get(FAMILY_DOCUMENTS, keys)
    missing = _unchanged(store, [state for state, cell in zip(found, cells, strict=True) if cell is None])
    result.missing_members += len(missing)
    if times and missing:
        result.count_repairs(len(missing), _make_cells(store, missing, times, member_cells))
    return cells


def _make_cells(
    store: Store,
    states: Sequence[DocumentState],
    times: Times,
    make: Callable[[Entries, Sequence[DocumentState]], list[Cell]],
) -> int:
    """Write a cell for each document, and its time, where it can be read back, into the document cell; count these."""
    again = [msgspec.structs.replace(state, stamp=max(times.writing, state.stamp + 1)) for state in states]
    made = make(bare_entries(again), again)
    store.put(FAMILY_DOCUMENTS, made)
    held = store.get(FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in made])
    if not isinstance(store, CompareAndSet):
        return 0
    pairs = [pair for *pair, cell in zip(states, again, held, strict=True) if cell is not None]
    swaps = [Swap(document_row(id_digest(old.id)), STATE_QUALIFIER, encode(old), encode(new)) for old, new in pairs]
    return sum(store.compare_and_set(swaps))


def _check_rows(
    store: Store,
    profile: Profile,
    result: Verified,
    found: Sequence[DocumentState],
    sketches: Sequence[bytes],
    times: Times | None,
) -> None:
    """Look for the block rows and the sketch rows of documents."""
    simhashes = np.array([state.simhash for state in found], dtype=np.uint64)
    lacking = _lacking(store, stored_rows(profile, simhashes, sketches))
    incomplete = np.isin(simhashes, lacking.simhashes)
    result.incomplete += int(incomplete.sum())
    if times and incomplete.any():
        store.put_rows(lacking, timestamp=times.writing)
        left = np.isin(simhashes, _lacking(store, lacking).simhashes)
        result.count_repairs(int(incomplete.sum()), int((incomplete & ~left).sum()))


def _lacking(store: Store, wanted: BlockRows) -> BlockRows:
    return wanted.where(~store.has_rows(wanted))


def _check_block_rows(store: Store, profile: Profile, result: Verified, rows: BlockRows, times: Times | None) -> None:
    result.rows += len(rows.prefixes)
    malformed = ~_well_formed(profile, rows)
    result.malformed_rows += int(malformed.sum())
    orphans = memberless(store, profile, rows)
    result.orphan_rows += int((orphans & ~malformed).sum())
    if times and malformed.any():
        doomed = rows.where(malformed)
        store.delete_rows(doomed, timestamp=times.cleaning)
        result.count_repairs(len(doomed.prefixes), int((~store.has_rows(doomed)).sum()))


def _well_formed(profile: Profile, rows: BlockRows) -> NDArray[np.bool_]:
    """Tell which rows have the segment that their fingerprint and flag call for; a sketch row may have any."""
    tables = len(profile.blocks.tables)
    expected = profile.blocks.prefixes(rows.simhashes)
    flags = (rows.prefixes & FLAGS).astype(np.intp)
    known = (flags >= 1) & (flags <= tables)
    column = np.where(known, flags - 1, 0)
    fits: NDArray[np.bool_] = known & (expected[np.arange(len(flags)), column] == rows.prefixes)
    return fits | ((flags > tables) & (flags <= tables + profile.bands))
