"""Which points are compared: by the prefixes of their rows, those of a hot prefix divided among many tasks.

A *point* is all documents with the same fingerprint and sketch: a flood of copies is one point, named by the position
of its first document.
"""

from collections.abc import Iterable, Iterator
from math import ceil, isqrt
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from simhash_hbase.index.candidates import Reach, expand
from simhash_hbase.index.documentrows import asked_prefixes
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import distances, joined_within, judge
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.keys import FLAGS, NO_PREFIX
from simhash_hbase.spark.documents import Mapped, integers, signed, sketches_of, unsigned
from simhash_hbase.spark.records import batch_of
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
        shingles=sketches.shingles,
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


PAIRS_AT_ONCE = 1 << 18


class Accepted(NamedTuple):
    """Pairs that the rule accepts, by their rows."""

    rows: NDArray[np.intp]
    others: NDArray[np.intp]
    distances: NDArray[np.uint8]
    similarities: NDArray[np.float64]


class Groups:
    """Rows of whole groups, in their order."""

    def __init__(self, batch: pa.RecordBatch, profile: Profile) -> None:
        self.points = integers(batch["point"])
        self.lasts = integers(batch["last"])
        self._rule = profile.rule
        self._scheme = profile.blocks
        self._simhashes = unsigned(batch["simhash"])
        self._sketches = sketches_of(batch["sketch"], profile.bands)
        self._slots = integers(batch["slot"])
        prefixes, cells = unsigned(batch["prefix"]), integers(batch["cell"])
        reach = Reach.of(profile, profile.rule)
        self._by_blocks = (prefixes & FLAGS) <= reach.tables
        self._reach = np.where(self._by_blocks, reach.blocks, max(reach.bands or (0,)))
        new = np.ones(len(prefixes), np.bool_)
        new[1:] = (prefixes[1:] != prefixes[:-1]) | (cells[1:] != cells[:-1])
        self.group = np.cumsum(new) - 1
        self.starts = np.flatnonzero(new)

    def compare(
        self, rows: NDArray[np.intp], left: NDArray[np.intp], right: NDArray[np.intp], order: NDArray[np.intp]
    ) -> Iterator[Accepted]:
        """Compare each of some rows with a range of places in an order of rows; yield what is accepted."""
        for at, place in expand(left, right, at_once=PAIRS_AT_ONCE):
            yield self._accepted(rows[at], order[place])

    def _accepted(self, rows: NDArray[np.intp], others: NDArray[np.intp]) -> Accepted:
        apart = distances(self._simhashes[rows], self._simhashes[others])
        slots = self._slots[rows]
        near = (apart <= self._reach[rows]) & ((slots < 0) | (slots != self._slots[others]))
        rows, others, apart = rows[near], others[near], apart[near]
        by_blocks = self._by_blocks[rows]
        if not by_blocks.all():
            shared = (self._sketches.segments[rows] == self._sketches.segments[others]).sum(axis=1)
            near = by_blocks | (apart <= joined_within(self._rule.band_reach or (-1,), shared))
            rows, others, apart = rows[near], others[near], apart[near]
            own, other = (self._scheme.prefixes(self._simhashes[at]) for at in (rows, others))
            by_blocks = (own == other).any(axis=1)
        accepted, similarities = judge(
            self._rule, apart, self._sketches.at(rows), self._sketches.at(others), by_blocks=by_blocks
        )
        return Accepted(rows[accepted], others[accepted], apart[accepted], similarities[accepted])
