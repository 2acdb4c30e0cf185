"""Vacuum: delete expired documents, old removals, and member cells and search rows that no document needs."""

from collections.abc import Sequence
from dataclasses import dataclass

from simhash_hbase.errors import InvalidArgument, StoreBusy
from simhash_hbase.index import indexrows
from simhash_hbase.index.arguments import ASKED_DOCUMENTS, ASKED_SHARE
from simhash_hbase.index.copies import stale_copies
from simhash_hbase.index.timestamps import ServerClock
from simhash_hbase.index.upkeep.orphans import cutoff_of, doubtful, is_member, memberless, stale_members
from simhash_hbase.index.upkeep.walk import (
    PAGE,
    ProgressCallback,
    Walk,
    all_rows,
    decode_cells,
    up_to_date,
    with_sound_document,
    with_wrong_checksum,
)
from simhash_hbase.profile import Profile
from simhash_hbase.rows import clock, documentcells, keys, layout
from simhash_hbase.stores.base import Cell, Store, Swap, Transactional, atomically


@dataclass(slots=True)
class Vacuumed:
    """The numbers of cells and rows that `vacuum` deleted, by the reason."""

    expired: int = 0  # Documents not seen for longer than the index's ttl.
    removed: int = 0  # Document cells that said ``removed`` for longer than the grace period.
    abandoned: int = 0  # Claims without a decision that nobody went on with for the grace period: given up.
    stale_members: int = 0
    stale_copies: int = 0  # Entries in lists of copies: the copy is gone, or names another original.
    rows: int = 0  # Search rows that lead to no member cell.


def vacuum(
    store: Store,
    profile: Profile,
    *,
    server_clock: ServerClock,
    now: int,
    yes: bool = False,
    watch: ProgressCallback | None = None,
) -> Vacuumed:
    """Delete expired documents, old removals, and member cells and rows without a document; return how many of each.

    Refused with `StoreBusy` while a bulk load is open, which writes rows before documents. Other writers may write
    meanwhile. Where the store has transactions, each page is read again and cleaned inside one. Elsewhere nothing
    younger than the grace period, or two minutes, is touched, and rows whose documents appeared meanwhile are written
    again. A member cell stands for one document, in the row of its fingerprint.

    Raises
    ------
    InvalidArgument
        When most documents have expired by the clock, or nothing was seen for a time to live between those that have
        and those that stay, unless `yes`: a clock may be ahead. Nothing is deleted then.
    """
    if indexrows.read_open_load(store) is not None:
        raise StoreBusy(f"a load into {store.url} is open: its rows would be taken for garbage; finish it first")
    now = server_clock.cleaning_time(now)
    result = Vacuumed()
    asks = profile.ttl_ms is not None and not yes
    both = Walk(watch, passes=2 + asks)
    if asks:
        _check_expiry(store, profile, now, both)
    for cells in both.cells(store.scan_cells(layout.FAMILY_DOCUMENTS, b"", None, page=PAGE), before=int(asks)):
        with atomically(store):
            _vacuum_cells(store, profile, up_to_date(store, cells), now, result)
    cutoff = cutoff_of(store, profile, now)
    for rows in both.rows(all_rows(store, profile), before=1 + int(asks)):
        orphans = rows.where(memberless(store, profile, rows))
        orphans = orphans.where(~doubtful(store, profile, orphans))
        for start in range(0, len(orphans.prefixes), PAGE):
            page = keys.BlockRows(*(column[start : start + PAGE] for column in orphans))
            with atomically(store):
                result.rows += _delete_rows(store, profile, page, cutoff, server_clock.writing_time(now))
    return result


def _delete_rows(store: Store, profile: Profile, rows: keys.BlockRows, cutoff: int, writing: int) -> int:
    """Delete the search rows that still lead to no member cell; return how many of them the store no longer has.

    `cutoff` is the timestamp of the delete, `writing` that of rows which are written again since their member cell has
    appeared meanwhile; both are in ms. Search rows lead from hashes (of blocks of a fingerprint, bands of a sketch,
    passages) to fingerprints.
    """
    doomed = rows.where(memberless(store, profile, rows))
    store.delete_rows(doomed, timestamp=cutoff)
    # Inside a transaction no member of these rows can have appeared since they were read.
    if isinstance(store, Transactional):
        return len(doomed.prefixes)
    back = ~memberless(store, profile, doomed)
    if back.any():
        # Above the delete, which hides cells that are written at its own time.
        store.put_rows(doomed.where(back), timestamp=writing)
    return int((~store.has_rows(doomed)).sum())


