"""Analysed documents of a stretch of the input: one file, in columns."""

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.bulk.seen import DIGEST
from simhash_hbase.errors import CorruptIndex
from simhash_hbase.files.local import replacing
from simhash_hbase.inputs import Place, Reject
from simhash_hbase.rows.entries import SKETCH_WORDS, Entries

CHECKSUM_BYTES = 16


@dataclass(frozen=True, kw_only=True)
class Part:
    """Documents and refused records in the order of the input; no id is twice in all parts of a load."""

    entries: Entries
    digests: NDArray[np.bytes_]  # Digests of the ids, `DIGEST`.
    rejects: list[Reject]

    def take(self, places: NDArray[np.intp]) -> "Part":
        """Select documents by position, without the rejects."""
        return Part(entries=self.entries.take(places), digests=self.digests[places], rejects=[])


class _Columns(msgspec.Struct, array_like=True):
    ids: list[str]
    digests: bytes
    simhashes: bytes
    sketches: bytes
    sketched: bytes
    features: bytes
    lengths: bytes
    text_digests: list[bytes]
    metadata: list[dict[str, Any] | None]
    # File, line, reason, the record, its id: a file's name and an id may be more than UTF-8 can hold.
    rejects: list[tuple[bytes, int, str, bytes, bytes | None]]
    bands: int = 0
    segments: bytes = b""


def write_part(path: Path, part: Part) -> str:
    """Write a part whole or not at all, and return its checksum."""
    entries = part.entries
    columns = _Columns(
        ids=list(entries.ids),
        digests=part.digests.tobytes(),
        simhashes=entries.simhashes.astype("<u8").tobytes(),
        sketches=entries.sketches.astype("<u8").tobytes(),
        sketched=entries.sketched.tobytes(),
        features=entries.features.astype("<i4").tobytes(),
        lengths=entries.lengths.astype("<i4").tobytes(),
        text_digests=list(entries.digests),
        metadata=[None if metadata is None else dict(metadata) for metadata in entries.metadata],
        rejects=[
            (_bytes(r.place.file), r.place.line, r.reason, r.raw, None if r.id is None else _bytes(r.id))
            for r in part.rejects
        ],
        bands=entries.segments.shape[1],
        segments=entries.segments.astype("<u4").tobytes(),
    )
    encoded = msgspec.msgpack.encode(columns)
    write_file(path, encoded)
    return _checksum(encoded)


def read_part(path: Path, checksum: str) -> Part:
    """Read a part that has this checksum."""
    try:
        encoded = path.read_bytes()
    except FileNotFoundError as error:
        raise CorruptIndex(f"{path}: this part of the load is gone: repeat the load") from error
    if _checksum(encoded) != checksum:
        raise CorruptIndex(f"{path}: this part of the load is damaged: repeat the load")
    columns = msgspec.msgpack.decode(encoded, type=_Columns)
    entries = Entries(
        ids=columns.ids,
        simhashes=np.frombuffer(columns.simhashes, "<u8").astype(np.uint64),
        sketches=np.frombuffer(columns.sketches, "<u8").astype(np.uint64).reshape(-1, SKETCH_WORDS),
        sketched=np.frombuffer(columns.sketched, np.bool_),
        features=np.frombuffer(columns.features, "<i4").astype(np.int32),
        lengths=np.frombuffer(columns.lengths, "<i4").astype(np.int32),
        digests=columns.text_digests,
        metadata=columns.metadata,
        bands=np.frombuffer(columns.segments, "<u4").astype(np.uint32).reshape(len(columns.ids), columns.bands),
    )
    rejects = [
        Reject(Place(_text(file), line), reason, raw, None if name is None else _text(name))
        for file, line, reason, raw, name in columns.rejects
    ]
    return Part(entries=entries, digests=np.frombuffer(columns.digests, DIGEST), rejects=rejects)


def write_file(path: Path, content: bytes) -> None:
    """Replace a file; after a crash the old one or the new one is there."""
    with replacing(path) as file:
        file.write(content)


def _checksum(encoded: bytes) -> str:
    return blake2b(encoded, digest_size=CHECKSUM_BYTES).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(encoded: bytes) -> str:
    return encoded.decode("utf-8", "surrogatepass")
