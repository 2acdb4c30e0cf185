"""The one place where analysed documents become member cells, and member cells such documents again."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from simhash_hbase.profile.near import Sketches
from simhash_hbase.rows.documents import DocumentState, Member, Text, encode
from simhash_hbase.rows.entries import Entries
from simhash_hbase.rows.keys import id_digest, member_row, member_rows
from simhash_hbase.stores.base import Cell


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


def member_key(text: Text, digest: bytes) -> tuple[bytes, bytes]:
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
        sketched=sketches.present,
        features=np.array([member.features for member in members], dtype=np.int32),
        lengths=np.array([member.length for member in members], dtype=np.int32),
        digests=[member.digest for member in members],
        metadata=[member.metadata for member in members],
        bands=sketches.segments,
    )
