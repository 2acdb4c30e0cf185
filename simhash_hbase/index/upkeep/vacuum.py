"""Keeping an index small: what has expired, was removed or is left over goes."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from simhash_hbase.errors import StoreBusy
from simhash_hbase.index.copies import stale_copies
from simhash_hbase.index.indexrows import read_open_load
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
from simhash_hbase.rows.documents import encode, member_key
from simhash_hbase.rows.keys import ALL_PREFIXES, row_digest, row_flag
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FLAG_COPIES, FLAG_MEMBERS
from simhash_hbase.stores.base import Cell, CompareAndSet, Store, Swap, Transactional, atomically


@dataclass(slots=True)
class Vacuumed:
    """What `vacuum` deleted."""

    expired: int = 0  # Documents not seen for longer than the index's ttl.
    removed: int = 0  # Document cells that said ``removed`` for longer than the grace period.
    abandoned: int = 0  # Claims without a decision that nobody went on with for the grace period: given up.
    stale_members: int = 0
    stale_copies: int = 0  # Entries in lists of copies: the copy is gone, or names another original.
    rows: int = 0  # Block rows without members.

    def __iadd__(self, other: "Vacuumed") -> "Vacuumed":
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))
        return self


def vacuum(store: Store, profile: Profile, *, now: int, watch: ProgressCallback | None = None) -> Vacuumed:
    """Delete what no answer needs: expired documents, old removals, members and block rows without a document.

    Refused while a bulk load is open: its rows come before its documents. Safe beside writers: where the store has
    transactions each page is read again and cleaned inside one; elsewhere nothing younger than the grace period, or
    two minutes, is touched, and rows whose members appeared meanwhile are put back.
    """
    if read_open_load(store) is not None:
        raise StoreBusy(f"a load into {store.url} is open: its rows would be taken for garbage; finish it first")
    now = cleaning_time(store, now)
    result = Vacuumed()
    walk = Walk(watch)
    for cells in walk.cells(store.scan_cells(FAMILY_DOCUMENTS, b"", None, page=PAGE)):
        with atomically(store):
            result += _vacuum_cells(store, profile, up_to_date(store, cells), now)
    cutoff = cutoff_of(store, profile, now)
    for rows in walk.rows(store.scan_range(0, ALL_PREFIXES, page=PAGE), before=1):
        with atomically(store):
            doomed = rows.where(memberless(store, profile, rows))
            if not len(doomed.prefixes):
                continue
            store.delete_rows(doomed, timestamp=cutoff)
            if isinstance(store, Transactional):
                result.rows += len(doomed.prefixes)
                continue
            back = ~memberless(store, profile, doomed)
            if back.any():
                # Above the delete, which hides what is written at its own time.
                store.put_rows(doomed.where(back), timestamp=writing_time(store, now))
            result.rows += int((~store.has_rows(doomed)).sum())
    return result


def _vacuum_cells(store: Store, profile: Profile, cells: Sequence[Cell], now: int) -> Vacuumed:
    result = Vacuumed()
    cutoff = cutoff_of(store, profile, now)
    doomed: list[Cell] = []
    # The stamp is that of the member, which a writer's own clock gave, and up to which it was deleted or will be.
    documents = [
        (cell, state)
        for cell, state in decode_cells(cells, profile.bands)[0]
        if max(cell.timestamp or 0, state.stamp) <= cutoff
    ]
    # The timestamp of a claim's cell may be no time.
    undecided = [(c, state) for c, state in documents if state.is_undecided and state.seen <= cutoff]
    if undecided and isinstance(store, CompareAndSet):
        # The decision before it returns; a live writer starts again.
        swaps = [Swap(cell.row, cell.qualifier, cell.value, encode(state.abandoned())) for cell, state in undecided]
        result.abandoned = sum(store.compare_and_set(swaps))
    for cell, state in documents:
        if state.is_gone:
            result.removed += 1
            doomed.append(cell)
        elif not state.is_undecided and state.seen < profile.oldest(now):
            result.expired += 1
            doomed += [cell, Cell(*member_key(state.text, row_digest(cell.row)), b"", state.stamp)]
    members = [cell for cell in cells if row_flag(cell.row) == FLAG_MEMBERS]
    stale = [cell for cell in stale_members(store, members) if (cell.timestamp or 0) <= cutoff]
    result.stale_members = len(stale)
    copies = [cell for cell in cells if row_flag(cell.row) == FLAG_COPIES and (cell.timestamp or 0) <= cutoff]
    idle = stale_copies(store, copies, profile.oldest(now))
    result.stale_copies = len(idle)
    if doomed or stale or idle:
        # Up to the timestamp that was read: what another writer put there since is newer and stays.
        store.delete(FAMILY_DOCUMENTS, doomed + stale + idle)
    return result
