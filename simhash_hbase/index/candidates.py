"""Candidate search: from many documents to the stored fingerprints that share a block row or a sketch row with them.

Everything here is columns: a query is a position, a candidate a pair of positions and fingerprints. Scans of one
prefix that several queries ask for are made once; the pairs are made a bounded number at a time, since a crowd of
fingerprints makes pairs by the square of its size.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.index.agree import Agreement
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import BandDistance, MatchRule, Sketches, distances, joined_within
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.keys import FLAGS, NO_PREFIX, BlockRows, band_prefixes, distinct, sort_prefixes
from simhash_hbase.stores.base import Store

U64 = np.uint64

# Joins expand to pairs; this many at a time keep the memory of a hot prefix near 50 MB.
PAIRS_AT_ONCE = 1_000_000


class CandidatePairs(NamedTuple):
    """Pairs of a query and a stored fingerprint near it, each pair once, sorted by query, then by fingerprint."""

    queries: NDArray[np.intp]  # Positions in the array of queries.
    simhashes: NDArray[np.uint64]  # The stored fingerprints.
    distances: NDArray[np.uint8]  # Bits that differ.
    by_blocks: NDArray[np.bool_]
    """Whether a block row joins the two within the rule's reach; sketch rows or passages alone join other pairs."""

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.intp] | slice) -> "CandidatePairs":
        """Return some of the pairs, chosen by a mask, by their positions or by a slice."""
        return CandidatePairs(
            self.queries[chosen], self.simhashes[chosen], self.distances[chosen], self.by_blocks[chosen]
        )

    def and_of(self, other: "CandidatePairs") -> "CandidatePairs":
        """Return the union of these pairs and others, sorted; of a pair that is in both, the one of these."""
        if not len(other.queries):
            return self
        both = CandidatePairs(
            np.concatenate([self.queries, other.queries]),
            np.concatenate([self.simhashes, other.simhashes]),
            np.concatenate([self.distances, other.distances]),
            np.concatenate([self.by_blocks, other.by_blocks]),
        )
        order = np.lexsort((both.simhashes, both.queries))
        both = both.where(order)
        is_new = np.ones(len(order), np.bool_)
        is_new[1:] = (both.queries[1:] != both.queries[:-1]) | (both.simhashes[1:] != both.simhashes[:-1])
        return both.where(is_new)


class CandidateLimits(NamedTuple):
    """The largest distance from a query at which a row of each kind makes a stored fingerprint a candidate."""

    tables: int  # Rows with flags up to this are block rows, those above sketch rows.
    blocks: int
    bands: BandDistance | None  # By the number of sketch rows that agree; None where sketch rows are not read.

    @classmethod
    def of(cls, profile: Profile, rule: MatchRule) -> "CandidateLimits":
        """Return the limits of a match rule in an index of this profile."""
        return cls(len(profile.blocks.tables), rule.reach, rule.band_reach if profile.bands else None)


class Queries(NamedTuple):
    """The documents of a search, with the match rule, their prefixes and their sketches, computed once."""

    profile: Profile  # The profile of the index.
    entries: Entries
    rule: MatchRule  # The rule that accepts candidates.
    reach: CandidateLimits
    prefixes: NDArray[np.uint64]  # Prefixes of all rows that the rule reads, shape (n, tables) or (n, tables + bands).
    sketches: Sketches
    agreement: Agreement | None  # Which documents may match, by the profile's field ``agree``; None: all.

    @classmethod
    def of(cls, profile: Profile, entries: Entries, rule: MatchRule | None = None) -> "Queries":
        """Return documents as queries, with their prefixes and sketches; without a rule, by the rule of the index."""
        rule = rule or profile.rule
        reach, prefixes = CandidateLimits.of(profile, rule), asked_prefixes(profile, entries, rule)
        agreement = None if profile.agree is None else Agreement(profile.agree, entries.metadata)
        return cls(profile, entries, rule, reach, prefixes, Sketches.of_entries(entries), agreement)

    def candidates(self, store: Store, *, limit: int) -> "Candidates":
        """Return the candidates, from rows that queries share with stored documents: at most `limit` of a prefix."""
        return find_candidates(store, self.entries.simhashes, self.prefixes, reach=self.reach, limit=limit)


def asked_prefixes(profile: Profile, entries: Entries, rule: MatchRule) -> NDArray[np.uint64]:
    """Return the prefixes of all rows that a rule reads for documents, shape (n, tables) or (n, tables + bands)."""
    blocks = profile.blocks.prefixes(entries.simhashes)
    if rule.band_reach is None or not profile.bands:
        return blocks
    segments = entries.segments_for(profile.bands)
    return np.hstack([blocks, band_prefixes(profile.blocks, segments, entries.sketched)])


