"""The rows and cells of documents: block and sketch rows, by which they meet, member cells, and document cells.

The one place where analysed documents become cells, and member cells such documents again. A document has a document
cell; with it goes a member cell in the row of its fingerprint, or, for a duplicate, a cell of the same form without a
sketch in the row of its original's copies.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex, InvalidArgument
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import MatchRule, Sketches
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.documentcells import DocumentState, Member, decode_document, encode, kept_key
from simhash_hbase.rows.keys import BlockRows, band_prefixes, band_rows, block_rows, document_row, id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell, Store

StoredState: TypeAlias = tuple[DocumentState, bytes]
"""What a document cell says, and its bytes."""


def asked_prefixes(profile: Profile, entries: Entries, rule: MatchRule) -> NDArray[np.uint64]:
    """Compute the prefixes of all rows that a rule reads, shape (n, tables) or (n, tables + bands)."""
    blocks = profile.blocks.prefixes(entries.simhashes)
    if rule.band_reach is None or not profile.bands:
        return blocks
    return np.hstack([blocks, band_prefixes(profile.blocks, entry_segments(entries, profile.bands), entries.sketched)])


def entry_segments(entries: Entries, bands: int) -> NDArray[np.uint32]:
    """Return the segments of documents, as many as the index has bands; without sketches they may come with none.

    Raises
    ------
    InvalidArgument
        When there are sketches without the bands that the index needs: rows would be missing.
    """
    segments = entries.segments
    if segments.shape[1] == bands:
        return segments
    if entries.sketched.any():
        raise InvalidArgument(
            f"the documents have {segments.shape[1]} bands, the index has {bands}: analyse them by it"
        )
    return np.zeros((len(entries), bands), np.uint32)


def entry_rows(
    profile: Profile,
    entries: Entries,
    *,
    with_blocks: NDArray[np.bool_] | None = None,
    with_bands: NDArray[np.bool_] | None = None,
) -> BlockRows:
    """List the rows of documents: block rows of those marked in one, sketch rows of those in the other; else of all."""
    segments = entry_segments(entries, profile.bands)
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


def document_cells(
    entries: Entries, states: Sequence[DocumentState], *, digests: Sequence[bytes] | None = None
) -> list[Cell]:
    """Make the cell that goes with the document cell of each of the same documents; `digests`: of the ids, if known."""
    names = [id_digest(state.id) for state in states] if digests is None else digests
    is_found = np.array([not state.is_duplicate for state in states], np.bool_)
    values = member_values(entries, [state.order[0] for state in states], with_sketch=is_found)
    columns = zip(states, names, values, strict=True)
    return [Cell(*kept_key(state, digest), value, state.stamp) for state, digest, value in columns]


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


class DocumentCells(NamedTuple):
    """The document cells of some ids, as they were read."""

    rows: Sequence[bytes]  # Their row keys.
    states: Sequence[StoredState | None]  # None where there is no cell.
    below: int | None = None
    """The timestamp at which first cells may be put instead of compared, `decision_time`; None: they may not."""

    def take(self, places: Sequence[int]) -> "DocumentCells":
        """Select by position."""
        return DocumentCells([self.rows[at] for at in places], [self.states[at] for at in places], self.below)


def find_documents(store: Store, ids: Sequence[str], *, below: int | None = None) -> DocumentCells:
    """Read the document cells of ids; `below`: the timestamp of first cells, which is chosen before."""
    rows = [document_row(id_digest(name)) for name in ids]
    cells = store.get(FAMILY_DOCUMENTS, [(row, STATE_QUALIFIER) for row in rows])
    states: list[StoredState | None] = []
    for name, cell in zip(ids, cells, strict=True):
        if cell is None:
            states.append(None)
            continue
        state = decode_document(cell.value)
        if state.id != name:
            both = f": that of {name!r} has {state.id!r}"
            raise CorruptIndex("a document cell holds another id than its own", named=both)
        states.append((state, cell.value))
    return DocumentCells(rows, states, below)


def decisions_in_force(*places: DocumentCells) -> list[DocumentState | None]:
    """Return the decisions in force about ids whose cells were read: of each, that of the first place with a cell."""
    cells = (next(filter(None, each), None) for each in zip(*(place.states for place in places), strict=True))
    return [stored and stored[0].in_force() for stored in cells]


def read_states(store: Store, ids: Sequence[str]) -> Sequence[StoredState | None]:
    """Read the document cells of ids."""
    return find_documents(store, ids).states
