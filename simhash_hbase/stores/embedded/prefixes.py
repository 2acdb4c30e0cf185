"""A Bloom filter of the keys in an index's folder, which saves look-ups of keys that are not stored.

Most keys of a new document, the prefixes of its block rows and the keys of its cells, are not stored yet.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

U64 = np.uint64
LAYER_BITS = (25, 29)
"""The layers of the filter have 2**25 and 2**29 bits: 4 and 64 MB. A key sets two bits of one word."""
BITS_A_KEY = 64
"""A layer with fewer bits for each of its keys is full, and further keys go to the next one.

A document has some 20 keys, so a layer of 4 MB holds those of 26,000 documents, and stays in the processor's caches.
In an index of a million documents, with 16 rows and two cells each, the filter reports one in 130 missing keys as
stored, in one of ten million one in four.
"""
_SCATTER = U64(0x9E3779B97F4A7C15)
_WORD_BITS = 6
_IN_WORD = U64((1 << _WORD_BITS) - 1)


class BloomFilter:
    """A Bloom filter: a set that finds all numbers that were added to it, and, wrongly, a few others.

    Numbers have 64 bits. The filter grows by layers, each larger than the one before, as the scalable Bloom filters of
    Almeida, Baquero, Preguiça and Hutchison (2007) do.
    """

    def __init__(self) -> None:
        self._layers = [_Layer(LAYER_BITS[0])]

    def add(self, numbers: NDArray[np.uint64]) -> None:
        """Add numbers to the set."""
        if self._layers[-1].room < len(numbers) and len(self._layers) < len(LAYER_BITS):
            self._layers.append(_Layer(LAYER_BITS[len(self._layers)]))
        self._layers[-1].add(numbers)

    def may_hold(self, numbers: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return for each of some numbers False if it was never added, True if it may have been."""
        return np.asarray(np.any([layer.may_hold(numbers) for layer in self._layers], axis=0))


class _Layer:
    """One layer of a `BloomFilter`, a Bloom filter of fixed size: 2 to the power of `bits` bits, in words of 64."""

    def __init__(self, bits: int) -> None:
        self._words = np.zeros(1 << bits - _WORD_BITS, U64)
        self.room = (1 << bits) // BITS_A_KEY
        """How many more numbers it takes with `BITS_A_KEY` bits for each."""
        self._shift = U64(64 - bits + _WORD_BITS)

    def add(self, numbers: NDArray[np.uint64]) -> None:
        """Add numbers to the layer."""
        self.room -= len(numbers)
        places, masks = self._slots(numbers)
        self._words[places] |= masks
        # Of two numbers with one word the assignment keeps the bits of one. To find the few words that lack some takes
        # a third of the time of `bitwise_or.at` for all numbers.
        lacking = self._words[places] & masks != masks
        np.bitwise_or.at(self._words, places[lacking], masks[lacking])

    def may_hold(self, numbers: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return for each of some numbers False if it was never added, True if it may have been."""
        places, masks = self._slots(numbers)
        return np.asarray(self._words[places] & masks == masks)

    def _slots(self, numbers: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
        """Return for each number the position of its 64-bit word in the layer, and a mask of its two bits there."""
        hashes = numbers * _SCATTER
        # The bits of the hash below those that choose the word choose the two bits in it.
        first, second = self._shift - U64(_WORD_BITS), self._shift - U64(2 * _WORD_BITS)
        masks = U64(1) << (hashes >> first & _IN_WORD) | U64(1) << (hashes >> second & _IN_WORD)
        return (hashes >> self._shift).astype(np.intp), masks


def key_numbers(keys: Sequence[bytes]) -> NDArray[np.uint64]:
    """Return a 64-bit number for each key of a cell, to add it to a `BloomFilter`: its hash in this process only."""
    return np.fromiter(map(hash, keys), np.int64, len(keys)).view(U64)
