"""Restoration: write damaged and lost cells anew, by their checksums or from the other cells of the document."""

from collections.abc import Sequence
from contextlib import suppress

import msgspec
import numpy as np

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.index import documentrows, indexrows
from simhash_hbase.index.upkeep.orphans import is_member
from simhash_hbase.index.upkeep.walk import PAGE, DamageCallback, Walk, decode_cells, with_wrong_checksum
from simhash_hbase.profile import Profile
from simhash_hbase.rows import checksums, clock, documentcells, keys, layout
from simhash_hbase.rows.collections import own_id
from simhash_hbase.stores.base import Cell, CellKey, Store, Swap, Transactional

_KINDS = {layout.FLAG_MEMBERS: "member cell", layout.FLAG_COPIES: "copy's cell", layout.FLAG_DOCUMENT: "document cell"}


def damage(cell: Cell, problem: str) -> CorruptIndex:
    """Return the error to report for a cell that decodes but is damaged; it names the id in the cell.

    `problem` is a sentence in which ``{}`` stands for the kind of the cell.
    """
    name = own_id(documentcells.id_of(cell.value))
    return CorruptIndex(problem.format(_KINDS[keys.row_flag(cell.row)]), named=f": {name!r}")


def restore_documents(store: Store, profile: Profile, walk: Walk, on_damage: DamageCallback | None) -> int:
    """Write damaged and lost document cells anew from their member cells; return how many cells were restored.

    A document cell, in the row of an id, has the decision about a document; a member cell stands for it in the row of
    its fingerprint. A document cell is damaged if it does not decode, is in another row than its id's, or names a
    fingerprint under which it has no member cell. It is written anew only from a member cell of which all search rows
    are there: these are several witnesses against one. If the decision cannot be read any more, the new cell says
    ``added``. Before that, a cell with one changed bit gets the bit back by its checksum, and a cell in a wrong row is
    copied into its own.
    """
    restored = 0
    # By the digest of the id: the value of the document cell, and the decoded cell.
    lost: dict[bytes, tuple[bytes | None, documentcells.DocumentState | None]] = {}
    for read in walk.cells(store.scan_cells(layout.FAMILY_DOCUMENTS, b"", None, page=PAGE)):
        mended = _put_back_bits(store, profile, read, on_damage)
        restored += len(mended)
        cells = [mended.get((cell.row, cell.qualifier), cell) for cell in read]
        decoded, damaged = decode_cells(cells, profile.bands)
        found = [(cell, state) for cell, state in decoded if state.is_found]
        members = store.get(
            layout.FAMILY_DOCUMENTS, [state.kept_key(keys.row_digest(cell.row)) for cell, state in found]
        )
        for (cell, state), member in zip(found, members, strict=True):
            is_altered = bool(with_wrong_checksum(profile, [cell]))
            if member is None and (is_altered or not profile.checksums):
                lost[keys.row_digest(cell.row)] = cell.value, None if is_altered else state
        for cell in damaged:
            digest = keys.row_digest(cell.row)
            if (cell.row, cell.qualifier) == keys.document_key(digest):
                lost[digest] = cell.value, None
        restored += _put_back_cells(store, damaged)
        for cell in without_document(store, profile, [cell for cell in cells if is_member(cell)]):
            lost[cell.qualifier[: layout.ID_DIGEST_BYTES]] = None, None
    for cells in store.scan_cells(layout.FAMILY_DOCUMENTS, b"", None, page=PAGE) if lost else ():
        for cell in cells:
            digest = cell.qualifier[: layout.ID_DIGEST_BYTES]
            if is_member(cell) and digest in lost:
                restored += _restore_document(store, profile, cell, *lost[digest])
    return restored


def _put_back_bits(
    store: Store, profile: Profile, cells: Sequence[Cell], on_damage: DamageCallback | None
) -> dict[CellKey, Cell]:
    """Correct cells with a wrong checksum in which a single bit has changed.

    Return the corrected cells by their keys.
    """
    altered = with_wrong_checksum(profile, cells)
    pairs = [(cell, cell._replace(value=value)) for cell in altered if (value := checksums.mended(cell.value))]
    # If several bits have changed, the checksum may name a bit that has not.
    fitting = [(old, new) for old, new in pairs if not decode_cells([new], profile.bands)[1]]
    if not fitting:
        return {}
    documents = [(old, new) for old, new in fitting if keys.row_flag(old.row) == layout.FLAG_DOCUMENT]
    store.compare_and_set([Swap(old.row, old.qualifier, old.value, new.value) for old, new in documents])
    # A later cell of another writer stays.
    store.put(layout.FAMILY_DOCUMENTS, [new for old, new in fitting if (old, new) not in documents])
    again = store.get(layout.FAMILY_DOCUMENTS, [(new.row, new.qualifier) for _, new in fitting])
    mended = [cell for (_, new), cell in zip(fitting, again, strict=True) if cell and cell.value == new.value]
    if on_damage is not None:
        for cell in mended:
            on_damage(cell.row, damage(cell, "a bit of a {} had changed, and was put back"))
    return {(cell.row, cell.qualifier): cell for cell in mended}


