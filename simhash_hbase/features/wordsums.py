"""The fast way from texts to fingerprints: rows of numpy tables in place of words.

A word's hash and weight are computed when it is first seen, and kept in its row. A document is an array of rows and one
of counts (see `wordrows`). The results equal ``fingerprint(analyzer.features(text))``.
"""

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.features.analyzers import CountingAnalyzer
from simhash_hbase.features.hashes import hash_features
from simhash_hbase.features.weights import MAX_TOTAL, MAX_WEIGHT, SCALE
from simhash_hbase.features.wordrows import CountedTexts, Counts, Rows, WordRows, text_key

_FIRST_ROWS = 1 << 12
_MAX_EXACT = float(1 << 52)

Summed = tuple[bytes, int]
"""A fingerprint, most significant byte first, and how many features went into it."""


class WordSums:
    """Fingerprints texts by tables of the words seen so far, which are bounded as `WordRows` are.

    Threads take turns.
    """

    def __init__(self, analyzer: CountingAnalyzer, *, hash: str, seed: int) -> None:
        self.known: dict[bytes, Summed] = {}
        """Fingerprints of texts that are not cut again, by `text_key`."""
        self._analyzer = analyzer
        self._hash = hash
        self._seed = seed
        self._lock = threading.Lock()
        self._words = WordRows(analyzer)
        self._forget()

    def _forget(self) -> None:
        self._known_rows = 0
        self._weights = np.zeros(_FIRST_ROWS)
        self._bytes = np.zeros((_FIRST_ROWS, 8), np.uint8)

    def take(self, counted: CountedTexts) -> None:
        """Sum texts that were counted for another purpose, and go on with their table of words."""
        with self._lock:
            self._words = counted.words
            self._forget()
            self._learn_new_rows()
            self.known.update({key: self._summed(*found) for key, found in counted.texts.items()})

    def fingerprint_many(self, texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Fingerprint texts."""
        with self._lock:
            found = [self._known(text) or self._summed(*self._counted(text)) for text in texts]
        simhashes = np.frombuffer(b"".join(simhash for simhash, _ in found), ">u8").astype(np.uint64)
        return simhashes, np.array([features for _, features in found], np.int32)

    def _known(self, text: str) -> Summed | None:
        return self.known.get(text_key(text)) if self.known else None

    def _counted(self, text: str) -> tuple[Rows, Counts]:
        """Give the distinct rows of a text's words, and how often each occurs."""
        if self._words.make_room():
            self._forget()
        found = self._words.counted(text)
        self._learn_new_rows()
        return found

    def _learn_new_rows(self) -> None:
        words = self._words.words
        start, stop = self._known_rows, len(words)
        if start == stop:
            return
        while stop > len(self._weights):
            self._weights = np.concatenate([self._weights, np.zeros_like(self._weights)])
            self._bytes = np.concatenate([self._bytes, np.zeros_like(self._bytes)])
        hashes = hash_features(words[start:], hash=self._hash, seed=self._seed)
        self._bytes[start:stop] = hashes.astype(">u8").view(np.uint8).reshape(-1, 8)
        self._weights[start:stop] = list(map(self._analyzer.word_weight, words[start:]))
        self._known_rows = stop

    def _summed(self, rows: Rows, counts: Counts) -> Summed:
        """Let words vote."""
        bits = np.zeros(64, np.bool_)
        if not len(rows):
            return np.packbits(bits).tobytes(), 0
        weights = counts * self._weights[rows]
        top = self._analyzer.top
        if top is not None and len(rows) > top:
            kept = self._heaviest(rows, weights, top)
            rows, weights = rows[kept], weights[kept]
        integers = np.rint(weights * SCALE)
        decided = _set_bits(np.unpackbits(self._bytes[rows], axis=1), integers, bits)
        return np.packbits(bits).tobytes(), int(np.count_nonzero(integers)) if decided else 0

    def _heaviest(self, rows: Rows, weights: NDArray[np.float64], top: int) -> NDArray[np.int64]:
        """Choose the heaviest features; of those that tie at the edge the first by the word."""
        edge = np.partition(weights, len(weights) - top)[len(weights) - top]
        above = np.flatnonzero(weights > edge)
        tied = np.flatnonzero(weights == edge)
        missing = top - len(above)
        if missing < len(tied):
            words = self._words.words
            tied = np.array(sorted(tied.tolist(), key=lambda place: words[rows[place]])[:missing])
        return np.concatenate([above, tied])


def _set_bits(hashes: NDArray[np.uint8], weights: NDArray[np.float64], bits: NDArray[np.bool_]) -> bool:
    """Let the features vote, by floats as long as these hold the integers exactly; return whether a bit was decided."""
    total = float(weights.sum())
    if total < _MAX_EXACT:
        votes = 2 * (weights @ hashes.astype(np.float64)) - total
        np.greater(votes, 0, out=bits)
        return bool(votes.any())
    if total >= MAX_TOTAL or weights.max() > MAX_WEIGHT * SCALE:
        raise InvalidArgument("the weights of one document add up to more than 64 bits hold")
    sums = weights.astype(np.int64) @ (2 * hashes.astype(np.int64) - 1)
    np.greater(sums, 0, out=bits)
    return bool(sums.any())
