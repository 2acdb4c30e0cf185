"""A Bloom filter of the keys in a folder: most keys of a new document are not stored yet, and need no search."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

U64 = np.uint64
FILTER_BITS = 29
"""The filter has 2**29 bits, 64 MB, and a key sets two bits of one word of it. Beside a million documents of 16 rows
and two cells each, it lets one in 150 missing keys pass, beside ten million one in four."""
_SCATTER = U64(0x9E3779B97F4A7C15)
_WORD_BITS = 6
_WORD_SHIFT = U64(64 - FILTER_BITS + _WORD_BITS)
# The bits of the hash below those that choose the word choose the two bits in it.
_FIRST_SHIFT = _WORD_SHIFT - U64(_WORD_BITS)
_SECOND_SHIFT = _FIRST_SHIFT - U64(_WORD_BITS)
_IN_WORD = U64((1 << _WORD_BITS) - 1)


class BloomFilter:
    """A Bloom filter: a set of numbers that has all that were added, and seems to have some others.

    Numbers are 64 bits; the filter takes 64 MB.
    """

    def __init__(self) -> None:
        self._words = np.zeros(1 << FILTER_BITS - _WORD_BITS, U64)

    def add(self, numbers: NDArray[np.uint64]) -> None:
        """Add numbers to the set."""
        places, masks = _slots(numbers)
        np.bitwise_or.at(self._words, places, masks)

    def may_hold(self, numbers: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return for each of some numbers False if it was never added, True if it may have been."""
        places, masks = _slots(numbers)
        return np.asarray(self._words[places] & masks == masks)


def key_numbers(keys: Sequence[bytes]) -> NDArray[np.uint64]:
    """Return a number for each key of a cell, to be put into a `BloomFilter`: its hash, which only this process has."""
    return np.fromiter(map(hash, keys), np.int64, len(keys)).view(U64)


def _slots(numbers: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """Return for each number the place of its two bits in the filter: the index of a 64-bit word, and a mask."""
    hashes = numbers * _SCATTER
    masks = U64(1) << (hashes >> _FIRST_SHIFT & _IN_WORD) | U64(1) << (hashes >> _SECOND_SHIFT & _IN_WORD)
    return (hashes >> _WORD_SHIFT).astype(np.intp), masks
