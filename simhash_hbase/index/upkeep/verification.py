"""Verification: compare search rows, member cells and document cells of an index, and repair what disagrees."""

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import msgspec
import numpy as np

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.index import documentrows, indexrows
from simhash_hbase.index.copies import count_without_original, missing_copies, stale_copies
from simhash_hbase.index.timestamps import ServerClock, stamp_above
from simhash_hbase.index.upkeep.orphans import cutoff_of, has_twin, is_member, memberless, stale_members
from simhash_hbase.index.upkeep.restoration import damage, restore_documents, still_there, without_document
from simhash_hbase.index.upkeep.walk import (
    PAGE,
    DamageCallback,
    ProgressCallback,
    Walk,
    all_rows,
    decode_cells,
    up_to_date,
    with_sound_document,
    with_wrong_checksum,
)
from simhash_hbase.profile import Profile
from simhash_hbase.rows import documentcells, keys, layout
from simhash_hbase.rows.collections import own_id
from simhash_hbase.stores.base import Cell, Store, Swap, Transactional, atomically


@dataclass(slots=True)
class Verified:
    """The result of `verify`: counts of documents, cells and rows, of leftovers, and of damage found and repaired.

    Lists of copies are counted apart: a missing or superfluous entry makes no answer to a query or a claim wrong.
    """

    documents: int = 0  # Documents that queries find.
    duplicates: int = 0  # Ids with a decision that they duplicate another one.
    undecided: int = 0
    """Claims under way, or left by a writer that crashed: other claims give those up after a lease, else `vacuum`."""
    members: int = 0
    rows: int = 0  # Block rows.
    stale_members: int = 0
    """Member cells to which no document cell refers: no answer counts them, `vacuum` deletes them. They are left by
    claims that had to give way, and by crashes in the middle of a write."""
    orphan_rows: int = 0
    """Block rows whose fingerprint has no member cell, and sketch and passage rows whose hash no member cell has:
    removing a document leaves them to `vacuum`."""
    missing_documents: int = 0
    """Member cells with all their search rows whose document cell is lost, so that nothing finds them. Counted where
    there are transactions: elsewhere a crash leaves such cells, and they are stale."""
    missing_members: int = 0  # Documents without a member cell: no query finds them.
    incomplete: int = 0  # Documents that lack some of their block rows: some queries miss them.
    malformed_rows: int = 0
    """Block rows whose segment is not that of their fingerprint, and rows of flags that the index does not have."""
    undecodable: int = 0
    """Cells that do not decode, or cannot be of their row; repairing removes them, and with a document's cell the
    document."""
    wrong_checksums: int = 0
    """Cells that decode, and whose checksum is not that of their bytes: more than one bit changed, where it was to be
    repaired. Nothing says what they were, so they stay: remove the document and add it again."""
    without_original: int = 0
    """Duplicates whose original no query finds: it was removed, has expired, or never was there, as after damage."""
    wrong_distances: int = 0
    """Duplicates whose cell is damaged: its distance is not that of its two fingerprints. Nothing says which of them
    is wrong, so none is repaired: remove the document and add it again."""
    copies: int = 0  # Entries in the originals' lists of copies.
    missing_copies: int = 0
    """Duplicates that their original's list lacks, as after a removal: repairing adds them, without their metadata."""
    stale_copies: int = 0  # Entries whose copy is gone, or names another original.
    repaired_copies: int = 0  # Entries that `repair` added or removed.
    repaired: int = 0  # Completed or removed by `repair`: what it reads back afterwards.
    restored: int = 0
    """Documents whose damaged or lost document cell was written anew from their member cell, or put back into its row,
    before all else was counted; one that was the original of others may be ``added`` then. Also cells of which one bit
    had changed, which their checksum names: these are again what they were."""
    without_sketch: int = 0
    """Member cells that were made again: their sketch is lost, so their documents are judged by distance alone; add
    these again with their texts."""
    not_repaired: int = 0
    """Cells and rows that `repair` wrote or deleted in vain. Deletes by a clock that was ahead of the server's hide new
    cells until their time has come or HBase compacts the table; cells by such a clock are not deleted before."""

    def count_repairs(self, wanted: int, done: int) -> None:
        """Count `done` things as repaired and the rest of the `wanted` ones as not repaired."""
        self.repaired += done
        self.not_repaired += wanted - done

    @property
    def wrong(self) -> int:
        """The number of faults that were found and not repaired."""
        found = self.missing_documents + self.missing_members + self.incomplete + self.malformed_rows
        return found + self.undecodable + self.wrong_checksums + self.wrong_distances - self.repaired


