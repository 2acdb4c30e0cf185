"""The greedy decision in the order of the input, by rounds: which points meet, and which of them are originals.

A *point* is all documents with the same fingerprint and sketch: a flood of copies is one point, named by the position
of its first document. Two points meet if they have rows with one key prefix, and only such are compared. The rows of
one prefix are a *group*. Those of a hot prefix, which very many points share, are divided into several groups, called
cells, for many tasks.

A point is an original when no earlier original is its neighbour. Each round compares the undecided points of every
group with earlier ones that are undecided or originals. A point without such a neighbour becomes an original, one with
an original for a neighbour a duplicate. The driver goes on along the neighbours that were found, up to `WITNESSES` for
each point and group, so a chain of versions takes one round, not one for each version. Every round decides the earliest
undecided point, so there is an end. No component is collected, however large it is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from math import ceil, isqrt
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window, functions as F

from simhash_hbase.index.candidates import CandidateLimits, asked_prefixes, expand
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import distances, joined_within, judge
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.keys import FLAGS, NO_PREFIX
from simhash_hbase.spark.input import collected, integers, signed, sketches_of, unsigned
from simhash_hbase.spark.records import batch_of, by_batch

HOT = 2_000
"""Points above which the rows of a prefix are divided among several tasks."""
CELLS_A_PARTITION = 8
"""Most parts of a hot prefix for each partition of a shuffle: enough for all tasks to get about as many."""

PREFIX = "prefix long"
MEETING = "prefix long, cell int, slot int, point long, simhash long, sketch binary"
MIX = np.uint64(0x9E3779B97F4A7C15)


def with_points(documents: DataFrame) -> DataFrame:
    """Return documents with a column ``point``: the position of the first one with the same fingerprint and sketch.

    A document whose column ``alone`` is true is a point of its own.
    """
    same = Window.partitionBy("simhash", "sketch", F.when(F.col("alone"), F.col("position")))
    return documents.withColumn("point", F.min("position").over(same))


def meeting_rows(points: DataFrame, profile: Profile, *, hot: int) -> DataFrame:
    """Return the rows of points that share a key prefix with another point, sorted by prefix, cell and point.

    A prefix that more than `hot` points share is divided into cells, so that several tasks compare its points.
    """

    def prefixes_of(batch: pa.RecordBatch) -> NDArray[np.uint64]:
        """Return the prefixes of points' rows, shape (points, tables and bands); `NO_PREFIX` where there is no row."""
        sketches = sketches_of(batch["sketch"], profile.bands)
        entries = Entries.of_fingerprints([""] * len(batch), unsigned(batch["simhash"]))
        sketched = replace(entries, sketches=sketches.words, shingles=sketches.shingles, bands=sketches.segments)
        return asked_prefixes(profile, sketched, profile.rule)

    def prefixes(batch: pa.RecordBatch) -> pa.RecordBatch:
        asked = prefixes_of(batch).reshape(-1)
        return batch_of(PREFIX, prefix=signed(asked[asked != NO_PREFIX]))

    def rows(batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of points, one for each prefix; under a hot prefix, one for each cell of the point's slot.

        The points of a hot prefix are divided into slots, and a cell compares two slots, or one with itself.
        """
        asked = prefixes_of(batch)
        owners, columns = np.nonzero(asked != NO_PREFIX)
        prefixes = asked[owners, columns]
        at = np.searchsorted(hot_prefixes, prefixes)
        count = np.where(hot_prefixes[at] == prefixes, sizes[at], 1)
        slot = ((integers(batch["point"]).view(np.uint64)[owners] * MIX) >> np.uint64(33)).astype(np.int64) % count
        copies = np.repeat(np.arange(len(owners)), count)
        other = np.arange(len(copies)) - np.repeat(np.cumsum(count) - count, count)
        own, width = slot[copies], count[copies]
        taken = pa.array(owners[copies])
        return batch_of(
            MEETING,
            prefix=signed(prefixes[copies]),
            cell=np.minimum(own, other) * width + np.maximum(own, other),
            # Within a cell of two slots only pairs of both count: those of one have their own cell.
            slot=np.where(own == other, -1, own),
            **{name: batch[name].take(taken) for name in ("point", "simhash", "sketch")},
        )

    count = int(points.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    counted = by_batch(points, PREFIX, prefixes).groupBy("prefix").count().where(F.col("count") > hot)
    most = max(2, isqrt(2 * CELLS_A_PARTITION * count))
    slots = sorted((row[0], min(ceil(row[1] / hot), most)) for row in counted.collect())
    # No prefix is above the last one, so that every prefix has a place.
    hot_prefixes = np.array([*(prefix for prefix, _ in slots), NO_PREFIX], np.uint64)
    sizes = np.array([*(size for _, size in slots), 1], np.int64)
    together = by_batch(points, MEETING, rows).repartition(count, "prefix", "cell")
    return together.sortWithinPartitions("prefix", "cell", "point").mapInArrow(groups_of_several, MEETING)


def _first_rows(batch: pa.RecordBatch) -> NDArray[np.bool_]:
    """Return a mask of the rows that are the first of their group; the rows of a group have one prefix and cell."""
    prefix, cell = integers(batch["prefix"]), integers(batch["cell"])
    first = np.ones(len(prefix), np.bool_)
    first[1:] = (prefix[1:] != prefix[:-1]) | (cell[1:] != cell[:-1])
    return first


def whole_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield sorted rows in other batches, so that all rows of one prefix and cell, a group, are in one batch."""
    group = ["prefix", "cell"]
    begun: list[pa.RecordBatch] = []  # The last group so far.
    for batch in batches:
        if not len(batch):
            continue
        cut = int(np.flatnonzero(_first_rows(batch))[-1])
        if begun and cut == 0 and begun[0].select(group).slice(0, 1) == batch.select(group).slice(0, 1):
            begun.append(batch)
            continue
        yield _joined([*begun, batch.slice(0, cut)])
        begun = [batch.slice(cut)]
    if begun:
        yield _joined(begun)


def groups_of_several(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield sorted rows without those that are alone in their group, the rows of one prefix and cell."""
    for batch in whole_groups(batches):
        first = np.append(_first_rows(batch), True)
        kept = np.flatnonzero(~(first[:-1] & first[1:]))
        if len(kept):
            yield batch.take(pa.array(kept))


def _joined(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    [whole] = pa.Table.from_batches(parts).combine_chunks().to_batches() or [parts[0]]
    return whole


PAIRS_AT_ONCE = 1 << 18


class Accepted(NamedTuple):
    """Pairs of points that the match rule accepts as near, by the positions of their rows."""

    rows: NDArray[np.intp]
    others: NDArray[np.intp]
    distances: NDArray[np.uint8]
    similarities: NDArray[np.float64]


class Groups:
    """The rows of some groups (rows of one prefix and cell) in their order, with the columns for comparing them."""

    def __init__(self, batch: pa.RecordBatch, profile: Profile) -> None:
        self.points = integers(batch["point"])
        self._rule = profile.rule
        self._scheme = profile.blocks
        self._simhashes = unsigned(batch["simhash"])
        self._sketches = sketches_of(batch["sketch"], profile.bands)
        self._slots = integers(batch["slot"])
        reach = CandidateLimits.of(profile, profile.rule)
        self._by_blocks = (unsigned(batch["prefix"]) & FLAGS) <= reach.tables
        self._reach = np.where(self._by_blocks, reach.blocks, max(reach.bands or (0,)))
        first = _first_rows(batch)
        self.group = np.cumsum(first) - 1
        self.starts = np.flatnonzero(first)

    def compare(
        self, rows: NDArray[np.intp], left: NDArray[np.intp], right: NDArray[np.intp], order: NDArray[np.intp]
    ) -> Iterator[Accepted]:
        """Compare each of `rows` with the rows ``order[left:right]``, by its `left` and `right`.

        Yield the accepted pairs.
        """
        for at, place in expand(left, right, at_once=PAIRS_AT_ONCE):
            these, others = rows[at], order[place]
            apart = distances(self._simhashes[these], self._simhashes[others])
            slots = self._slots[these]
            near = (apart <= self._reach[these]) & ((slots < 0) | (slots != self._slots[others]))
            these, others, apart = these[near], others[near], apart[near]
            by_blocks = self._by_blocks[these]
            if not by_blocks.all():
                shared = (self._sketches.segments[these] == self._sketches.segments[others]).sum(axis=1)
                near = by_blocks | (apart <= joined_within(self._rule.band_reach or (-1,), shared))
                these, others, apart = these[near], others[near], apart[near]
                own, other = (self._scheme.prefixes(self._simhashes[side]) for side in (these, others))
                by_blocks = (own == other).any(axis=1)
            sketches = self._sketches.at(these), self._sketches.at(others)
            accepted, similarities = judge(self._rule, apart, *sketches, by_blocks=by_blocks)
            yield Accepted(these[accepted], others[accepted], apart[accepted], similarities[accepted])


WITNESSES = 4  # Blockers, earlier neighbours, after which no more are looked for, for a point in a group.
FIRST_SOURCES = 8
BY_ORIGINAL = -1  # In place of a blocker: a neighbour is an original.
AND_MORE = -2  # In place of a blocker: more neighbours were not looked at.
BLOCKERS = "target long, blocker long"


class PointStates:
    """The decisions so far, by a point's position: two masks, of the originals and of the duplicates."""

    def __init__(self, total: int) -> None:
        self.original = np.zeros(total + 1, np.bool_)
        self.duplicate = np.zeros(total + 1, np.bool_)

    def packed(self) -> tuple[bytes, bytes]:
        """Return the masks of originals and duplicates as bits, eight to a byte, to be sent to Spark's workers."""
        return np.packbits(self.original).tobytes(), np.packbits(self.duplicate).tobytes()


def looked_up(packed: bytes, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for some positions the values of a mask that `PointStates.packed` has packed."""
    octets = np.frombuffer(packed, np.uint8)
    return np.asarray(octets[positions >> 3] >> (7 - (positions & 7)).astype(np.uint8) & 1, np.bool_)


def decide_points(rows: DataFrame, profile: Profile, total: int, owned: NDArray[np.int64]) -> PointStates:
    """Return the decisions on all points; those of `owned` are duplicates of documents in the index.

    `total`: the number of positions in the input.
    """
    context = rows.sparkSession.sparkContext
    state = PointStates(total)
    state.duplicate[owned] = True

    def blockers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        original, duplicate = shared.value
        for batch in whole_groups(batches):
            left = batch.filter(pa.array(~looked_up(duplicate, integers(batch["point"]))))
            if len(left) > 1:
                yield blockers_of(Groups(left, profile), original)

    is_open = True
    while is_open:
        shared = context.broadcast(state.packed())
        is_open = resolve(state, collected(rows.mapInArrow(blockers, BLOCKERS).distinct(), 2))
        shared.destroy()
    return state


def resolve(state: PointStates, blockers: NDArray[np.int64]) -> bool:
    """Decide, in `state`, the points whose known neighbours suffice; return whether undecided points are left.

    `blockers` has pairs of a point and an earlier neighbour, as `blockers_of` finds them. A point without a pair, or
    with duplicates alone for neighbours, is an original; one with an original for a neighbour is a duplicate.
    """
    # A point that no neighbour blocks is an original; positions without a point do no harm.
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


def blockers_of(groups: Groups, original: bytes) -> pa.RecordBatch:
    """Return pairs of an undecided point and an earlier neighbour, up to `WITNESSES` in each group, the earliest first.

    In place of a neighbour stands `BY_ORIGINAL` if it is an original, and `AND_MORE` if not all rows were looked at.
    `original` is the packed mask of the originals.
    """
    is_original = looked_up(original, groups.points)
    rows = np.flatnonzero(~is_original)
    rows = rows[rows > groups.starts[groups.group[rows]]]
    order = np.arange(len(groups.points))
    left, width = groups.starts[groups.group[rows]], FIRST_SOURCES
    counts = np.zeros(len(order), np.int64)
    pairs = [np.empty((0, 2), np.int64)]
    while len(rows):
        right = np.minimum(left + width, rows)
        for near in groups.compare(rows, left, right, order):
            by_original = is_original[near.others]
            blockers = np.where(by_original, BY_ORIGINAL, groups.points[near.others])
            pairs.append(np.column_stack([groups.points[near.rows], blockers]))
            counts += np.bincount(near.rows, np.where(by_original, WITNESSES, 1), len(order)).astype(np.int64)
        more = (right < rows) & (counts[rows] < WITNESSES)
        full = (right < rows) & ~more
        cut = groups.points[rows[full]]
        pairs.append(np.column_stack([cut, np.full(len(cut), AND_MORE)]))
        rows, left, width = rows[more], right[more], width * 8
    distinct = np.unique(np.concatenate(pairs), axis=0)
    return batch_of(BLOCKERS, target=distinct[:, 0].copy(), blocker=distinct[:, 1].copy())


NEAREST = "target long, source long, distance int, dissimilarity double"
OWN_ORDER = 1 << 62
"""The time at which documents of the input count as added, in ms: later than any document of the index."""


def named_originals(rows: DataFrame, documents: DataFrame, profile: Profile, state: PointStates) -> DataFrame:
    """Return for each document that is no original the near originals before it, with distance and dissimilarity.

    One of them is named in the document's decision. Most of those that cannot be the best one for any document are left
    out; see `nameable`.
    """
    shared = rows.sparkSession.sparkContext.broadcast(state.packed())

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
            for pairs in groups.compare(rows, left, right, order):
                targets, sources = groups.points[pairs.rows], groups.points[pairs.others]
                apart = pairs.distances.astype(np.int32)
                unlike = np.where(np.isnan(pairs.similarities), 1.0, -pairs.similarities)
                best = nameable(targets, sources, apart, unlike)
                yield batch_of(
                    NEAREST,
                    target=targets[best],
                    source=sources[best],
                    distance=apart[best],
                    dissimilarity=unlike[best],
                )

    originals = rows.mapInArrow(nearest, NEAREST)
    copies = documents.select("position", "point", "sketch", "kept")
    near = copies.where("NOT kept").join(originals, F.col("point") == F.col("target")).where("source < position")
    # A copy of an original is at distance 0 of it, and nothing else is as near.
    same = F.when(F.length("sketch") > 0, F.lit(-1.0)).otherwise(F.lit(1.0)).alias("dissimilarity")
    exact = copies.where("NOT kept AND original").select("position", "point", "sketch")
    exact = exact.select("position", F.lit(0).alias("distance"), same, F.col("point").alias("source"))
    return near.select("position", "distance", "dissimilarity", "source").unionByName(exact)


def with_states(documents: DataFrame, state: PointStates) -> DataFrame:
    """Return documents with columns ``original`` and ``kept``: whether their point is one, and whether they stay.

    Of an original point the first document stays.
    """
    shared = documents.sparkSession.sparkContext.broadcast(state.packed())

    def known(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.append_column("original", pa.array(looked_up(shared.value[0], np.asarray(batch["point"]))))

    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in documents.schema)
    stated = by_batch(documents, f"{columns}, original boolean", known)
    return stated.withColumn("kept", F.col("original") & (F.col("position") == F.col("point")))


def nameable(
    targets: NDArray[np.int64],
    sources: NDArray[np.int64],
    distances: NDArray[np.int32],
    dissimilarities: NDArray[np.float64],
) -> NDArray[np.intp]:
    """Return which pairs of a duplicate point, the target, and a near original, the source, some copy may need.

    A copy names the most similar original among those before it in the input. So a target keeps a source that is
    earlier than all more similar ones: a Pareto front of likeness and position. Around one point it has a few of
    hundreds of originals, and each copy of the point is joined with these few only.
    """
    order = np.lexsort((sources, dissimilarities, distances, targets))
    if not len(order):
        return order
    number = np.cumsum(np.diff(targets[order], prepend=targets[order[0]]) != 0)
    # Lower for each further target than for all before it, so the least so far is the least of the same target.
    falling = sources[order] - number * (int(sources.max()) + 1)
    least = np.minimum.accumulate(falling)
    first = np.ones(len(order), np.bool_)
    first[1:] = falling[1:] < least[:-1]
    return order[first]
