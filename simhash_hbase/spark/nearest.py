"""Which original a duplicate names: the nearest, then the most similar, then the earliest one before it."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from simhash_hbase.profile import Profile
from simhash_hbase.spark.columns import Mapped, batch_of
from simhash_hbase.spark.groups import Groups
from simhash_hbase.spark.meeting import whole_groups
from simhash_hbase.spark.rounds import Decided, looked_up

NEAREST = "target long, source long, distance int, dissimilarity double"
OWN_ORDER = 1 << 62
"""Documents of the input are later than those of the index."""


def named_originals(rows: DataFrame, documents: DataFrame, profile: Profile, state: Decided) -> DataFrame:
    """Rank for each document that is no original the originals before it; the columns are those of `index_hits`."""
    shared = rows.sparkSession.sparkContext.broadcast(state.packed())
    found = rows.mapInArrow(_nearest(profile, shared), NEAREST)
    copies = documents.select("position", "point", "sketch", "kept")
    near = copies.where("NOT kept").join(found, F.col("point") == F.col("target")).where("source < position")
    # A copy of an original is at distance 0 of it, and nothing else is as near.
    same = F.when(F.length("sketch") > 0, F.lit(-1.0)).otherwise(F.lit(1.0)).alias("dissimilarity")
    exact = copies.where("NOT kept AND original").select("position", "point", "sketch")
    exact = exact.select("position", F.lit(0).alias("distance"), same, F.col("point").alias("source"))
    return near.select("position", "distance", "dissimilarity", "source").unionByName(exact)


def with_states(documents: DataFrame, state: Decided) -> DataFrame:
    """Add whether the point of a document is an original, and whether the document itself is kept."""
    shared = documents.sparkSession.sparkContext.broadcast(state.packed())

    def known(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            is_original = pa.array(looked_up(shared.value[0], np.asarray(batch["point"])))
            yield pa.RecordBatch.from_arrays([*batch.columns, is_original], [*batch.schema.names, "original"])

    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in documents.schema)
    found = documents.mapInArrow(known, f"{columns}, original boolean")
    return found.withColumn("kept", F.col("original") & (F.col("position") == F.col("point")))


def _nearest(profile: Profile, shared: Broadcast) -> Mapped:
    def nearest(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_groups(batches):
            groups = Groups(batch, profile)
            is_original = looked_up(shared.value[0], groups.points)
            # The originals of each group first, by their points.
            order = np.lexsort((groups.points, ~is_original, groups.group))
            rows = np.flatnonzero(~is_original)
            left = groups.starts[groups.group[rows]]
            counts = np.bincount(groups.group[is_original], minlength=len(groups.starts))
            right = left + counts[groups.group[rows]]
            for found in groups.compare(rows, left, right, order):
                targets, sources = groups.points[found.rows], groups.points[found.others]
                apart = found.distances.astype(np.int32)
                unlike = np.where(np.isnan(found.similarities), 1.0, -found.similarities)
                best = _staircase(targets, sources, apart, unlike, groups.lasts[found.rows])
                yield batch_of(
                    target=targets[best], source=sources[best], distance=apart[best], dissimilarity=unlike[best]
                )

    return nearest


def _staircase(
    targets: NDArray[np.int64],
    sources: NDArray[np.int64],
    distances: NDArray[np.int32],
    dissimilarities: NDArray[np.float64],
    lasts: NDArray[np.int64],
) -> NDArray[np.intp]:
    """Choose of each target the best source, and those before it that a document before that one may have to name."""
    order = np.lexsort((sources, dissimilarities, distances, targets))
    order = order[sources[order] < lasts[order]]
    if not len(order):
        return order
    number = np.cumsum(np.diff(targets[order], prepend=targets[order[0]]) != 0)
    # Lower for each further target than for all before it, so the least so far is the least of the same target.
    falling = sources[order] - number * (int(sources.max()) + 1)
    least = np.minimum.accumulate(falling)
    first = np.ones(len(order), np.bool_)
    first[1:] = falling[1:] < least[:-1]
    return order[first]
