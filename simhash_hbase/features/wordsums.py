"""The fast way from texts to fingerprints: rows of numpy tables in place of words.

A word's hash and weight are computed when it is first seen and kept in a row. So are the rows of a block: half of
the characters of ordinary texts, and most of templates, stand in blocks that were cut before. A document is an array of
rows and one of counts. The results equal ``fingerprint(analyzer.features(text))``.
"""

import threading
from array import array
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.features.analyzers import CountingAnalyzer
from simhash_hbase.features.analyzers.words import MAX_BLOCKS
from simhash_hbase.features.hashes import hash_features
from simhash_hbase.features.weights import MAX_TOTAL, MAX_WEIGHT, SCALE
from simhash_hbase.words.segment import block_cutter

# A row takes some 300 bytes with its word and the dictionaries that lead to it: 80 MB in all.
_MAX_ROWS = 1 << 18
# Words are short, but a run of letters may take megabytes.
_MAX_CHARACTERS = 1 << 24
_FIRST_ROWS = 1 << 12
_DROPPED = 0  # The row of every token that counts for no feature.
_ROW = np.dtype(np.intc)
_MAX_EXACT = float(1 << 52)


class _Rows(dict[str, int]):
    """Rows by token; a token seen for the first time gets one."""

    def __init__(self, analyzer: CountingAnalyzer) -> None:
        super().__init__()
        self._analyzer = analyzer
        self._rows_of_words: dict[str, int] = {}
        self.characters = 0
        self.words: list[str] = [""]
        self.weights: list[float] = [0.0]

    def __missing__(self, token: str) -> int:
        word = self._analyzer.word(token)
        row = _DROPPED if word is None else self._row_of(word)
        self[token] = row
        self.characters += len(token)
        return row

    def _row_of(self, word: str) -> int:
        row = self._rows_of_words.setdefault(word, len(self.words))
        if row == len(self.words):
            self.words.append(word)
            self.weights.append(self._analyzer.word_weight(word))
        return row


class _Blocks(dict[str, bytes]):
    """The rows of a block's words, as bytes that join fast."""

    def __init__(self, rows: _Rows) -> None:
        super().__init__()
        self._row = rows.__getitem__
        self.characters = 0

    @cached_property
    def _cut(self) -> Callable[[str], list[str]]:
        return block_cutter()

    def __missing__(self, block: str) -> bytes:
        rows = array(_ROW.char, filter(None, map(self._row, self._cut(block)))).tobytes()
        self[block] = rows
        self.characters += len(block)
        return rows


class WordSums:
    """Fingerprints texts by tables of the words seen so far.

    The tables start anew after 262,144 words, or 16 million characters of words and blocks; that of blocks alone after
    131,072 blocks. Threads take turns.
    """

    def __init__(self, analyzer: CountingAnalyzer, *, hash: str, seed: int) -> None:
        self._analyzer = analyzer
        self._hash = hash
        self._seed = seed
        self._lock = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self._rows = _Rows(self._analyzer)
        self._blocks = _Blocks(self._rows)
        self._known = 0
        self._weights = np.zeros(_FIRST_ROWS)
        self._bytes = np.zeros((_FIRST_ROWS, 8), np.uint8)
        self._places = np.zeros(_FIRST_ROWS, np.int64)

    def fingerprint_many(self, texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Fingerprint texts."""
        features = np.zeros(len(texts), np.int32)
        bits = np.zeros((len(texts), 64), np.bool_)
        with self._lock:
            for number, text in enumerate(texts):
                rows, counts = self._counted(text)
                features[number] = len(rows)
                if len(rows):
                    features[number] = self._sum(rows, counts, bits[number])
        return np.packbits(bits, axis=1).view(">u8")[:, 0].astype(np.uint64), features

    def _counted(self, text: str) -> tuple[NDArray[np.intc], NDArray[np.int64]]:
        """Give the distinct rows of a text's words, and how often each occurs."""
        self._make_room()
        tokens, blocks = self._analyzer.bag(text)
        rows = np.frombuffer(b"".join(map(self._blocks.__getitem__, blocks)), _ROW)
        if tokens:
            rows = np.concatenate([rows, np.fromiter(map(self._rows.__getitem__, tokens), _ROW, len(tokens))])
        self._learn_new_rows()
        return self._merged(rows)

    def _make_room(self) -> None:
        if len(self._rows) > _MAX_ROWS or self._rows.characters + self._blocks.characters > _MAX_CHARACTERS:
            self._reset()
        elif len(self._blocks) > MAX_BLOCKS:
            self._blocks = _Blocks(self._rows)

    def _learn_new_rows(self) -> None:
        words = self._rows.words
        start, stop = self._known, len(words)
        if start == stop:
            return
        while stop > len(self._weights):
            self._weights = np.concatenate([self._weights, np.zeros_like(self._weights)])
            self._bytes = np.concatenate([self._bytes, np.zeros_like(self._bytes)])
            self._places = np.concatenate([self._places, np.zeros_like(self._places)])
        hashes = hash_features(words[start:], hash=self._hash, seed=self._seed)
        self._bytes[start:stop] = hashes.astype(">u8").view(np.uint8).reshape(-1, 8)
        self._weights[start:stop] = self._rows.weights[start:]
        self._known = stop

    def _merged(self, rows: NDArray[np.intc]) -> tuple[NDArray[np.intc], NDArray[np.int64]]:
        """Count equal rows, and leave the dropped ones out."""
        self._places[rows] = np.arange(len(rows))
        counts = np.bincount(self._places[rows])
        kept = np.flatnonzero(counts)
        kept = kept[rows[kept] != _DROPPED]
        return rows[kept], counts[kept]

    def _sum(self, rows: NDArray[np.intc], counts: NDArray[np.int64], bits: NDArray[np.bool_]) -> int:
        """Set the bits of a fingerprint; give the number of features that went into it."""
        weights = counts * self._weights[rows]
        top = self._analyzer.top
        if top is not None and len(rows) > top:
            kept = self._heaviest(rows, weights, top)
            rows, weights = rows[kept], weights[kept]
        integers = np.rint(weights * SCALE)
        decided = _set_bits(np.unpackbits(self._bytes[rows], axis=1), integers, bits)
        return int(np.count_nonzero(integers)) if decided else 0

    def _heaviest(self, rows: NDArray[np.intc], weights: NDArray[np.float64], top: int) -> NDArray[np.int64]:
        """Choose the heaviest features; of those that tie at the edge the first by the word."""
        edge = np.partition(weights, len(weights) - top)[len(weights) - top]
        above = np.flatnonzero(weights > edge)
        tied = np.flatnonzero(weights == edge)
        missing = top - len(above)
        if missing < len(tied):
            words = self._rows.words
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
