"""Candidate search: from many queries to the stored fingerprints that share a block row or a sketch row with them.

A row is shared if it begins with the same prefix. Everything here is columns: a query is a position in arrays, and a
candidate a pair of a query and a stored fingerprint. A prefix that several queries have is scanned once. Pairs are made
a bounded number at a time, since their number grows by the square of the fingerprints with one prefix.
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

# Joins expand to pairs; this many at a time keep the memory for a prefix of very many rows near 50 MB.
PAIRS_AT_ONCE = 1_000_000


class CandidatePairs(NamedTuple):
    """Pairs of a query and a stored fingerprint near it, each pair once, sorted by query, then by fingerprint."""

    queries: NDArray[np.intp]  # Positions in the array of queries.
    simhashes: NDArray[np.uint64]  # The stored fingerprints.
    distances: NDArray[np.uint8]  # Bits that differ.
    by_blocks: NDArray[np.bool_]
    """Whether a block row joins the two within the rule's reach; sketch rows or passages alone join other pairs."""

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.intp] | slice) -> "CandidatePairs":
        """Return the pairs that `chosen` names: a mask, an array of positions, or a slice."""
        return CandidatePairs(
            self.queries[chosen], self.simhashes[chosen], self.distances[chosen], self.by_blocks[chosen]
        )

    def and_of(self, other: "CandidatePairs") -> "CandidatePairs":
        """Return these pairs and the others, sorted and each once; of a pair in both, `by_blocks` is that of these."""
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
    """The most bits that may differ between a query and a stored fingerprint, for a shared row to make it a candidate.

    Block rows and sketch rows have limits of their own.
    """

    tables: int  # Rows with flags up to this are block rows, those above sketch rows.
    blocks: int
    bands: BandDistance | None  # By the number of sketch rows that agree; None where sketch rows are not read.

    @classmethod
    def of(cls, profile: Profile, rule: MatchRule) -> "CandidateLimits":
        """Return the limits that a match rule sets in an index with this profile."""
        return cls(len(profile.blocks.tables), rule.reach, rule.band_reach if profile.bands else None)


class Queries(NamedTuple):
    """The documents of a search, with what is computed of them once: prefixes of their rows, sketches and limits."""

    profile: Profile  # The profile of the index.
    entries: Entries
    rule: MatchRule  # The rule that accepts candidates.
    reach: CandidateLimits
    prefixes: NDArray[np.uint64]  # Prefixes of all rows that the rule reads, shape (n, tables) or (n, tables + bands).
    sketches: Sketches
    agreement: Agreement | None  # Which documents may match, by the profile's field ``agree``; None: all.

    @classmethod
    def of(cls, profile: Profile, entries: Entries, rule: MatchRule | None = None) -> "Queries":
        """Return documents as the queries of a search by a match rule; None: the rule of the index."""
        rule = rule or profile.rule
        reach, prefixes = CandidateLimits.of(profile, rule), asked_prefixes(profile, entries, rule)
        agreement = None if profile.agree is None else Agreement(profile.agree, entries.metadata)
        return cls(profile, entries, rule, reach, prefixes, Sketches.of_entries(entries), agreement)

    def candidates(self, store: Store, *, limit: int) -> "Candidates":
        """Return the candidates of the queries, by reading at most `limit` rows of each of their prefixes."""
        return find_candidates(store, self.entries.simhashes, self.prefixes, reach=self.reach, limit=limit)


def asked_prefixes(profile: Profile, entries: Entries, rule: MatchRule) -> NDArray[np.uint64]:
    """Return the prefixes of the rows that are read to find candidates of documents by a match rule.

    The shape is (n, tables), or (n, tables + bands) if the rule reads sketch rows, too.
    """
    blocks = profile.blocks.prefixes(entries.simhashes)
    if rule.band_reach is None or not profile.bands:
        return blocks
    segments = entries.segments_for(profile.bands)
    return np.hstack([blocks, band_prefixes(profile.blocks, segments, entries.sketched)])


NO_PAIRS = CandidatePairs(np.empty(0, np.intp), np.empty(0, U64), np.empty(0, np.uint8), np.empty(0, np.bool_))


class Candidates:
    """The candidates of many queries: the rows that were read, from which `parts` makes the pairs."""

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
        """Yield the pairs of a query and a candidate in parts: each has all pairs of some queries and is not empty."""
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
        """Return the candidates of a search with a single query, which takes 7 to 40 µs, rather than 65 to 120."""
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
        """Return the candidates of consecutive queries, the first of which has the position `first`.

        `left` and `right` are, for each prefix of a query, the first position and the end of its rows among those read;
        shape (n, prefixes).
        """
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
    """Return the candidates of queries with these fingerprints; one call of ``store.scan`` reads the rows of all.

    `prefixes` are those that `asked_prefixes` returns; a query with more than `limit` rows under one of its prefixes is
    marked as truncated. `reach` says how many bits may differ between a query and a candidate.
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
    """Return a mask of the documents of a batch of which another document of the batch is a candidate.

    `reach` is the limits of the search.
    """
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
    """Return a mask of the documents that share enough prefixes with another document, for the bits that differ.

    `reach` is the most bits that may differ where one prefix is shared, two, …
    """
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
    """Yield all pairs of a range's number and a position in the range, as two arrays, about `at_once` pairs at a time.

    The ranges go from `left` up to `right`, element by element.
    """
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
