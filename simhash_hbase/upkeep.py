"""Keeping an index whole: whether rows, members and document cells agree."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.blocks import Scheme
from simhash_hbase.layout import (
    FAMILY_DOCUMENTS,
    FLAG_BITS,
    FLAG_DOCUMENT,
    FLAG_MEMBERS,
    STATE_QUALIFIER,
)
from simhash_hbase.leftovers import decode_cells, memberless, row_pairs, stale_members, up_to_date
from simhash_hbase.profile import Profile
from simhash_hbase.records import (
    FOUND_STATES,
    UNDECIDED_STATES,
    DocumentState,
    Member,
    decode_document,
    encode,
    in_force,
)
from simhash_hbase.rowkey import (
    BlockRows,
    block_rows,
    distinct,
    document_row,
    id_digest,
    member_row,
    row_flag,
)
from simhash_hbase.stores.base import UNLIMITED, Cell, CompareAndSet, Store, Swap, atomically
from simhash_hbase.walk import ALL_PREFIXES, PAGE, Walk, Watch

__all__ = ["Verified", "scan_documents", "verify"]


@dataclass(slots=True)
class Verified:
    """What `verify` counted: the first five what there is, the next two what is left over, the others what is wrong."""

    documents: int = 0
    """Documents that queries find."""
    duplicates: int = 0
    """Ids with a decision that they duplicate another one."""
    undecided: int = 0
    """Claims under way, or left by a writer that crashed: other claims give those up after a lease, else `vacuum`."""
    members: int = 0
    rows: int = 0
    """Block rows."""
    stale_members: int = 0
    """Member cells that their document cell does not name: no answer counts them, `vacuum` deletes them. Claims that
    had to give way leave them, and crashes in the middle of a write."""
    orphan_rows: int = 0
    """Block rows without members: removing leaves them to `vacuum`."""
    missing_members: int = 0
    """Documents without a member cell: no query finds them."""
    incomplete: int = 0
    """Documents that lack some of their block rows: some queries miss them."""
    malformed_rows: int = 0
    """Block rows whose segment is not that of their fingerprint."""
    undecodable: int = 0
    """Cells whose bytes do not decode; repairing removes them, and with a document's cell the document."""
    repaired: int = 0
    """Completed or removed by ``--repair``."""

    @property
    def wrong(self) -> int:
        """Number of things wrong that were not repaired."""
        return self.missing_members + self.incomplete + self.malformed_rows + self.undecodable - self.repaired


def scan_documents(store: Store, watch: Watch | None = None) -> Iterator[list[DocumentState]]:
    """Read all document cells, a page at a time, in the order of the ids' digests.

    Raises
    ------
    CorruptIndex
        When one does not decode.
    """
    walk = Walk(watch, passes=1)
    for cells in walk.cells(store.scan_cells(FAMILY_DOCUMENTS, b"", None, page=PAGE)):
        if states := [decode_document(c.value) for c in cells if row_flag(c.row) == FLAG_DOCUMENT]:
            yield states


def verify(store: Store, profile: Profile, *, now: int, repair: bool, watch: Watch | None = None) -> Verified:
    """Check that rows, members and document cells agree.

    Parameters
    ----------
    store, profile
        The index.
    now : int
        Milliseconds since 1970.
    repair : bool
        Complete or remove what is wrong. What is only left over stays: a writer may be about to name it. A document
        whose member is lost gets one without sketch and metadata, so it is judged by distance from then on.
    watch : callable, optional
        Told how far it is; see `Watch`.

    Returns
    -------
    Verified

    Notes
    -----
    Memory is bounded by a page. While others write, what they are in the middle of may be counted.
    """
    result = Verified()
    walk = Walk(watch)
    for cells in walk.cells(store.scan_cells(FAMILY_DOCUMENTS, b"", None, page=PAGE)):
        with atomically(store) if repair else nullcontext():
            _verify_page(store, profile, result, up_to_date(store, cells) if repair else cells, now=now, repair=repair)
    for rows in walk.rows(store.scan_range(0, ALL_PREFIXES, page=PAGE), before=1):
        _check_block_rows(store, profile.blocks, result, rows, now=now, repair=repair)
    return result