def _put_back_cells(store: Store, damaged: Sequence[Cell]) -> int:
    """Copy document cells that are in a wrong row into the row of their id, if it is empty; return how many.

    Only cells that have a member cell or an entry in a list of copies are copied: without one the id itself may be
    damaged. A member cell stands for one document, in the row of its fingerprint; its document cell, in the row of its
    id, has the decision about it.
    """
    misplaced = []
    for cell in damaged:
        with suppress(CorruptIndex):
            state = documentcells.decode_document(cell.value)
            if state.key != (cell.row, cell.qualifier):
                misplaced.append((cell, state))
    kept_keys = [state.kept_key(keys.id_digest(state.id)) for _, state in misplaced]
    kept = store.get(layout.FAMILY_DOCUMENTS, kept_keys)
    pairs = [pair for pair, member in zip(misplaced, kept, strict=True) if member is not None]
    return sum(store.compare_and_set([Swap(*state.key, None, cell.value) for cell, state in pairs]))


def _restore_document(
    store: Store, profile: Profile, cell: Cell, value: bytes | None, old: documentcells.DocumentState | None
) -> bool:
    member = _whole_member(store, profile, cell)
    if member is None:
        return False
    stamp = min(max(old.stamp if old else 0, cell.timestamp or 0), clock.LAST_MS)
    simhash, digest = keys.row_simhash(cell.row), cell.qualifier[layout.ID_DIGEST_BYTES :]
    made = documentcells.DocumentState(member.id, simhash, "added", member.added, stamp, (member.added, 0))
    new = msgspec.structs.replace(old or made, simhash=simhash, digest=digest, stamp=stamp)
    swap = Swap(*made.key, value, documentcells.encode(new, checksum=profile.checksums))
    return store.compare_and_set([swap]) == [True]


def _whole_member(store: Store, profile: Profile, cell: Cell) -> documentcells.Member | None:
    """Return the decoded content of an intact member cell; None if it is damaged, misplaced or lacks a search row.

    A member cell stands for one document, in the row of its fingerprint. Search rows lead from hashes (of blocks of a
    fingerprint, bands of a sketch, passages) to fingerprints.
    """
    try:
        member = documentcells.decode_member(cell.value, bands=profile.bands)
    except CorruptIndex:
        return None
    is_member_here = documentcells.is_member_of((cell.row, cell.qualifier), member)
    if not is_member_here or with_wrong_checksum(profile, [cell]):
        return None
    simhash = np.array([keys.row_simhash(cell.row)], np.uint64)
    fields = documentcells.RowFields([member.sketch], [documentcells.passages_of(member)])
    rows = documentrows.stored_rows(profile, simhash, fields)
    return member if store.has_rows(rows).all() else None


def without_document(store: Store, profile: Profile, members: Sequence[Cell]) -> list[Cell]:
    """Return the intact member cells, with all their search rows, whose document cell is lost.

    Empty in a store without transactions, or while a bulk load is open: there such cells are not finished yet. A member
    cell stands for one document, in the row of its fingerprint; its document cell, in the row of its id, has the
    decision about it.
    """
    # A crash of a writer without transactions leaves such members, and so does a load that is not finished.
    if not members or not isinstance(store, Transactional) or indexrows.read_open_load(store) is not None:
        return []
    cell_keys = [keys.document_key(cell.qualifier[: layout.ID_DIGEST_BYTES]) for cell in members]
    documents = store.get(layout.FAMILY_DOCUMENTS, cell_keys)
    lonely = [cell for cell, document in zip(members, documents, strict=True) if document is None]
    # Members that a writer has removed since they were read are left out.
    return [cell for cell in still_there(store, lonely) if _whole_member(store, profile, cell) is not None]


def still_there(store: Store, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells that no writer has changed or deleted since they were read."""
    again = store.get(layout.FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in cells])
    return [cell for cell, now in zip(cells, again, strict=True) if now == cell]
