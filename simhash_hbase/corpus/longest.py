"""Deciding a corpus by length: a first pass keeps its entries on disk, a second decides them longest first."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import IO

import msgspec
import numpy as np

from simhash_hbase.corpus.options import Watch
from simhash_hbase.files.local import open_temporary
from simhash_hbase.index.answers import Decision
from simhash_hbase.inputs import Document, Place
from simhash_hbase.rows.entries import SKETCH_WORDS, Entries

BATCH = 1_000


class _Row(msgspec.Struct, array_like=True):
    """One document on disk."""

    id: str
    simhash: int
    sketch: bytes
    sketched: bool
    features: int
    length: int
    digest: bytes
    metadata: dict[str, object] | None
    raw: bytes | None
    place: Place
    segments: bytes = b""


class _Spool:
    """Records in a temporary file, read again by number; 8 bytes of memory each."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._offsets = array("q", [0])

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def append(self, record: bytes) -> None:
        self._file.write(record)
        self._offsets.append(self._offsets[-1] + len(record))

    def read(self, number: int) -> bytes:
        start, stop = self._offsets[number : number + 2]
        self._file.seek(start)
        return self._file.read(stop - start)


def decide_longest(
    parts: Iterable[tuple[Entries, list[Document]]], decide: Callable[[Entries], list[Decision]], watch: Watch
) -> Iterator[tuple[bytes | None, Place, Decision]]:
    """Decide documents by length downwards, ties by input order.

    About 150 bytes a document, and its metadata and raw bytes, in the folder for temporary files.
    """
    encoder, decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(_Row)
    with open_temporary() as first, open_temporary() as second:
        rows, decided = _Spool(first), _Spool(second)
        lengths: list[np.ndarray[tuple[int], np.dtype[np.int32]]] = []
        for entries, documents in parts:
            lengths.append(entries.lengths)
            for at, document in enumerate(documents):
                rows.append(encoder.encode(_row(entries, at, document)))
        order = np.argsort(-np.concatenate([np.empty(0, np.int32), *lengths]), kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        with watch.meter("dedup: decide", len(order)) as meter:
            for start in range(0, len(order), BATCH):
                some = [decoder.decode(rows.read(number)) for number in order[start : start + BATCH].tolist()]
                for decision in decide(_entries(some)):
                    decided.append(encoder.encode(decision))
                meter.show(len(decided), len(decided))
        as_decision = msgspec.msgpack.Decoder(Decision)
        for number in range(len(order)):
            row = decoder.decode(rows.read(number))
            yield row.raw, row.place, as_decision.decode(decided.read(int(place[number])))


def _row(entries: Entries, at: int, document: Document) -> _Row:
    metadata = entries.metadata[at]
    return _Row(
        id=entries.ids[at],
        simhash=int(entries.simhashes[at]),
        sketch=entries.sketches[at].tobytes(),
        sketched=bool(entries.sketched[at]),
        features=int(entries.features[at]),
        length=int(entries.lengths[at]),
        digest=entries.digests[at],
        metadata=dict(metadata) if metadata else None,
        raw=document.raw,
        place=document.place,
        segments=entries.segments[at].tobytes(),
    )


def _entries(rows: list[_Row]) -> Entries:
    sketches = np.frombuffer(b"".join(row.sketch for row in rows), dtype=np.uint64)
    return Entries(
        ids=[row.id for row in rows],
        simhashes=np.array([row.simhash for row in rows], dtype=np.uint64),
        sketches=sketches.reshape(-1, SKETCH_WORDS),
        sketched=np.array([row.sketched for row in rows], dtype=np.bool_),
        features=np.array([row.features for row in rows], dtype=np.int32),
        lengths=np.array([row.length for row in rows], dtype=np.int32),
        digests=[row.digest for row in rows],
        metadata=[row.metadata for row in rows],
        bands=np.frombuffer(b"".join(row.segments for row in rows), np.uint32).reshape(len(rows), -1),
    )