def _verify_page(
    store: Store, profile: Profile, result: Verified, cells: Sequence[Cell], *, now: int, repair: bool
) -> None:
    documents, damaged = decode_cells(cells)
    states = [state for _, cell in documents if (state := in_force(cell))]
    result.undecided += sum(state.state in UNDECIDED_STATES for _, state in documents)
    result.undecodable += len(damaged)
    if repair and damaged:
        store.delete(FAMILY_DOCUMENTS, damaged)
        result.repaired += len(damaged)
    found = [state for state in states if state.state in FOUND_STATES]
    result.documents += len(found)
    result.duplicates += sum(state.state == "duplicate" for state in states)
    _check_members(store, result, found, now=now, repair=repair)
    _check_rows(store, profile, result, found, now=now, repair=repair)
    members = [cell for cell in cells if row_flag(cell.row) == FLAG_MEMBERS]
    result.members += len(members)
    result.stale_members += len(_still_there(store, stale_members(store, members)))


def _still_there(store: Store, cells: Sequence[Cell]) -> list[Cell]:
    """Leave out what a writer has changed since it was read."""
    again = store.get(FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in cells])
    return [cell for cell, now in zip(cells, again, strict=True) if now == cell]


def _unchanged(store: Store, states: Sequence[DocumentState]) -> list[DocumentState]:
    """Leave out documents that a writer has changed since they were read."""
    again = store.get(FAMILY_DOCUMENTS, [(document_row(id_digest(state.id)), STATE_QUALIFIER) for state in states])
    now = [cell and in_force(decode_document(cell.value)) for cell in again]
    return [state for state, present in zip(states, now, strict=True) if state == present]


def _check_members(store: Store, result: Verified, found: Sequence[DocumentState], *, now: int, repair: bool) -> None:
    keys = [(member_row(state.simhash), id_digest(state.id)) for state in found]
    cells = store.get(FAMILY_DOCUMENTS, keys)
    missing = _unchanged(store, [state for state, cell in zip(found, cells, strict=True) if cell is None])
    result.missing_members += len(missing)
    if repair and missing:
        result.repaired += _make_members(store, missing, now)


def _make_members(store: Store, states: Sequence[DocumentState], now: int) -> int:
    """Write members above whatever deleted them, and their time into the document cells; count these."""
    again = [msgspec.structs.replace(state, stamp=max(now, state.stamp + 1)) for state in states]
    store.put(FAMILY_DOCUMENTS, [_bare_member(state) for state in again])
    if not isinstance(store, CompareAndSet):
        return 0
    pairs = zip(states, again, strict=True)
    swaps = [Swap(document_row(id_digest(old.id)), STATE_QUALIFIER, encode(old), encode(new)) for old, new in pairs]
    return sum(store.compare_and_set(swaps))


def _bare_member(state: DocumentState) -> Cell:
    member = Member(state.id, state.order[0], 0, 0, b"", b"")
    return Cell(member_row(state.simhash), id_digest(state.id), encode(member), state.stamp)


def _check_rows(
    store: Store, profile: Profile, result: Verified, found: Sequence[DocumentState], *, now: int, repair: bool
) -> None:
    """Look for the block rows of documents."""
    simhashes = distinct(np.array([state.simhash for state in found], dtype=np.uint64))
    wanted = block_rows(profile.blocks, simhashes)
    there = store.scan(distinct(wanted.prefixes), limit=UNLIMITED).rows
    lacking = np.array(sorted(set(row_pairs(wanted)) - set(row_pairs(there))), dtype=np.uint64).reshape(-1, 2)
    incomplete = set(lacking[:, 1].tolist())
    result.incomplete += sum(state.simhash in incomplete for state in found)
    if repair and incomplete:
        store.put_rows(BlockRows(lacking[:, 0].copy(), lacking[:, 1].copy()), timestamp=now)
        result.repaired += sum(state.simhash in incomplete for state in found)


def _check_block_rows(
    store: Store, scheme: Scheme, result: Verified, rows: BlockRows, *, now: int, repair: bool
) -> None:
    result.rows += len(rows.prefixes)
    malformed = ~_well_formed(scheme, rows)
    result.malformed_rows += int(malformed.sum())
    orphans = memberless(store, rows.simhashes)
    result.orphan_rows += int((orphans & ~malformed).sum())
    if repair and malformed.any():
        store.delete_rows(BlockRows(rows.prefixes[malformed], rows.simhashes[malformed]), timestamp=now)
        result.repaired += int(malformed.sum())


def _well_formed(scheme: Scheme, rows: BlockRows) -> NDArray[np.bool_]:
    """Tell which rows have the segment that their fingerprint and flag call for."""
    expected = scheme.prefixes(rows.simhashes)
    flags = (rows.prefixes & np.uint64((1 << FLAG_BITS) - 1)).astype(np.intp)
    known = (flags >= 1) & (flags <= len(scheme.tables))
    column = np.where(known, flags - 1, 0)
    fits: NDArray[np.bool_] = known & (expected[np.arange(len(flags)), column] == rows.prefixes)
    return fits
