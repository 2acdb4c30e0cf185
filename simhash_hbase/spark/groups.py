"""Points that share a prefix, compared: which pairs the rule accepts."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simhash_hbase.index.candidates import Reach, expand
from simhash_hbase.profile import Profile
from simhash_hbase.profile.near import distances, joined_within, judge
from simhash_hbase.rows.keys import FLAGS
from simhash_hbase.spark.columns import integers, sketches_of, unsigned

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
