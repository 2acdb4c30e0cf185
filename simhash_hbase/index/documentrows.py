"""The rows and cells of documents: block and sketch rows, by which they meet, member cells, and document cells.

The one place where analysed documents become cells, and member cells such documents again. A document has a document
cell; with it goes a member cell in the row of its fingerprint, or, for a duplicate, a cell of the same form without a
sketch in the row of its original's copies.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import Sketches
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.documentcells import DocumentState, Member, decode_document, encode
from simhash_hbase.rows.keys import BlockRows, band_prefixes, band_rows, block_rows, document_key, id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Cell, Store

StoredState: TypeAlias = tuple[DocumentState, bytes]
"""What a document cell says, and its bytes."""


def entry_rows(
    profile: Profile,
    entries: Entries,
    *,
    with_blocks: NDArray[np.bool_] | None = None,
    with_bands: NDArray[np.bool_] | None = None,
) -> BlockRows:
    """List the rows of documents: block rows of those marked in one, sketch rows of those in the other; else of all."""
    segments = entries.segments_for(profile.bands)
    simhashes = entries.simhashes
    blocks = block_rows(profile.blocks, simhashes if with_blocks is None else simhashes[with_blocks])
    if not profile.bands:
        return blocks
    sketched = entries.sketched if with_bands is None else entries.sketched & with_bands
    return BlockRows.merged(blocks, band_rows(band_prefixes(profile.blocks, segments, sketched), simhashes))


def stored_rows(profile: Profile, simhashes: NDArray[np.uint64], sketches: Sequence[bytes]) -> BlockRows:
    """List all rows of stored documents, by what their members hold."""
    blocks = block_rows(profile.blocks, simhashes)
    if not profile.bands:
        return blocks
    held = Sketches.unpacked(list(sketches), profile.bands)
    return BlockRows.merged(blocks, band_rows(band_prefixes(profile.blocks, held.segments, held.present), simhashes))


def member_values(
    entries: Entries, added: Iterable[int], *, with_sketch: NDArray[np.bool_] | None = None
) -> Iterator[bytes]:
    """Encode what the member cell of each document holds; `added` says when each was added, ms since 1970."""
    sketches = Sketches.of_entries(entries)
    if with_sketch is not None:
        sketches = sketches._replace(shingles=sketches.shingles * with_sketch)
    columns = zip(
        entries.ids,
        added,
        entries.lengths.tolist(),
        entries.features.tolist(),
        entries.digests,
        sketches.packed(),
        entries.metadata,
        strict=True,
    )
    for name, ms, length, features, digest, sketch, metadata in columns:
        yield encode(Member(name, ms, length, features, digest, sketch, dict(metadata) if metadata else None))


def document_cells(entries: Entries, states: Sequence[DocumentState]) -> list[Cell]:
    """Make the cell that goes with the document cell of each of the same documents."""
    is_found = np.array([not state.is_duplicate for state in states], np.bool_)
    values = member_values(entries, [state.order[0] for state in states], with_sketch=is_found)
    return [Cell(*state.kept_key, value, state.stamp) for state, value in zip(states, values, strict=True)]


def bare_entries(states: Sequence[DocumentState]) -> Entries:
    """Make the documents of which only document cells are left."""
    simhashes = np.array([state.simhash for state in states], dtype=np.uint64)
    return Entries.of_fingerprints([state.id for state in states], simhashes)


def member_entries(members: Sequence[Member], simhashes: Sequence[int], *, bands: int) -> Entries:
    """Make the documents that members with these fingerprints stand for."""
    sketches = Sketches.unpacked([member.sketch for member in members], bands)
    return Entries(
        ids=[member.id for member in members],
        simhashes=np.array(simhashes, dtype=np.uint64),
        sketches=sketches.words,
        shingles=sketches.shingles,
        features=np.array([member.features for member in members], dtype=np.int32),
        lengths=np.array([member.length for member in members], dtype=np.int32),
        digests=[member.digest for member in members],
        metadata=[member.metadata for member in members],
        bands=sketches.segments,
    )


def read_states(store: Store, ids: Sequence[str]) -> list[StoredState | None]:
    """Read the document cells of ids; None where there is no cell."""
    cells = store.get(FAMILY_DOCUMENTS, [document_key(id_digest(name)) for name in ids])
    states: list[StoredState | None] = []
    for name, cell in zip(ids, cells, strict=True):
        state = cell and decode_document(cell.value)
        if state and state.id != name:
            both = f": that of {name!r} has {state.id!r}"
            raise CorruptIndex("a document cell holds another id than its own", named=both)
        states.append((state, cell.value) if state and cell else None)
    return states
