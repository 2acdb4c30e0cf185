"""What `verify` counts and `vacuum` deletes: cells and rows that no document names."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.rows.documents import DocumentState, decode_document, decode_member
from simhash_hbase.rows.keys import document_row, member_rows, row_flag, row_simhash
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FLAG_DOCUMENT, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell, Store, Transactional


def decode_cells(cells: Sequence[Cell]) -> tuple[list[tuple[Cell, DocumentState]], list[Cell]]:
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


def stale_members(store: Store, members: Sequence[Cell]) -> list[Cell]:
    """Select the member cells that no document cell names; one that does not decode may."""
    keys = [(document_row(cell.qualifier), STATE_QUALIFIER) for cell in members]
    states = store.get(FAMILY_DOCUMENTS, keys)
    return [member for member, cell in zip(members, states, strict=True) if cell is None or not _may_name(cell, member)]


def _may_name(cell: Cell, member: Cell) -> bool:
    try:
        return row_simhash(member.row) in decode_document(cell.value).member_simhashes()
    except CorruptIndex:
        return True


def memberless(store: Store, simhashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which fingerprints no document has; an array of the same shape, (n,)."""
    distinct, where = np.unique(simhashes, return_inverse=True)
    found = store.get_rows(FAMILY_DOCUMENTS, member_rows(distinct), limit=1)
    empty = np.fromiter((not cells for cells in found), np.bool_, len(found))
    lonely: NDArray[np.bool_] = empty[where]
    return lonely


def up_to_date(store: Store, cells: Sequence[Cell]) -> list[Cell]:
    """Read cells again, now that nobody else writes; where others may, they are as fresh as can be."""
    if not isinstance(store, Transactional):
        return list(cells)
    again = store.get(FAMILY_DOCUMENTS, [(cell.row, cell.qualifier) for cell in cells])
    return [cell for cell in again if cell is not None]
