"""Mixing of 64-bit integers, the same on every platform: splitmix64's finaliser (Steele, Lea, Flood 2014)."""

import numpy as np
from numpy.typing import NDArray

# Odd constants with well mixed bits: the golden ratio, and the two of splitmix64.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix in place: a bijection of 64-bit integers."""
    values ^= values >> np.uint64(30)
    values *= _FIRST
    values ^= values >> np.uint64(27)
    values *= _SECOND
    values ^= values >> np.uint64(31)
    return values
