"""Keeping an index whole and small: do rows, members and document cells agree, and what can go."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.blocks import Scheme
from simhash_hbase.errors import CorruptIndex, StoreBusy
from simhash_hbase.layout import (
    FAMILY_DOCUMENTS,
    FLAG_BITS,
    FLAG_DOCUMENT,
    FLAG_MEMBERS,
    PREFIX_BITS,
    STATE_QUALIFIER,
)
from simhash_hbase.openload import read_open_load
from simhash_hbase.profile import Profile
from simhash_hbase.records import (
    FOUND_STATES,
    UNDECIDED_STATES,
    DocumentState,
    Member,
    abandoned,
    decode_document,
    decode_member,
    encode,
    in_force,
    member_simhashes,
)
from simhash_hbase.rowkey import (
    BlockRows,
    block_rows,
    distinct,
    document_row,
    id_digest,
    member_row,
    member_rows,
    row_digest,
    row_flag,
    row_simhash,
)
from simhash_hbase.stores.base import UNLIMITED, Cell, CompareAndSet, Store, Swap, Transactional, atomically
from simhash_hbase.walk import Walk, Watch

__all__ = ["Vacuumed", "Verified", "scan_documents", "vacuum", "verify"]

PAGE = 10_000
ALL_PREFIXES = 1 << PREFIX_BITS


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


@dataclass(slots=True)
class Vacuumed:
    """What `vacuum` deleted."""

    expired: int = 0
    """Documents not seen for longer than the index's ttl."""
    removed: int = 0
    """Document cells that said ``removed`` for longer than the grace period."""
    abandoned: int = 0
    """Claims without a decision that nobody went on with for the grace period: given up."""
    stale_members: int = 0
    rows: int = 0
    """Block rows without members."""

    def __iadd__(self, other: "Vacuumed") -> "Vacuumed":
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))
        return self


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
            _verify_page(store, profile, result, _fresh(store, cells) if repair else cells, now=now, repair=repair)
    for rows in walk.rows(store.scan_range(0, ALL_PREFIXES, page=PAGE), before=1):
        _check_block_rows(store, profile.blocks, result, rows, now=now, repair=repair)
    return result


def _verify_page(
    store: Store, profile: Profile, result: Verified, cells: Sequence[Cell], *, now: int, repair: bool
) -> None:
    documents, damaged = _decode(cells)
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
    result.stale_members += len(_still_there(store, _stale(store, members)))


def _still_there(store: Store, cells: Sequence[Cell]) -> list[Cell]:
    """Leave out what a writer has changed since it was read."""
    again = store.get(FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in cells])
    return [cell for cell, now in zip(cells, again, strict=True) if now == cell]


def _unchanged(store: Store, states: Sequence[DocumentState]) -> list[DocumentState]:
    """Leave out documents that a writer has changed since they were read."""
    again = store.get(FAMILY_DOCUMENTS, [(document_row(id_digest(state.id)), STATE_QUALIFIER) for state in states])
    now = [cell and in_force(decode_document(cell.value)) for cell in again]
    return [state for state, present in zip(states, now, strict=True) if state == present]


def vacuum(store: Store, profile: Profile, *, now: int, watch: Watch | None = None) -> Vacuumed:
    """Delete what no answer needs: expired documents, old removals, members and block rows without a document.

    Parameters
    ----------
    store, profile, now, watch
        As for `verify`.

    Returns
    -------
    Vacuumed

    Notes
    -----
    Refused while a bulk load is open: its rows come before its documents. Safe beside writers: where the store has
    transactions each page is read again and cleaned inside one; elsewhere nothing younger than the grace period is
    touched, and rows whose members appeared meanwhile are put back.
    """
    if read_open_load(store) is not None:
        raise StoreBusy(f"a load into {store.url} is open: its rows would be taken for garbage; finish it first")
    result = Vacuumed()
    walk = Walk(watch)
    for cells in walk.cells(store.scan_cells(FAMILY_DOCUMENTS, b"", None, page=PAGE)):
        with atomically(store):
            result += _vacuum_cells(store, profile, _fresh(store, cells), now)
    for rows in walk.rows(store.scan_range(0, ALL_PREFIXES, page=PAGE), before=1):
        with atomically(store):
            result.rows += _vacuum_rows(store, profile, rows, now)
    return result


def _decode(cells: Sequence[Cell]) -> tuple[list[tuple[Cell, DocumentState]], list[Cell]]:
    """Decode documents, and try members; return what does not decode apart."""
    documents, damaged = [], []
    for cell in cells:
        try:
            if row_flag(cell.row) == FLAG_DOCUMENT:
                documents.append((cell, decode_document(cell.value)))
            else:
                decode_member(cell.value)
        except CorruptIndex:
            damaged.append(cell)
    return documents, damaged


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
    lacking = np.array(sorted(set(_pairs(wanted)) - set(_pairs(there))), dtype=np.uint64).reshape(-1, 2)
    incomplete = set(lacking[:, 1].tolist())
    result.incomplete += sum(state.simhash in incomplete for state in found)
    if repair and incomplete:
        store.put_rows(BlockRows(lacking[:, 0].copy(), lacking[:, 1].copy()), timestamp=now)
        result.repaired += sum(state.simhash in incomplete for state in found)


