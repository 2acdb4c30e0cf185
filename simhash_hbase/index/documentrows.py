"""The rows and cells of documents: block and sketch rows, by which they meet, member cells, and document cells.

The one place where analysed documents become member cells, and member cells such documents again.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import CorruptIndex, InvalidArgument
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import MatchRule, Sketches
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.documents import DocumentState, Member, Text, decode_document, encode
from simhash_hbase.rows.keys import (
    BlockRows,
    band_prefixes,
    band_rows,
    block_rows,
    document_row,
    id_digest,
    member_row,
    member_rows,
)
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell, CellKey, Store

StoredState: TypeAlias = tuple[DocumentState, bytes]
"""What a document cell says, and its bytes."""


def check_bands(profile: Profile, entries: Entries) -> None:
    """Refuse documents whose sketches come without the bands that the index needs: rows would be missing."""
    held = entries.segments.shape[1]
    if held != profile.bands and entries.sketched.any():
        raise InvalidArgument(f"the documents have {held} bands, the index has {profile.bands}: analyse them by it")


def asked_prefixes(profile: Profile, entries: Entries, rule: MatchRule) -> NDArray[np.uint64]:
    """Compute the prefixes of all rows that a rule reads, shape (n, tables) or (n, tables + bands)."""
    blocks = profile.blocks.prefixes(entries.simhashes)
    if rule.band_reach is None or not profile.bands:
        return blocks
    return np.hstack([blocks, entry_band_prefixes(profile, entries)])


def entry_band_prefixes(profile: Profile, entries: Entries) -> NDArray[np.uint64]:
    """Compute the prefixes of documents' sketch rows, shape (n, bands); `NO_PREFIX` where there is no sketch."""
    return band_prefixes(profile.blocks, entry_segments(profile, entries), entries.sketched)


def entry_segments(profile: Profile, entries: Entries) -> NDArray[np.uint32]:
    """Take the segments of documents, as many as the index has bands; entries without a sketch may come with none."""
    check_bands(profile, entries)
    segments = entries.segments
    return segments if segments.shape[1] == profile.bands else np.zeros((len(entries), profile.bands), np.uint32)


def entry_rows(profile: Profile, entries: Entries) -> BlockRows:
    """List all rows of documents."""
    blocks = block_rows(profile.blocks, entries.simhashes)
    return BlockRows.merged(blocks, entry_band_rows(profile, entries)) if profile.bands else blocks


def entry_band_rows(profile: Profile, entries: Entries) -> BlockRows:
    """List the sketch rows of documents."""
    return band_rows(entry_band_prefixes(profile, entries), entries.simhashes)


def stored_rows(profile: Profile, simhashes: NDArray[np.uint64], sketches: Sequence[bytes]) -> BlockRows:
    """List all rows of stored documents, by what their members hold."""
    blocks = block_rows(profile.blocks, simhashes)
    if not profile.bands:
        return blocks
    held = Sketches.unpacked(list(sketches), profile.bands)
    return BlockRows.merged(blocks, band_rows(band_prefixes(profile.blocks, held.segments, held.present), simhashes))


def member_values(entries: Entries, added: Iterable[int]) -> Iterator[bytes]:
    """Encode what the member cell of each document holds; `added` says when each was added, ms since 1970."""
    columns = zip(
        entries.ids,
        added,
        entries.lengths.tolist(),
        entries.features.tolist(),
        entries.digests,
        Sketches.of_entries(entries).packed(),
        entries.metadata,
        strict=True,
    )
    for name, ms, length, features, digest, sketch, metadata in columns:
        yield encode(Member(name, ms, length, features, digest, sketch, dict(metadata) if metadata else None))


def member_cells(
    entries: Entries, states: Sequence[DocumentState], *, digests: Sequence[bytes] | None = None
) -> list[Cell]:
    """Make the member cells that go with the document cells of the same documents; `digests`: of the ids, if known."""
    rows = member_rows(np.array([state.simhash for state in states], dtype=np.uint64))
    names = [id_digest(state.id) for state in states] if digests is None else digests
    qualifiers = [name + state.digest for name, state in zip(names, states, strict=True)]
    values = member_values(entries, [state.order[0] for state in states])
    stamps = [state.stamp for state in states]
    return [Cell(*each) for each in zip(rows, qualifiers, values, stamps, strict=True)]


def member_key(text: Text, digest: bytes) -> CellKey:
    """Return row and qualifier of the member cell of a text; `digest`: of the id."""
    return member_row(text.simhash), digest + text.digest


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
    """The document cells of some ids."""

    rows: Sequence[bytes]  # Their row keys.
    states: Sequence[StoredState | None]  # None where there is no cell.

    def take(self, places: Sequence[int]) -> "DocumentCells":
        """Select by position."""
        return DocumentCells([self.rows[at] for at in places], [self.states[at] for at in places])


def find_documents(store: Store, ids: Sequence[str]) -> DocumentCells:
    """Read the document cells of ids, and tell their rows."""
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
    return DocumentCells(rows, states)


def read_states(store: Store, ids: Sequence[str]) -> Sequence[StoredState | None]:
    """Read the document cells of ids."""
    return find_documents(store, ids).states
