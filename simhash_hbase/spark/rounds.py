"""The greedy decision in the order of the input, by rounds: which points are originals.

A point is an original when no earlier original is its neighbour. Each round compares the undecided points of every
group with earlier ones that are undecided or originals. A point without such a neighbour becomes an original, one with
an original for a neighbour a duplicate. The driver goes on along the neighbours that were found, up to `WITNESSES` for
each point and group, so a chain of versions takes one round, not one for each version. Every round decides the earliest
undecided point, so there is an end. No component is collected, however large it is.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from simhash_hbase.profile import Profile
from simhash_hbase.spark.documents import Mapped, collected, integers
from simhash_hbase.spark.meeting import Groups, whole_groups
from simhash_hbase.spark.records import batch_of

WITNESSES = 4
FIRST_SOURCES = 8
BY_ORIGINAL = -1
AND_MORE = -2
BLOCKERS = "target long, blocker long"


class PointStates:
    """What is known of positions: a byte each on the driver, two bits where it is sent."""

    def __init__(self, total: int) -> None:
        self.original = np.zeros(total + 1, np.bool_)
        self.duplicate = np.zeros(total + 1, np.bool_)
        self.rounds = 0

    def packed(self) -> tuple[bytes, bytes]:
        """Pack it for the workers."""
        return np.packbits(self.original).tobytes(), np.packbits(self.duplicate).tobytes()


def looked_up(packed: bytes, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Read bits of `Decided.packed`."""
    octets = np.frombuffer(packed, np.uint8)
    return np.asarray(octets[positions >> 3] >> (7 - (positions & 7)).astype(np.uint8) & 1, np.bool_)


def decide_points(rows: DataFrame, profile: Profile, total: int, owned: NDArray[np.int64]) -> PointStates:
    """Decide all points; those of `owned` are duplicates of what the index holds."""
    context = rows.sparkSession.sparkContext
    state = PointStates(total)
    state.duplicate[owned] = True
    is_open = True
    while is_open:
        shared = context.broadcast(state.packed())
        found = rows.mapInArrow(_blockers(profile, shared), BLOCKERS).distinct()
        is_open = _resolve(state, collected(found, 2))
        state.rounds += 1
        shared.destroy()
    return state


def _resolve(state: PointStates, blockers: NDArray[np.int64]) -> bool:
    """Decide what the neighbours that were found decide; return whether something is left."""
    # What no neighbour blocks is an original; positions without a point do no harm.
    blocked = np.zeros_like(state.original)
    blocked[blockers[:, 0]] = True
    state.original |= ~blocked & ~state.duplicate
    order = np.lexsort((blockers[:, 1], blockers[:, 0]))
    targets, others = blockers[order].T
    starts = np.flatnonzero(np.diff(targets, prepend=-1))
    left = 0
    for start, stop in pairwise([*starts.tolist(), len(targets)]):
        target, some = targets[start], others[start:stop]
        known = some[some >= 0]
        if some[0] == BY_ORIGINAL or (BY_ORIGINAL in some[:2]) or state.original[known].any():
            state.duplicate[target] = True
        elif some[0] != AND_MORE and state.duplicate[known].all():
            state.original[target] = True
        else:
            left += 1
    return left > 0


def _blockers(profile: Profile, shared: Broadcast) -> Mapped:
    def blockers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        original, duplicate = shared.value
        for batch in whole_groups(batches):
            left = batch.filter(pa.array(~looked_up(duplicate, integers(batch["point"]))))
            if len(left) > 1:
                yield _found(Groups(left, profile), original)

    return blockers


def _found(groups: Groups, original: bytes) -> pa.RecordBatch:
    """Find up to `WITNESSES` earlier neighbours of every undecided row, the earliest sources first."""
    is_original = looked_up(original, groups.points)
    rows = np.flatnonzero(~is_original)
    rows = rows[rows > groups.starts[groups.group[rows]]]
    order = np.arange(len(groups.points))
    left, width = groups.starts[groups.group[rows]], FIRST_SOURCES
    counts = np.zeros(len(order), np.int64)
    pairs = [np.empty((0, 2), np.int64)]
    while len(rows):
        right = np.minimum(left + width, rows)
        for found in groups.compare(rows, left, right, order):
            by_original = is_original[found.others]
            blockers = np.where(by_original, BY_ORIGINAL, groups.points[found.others])
            pairs.append(np.column_stack([groups.points[found.rows], blockers]))
            counts += np.bincount(found.rows, np.where(by_original, WITNESSES, 1), len(order)).astype(np.int64)
        more = (right < rows) & (counts[rows] < WITNESSES)
        full = (right < rows) & ~more
        cut = groups.points[rows[full]]
        pairs.append(np.column_stack([cut, np.full(len(cut), AND_MORE)]))
        rows, left, width = rows[more], right[more], width * 8
    found_pairs = np.unique(np.concatenate(pairs), axis=0)
    return batch_of(target=found_pairs[:, 0].copy(), blocker=found_pairs[:, 1].copy())


NEAREST = "target long, source long, distance int, dissimilarity double"
OWN_ORDER = 1 << 62
"""Documents of the input are later than those of the index."""


def named_originals(rows: DataFrame, documents: DataFrame, profile: Profile, state: PointStates) -> DataFrame:
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


def with_states(documents: DataFrame, state: PointStates) -> DataFrame:
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
