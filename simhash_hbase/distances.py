"""Hamming distance between 64-bit fingerprints."""

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.layout import SIMHASH_BITS

__all__ = ["distances", "hamming"]

_MASK = (1 << SIMHASH_BITS) - 1


def hamming(a: int, b: int) -> int:
    """Count the bits in which two fingerprints differ.

    Parameters
    ----------
    a, b : int
        64-bit fingerprints; higher bits are ignored.

    Returns
    -------
    int
        From 0 to 64.

    Examples
    --------
    >>> hamming(0b1011, 0b1001)
    1
    >>> hamming(0, 2**64 - 1)
    64
    """
    return ((a ^ b) & _MASK).bit_count()


def distances(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Count differing bits element by element, with numpy's broadcasting.

    Parameters
    ----------
    a, b : ndarray of uint64
        Fingerprints; shapes that broadcast together.

    Returns
    -------
    ndarray of uint8
        Distances from 0 to 64, of the broadcast shape.

    Examples
    --------
    >>> distances(np.array([0, 7], dtype=np.uint64), np.array([1, 0], dtype=np.uint64)).tolist()
    [1, 3]
    """
    counts: NDArray[np.uint8] = np.bitwise_count(a ^ b)
    return counts