def _pairs(rows: BlockRows) -> Iterator[tuple[int, int]]:
    return zip(rows.prefixes.tolist(), rows.simhashes.tolist(), strict=True)


def _stale(store: Store, members: Sequence[Cell]) -> list[Cell]:
    """Select the member cells that no document cell names; one that does not decode may."""
    keys = [(document_row(cell.qualifier), STATE_QUALIFIER) for cell in members]
    states = store.get(FAMILY_DOCUMENTS, keys)
    return [member for member, cell in zip(members, states, strict=True) if cell is None or not _may_name(cell, member)]


def _may_name(cell: Cell, member: Cell) -> bool:
    try:
        state = decode_document(cell.value)
    except CorruptIndex:
        return True
    return row_simhash(member.row) in member_simhashes(state)


def _check_block_rows(
    store: Store, scheme: Scheme, result: Verified, rows: BlockRows, *, now: int, repair: bool
) -> None:
    result.rows += len(rows.prefixes)
    malformed = ~_well_formed(scheme, rows)
    result.malformed_rows += int(malformed.sum())
    orphans = _memberless(store, rows.simhashes)
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


def _memberless(store: Store, simhashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    distinct, where = np.unique(simhashes, return_inverse=True)
    found = store.get_rows(FAMILY_DOCUMENTS, member_rows(distinct), limit=1)
    empty = np.fromiter((not cells for cells in found), np.bool_, len(found))
    lonely: NDArray[np.bool_] = empty[where]
    return lonely


def _fresh(store: Store, cells: Sequence[Cell]) -> list[Cell]:
    """Read cells again, now that nobody else writes; where others may, they are as fresh as can be."""
    if not isinstance(store, Transactional):
        return list(cells)
    again = store.get(FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in cells])
    return [cell for cell in again if cell is not None]


def _vacuum_cells(store: Store, profile: Profile, cells: Sequence[Cell], now: int) -> Vacuumed:
    result = Vacuumed()
    cutoff = now - round(profile.grace_s * 1000)
    doomed: list[Cell] = []
    documents = [(cell, state) for cell, state in _decode(cells)[0] if (cell.timestamp or 0) <= cutoff]
    # The timestamp of a claim's cell may be no time.
    undecided = [(c, state) for c, state in documents if state.state in UNDECIDED_STATES and state.seen <= cutoff]
    result.abandoned = _give_up(store, undecided)
    for cell, state in documents:
        if state.state in ("removed", "aborted"):
            result.removed += 1
            doomed.append(cell)
        elif state.state not in UNDECIDED_STATES and state.seen < profile.oldest(now):
            result.expired += 1
            doomed += [cell, Cell(member_row(state.simhash), row_digest(cell.row), b"", state.stamp)]
    members = [cell for cell in cells if row_flag(cell.row) == FLAG_MEMBERS]
    stale = [cell for cell in _stale(store, members) if (cell.timestamp or 0) <= cutoff]
    result.stale_members = len(stale)
    if doomed or stale:
        # Up to the timestamp that was read: what another writer put there since is newer and stays.
        store.delete(FAMILY_DOCUMENTS, doomed + stale)
    return result


def _give_up(store: Store, claims: Sequence[tuple[Cell, DocumentState]]) -> int:
    """Put what crashed writers left undecided back to the decision before it; a live one starts again."""
    if not claims or not isinstance(store, CompareAndSet):
        return 0
    swaps = [Swap(cell.row, cell.qualifier, cell.value, encode(abandoned(state))) for cell, state in claims]
    return sum(store.compare_and_set(swaps))


def _vacuum_rows(store: Store, profile: Profile, rows: BlockRows, now: int) -> int:
    orphans = _memberless(store, rows.simhashes)
    if not orphans.any():
        return 0
    doomed = BlockRows(rows.prefixes[orphans], rows.simhashes[orphans])
    cutoff = now - round(profile.grace_s * 1000)
    store.delete_rows(doomed, timestamp=cutoff)
    if isinstance(store, Transactional):
        return len(doomed.prefixes)
    back = ~_memberless(store, doomed.simhashes)
    if back.any():
        # Above the delete, which hides what is written at its own time.
        store.put_rows(BlockRows(doomed.prefixes[back], doomed.simhashes[back]), timestamp=max(now, cutoff + 1))
    left = store.scan(distinct(doomed.prefixes), limit=UNLIMITED).rows
    return len(set(_pairs(doomed)) - set(_pairs(left)))
