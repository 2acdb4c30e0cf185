"""Leftovers of unfinished writes: member cells and search rows without a document, and when they may be deleted.

A member cell stands for one document in the row of its fingerprint. Search rows (block, sketch and passage rows) lead
from a prefix to a fingerprint.
"""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.index.timestamps import MARGIN_MS
from simhash_hbase.index.upkeep.walk import with_wrong_checksum
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import Sketches
from simhash_hbase.rows import documentcells, keys, layout
from simhash_hbase.stores.base import Cell, Store, Transactional
from simhash_hbase.stores.columns import columns_of

MEMBERS_AT_ONCE = 100  # Members of one fingerprint that are read first; nearly all fingerprints have one.
# Fingerprints whose members are held in memory at a time; with passages a member of an article has some kilobytes.
FINGERPRINTS_AT_ONCE = 10_000
FINGERPRINTS_WITH_PASSAGES = 1_000
# A delete hides cells that are written below its timestamp later, as a load writes them: MARGIN_MS behind the server's
# clock, which may itself be as far behind the one that vacuum goes by.
LEAST_GRACE_MS = 2 * MARGIN_MS


def cutoff_of(store: Store, profile: Profile, now: int) -> int:
    """Return the time, in ms since 1970, up to which leftovers may be deleted: `now` less the profile's ``grace_s``.

    Without transactions the grace period is at least two minutes.
    """
    grace_ms = round(profile.grace_s * 1000)
    # Without transactions a delete also hides what is written later below its timestamp.
    return now - (grace_ms if isinstance(store, Transactional) else max(grace_ms, LEAST_GRACE_MS))


def is_member(cell: Cell) -> bool:
    """Return whether a cell of family ``d`` is a member cell, which stands for a document in its fingerprint's row."""
    return keys.row_flag(cell.row) == layout.FLAG_MEMBERS


def stale_members(store: Store, members: Sequence[Cell]) -> list[Cell]:
    """Return the member cells to which no document cell refers, so that no answer counts them.

    Those of an id whose document cell cannot be decoded are not returned: it may refer to them. A member cell stands
    for one document, in the row of its fingerprint; its document cell, in the row of its id, has the decision about it.
    """
    cell_keys = [keys.document_key(cell.qualifier[: layout.ID_DIGEST_BYTES]) for cell in members]
    states = store.get(layout.FAMILY_DOCUMENTS, cell_keys)
    stale = []
    for member, cell in zip(members, states, strict=True):
        text = documentcells.Text(keys.row_simhash(member.row), member.qualifier[layout.ID_DIGEST_BYTES :])
        with suppress(CorruptIndex):
            if cell is None or text not in documentcells.decode_document(cell.value).member_texts():
                stale.append(member)
    return stale


def memberless(store: Store, profile: Profile, rows: keys.BlockRows) -> NDArray[np.bool_]:
    """Return a mask of the search rows that lead to no member cell (orphans).

    A block row is one if its fingerprint has no member cell; a sketch or passage row, if no member cell of its
    fingerprint has its hash. A member cell stands for one document, in the row of its fingerprint. Search rows lead
    from hashes (of blocks of a fingerprint, bands of a sketch, passages) to fingerprints.
    """
    is_sketch = (rows.prefixes & keys.FLAGS) > len(profile.blocks.tables)
    lonely = np.empty(len(is_sketch), np.bool_)
    simhashes, where = np.unique(rows.simhashes[~is_sketch], return_inverse=True)
    lonely[~is_sketch] = _without_member(store, simhashes)[where]
    lonely[is_sketch] = _without_segment(store, profile, rows.where(is_sketch))
    return lonely


def has_twin(store: Store, profile: Profile, rows: keys.BlockRows, *, standing: bool) -> NDArray[np.bool_]:
    """Return a mask of sketch and passage rows that are one bit apart from another row which may be the right one.

    With `standing` the other row is in the store, but no member cell has it. Without it a member cell has the other
    row, but it is not in the store. Nothing says which row of such a pair was damaged.

    Parameters
    ----------
    standing : bool
        Whether the other row stands.
    """
    twins = (rows.prefixes & keys.FLAGS) > len(profile.blocks.tables)
    bits = np.uint64(1) << np.arange(layout.FLAG_BITS, layout.PREFIX_BITS, dtype=np.uint64)
    others = keys.BlockRows(
        (rows.prefixes[twins, np.newaxis] ^ bits).reshape(-1), np.repeat(rows.simhashes[twins], len(bits))
    )
    chosen = _are_there(store, others) == standing
    chosen[chosen] = memberless(store, profile, others.where(chosen)) == standing
    twins[twins] = chosen.reshape(-1, len(bits)).any(axis=1)
    return twins


