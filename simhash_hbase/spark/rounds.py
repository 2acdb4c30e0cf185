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

from simhash_hbase.profile import Profile
from simhash_hbase.spark.columns import Mapped, batch_of, collected, integers
from simhash_hbase.spark.groups import Groups
from simhash_hbase.spark.meeting import whole_groups

WITNESSES = 4
FIRST_SOURCES = 8
BY_ORIGINAL = -1
AND_MORE = -2
BLOCKERS = "target long, blocker long"


class Decided:
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


def decide_points(rows: DataFrame, profile: Profile, total: int, owned: NDArray[np.int64]) -> Decided:
    """Decide all points; those of `owned` are duplicates of what the index holds."""
    context = rows.sparkSession.sparkContext
    state = Decided(total)
    state.duplicate[owned] = True
    is_open = True
    while is_open:
        shared = context.broadcast(state.packed())
        found = rows.mapInArrow(_blockers(profile, shared), BLOCKERS).distinct()
        is_open = _resolve(state, collected(found, 2))
        state.rounds += 1
        shared.destroy()
    return state


def _resolve(state: Decided, blockers: NDArray[np.int64]) -> bool:
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
