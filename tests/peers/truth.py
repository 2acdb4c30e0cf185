"""All pairs of a set with a Jaccard similarity of 0.8 or more: exact ones, out of candidates that miss under 1 %.

A candidate is a pair whose 128 minima of permuted shingle hashes agree in 85 or more. Each minimum agrees with
probability J, so by Hoeffding's bound a pair of J >= 0.8 is missed with probability exp(-2 x 128 x 0.136**2) = 0.009 at
most, and by the binomial distribution of J = 0.8 with 0.0002. These minima have nothing to do with the package's.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from support.labelled import Pair, Similarities, shingles

LEAST = 0.8
MINIMA = 128
AGREEING = 85
SHINGLES_AT_ONCE = 512
"""Shingles at a time: few enough that the permuted hashes stay in the processor's cache."""


def similar_pairs(texts: Sequence[str], exact: Similarities) -> set[Pair]:
    candidates = list(_candidates(texts))
    return {pair for pair, alike in zip(candidates, exact.of_many(candidates), strict=True) if alike >= LEAST}


def _candidates(texts: Sequence[str]) -> Iterator[Pair]:
    hashed = [shingles(text) for text in texts]
    sizes = np.array([len(each) for each in hashed])
    order = np.argsort(sizes, kind="stable")
    minima = np.stack([_minima(hashed[at]) for at in order])
    # A set that has less than 0.8 of the other's shingles is less similar than that.
    stops = np.searchsorted(sizes[order], sizes[order] / LEAST, "right")
    for place, stop in enumerate(stops.tolist()):
        agreeing = np.count_nonzero(minima[place + 1 : stop] == minima[place], axis=1)
        for other in (np.flatnonzero(agreeing >= AGREEING) + place + 1).tolist():
            a, b = int(order[place]), int(order[other])
            yield min(a, b), max(a, b)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ values >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ values >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return values ^ values >> np.uint64(31)


def _minima(hashes: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Permute hashes in 128 ways, and keep the smallest of each."""
    rng = np.random.default_rng(9)
    factors, terms = rng.integers(0, 2**64, (2, MINIMA), dtype=np.uint64)
    mixed, smallest = _mix(hashes), np.full(MINIMA, 2**64 - 1, np.uint64)
    for start in range(0, len(mixed), SHINGLES_AT_ONCE):
        permuted = mixed[start : start + SHINGLES_AT_ONCE, None] * (factors | np.uint64(1))
        permuted += terms
        np.minimum(smallest, permuted.min(axis=0), out=smallest)
    return (smallest >> np.uint64(32)).astype(np.uint32)