NO_PAIRS = CandidatePairs(np.empty(0, np.intp), np.empty(0, U64), np.empty(0, np.uint8), np.empty(0, np.bool_))


class Candidates:
    """The rows that were read for many queries, and the pairs of a query and a stored fingerprint that they give."""

    def __init__(
        self,
        simhashes: NDArray[np.uint64],
        prefixes: NDArray[np.uint64],
        rows: BlockRows,
        truncated: NDArray[np.bool_],
        reach: CandidateLimits,
    ) -> None:
        self.truncated = truncated
        self.rows = len(rows.prefixes)
        self._simhashes = simhashes
        self._prefixes = prefixes
        self._rows = rows
        self._reach = reach
        self.by_passages = NO_PAIRS
        """Further pairs, of documents that share passages, sorted by query and fingerprint."""

    def parts(self) -> Iterator[CandidatePairs]:
        """Yield the candidate pairs in parts; each has all pairs of some queries, in order, and is not empty."""
        if not self.rows and not len(self.by_passages.queries):
            return
        if len(self._simhashes) == 1:
            near = self._alone().and_of(self.by_passages)
            if len(near.queries):
                yield near
            return
        left = np.searchsorted(self._rows.prefixes, self._prefixes, "left")
        right = left.copy()
        if self.rows:
            # Most prefixes have no row: the end of a prefix's rows is looked for only if it has some.
            has_rows = self._rows.prefixes[np.minimum(left, self.rows - 1)] == self._prefixes
            right[has_rows] = np.searchsorted(self._rows.prefixes, self._prefixes[has_rows], "right")
        others = np.searchsorted(self.by_passages.queries, np.arange(len(left) + 1))
        ends = np.cumsum((right - left).sum(axis=1) + np.diff(others))
        start = 0
        while start < len(ends):
            done = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + PAIRS_AT_ONCE, "right")))
            near = self._joined(start, left[start:stop], right[start:stop])
            near = near.and_of(self.by_passages.where(slice(others[start], others[stop])))
            if len(near.queries):
                yield near
            start = stop

    def _alone(self) -> CandidatePairs:
        """Return the candidates of a single query, which needs no join: in 7 to 40 µs rather than 65 to 120."""
        rows, reach = self._rows, self._reach
        apart = distances(rows.simhashes, self._simhashes)
        if reach.bands is None:
            near = distinct(rows.simhashes[apart <= reach.blocks])
            by_blocks = np.ones(len(near), np.bool_)
        else:
            is_block = (rows.prefixes & FLAGS) <= reach.tables
            met = distinct(rows.simhashes[is_block & (apart <= reach.blocks)])
            others, counts = np.unique(rows.simhashes[~is_block & (apart <= reach.bands[-1])], return_counts=True)
            # No document of a fingerprint shares more sketch rows with the query than the fingerprint was found in.
            others = others[distances(others, self._simhashes) <= joined_within(reach.bands, counts)]
            near = distinct(np.concatenate([met, others]))
            # Both are sorted, and `np.isin` takes longer than everything else here.
            by_blocks = np.zeros(len(near), np.bool_)
            by_blocks[np.searchsorted(near, met)] = True
        return CandidatePairs(np.zeros(len(near), np.intp), near, distances(near, self._simhashes), by_blocks)

    def _joined(self, first: int, left: NDArray[np.intp], right: NDArray[np.intp]) -> CandidatePairs:
        """Return the candidates of queries from `first` on, from the ranges of rows that their prefixes have."""
        found = [(NO_PAIRS.queries, NO_PAIRS.simhashes, NO_PAIRS.by_blocks)]
        most = np.full(left.shape[1], self._reach.blocks)
        most[self._reach.tables :] = max(self._reach.bands or (0,))
        for at, row in expand(left.reshape(-1), right.reshape(-1)):
            queries, columns = np.divmod(at, left.shape[1])
            queries, stored = queries + first, self._rows.simhashes[row]
            within = distances(self._simhashes[queries], stored) <= most[columns]
            found.append((queries[within], stored[within], columns[within] < self._reach.tables))
        queries, stored, by_blocks = (np.concatenate(column) for column in zip(*found, strict=True))
        # Repeated pairs are dropped; a pair that no block row joins needs as many sketch rows as its distance asks for.
        few = distinct(stored)
        # Query and fingerprint fit into one integer, and sorting integers is many times faster than sorting pairs. Of
        # equal pairs that of a block row comes first.
        pairs = queries.astype(U64) * U64(len(few) + 1) + np.searchsorted(few, stored).astype(U64)
        keys = np.sort(pairs << U64(1) | (~by_blocks).astype(U64))
        is_new = np.ones(len(keys), np.bool_)
        np.not_equal(keys[1:] >> U64(1), keys[:-1] >> U64(1), out=is_new[1:])
        starts = np.flatnonzero(is_new)
        rows, keys = np.diff(starts, append=len(keys)), keys[starts]
        at, which = np.divmod(keys >> U64(1), U64(len(few) + 1))
        queries, stored = at.astype(np.intp), few[which.astype(np.intp)]
        near = CandidatePairs(queries, stored, distances(self._simhashes[queries], stored), keys & U64(1) == 0)
        if self._reach.bands is None:
            return near
        return near.where(near.by_blocks | (near.distances <= joined_within(self._reach.bands, rows)))


