"""Deciding a corpus in an order of preference: a first pass keeps its entries on disk, a second decides them."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.corpus.options import Watch
from simhash_hbase.errors import InvalidInput
from simhash_hbase.files.local import RecordFile
from simhash_hbase.index.answers import Decision
from simhash_hbase.inputs import Document, Place
from simhash_hbase.inputs.options import Preference
from simhash_hbase.rows.analysed import SKETCH_WORDS, Entries

BATCH = 1_000
BATCH_BYTES = 16 << 20
"""Of records in memory at a time, or one record: the longest documents may come together."""


class _Row(msgspec.Struct, array_like=True):
    """One document on disk."""

    id: str
    simhash: int
    sketch: bytes
    shingles: int
    features: int
    length: int
    digest: bytes
    metadata: dict[str, object] | None
    raw: bytes | None
    place: Place
    segments: bytes = b""
    text: str = ""


def decide_preferred(
    parts: Iterable[tuple[Entries, list[Document]]],
    preference: Preference,
    decide: Callable[[Entries, list[str]], list[Decision]],
    watch: Watch,
    *,
    with_texts: bool = False,
) -> Iterator[tuple[bytes | None, Place, Decision]]:
    """Decide documents in an order of preference; yield the decisions in the order of the input.

    About 150 bytes a document, its metadata and raw bytes, and its text where `decide` needs that, are in the folder
    for temporary files.
    """
    encoder, decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(_Row)
    with RecordFile() as rows, RecordFile() as decided:
        ranks = [np.empty(0)]
        for entries, documents in parts:
            ranks.append(places_of(preference, entries, documents))
            for at, document in enumerate(documents):
                rows.append(encoder.encode(_row(entries, at, document, with_text=with_texts)))
        order = np.argsort(np.concatenate(ranks), kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        with watch.meter("dedup: decide", len(order)) as meter:
            for numbers in _batches(order.tolist(), rows):
                some = [decoder.decode(rows.read(number)) for number in numbers]
                for decision in decide(_entries(some), [row.text for row in some]):
                    decided.append(encoder.encode(decision))
                meter.show(len(decided), len(decided))
        as_decision = msgspec.msgpack.Decoder(Decision)
        for number in range(len(order)):
            row = decoder.decode(rows.read(number))
            yield row.raw, row.place, as_decision.decode(decided.read(int(place[number])))


def _batches(order: Sequence[int], rows: RecordFile) -> Iterator[list[int]]:
    """Yield the numbers of records, in this order, cut by their number and size."""
    numbers: list[int] = []
    size = 0
    for number in order:
        if numbers and (len(numbers) == BATCH or size + rows.size(number) > BATCH_BYTES):
            yield numbers
            numbers, size = [], 0
        numbers.append(number)
        size += rows.size(number)
    if numbers:
        yield numbers


def places_of(preference: Preference, entries: Entries, documents: Sequence[Document]) -> NDArray[np.float64]:
    """Return the place of each document in an order of preference, the least first.

    Raises
    ------
    InvalidInput
        When the order goes by a field, and a document comes of a format without fields.
    """
    if preference.by == "longest":
        return -entries.lengths.astype(np.float64)
    if preference.field is None:
        return np.zeros(len(entries))
    for document in documents:
        if document.preference is None:
            raise InvalidInput(
                f"{document.place}: the format has no field {preference.field!r}: near copies are ranked by a field"
                " in JSON lines, CSV and Parquet"
            )
    return np.array([document.preference for document in documents], np.float64)


def _row(entries: Entries, at: int, document: Document, *, with_text: bool) -> _Row:
    metadata = entries.metadata[at]
    return _Row(
        id=entries.ids[at],
        simhash=int(entries.simhashes[at]),
        sketch=entries.sketches[at].tobytes(),
        shingles=int(entries.shingles[at]),
        features=int(entries.features[at]),
        length=int(entries.lengths[at]),
        digest=entries.digests[at],
        metadata=dict(metadata) if metadata else None,
        raw=document.raw,
        place=document.place,
        segments=entries.segments[at].tobytes(),
        text=(document.text or "") if with_text else "",
    )


def _entries(rows: list[_Row]) -> Entries:
    sketches = np.frombuffer(b"".join(row.sketch for row in rows), dtype=np.uint64)
    return Entries(
        ids=[row.id for row in rows],
        simhashes=np.array([row.simhash for row in rows], dtype=np.uint64),
        sketches=sketches.reshape(-1, SKETCH_WORDS),
        shingles=np.array([row.shingles for row in rows], dtype=np.uint32),
        features=np.array([row.features for row in rows], dtype=np.int32),
        lengths=np.array([row.length for row in rows], dtype=np.int32),
        digests=[row.digest for row in rows],
        metadata=[row.metadata for row in rows],
        bands=np.frombuffer(b"".join(row.segments for row in rows), np.uint32).reshape(len(rows), -1),
    )
