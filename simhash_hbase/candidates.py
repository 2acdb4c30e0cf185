"""Candidate search: from many fingerprints to the stored ones that share a block row with them.

Everything here is columns: a query is a position, a candidate a pair of positions and fingerprints. Scans of one
prefix that several queries ask for are made once.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.blocks import Scheme
from simhash_hbase.hamming import distances
from simhash_hbase.rowkey import drop_repeats, sort_prefixes
from simhash_hbase.stores.base import Store

__all__ = ["Candidates", "find_candidates", "near_pairs"]

U64 = np.uint64

# Joins expand to pairs; this many at a time keep the memory of a hot prefix near 100 MB.
PAIRS_AT_ONCE = 2_000_000
NOTHING = np.empty(0, dtype=U64)


class Candidates(NamedTuple):
    """Stored fingerprints within reach of queries, each pair once, sorted by query and fingerprint."""

    queries: NDArray[np.intp]
    """Positions in the array of queries."""
    simhashes: NDArray[np.uint64]
    """The stored fingerprints."""
    distances: NDArray[np.uint8]
    """Bits that differ."""
    truncated: NDArray[np.bool_]
    """For each query: whether a prefix of it held more rows than were read."""
    rows: int
    """Block rows read."""


def find_candidates(
    store: Store, scheme: Scheme, simhashes: NDArray[np.uint64], *, reach: int, limit: int
) -> Candidates:
    """Scan the tables of many fingerprints and keep what is near enough.

    Parameters
    ----------
    store : Store
        Holds the block rows.
    scheme : Scheme
        The tables.
    simhashes : ndarray of uint64, shape (n,)
        The queries.
    reach : int
        Largest distance of a candidate.
    limit : int
        Rows a prefix at most.

    Returns
    -------
    Candidates
        Complete up to ``scheme.distance`` for queries that are not truncated.

    Notes
    -----
    One call of ``store.scan``, whatever the number of queries.
    """
    if len(simhashes) == 1:
        return _candidates_of_one(store, scheme, simhashes, reach, limit)
    ascending, owners = sort_prefixes(scheme.prefixes(simhashes))
    scan = store.scan(drop_repeats(ascending), limit=limit)
    truncated = np.zeros(len(simhashes), dtype=np.bool_)
    if len(scan.truncated):
        truncated[owners[np.isin(ascending, scan.truncated)]] = True
    left = np.searchsorted(ascending, scan.rows.prefixes, "left")
    right = np.searchsorted(ascending, scan.rows.prefixes, "right")
    found = [_near(simhashes, owners[at], scan.rows.simhashes[row], reach) for row, at in _expand(left, right)]
    queries, stored = _merge(found)
    return Candidates(queries, stored, distances(simhashes[queries], stored), truncated, len(scan.rows.prefixes))


def _candidates_of_one(
    store: Store, scheme: Scheme, simhashes: NDArray[np.uint64], reach: int, limit: int
) -> Candidates:
    """Find the candidates of a single query, for which nothing has to be joined."""
    prefixes = scheme.prefixes(simhashes)[0]
    prefixes.sort()
    scan = store.scan(prefixes, limit=limit)
    found = scan.rows.simhashes
    truncated = np.array([len(scan.truncated) > 0])
    near = found[distances(found, simhashes) <= reach] if len(found) else NOTHING
    if not len(near):
        return Candidates(NOTHING.astype(np.intp), NOTHING, NOTHING.astype(np.uint8), truncated, len(found))
    stored = np.array(sorted(set(near.tolist())), dtype=U64)
    queries = np.zeros(len(stored), np.intp)
    return Candidates(queries, stored, distances(stored, simhashes), truncated, len(found))


def near_pairs(
    scheme: Scheme, simhashes: NDArray[np.uint64], *, reach: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.uint8]]:
    """Join fingerprints with each other, without a store.

    Parameters
    ----------
    scheme : Scheme
        The tables that join.
    simhashes : ndarray of uint64, shape (n,)
        Distinct fingerprints: repeats of one would make pairs by the square of their number.
    reach : int
        Largest distance of a pair.

    Returns
    -------
    first, second : ndarray of intp
        Positions, ``first < second``, each pair once, sorted.
    distances : ndarray of uint8
        Bits that differ; complete up to ``scheme.distance``.
    """
    ascending, owners = sort_prefixes(scheme.prefixes(simhashes))
    last = np.flatnonzero(np.append(ascending[1:] != ascending[:-1], True)) + 1
    stop = np.repeat(last, np.diff(last, prepend=0))
    found = []
    for row, at in _expand(np.arange(1, len(ascending) + 1), stop):
        # Equal prefixes are in the order of their owners: the first of a pair is the smaller.
        a, b = owners[row], owners[at]
        near = distances(simhashes[a], simhashes[b]) <= reach
        found.append((a[near], b[near].astype(U64)))
    first, second = _merge(found)
    other = second.astype(np.intp)
    return first, other, distances(simhashes[first], simhashes[other])


def _expand(left: NDArray[np.intp], right: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Expand half-open ranges to pairs of (range, position in it), a bounded number at a time."""
    counts = right - left
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + PAIRS_AT_ONCE, "right")))
        few = counts[start:stop]
        offsets = np.arange(few.sum()) - np.repeat(np.cumsum(few) - few, few)
        yield np.repeat(np.arange(start, stop), few), np.repeat(left[start:stop], few) + offsets
        start = stop


def _near(
    simhashes: NDArray[np.uint64], queries: NDArray[np.intp], stored: NDArray[np.uint64], reach: int
) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    near = distances(simhashes[queries], stored) <= reach
    return queries[near], stored[near]


def _merge(
    found: list[tuple[NDArray[np.intp], NDArray[np.uint64]]],
) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """Concatenate pairs, sort them, and keep each once: several tables may find the same."""
    if not found:
        return np.empty(0, np.intp), np.empty(0, U64)
    left = np.concatenate([pair[0] for pair in found])
    right = np.concatenate([pair[1] for pair in found])
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    new = np.ones(len(left), np.bool_)
    new[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
    return left[new], right[new]
