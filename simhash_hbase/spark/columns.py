"""Analysed documents as columns of Arrow and of Spark, and arrays that a driver collects."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from simhash_hbase.profile.near import Sketches
from simhash_hbase.rows.entries import Entries

DOCUMENTS = (
    "position long, id string, simhash long, sketch binary, features int, length int, digest binary, metadata binary, "
    "reason string, raw binary"
)
"""Spark has no unsigned integers: a fingerprint is a signed one of the same bits. Who has a reason is refused."""

_pack = msgspec.msgpack.encode

Mapped: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What Spark calls on the workers for each partition."""


def batch_of(**columns: object) -> pa.RecordBatch:
    """Make a batch."""
    return pa.RecordBatch.from_pydict(columns)


def signed(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Read the bits of fingerprints as signed integers."""
    return np.ascontiguousarray(values).view(np.int64)


def integers(column: pa.Array) -> NDArray[np.int64]:
    """Take a column of integers without nulls."""
    return np.asarray(column.to_numpy(zero_copy_only=False))


def unsigned(column: pa.Array) -> NDArray[np.uint64]:
    """Take fingerprints or prefixes out of a column."""
    return integers(column).view(np.uint64)


def sketches_of(column: pa.Array, bands: int) -> Sketches:
    """Take sketches out of a column."""
    return Sketches.unpacked(column.to_pylist(), bands)


def documents_batch(positions: list[int], entries: Entries) -> pa.RecordBatch:
    """Make the columns of `DOCUMENTS`."""
    count = len(entries)
    return batch_of(
        position=pa.array(positions, pa.int64()),
        id=pa.array(entries.ids, pa.string()),
        simhash=pa.array(signed(entries.simhashes)),
        sketch=pa.array(Sketches.of_entries(entries).packed(), pa.binary()),
        features=pa.array(entries.features, pa.int32()),
        length=pa.array(entries.lengths, pa.int32()),
        digest=pa.array(entries.digests, pa.binary()),
        metadata=pa.array([metadata and _pack(metadata) for metadata in entries.metadata], pa.binary()),
        reason=pa.nulls(count, pa.string()),
        raw=pa.nulls(count, pa.binary()),
    )


def refused_batch(position: int, name: str | None, reason: str, raw: bytes) -> pa.RecordBatch:
    """Make the columns of `DOCUMENTS` for a record that is refused."""
    types = {"simhash": pa.int64(), "sketch": pa.binary(), "features": pa.int32(), "length": pa.int32()}
    types |= {"digest": pa.binary(), "metadata": pa.binary()}
    return batch_of(
        position=pa.array([position], pa.int64()),
        id=pa.array([name], pa.string()),
        **{column: pa.nulls(1, kind) for column, kind in types.items()},
        reason=[reason],
        raw=pa.array([raw], pa.binary()),
    )


def entries_of(batch: pa.RecordBatch, bands: int) -> Entries:
    """Read what `documents_batch` made."""
    sketches = sketches_of(batch["sketch"], bands)
    return Entries(
        ids=batch["id"].to_pylist(),
        simhashes=unsigned(batch["simhash"]),
        sketches=sketches.words,
        sketched=sketches.present,
        features=integers(batch["features"]).astype(np.int32),
        lengths=integers(batch["length"]).astype(np.int32),
        digests=batch["digest"].to_pylist(),
        metadata=[packed and msgspec.msgpack.decode(packed) for packed in batch["metadata"].to_pylist()],
        bands=sketches.segments,
    )


def collected(frame: DataFrame, columns: int) -> NDArray[np.int64]:
    """Collect integers, shape (n, columns), as they are in memory: a row of Spark's costs a hundred times as much."""

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = np.column_stack([integers(column) for column in batch.columns]).astype(np.int64)
            yield batch_of(packed=[rows.tobytes()])

    pieces = [bytes(row.packed) for row in frame.mapInArrow(pack, "packed binary").collect()]
    return np.frombuffer(b"".join(pieces), np.int64).reshape(-1, columns)
