"""The input as analysed documents: columns of Arrow and of Spark, made by the package's own analysis on the workers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias, cast

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession, Window, functions as F

from simhash_hbase import corpus
from simhash_hbase.corpus.ranking import ranks_of
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.chunks import Chunk, analyse
from simhash_hbase.inputs import InputOptions, Place, Preference, Reject, Scanned, repeated_id
from simhash_hbase.profile.matching import Sketches
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.spark import records
from simhash_hbase.spark.records import Order, batch_of, by_batch

REFUSED = "position long, id string, reason string, raw binary"
DOCUMENTS = (
    f"{REFUSED}, simhash long, sketch binary, features int, length int, digest binary, metadata binary, "
    "passages binary, preference double"
)
"""Columns of analysed documents. A fingerprint is a signed integer of its bits; a row with a reason is refused."""

_pack = msgspec.msgpack.encode

Mapped: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function that Spark calls on the workers for each partition."""


def signed(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return fingerprints as signed integers of the same bits: Spark has no unsigned ones."""
    return np.ascontiguousarray(values).view(np.int64)


def integers(column: pa.Array) -> NDArray[np.int64]:
    """Return an Arrow column of integers without nulls as a numpy array."""
    return np.asarray(column.to_numpy(zero_copy_only=False))


def unsigned(column: pa.Array) -> NDArray[np.uint64]:
    """Return a column of fingerprints or key prefixes, which Spark has as signed integers, as an unsigned array."""
    return integers(column).view(np.uint64)


def sketches_of(column: pa.Array, bands: int) -> Sketches:
    """Return the MinHash sketches in a column of packed ones, for an index with this number of bands."""
    return Sketches.unpacked(column.to_pylist(), bands)


def documents_batch(positions: list[int], entries: Entries, preferences: NDArray[np.float64]) -> pa.RecordBatch:
    """Return analysed documents as a record batch with the columns of `DOCUMENTS`.

    `positions` are theirs in the whole input; of near copies the one with the lowest of `preferences` stays.
    """
    return batch_of(
        DOCUMENTS,
        position=positions,
        id=entries.ids,
        simhash=signed(entries.simhashes),
        sketch=Sketches.of_entries(entries).packed(),
        features=entries.features,
        length=entries.lengths,
        digest=entries.digests,
        metadata=[metadata and _pack(metadata) for metadata in entries.metadata],
        passages=entries.passages or [None] * len(entries),
        preference=preferences,
        reason=[None] * len(entries),
        raw=[None] * len(entries),
    )


def entries_of(batch: pa.RecordBatch, bands: int) -> Entries:
    """Return the analysed documents in a batch that `documents_batch` made; see `Entries`."""
    sketches = sketches_of(batch["sketch"], bands)
    return Entries(
        ids=batch["id"].to_pylist(),
        simhashes=unsigned(batch["simhash"]),
        sketches=sketches.words,
        shingles=sketches.shingles,
        features=integers(batch["features"]).astype(np.int32),
        lengths=integers(batch["length"]).astype(np.int32),
        digests=batch["digest"].to_pylist(),
        metadata=[packed and msgspec.msgpack.decode(packed) for packed in batch["metadata"].to_pylist()],
        bands=sketches.segments,
        passages=_passages(batch),
    )


def _passages(batch: pa.RecordBatch) -> list[bytes] | None:
    """Return the packed passages of a batch's documents; None for a batch of an earlier version without that column."""
    if "passages" not in batch.schema.names:
        return None
    return [packed or b"" for packed in batch["passages"].to_pylist()]


PACKED = "packed binary"


def collected(frame: DataFrame, columns: int) -> NDArray[np.int64]:
    """Return all rows of a frame of integers, as an array of shape (n, columns).

    The workers send them as bytes: Spark's own rows would cost 100 times as much.
    """

    def pack(batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = np.column_stack([integers(column) for column in batch.columns]).astype(np.int64)
        return batch_of(PACKED, packed=[rows.tobytes()])

    pieces = [bytes(row.packed) for row in by_batch(frame, PACKED, pack).collect()]
    return np.frombuffer(b"".join(pieces), np.int64).reshape(-1, columns)


PARTITION_SHIFT = 33


@dataclass(frozen=True)
class Input:
    """A corpus on Spark: its files, its lines or rows as a frame, and the order that gives each a position."""

    files: Sequence[records.InputFile]
    options: InputOptions
    raw: DataFrame
    order: Order

    @classmethod
    def of(cls, spark: SparkSession, named: Sequence[str], options: InputOptions) -> "Input":
        """Return the input of some files and folders: all files in them, their lines and records counted."""
        files = records.input_files(spark, named, options)
        raw = records.raw_frame(spark, files, options)
        counted = records.count_records(raw, records.record_reader(files, options, readers=records.SAMPLED))
        return cls(files, options, raw, Order.of(files, counted))

    def texts(self) -> list[str]:
        """Return a random sample of the texts of the input, to learn an idf table from."""
        read = records.record_reader(self.files, self.options, self.order, records.SAMPLED)
        return records.sample_texts(self.raw, read, self.order)

    def documents(self, analysis: Analysis) -> DataFrame:
        """Return a frame of the analysed documents, with columns `DOCUMENTS`.

        Refused records are rows of it, too: their column ``reason`` is not null.
        """
        shared, order = self.raw.sparkSession.sparkContext.broadcast(analysis), self.order
        preference = self.options.preference or Preference()

        def analysed(chunk: Chunk) -> pa.RecordBatch:
            positions = [order.position(document.place) for document in chunk.kept]
            return documents_batch(positions, chunk.entries, ranks_of(preference, chunk.entries, chunk.kept))

        return self.by_chunk(lambda: shared.value, DOCUMENTS, analysed)

    def by_chunk(
        self, analysis: Callable[[], Analysis | None], columns: str, make: Callable[[Chunk], pa.RecordBatch]
    ) -> DataFrame:
        """Return a frame of the batches that `make` returns for chunks, some records at a time, on the workers.

        `analysis` returns what analyses the texts, or None if they are only read. `columns` are the frame's; those of
        `REFUSED` must be among them, since refused records are rows, too.
        """
        read, order = records.record_reader(self.files, self.options, self.order), self.order

        def made(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            scanned = cast("Iterator[Scanned]", chain.from_iterable(part.records for part in read(batches)))
            for chunk in analyse(scanned, analysis()):
                yield make(chunk)
                yield records.rows_batch(columns, [refused_row(order, reject) for reject in chunk.rejects])

        return self.raw.mapInArrow(made, columns)


def refused_row(order: Order, reject: Reject) -> dict[str, Any]:
    """Return a refused record as a row with the columns of `REFUSED`."""
    return {"position": order.position(reject.place), "id": reject.id, "reason": reject.reason, "raw": reject.raw}


def without_repeats(documents: DataFrame, order: Order) -> tuple[DataFrame, DataFrame]:
    """Return the accepted documents and the refused ones.

    Refused are those that the reader refused, and those with the id of an earlier document of the input.
    """
    whole, refused = documents.where("reason IS NULL"), documents.where("reason IS NOT NULL")
    ids = whole.groupBy("id").agg(F.min("position").alias("first"), F.count("*").alias("times")).where("times > 1")
    if ids.isEmpty():
        return whole, refused
    again = whole.select("id", "position").join(ids, "id").where("position > first").select("position").persist()
    reason = F.udf(lambda name, position: repeated_id(name, order.place(position)))
    later = whole.join(again, "position").withColumn("reason", reason("id", "position"))
    return whole.join(again, "position", "left_anti"), refused.unionByName(later)


def first_unnamed(documents: DataFrame, order: Order) -> Place | None:
    """Return the place of a document that came without an id, the first found; None if all have ids.

    Such a document's id is made of its file and line.
    """

    def unnamed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for name, position in zip(batch["id"].to_pylist(), batch["position"].to_pylist(), strict=True):
                if name == str(order.place(position)):
                    yield batch_of("position long", position=[position])
                    return

    likely = documents.where("id RLIKE ':[0-9]+$'").select("id", "position")
    found = likely.mapInArrow(unnamed, "position long").first()
    return None if found is None else order.place(found.position)


def numbered(documents: DataFrame, *order: str) -> DataFrame:
    """Return documents with a column ``number``, from 0, in the order of the columns `order`.

    No two documents may have the same values in these.
    """
    ordered = documents.repartitionByRange(*order).sortWithinPartitions(*order)
    # Spark's number of a row has the number of the partition above bit 33.
    marked = ordered.withColumn("mark", F.monotonically_increasing_id()).persist(StorageLevel.DISK_ONLY)
    part = F.shiftright("mark", PARTITION_SHIFT)
    before = F.coalesce(
        F.sum("count").over(Window.orderBy("part").rowsBetween(Window.unboundedPreceding, -1)), F.lit(0)
    )
    starts = marked.groupBy(part.alias("part")).count().select("part", before.alias("before"))
    placed = marked.withColumn("part", part).join(F.broadcast(starts), "part")
    number = F.col("before") + F.col("mark") - F.shiftleft("part", PARTITION_SHIFT)
    return placed.withColumn("number", number.cast("long")).drop("part", "mark", "before")


def report_refused(refused: DataFrame, order: Order, refusals: corpus.refusals.Refusals) -> None:
    """Report refused records to the caller's `Refusals`, in the order of the input."""
    for row in refused.orderBy("position").select("position", "id", "reason", "raw").toLocalIterator():
        refusals.add(Reject(order.place(row.position), row.reason, bytes(row.raw or b""), row.id))
    refusals.finish()