def _are_there(store: Store, rows: keys.BlockRows) -> NDArray[np.bool_]:
    """Return a mask: which of the search rows, given in any order, the store has."""
    order = np.lexsort((rows.simhashes, rows.prefixes))
    there = np.empty(len(order), np.bool_)
    there[order] = store.has_rows(keys.BlockRows(rows.prefixes[order], rows.simhashes[order]))
    return there


def doubtful(store: Store, profile: Profile, orphans: keys.BlockRows) -> NDArray[np.bool_]:
    """Return a mask of the orphan rows that may be right, since a member cell of their fingerprint may be damaged.

    A member cell may be damaged if its checksum is wrong. In an index without checksums it may be if a row that it
    should have is missing and one bit apart from the orphan.
    """
    # Most orphans are of documents that were removed: nobody has their fingerprint any more.
    simhashes, where = np.unique(orphans.simhashes, return_inverse=True)
    mask = ~_without_member(store, simhashes)[where]
    if profile.checksums:
        mask[mask] = np.isin(orphans.simhashes[mask], _with_altered_member(store, profile, orphans.simhashes[mask]))
    else:
        mask[mask] = has_twin(store, profile, orphans.where(mask), standing=False)
    return mask


def _with_altered_member(store: Store, profile: Profile, simhashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the fingerprints that have a member cell with a wrong checksum."""
    asked = np.unique(simhashes)
    rows = store.get_rows(layout.FAMILY_DOCUMENTS, keys.member_rows(asked), limit=profile.max_members)
    return asked[np.array([bool(with_wrong_checksum(profile, cells)) for cells in rows], np.bool_)]


def _without_member(store: Store, simhashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return a mask of the fingerprints that have no member cell, so no document."""
    lonely = np.empty(len(simhashes), np.bool_)
    for begin in range(0, len(simhashes), FINGERPRINTS_AT_ONCE):
        asked = keys.member_rows(simhashes[begin : begin + FINGERPRINTS_AT_ONCE])
        members = store.get_rows(layout.FAMILY_DOCUMENTS, asked, limit=1)
        lonely[begin : begin + len(asked)] = np.array(columns_of(members).counts) == 0
    return lonely


def _without_segment(store: Store, profile: Profile, rows: keys.BlockRows) -> NDArray[np.bool_]:
    """Return a mask of the sketch and passage rows whose hash no member cell of their fingerprint has.

    Member cells are read in the order of their fingerprints, each once for all of its rows.
    """
    order = np.argsort(rows.simhashes, kind="stable")
    simhashes, starts = np.unique(rows.simhashes[order], return_index=True)
    edges = np.append(starts, len(order))
    alone = np.empty(len(order), np.bool_)
    at_once = FINGERPRINTS_AT_ONCE if profile.passages is None else FINGERPRINTS_WITH_PASSAGES
    for begin in range(0, len(simhashes), at_once):
        end = min(begin + at_once, len(simhashes))
        asked = keys.member_rows(simhashes[begin:end])
        found = list(store.get_rows(layout.FAMILY_DOCUMENTS, asked, limit=MEMBERS_AT_ONCE))
        chosen = order[edges[begin] : edges[end]]
        part = keys.BlockRows(rows.prefixes[chosen], rows.simhashes[chosen])
        alone[chosen] = _without_members(store, profile, part, found)
    return alone


def _without_members(
    store: Store, profile: Profile, rows: keys.BlockRows, found: Sequence[Sequence[Cell]]
) -> NDArray[np.bool_]:
    """Return a mask of the sketch and passage rows whose hash no member cell of their fingerprint has.

    `found` has the first member cells of each distinct fingerprint of the rows, in ascending order; further ones are
    read where they are needed.
    """
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
    """Return, as integers made by `_keys`, the sketch and passage rows that belong to some member cells.

    `owners` has for each member cell the position of its fingerprint. A damaged cell has no rows.
    """
    values = [cell.value for cells in members for cell in cells]
    fields = documentcells.decode_row_fields(values, bands=profile.bands)
    sketches = Sketches.unpacked(fields.sketches, profile.bands)
    prefixes = keys.band_prefixes(profile.blocks, sketches.segments, sketches.present)
    of_sketches = _keys(prefixes, owners[:, np.newaxis]).reshape(-1)
    counts = [len(packed) // layout.PASSAGE_BYTES for packed in fields.passages]
    passages = keys.passage_prefixes(keys.unpack_simhashes(b"".join(fields.passages)))
    return np.concatenate([of_sketches, _keys(passages, np.repeat(owners, counts))])


def _keys(prefixes: NDArray[np.uint64], owners: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Return each row as one integer to compare: its 40-bit prefix and the position of its fingerprint in the page."""
    return prefixes << np.uint64(64 - layout.PREFIX_BITS) | owners.astype(np.uint64)
