"""Bands of a sketch: hashes of groups of its minima, by which texts that share most of their characters meet.

A group of r bins of two texts with Jaccard similarity J agrees with probability J**r, and one of b groups with
1 - (1 - J**r)**b (Broder 1997). Groups take the whole minima, not the one bit of each that the sketch keeps.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.features.mixing import GOLDEN, mix
from simhash_hbase.rows.entries import SKETCH_BINS

_UPPER = np.uint64(32)


class Banding(NamedTuple):
    """How many groups of how many minima each."""

    bands: int
    bins: int


@cache
def _order() -> NDArray[np.intp]:
    """Give the fixed permutation of the bins: neighbouring groups take from all over the hashes."""
    return np.argsort(mix(np.arange(1, SKETCH_BINS + 1, dtype=np.uint64) * GOLDEN), kind="stable")


def band_segments(minima: NDArray[np.uint64], banding: Banding) -> NDArray[np.uint32]:
    """Hash the groups of minima of texts: the segments of their sketch rows.

    Parameters
    ----------
    minima : ndarray of uint64, shape (n, 512)
        Every bin's smallest hash, empty bins filled.
    banding : Banding
        Groups are disjoint: group g has the bins from place g x `bins` of the permutation on.

    Returns
    -------
    ndarray of uint32, shape (n, bands)
    """
    bands, bins = banding
    chosen = minima[:, _order()[: bands * bins]].reshape(len(minima), bands, bins)
    hashes = np.full((len(minima), bands), GOLDEN)
    for place in range(bins):
        hashes *= GOLDEN
        hashes += chosen[:, :, place]
        mix(hashes)
    return (hashes >> _UPPER).astype(np.uint32)