def find_candidates(
    store: Store, simhashes: NDArray[np.uint64], prefixes: NDArray[np.uint64], *, reach: CandidateLimits, limit: int
) -> Candidates:
    """Return the candidates of many queries, from a scan of at most `limit` rows of each of their prefixes.

    One call of ``store.scan``, whatever the number of queries; `asked_prefixes` returns the prefixes.
    """
    asked = distinct(prefixes.reshape(-1))
    scan = store.scan(asked[: np.searchsorted(asked, NO_PREFIX)], limit=limit)
    truncated = np.zeros(len(simhashes), dtype=np.bool_)
    if len(scan.truncated):
        truncated[np.isin(prefixes, scan.truncated).any(axis=1)] = True
    return Candidates(simhashes, prefixes, scan.rows, truncated, reach)


def find_crowded_documents(
    simhashes: NDArray[np.uint64], prefixes: NDArray[np.uint64], reach: CandidateLimits
) -> NDArray[np.bool_]:
    """Return a mask of the documents of a batch that have other documents of the batch within reach."""
    ascending, first, where, counts = np.unique(simhashes, return_index=True, return_inverse=True, return_counts=True)
    by_blocks = find_crowded(ascending, prefixes[first, : reach.tables], reach=(reach.blocks,)) | (counts > 1)
    crowded = np.asarray(by_blocks[where], np.bool_)
    if reach.bands is not None:
        rows, each = np.column_stack([simhashes, prefixes[:, reach.tables :]]), np.arange(len(simhashes))
        if len(ascending) < len(simhashes):
            # A flood of copies was found by its fingerprint: here it counts as one document.
            rows, each = np.unique(rows, axis=0, return_inverse=True)
        crowded |= find_crowded(rows[:, 0], rows[:, 1:], reach=reach.bands)[each.reshape(-1)]
    return crowded


def find_crowded(
    simhashes: NDArray[np.uint64], prefixes: NDArray[np.uint64], *, reach: BandDistance
) -> NDArray[np.bool_]:
    """Return a mask of the documents that share as many prefixes with another one as their distance asks for."""
    ascending, owners = sort_prefixes(prefixes)
    there = np.searchsorted(ascending, NO_PREFIX)
    ascending, owners = ascending[:there], owners[:there]
    last = np.flatnonzero(np.append(ascending[1:] != ascending[:-1], True)) + 1
    stop = np.repeat(last, np.diff(last, prepend=0))
    crowded = np.zeros(len(simhashes), np.bool_)
    for row, at in expand(np.arange(1, len(ascending) + 1), stop):
        a, b = owners[row], owners[at]
        apart = distances(simhashes[a], simhashes[b])
        near = apart <= reach[-1]
        a, b, apart = a[near], b[near], apart[near]
        near = apart <= joined_within(reach, (prefixes[a] == prefixes[b]).sum(axis=1))
        crowded[a[near]] = crowded[b[near]] = True
    return crowded


def expand(
    left: NDArray[np.intp], right: NDArray[np.intp], *, at_once: int | None = None
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the number of each half-open range with each position in it, as two arrays of some `at_once` pairs."""
    counts = right - left
    most = at_once or PAIRS_AT_ONCE
    if len(counts) <= most and (counts == 1).all():
        yield np.arange(len(counts)), left
        return
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + most, "right")))
        few = counts[start:stop]
        offsets = np.arange(few.sum()) - np.repeat(np.cumsum(few) - few, few)
        yield np.repeat(np.arange(start, stop), few), np.repeat(left[start:stop], few) + offsets
        start = stop