def verify(
    store: Store,
    profile: Profile,
    *,
    times: "Times | None",
    watch: ProgressCallback | None = None,
    on_damage: DamageCallback | None = None,
) -> Verified:
    """Check that search rows, member cells and document cells agree; return the counts of what was found.

    With `times`, the timestamps for its writes, it also repairs; None only checks. `on_damage` is called with the row
    of each damaged cell, and with an error that says what is wrong.

    Memory is bounded by a page, in an index of passages by 500,000 rows (100 MB), and where it repairs by the number of
    documents without a member cell. While others write, their unfinished documents may be counted as faults. A member
    cell stands for one document, in the row of its fingerprint; its document cell, in the row of its id, has the
    decision about it. Search rows lead from hashes (of blocks of a fingerprint, bands of a sketch, passages) to
    fingerprints.

    Raises
    ------
    CorruptIndex
        When the index's own rows are damaged: its profile, idf table or secret. Nothing can repair those.
    """
    indexrows.check_own_rows(store)
    repair = times is not None
    result = Verified()
    both = Walk(watch, passes=3 if repair else 2)
    if times is not None:
        result.restored = restore_documents(store, profile, both, on_damage)
    verification = _Verification(store, profile, times, result, on_damage, set())
    pages = store.scan_cells(layout.FAMILY_DOCUMENTS, b"", None, page=PAGE)
    for cells in both.cells(pages, before=int(repair)):
        with atomically(store) if repair else nullcontext():
            verification.check_cells(up_to_date(store, cells) if repair else cells)
    for rows in both.rows(all_rows(store, profile), before=1 + int(repair)):
        verification.check_block_rows(rows)
    return verification.result


class Times(NamedTuple):
    """The timestamp of cells that a repair writes, and the highest of cells that it may delete; ms since 1970."""

    writing: int
    cleaning: int

    @classmethod
    def of(cls, server_clock: ServerClock, now: int) -> "Times":
        """Return the timestamps of a repair, by the server's clock; in a store with transactions both are `now`."""
        return cls(server_clock.writing_time(now), server_clock.cleaning_time(now))


