"""Rows of family ``b`` that no document accounts for."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import Sketches
from simhash_hbase.rows import documentcells, keys, layout
from simhash_hbase.stores.base import Cell, Store
from simhash_hbase.stores.columns import columns_of

MEMBERS_AT_ONCE = 100  # Members of one fingerprint that are read first; nearly all fingerprints have one.
MEMBER_BYTES = 16 << 20  # Members that are held in memory at a time.


def memberless(store: Store, profile: Profile, rows: keys.BlockRows) -> NDArray[np.bool_]:
    """Return a mask of rows without a document of their fingerprint, and for other than block rows of their segment."""
    is_sketch = (rows.prefixes & keys.FLAGS) > len(profile.blocks.tables)
    lonely = np.empty(len(is_sketch), np.bool_)
    simhashes, where = np.unique(rows.simhashes[~is_sketch], return_inverse=True)
    members = store.get_rows(layout.FAMILY_DOCUMENTS, keys.member_rows(simhashes), limit=1)
    lonely[~is_sketch] = (np.array(columns_of(members).counts) == 0)[where]
    lonely[is_sketch] = _without_segment(store, profile, rows.where(is_sketch))
    return lonely


def _without_segment(store: Store, profile: Profile, rows: keys.BlockRows) -> NDArray[np.bool_]:
    """Compare sketch and passage rows with those that the members of their fingerprints have.

    Members are read in the order of their fingerprints, each once for all of its rows.
    """
    order = np.argsort(rows.simhashes, kind="stable")
    simhashes, starts = np.unique(rows.simhashes[order], return_index=True)
    alone = np.empty(len(order), np.bool_)
    held: list[Sequence[Cell]] = []
    begin = size = 0
    for end, cells in enumerate(
        store.get_rows(layout.FAMILY_DOCUMENTS, keys.member_rows(simhashes), limit=MEMBERS_AT_ONCE), 1
    ):
        held.append(cells)
        size += sum(len(cell.value) for cell in cells)
        if size < MEMBER_BYTES and end < len(simhashes):
            continue
        chosen = order[starts[begin] : starts[end] if end < len(simhashes) else None]
        part = keys.BlockRows(rows.prefixes[chosen], rows.simhashes[chosen])
        alone[chosen] = _without_members(store, profile, part, held)
        held, begin, size = [], end, 0
    return alone


def _without_members(
    store: Store, profile: Profile, rows: keys.BlockRows, found: Sequence[Sequence[Cell]]
) -> NDArray[np.bool_]:
    """Compare rows with the members that were `found` under their fingerprints, which ascend."""
    simhashes, owners = np.unique(rows.simhashes, return_inverse=True)
    held = _keys_of_members(profile, np.repeat(np.arange(len(found)), [len(cells) for cells in found]), found)
    own = _keys(rows.prefixes, owners)
    alone = ~np.isin(own, held)
    for number in np.unique(owners[alone]).tolist():
        cells = found[number]
        while len(cells) == MEMBERS_AT_ONCE and alone[owners == number].any():
            after, row = cells[-1].qualifier, keys.member_row(int(simhashes[number]))
            cells = store.read_row(layout.FAMILY_DOCUMENTS, row, after=after, limit=MEMBERS_AT_ONCE)
            alone &= ~np.isin(own, _keys_of_members(profile, np.full(len(cells), number), [cells]))
    return alone


def _keys_of_members(
    profile: Profile, owners: NDArray[np.intp], members: Sequence[Sequence[Cell]]
) -> NDArray[np.uint64]:
    """List the sketch and passage rows of members; one that does not decode has none."""
    values = [cell.value for cells in members for cell in cells]
    fields = documentcells.decode_row_fields(values, bands=profile.bands)
    sketches = Sketches.unpacked(fields.sketches, profile.bands)
    prefixes = keys.band_prefixes(profile.blocks, sketches.segments, sketches.present)
    of_sketches = _keys(prefixes, owners[:, np.newaxis]).reshape(-1)
    counts = [len(packed) // layout.PASSAGE_BYTES for packed in fields.passages]
    passages = keys.passage_prefixes(keys.unpack_simhashes(b"".join(fields.passages)))
    return np.concatenate([of_sketches, _keys(passages, np.repeat(owners, counts))])


def _keys(prefixes: NDArray[np.uint64], owners: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Put prefix and place of the fingerprint, of which a page has few, into one integer."""
    return prefixes << np.uint64(64 - layout.PREFIX_BITS) | owners.astype(np.uint64)