def _check_expiry(store: Store, profile: Profile, now: int, walk: Walk) -> None:
    documents = expired = latest = 0
    earliest = None  # Time of the earliest document that stays.
    for cells in walk.cells(store.scan_cells(layout.FAMILY_DOCUMENTS, b"", None, page=PAGE)):
        for _, state in decode_cells(cells, profile.bands)[0]:
            if not (state.is_gone or state.is_undecided):
                documents += 1
                if state.seen < profile.oldest(now):
                    expired += 1
                    latest = max(latest, state.seen)
                else:
                    earliest = state.seen if earliest is None else min(earliest, state.seen)
    # A writer whose clock leapt ahead by more than the time to live leaves such a gap before its first document.
    has_gap = earliest is not None and earliest - latest > (profile.ttl_ms or 0)
    if expired < ASKED_DOCUMENTS or not (has_gap or expired > ASKED_SHARE * documents):
        return
    gap = f"nothing was seen from {clock.rfc3339(latest)} until {clock.rfc3339(earliest or 0)}"
    seen = gap if has_gap else f"the latest was seen at {clock.rfc3339(latest)}"
    raise InvalidArgument(
        f"{expired:,} of {documents:,} documents have expired: {seen}, the time to live is {_time_to_live(profile)}, "
        f"and the clock says {clock.rfc3339(now)}; if that is right, repeat it with `yes`"
    )


def _time_to_live(profile: Profile) -> str:
    return f"{profile.ttl_days:g} day{'' if profile.ttl_days == 1 else 's'}"


def expiry_warning(store: Store, profile: Profile, now: int) -> str | None:
    """Return a warning if all documents on the first page have expired; else, or without a time to live, None.

    Then either nobody has written for long, or the clock, which says `now` (ms), is ahead.
    """
    if profile.ttl_ms is None:
        return None
    page = next(store.scan_cells(layout.FAMILY_DOCUMENTS, b"", None, page=PAGE), [])
    seen = [
        state.seen for _, state in decode_cells(page, profile.bands)[0] if not (state.is_gone or state.is_undecided)
    ]
    if not seen or max(seen) >= profile.oldest(now):
        return None
    count = f"all {len(seen):,}" if len(page) < PAGE else f"the first {len(seen):,}"
    return (
        f"{count} documents of {store.url} have expired: the latest was seen at {clock.rfc3339(max(seen))}, the time "
        f"to live is {_time_to_live(profile)}, and the clock says {clock.rfc3339(now)}; if the clock is right, copies "
        "of them are originals now; if it is ahead, stop and set it"
    )


def _vacuum_cells(store: Store, profile: Profile, cells: Sequence[Cell], now: int, result: Vacuumed) -> None:
    cutoff = cutoff_of(store, profile, now)
    doomed: list[Cell] = []
    # A cell with a wrong checksum is no reason to delete anything.
    altered = set(with_wrong_checksum(profile, cells))
    # The stamp is that of the member, which a writer's own clock gave, and up to which it was deleted or will be.
    old = [
        (cell, state)
        for cell, state in decode_cells(cells, profile.bands)[0]
        if max(cell.timestamp or 0, state.stamp) <= cutoff and cell not in altered
    ]
    # The timestamp of a claim's cell may be made of its token, so no time.
    undecided = [(c, state) for c, state in old if state.is_undecided and state.seen <= cutoff]
    if undecided:
        # The decision before the claim returns; a live writer starts again.
        swaps = [
            Swap(
                cell.row,
                cell.qualifier,
                cell.value,
                documentcells.encode(state.abandoned(), checksum=profile.checksums),
            )
            for cell, state in undecided
        ]
        result.abandoned += sum(store.compare_and_set(swaps))
    for cell, state in old:
        if state.is_gone:
            result.removed += 1
            doomed.append(cell)
        elif not state.is_undecided and state.seen < profile.oldest(now):
            result.expired += 1
            doomed += [cell, Cell(*keys.member_key(state.text, keys.row_digest(cell.row)), b"", state.stamp)]
    members = [cell for cell in cells if is_member(cell)]
    unnamed = with_sound_document(store, profile, stale_members(store, members))
    stale = [cell for cell in unnamed if (cell.timestamp or 0) <= cutoff]
    result.stale_members += len(stale)
    copies = [
        cell for cell in cells if keys.row_flag(cell.row) == layout.FLAG_COPIES and (cell.timestamp or 0) <= cutoff
    ]
    idle = with_sound_document(store, profile, stale_copies(store, copies, profile.oldest(now)))
    result.stale_copies += len(idle)
    if doomed or stale or idle:
        # Up to the timestamp that was read: a cell that another writer put there since is newer and stays.
        store.delete(layout.FAMILY_DOCUMENTS, doomed + stale + idle)