class _Verification(NamedTuple):
    """A check of an index, page by page, which adds its counts to `result`; it also repairs unless `times` is None."""

    store: Store
    profile: Profile
    times: Times | None
    result: Verified
    on_damage: DamageCallback | None
    owners: set[str]
    """The ids of documents that were checked already, when a repair deleted their damaged members."""

    def check_cells(self, cells: Sequence[Cell]) -> None:
        """Check a page of cells, and its documents' block, sketch and passage rows; add to the counts in `result`.

        The cells are document cells (decisions, by id), member cells (one for each document, by fingerprint) and
        entries in the lists of an original's duplicates. If `times` is set, the timestamps of writes, damage is
        repaired.
        """
        result, store = self.result, self.store
        decoded, damaged = decode_cells(cells, self.profile.bands, self.on_damage)
        doubtful = {(cell.row, cell.qualifier) for cell in damaged}
        sound = [cell for cell in cells if (cell.row, cell.qualifier) not in doubtful]
        altered = self._altered(sound)
        in_force = [(cell, state) for cell, document in decoded if (state := document.in_force())]
        states = [state for cell, state in in_force if cell not in altered]
        result.undecided += sum(document.is_undecided for _, document in decoded)
        result.undecodable += len(damaged)
        if self.times and damaged:
            self._delete_damaged(damaged, self.times)
        found = [state for state in states if state.is_found and state.id not in self.owners]
        result.documents += sum(state.is_found for _, state in in_force)
        result.duplicates += sum(state.is_duplicate for _, state in in_force)
        contradictory = list(filter(_has_wrong_distance, states))
        for state in contradictory:
            self._tell(state, "the distance of a duplicate is not that of its fingerprints")
        result.wrong_distances += len(contradictory)
        if self.times:
            result.count_repairs(len(contradictory), 0)
        self._check_found(found)
        members = [cell for cell in sound if is_member(cell)]
        lonely = without_document(store, self.profile, members)
        result.members += len(members)
        result.missing_documents += len(lonely)
        result.stale_members += len(still_there(store, stale_members(store, members))) - len(lonely)
        self._check_copies([cell for cell in sound if keys.row_flag(cell.row) == layout.FLAG_COPIES], states)

    def _delete_damaged(self, damaged: Sequence[Cell], times: Times) -> None:
        """Delete cells that do not decode, then check the documents whose member cells they were.

        A member cell stands for one document, in the row of its fingerprint.
        """
        store = self.store
        store.delete(layout.FAMILY_DOCUMENTS, [cell for cell in damaged if (cell.timestamp or 0) <= times.cleaning])
        self.result.count_repairs(len(damaged), len(damaged) - len(still_there(store, damaged)))
        # The page of a document may be an earlier one than that of its member.
        owners = _owners(store, self.profile, [cell for cell in damaged if is_member(cell)])
        self._check_found(owners)
        self.owners.update(state.id for state in owners)

    def _tell(self, state: documentcells.DocumentState, problem: str) -> None:
        """Call `on_damage` with what is wrong with a document whose cells can be decoded."""
        if self.on_damage is not None:
            self.on_damage(state.key[0], CorruptIndex(problem, named=f": {own_id(state.id)!r}"))

    def _altered(self, cells: Sequence[Cell]) -> set[Cell]:
        """Count and return the cells whose checksum does not fit their bytes, though they can be decoded."""
        altered = with_wrong_checksum(self.profile, cells)
        self.result.wrong_checksums += len(altered)
        if self.times:
            self.result.count_repairs(len(altered), 0)
        if self.on_damage is not None:
            for cell in altered:
                self.on_damage(cell.row, damage(cell, "the checksum of a {} is wrong"))
        return set(altered)

    def _check_copies(self, copies: Sequence[Cell], states: Sequence[documentcells.DocumentState]) -> None:
        """Compare lists of copies with the decisions, and count stale and missing entries; a repair corrects the lists.

        An original's list of copies has an entry for each of its duplicates, in the original's row: these are `copies`.
        `states` are the decisions.
        """
        result, store = self.result, self.store
        stale = still_there(store, with_sound_document(store, self.profile, stale_copies(store, copies)))
        missing = missing_copies(store, states)
        result.without_original += count_without_original(store, states)
        result.copies += len(copies)
        result.stale_copies += len(stale)
        result.missing_copies += len(missing)
        if self.times and (stale or missing):
            # An entry is there before its decision: where there are no transactions, a new one may be that of a claim
            # under way.
            latest = self.times.cleaning
            latest = latest if isinstance(store, Transactional) else cutoff_of(store, self.profile, latest)
            store.delete(layout.FAMILY_DOCUMENTS, [cell for cell in stale if (cell.timestamp or 0) <= latest])
            made = self._make_cells(missing, self.times)
            result.repaired_copies += len(stale) - len(still_there(store, stale)) + made

    def _check_found(self, found: Sequence[documentcells.DocumentState]) -> None:
        """Count the documents without member cell and those without some of their search rows.

        A repair writes these.
        """
        result, store = self.result, self.store
        cells = store.get(layout.FAMILY_DOCUMENTS, [state.kept_key(keys.id_digest(state.id)) for state in found])
        lacking = [state for state, cell in zip(found, cells, strict=True) if cell is None]
        again = store.get(layout.FAMILY_DOCUMENTS, [state.key for state in lacking])
        # Documents that a writer has changed since they were read are left out.
        now = [cell and documentcells.decode_document(cell.value).in_force() for cell in again]
        missing = [state for state, present in zip(lacking, now, strict=True) if state == present]
        result.missing_members += len(missing)
        doubtful = self._doubtful(found, cells, missing)
        if self.times and missing:
            lost = [state for state in missing if state.simhash not in doubtful]
            made = self._make_cells(lost, self.times) if lost else 0
            result.count_repairs(len(missing), made)
            result.without_sketch += made if self.profile.sketch else 0
        # An empty value does not decode, and has no sketch and no passages.
        values = [b"" if cell is None else cell.value for cell in cells]
        fields = documentcells.decode_row_fields(values, bands=self.profile.bands)
        simhashes = np.array([state.simhash for state in found], dtype=np.uint64)
        rows = documentrows.stored_rows(self.profile, simhashes, fields)
        absent = rows.where(~store.has_rows(rows))
        incomplete = np.isin(simhashes, absent.simhashes)
        result.incomplete += int(incomplete.sum())
        if self.times and incomplete.any():
            left = np.isin(simhashes, self._complete_rows(absent, doubtful, self.times))
            for state in compress(found, incomplete & left):
                self._tell(state, "a document lacks rows, and its cells are not sure to be right, so none was made")
            result.count_repairs(int(incomplete.sum()), int((incomplete & ~left).sum()))

    def _doubtful(
        self,
        found: Sequence[documentcells.DocumentState],
        members: Sequence[Cell | None],
        missing: Sequence[documentcells.DocumentState],
    ) -> list[int]:
        """Return the fingerprints under which nothing is repaired, since a cell of their documents may be damaged."""
        # Members whose bytes are not those that were written.
        altered = set(with_wrong_checksum(self.profile, [cell for cell in members if cell is not None]))
        doubtful = [state.simhash for state, cell in zip(found, members, strict=True) if cell in altered]
        # Where no block row has the fingerprint either, the document cell itself may be damaged. Without transactions
        # that is what a snapshot of a table in use has of a document that was being added.
        if missing and isinstance(self.store, Transactional):
            blocks = keys.block_rows(self.profile.blocks, np.array([state.simhash for state in missing], np.uint64))
            standing = set(blocks.simhashes[self.store.has_rows(blocks)].tolist())
            doubtful += [state.simhash for state in missing if state.simhash not in standing]
        return doubtful

    def _complete_rows(self, absent: keys.BlockRows, doubtful: Sequence[int], times: Times) -> list[int]:
        """Write missing search rows, except those of `doubtful` fingerprints.

        Return fingerprints that still lack rows.
        """
        if not self.profile.checksums:
            # Where a row stands with one bit changed, nothing says whether it or its member is damaged: both are left.
            changed = absent.simhashes[has_twin(self.store, self.profile, absent, standing=True)].tolist()
            doubtful = [*doubtful, *changed]
        absent = absent.where(~np.isin(absent.simhashes, np.array(doubtful, np.uint64)))
        self.store.put_rows(absent, timestamp=times.writing)
        return [*absent.simhashes[~self.store.has_rows(absent)].tolist(), *doubtful]

    def check_block_rows(self, rows: keys.BlockRows) -> None:
        """Check a page of search rows: count malformed ones and those without member cell.

        A repair deletes malformed ones.
        """
        self.result.rows += len(rows.prefixes)
        # The segment of a block row follows from fingerprint and flag; sketch and passage rows may have any.
        tables = len(self.profile.blocks.tables)
        flags = (rows.prefixes & keys.FLAGS).astype(np.intp)
        is_block = (flags >= 1) & (flags <= tables)
        expected = self.profile.blocks.prefixes(rows.simhashes)[np.arange(len(flags)), np.where(is_block, flags - 1, 0)]
        is_other = (flags > tables) & (flags <= tables + self.profile.bands)
        if self.profile.passages is not None:
            is_other |= flags == layout.FLAG_PASSAGES
        malformed = ~(is_block & (expected == rows.prefixes) | is_other)
        self.result.malformed_rows += int(malformed.sum())
        orphans = memberless(self.store, self.profile, rows)
        self.result.orphan_rows += int((orphans & ~malformed).sum())
        if self.times and malformed.any():
            doomed = rows.where(malformed)
            self.store.delete_rows(doomed, timestamp=self.times.cleaning)
            self.result.count_repairs(len(doomed.prefixes), int((~self.store.has_rows(doomed)).sum()))

    def _make_cells(self, states: Sequence[documentcells.DocumentState], times: Times) -> int:
        """Write lost member cells, or lost entries in lists of copies, from the decisions `states`; return how many.

        The document cells get the timestamp of the new cells. A member cell stands for one document, in the row of its
        fingerprint; its document cell, in the row of its id, has the decision about it. An entry of a list of copies
        names a duplicate, in the row of its original.
        """
        changes = []
        for at, old in enumerate(states):
            new = msgspec.structs.replace(old, stamp=stamp_above(times.writing, old.stamp))
            stored = old, documentcells.encode(old, checksum=self.profile.checksums)
            changes.append(
                documentcells.Change.of(at, keys.id_digest(old.id), stored, new, checksum=self.profile.checksums)
            )
        made = documentrows.document_cells(documentrows.bare_entries(states), changes)
        self.store.put(layout.FAMILY_DOCUMENTS, made)
        held = self.store.get(layout.FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in made])
        read_back = [change for change, cell in zip(changes, held, strict=True) if cell is not None]
        swaps = [Swap(*change.key, change.old_value, change.value) for change in read_back]
        return sum(self.store.compare_and_set(swaps))


def _has_wrong_distance(state: documentcells.DocumentState) -> bool:
    if not state.is_duplicate or state.distance is None or state.of_text is None:
        return False
    return (state.simhash ^ state.of_text.simhash).bit_count() != state.distance


def _owners(store: Store, profile: Profile, members: Sequence[Cell]) -> list[documentcells.DocumentState]:
    """Return the intact documents that queries find, among those whose ids' digests are in these member cells' keys."""
    digests = sorted({cell.qualifier[: layout.ID_DIGEST_BYTES] for cell in members})
    owners = []
    for cell in store.get(layout.FAMILY_DOCUMENTS, list(map(keys.document_key, digests))):
        with suppress(CorruptIndex):
            if cell is None or with_wrong_checksum(profile, [cell]):
                continue
            if state := documentcells.document_at(cell[:2], cell.value).found():
                owners.append(state)
    return owners
