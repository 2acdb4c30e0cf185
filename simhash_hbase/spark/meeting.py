"""Who meets whom: points by the prefixes of their rows, those of a hot prefix divided among many tasks.

A *point* is all documents with the same fingerprint and sketch: a flood of copies is one point, named by the position
of its first document.
"""

from collections.abc import Iterable, Iterator
from math import ceil, isqrt

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from simhash_hbase.index.lookup import asked_prefixes
from simhash_hbase.profile import Profile
from simhash_hbase.rows.entries import Entries
from simhash_hbase.rows.keys import NO_PREFIX
from simhash_hbase.spark.columns import Mapped, batch_of, integers, signed, sketches_of, unsigned
from simhash_hbase.spark.session import partitions

HOT = 2_000
"""A prefix that more points share is divided."""
CELLS_A_PARTITION = 8
"""Enough parts of a hot prefix for every task to get about as many."""

MEETING = "prefix long, cell int, slot int, point long, last long, simhash long, sketch binary"
MIX = np.uint64(0x9E3779B97F4A7C15)


def with_points(documents: DataFrame) -> DataFrame:
    """Add the point of each document, and the position of its last one; a document that is alone has its own."""
    same = Window.partitionBy("simhash", "sketch", F.when(F.col("alone"), F.col("position")))
    return documents.withColumns({"point": F.min("position").over(same), "last": F.max("position").over(same)})


def meeting_rows(points: DataFrame, profile: Profile, *, hot: int = HOT) -> DataFrame:
    """List the rows of all points, those of one prefix together and sorted by point, without those that meet none."""
    count = partitions(points.sparkSession)
    sizes = points.mapInArrow(_prefixes(profile), "prefix long").groupBy("prefix").count().where(F.col("count") > hot)
    most = max(2, isqrt(2 * CELLS_A_PARTITION * count))
    slots = {row[0]: min(ceil(row[1] / hot), most) for row in sizes.collect()}
    rows = points.mapInArrow(_rows(profile, slots), MEETING)
    together = rows.repartition(count, "prefix", "cell").sortWithinPartitions("prefix", "cell", "point")
    return together.mapInArrow(_several, MEETING)


def _entries(batch: pa.RecordBatch, profile: Profile) -> Entries:
    sketches = sketches_of(batch["sketch"], profile.bands)
    count = len(batch)
    none = np.zeros(count, np.int32)
    return Entries(
        ids=[""] * count,
        simhashes=unsigned(batch["simhash"]),
        sketches=sketches.words,
        sketched=sketches.present,
        features=none,
        lengths=none,
        digests=[b""] * count,
        metadata=[None] * count,
        bands=sketches.segments,
    )


def _prefixes(profile: Profile) -> Mapped:
    def prefixes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = asked_prefixes(profile, _entries(batch, profile), profile.rule).reshape(-1)
            yield batch_of(prefix=signed(found[found != NO_PREFIX]))

    return prefixes


def _rows(profile: Profile, slots: dict[int, int]) -> Mapped:
    """Make the function that expands points; each of a hot prefix goes to all cells that its slot has a part in."""
    hot = np.array(sorted(slots), np.uint64)
    sizes = np.array([slots[prefix] for prefix in sorted(slots)] + [1], np.int64)

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = asked_prefixes(profile, _entries(batch, profile), profile.rule)
            owners, columns = np.nonzero(found != NO_PREFIX)
            prefixes = found[owners, columns]
            at = np.searchsorted(hot, prefixes)
            is_hot = hot[np.minimum(at, len(hot) - 1)] == prefixes if len(hot) else np.zeros(len(prefixes), np.bool_)
            count = sizes[np.where(is_hot, at, len(hot))]
            points = integers(batch["point"]).view(np.uint64)[owners]
            slot = ((points * MIX) >> np.uint64(33)).astype(np.int64) % count
            copies = np.repeat(np.arange(len(owners)), count)
            other = np.arange(len(copies)) - np.repeat(np.cumsum(count) - count, count)
            own, width = slot[copies], count[copies]
            cell = np.minimum(own, other) * width + np.maximum(own, other)
            taken = pa.array(owners[copies])
            yield batch_of(
                prefix=signed(prefixes[copies]),
                cell=cell.astype(np.int32),
                # Within a cell of two slots only pairs of both count: those of one have their own cell.
                slot=np.where(own == other, -1, own).astype(np.int32),
                point=batch["point"].take(taken),
                last=batch["last"].take(taken),
                simhash=batch["simhash"].take(taken),
                sketch=batch["sketch"].take(taken),
            )

    return rows


def _several(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Leave out rows that are alone in their group."""
    for table in whole_groups(batches):
        prefix, cell = integers(table["prefix"]), integers(table["cell"])
        new = np.ones(len(prefix) + 1, np.bool_)
        new[1:-1] = (prefix[1:] != prefix[:-1]) | (cell[1:] != cell[:-1])
        kept = pa.array(np.flatnonzero(~(new[:-1] & new[1:])))
        if len(kept):
            yield table.take(kept)


def whole_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Cut sorted rows anew, so that each batch has all rows of its groups."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not len(batch):
            continue
        cut = _last_group(batch)
        if held and cut == 0 and _group(held[0], 0) == _group(batch, 0):
            held.append(batch)
            continue
        yield _joined([*held, batch.slice(0, cut)])
        held = [batch.slice(cut)]
    if held:
        yield _joined(held)


def _last_group(batch: pa.RecordBatch) -> int:
    """Return where the last group begins."""
    prefix, cell = integers(batch["prefix"]), integers(batch["cell"])
    others = np.flatnonzero((prefix != prefix[-1]) | (cell != cell[-1]))
    return int(others[-1]) + 1 if len(others) else 0


def _group(batch: pa.RecordBatch, at: int) -> tuple[int, int]:
    return batch["prefix"][at].as_py(), batch["cell"][at].as_py()


def _joined(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    [whole] = pa.Table.from_batches(parts).combine_chunks().to_batches() or [parts[0]]
    return whole
