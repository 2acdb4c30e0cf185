"""Sketches: 64 bytes a document, from which two documents' Jaccard similarity is estimated.

One-permutation MinHash (Li, Owen, Zhang 2012) of the 5-character shingles of the normalised text:
a shingle's hash names one of 512 bins by its upper 9 bits, each bin keeps its smallest hash, and of
that the lowest bit. An empty bin takes the value of the first filled one in an order of its own
(optimal densification, Shrivastava 2017). Two sketches agree in a bit with probability
J + (1 - J) / 2. Integers modulo 2**64 only: a sketch is the same on every platform.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.digests import blake2b
from simhash_hbase.features.bands import Banding, band_segments
from simhash_hbase.features.mixing import GOLDEN, mix
from simhash_hbase.rows.entries import SKETCH_BINS, SKETCH_WORDS
from simhash_hbase.words.normal import point_pieces, to_text

_BIN_SHIFT = np.uint64(64 - 9)
_SHINGLE = 5
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_DIGEST_BYTES = 16
_BATCH = 64  # Texts whose empty bins are filled together: enough to hide numpy's cost a call, few enough for the cache.
_FEW = 16  # Texts whose empty bins are filled one text after the other: sooner than the orders of all bins are made.

_POINT_BITS = np.uint64(21)


@cache
def _keys() -> NDArray[np.uint64]:
    """Give each bin a row of keys of all bins: their order is the order in which it chooses."""
    return mix(np.arange(1, SKETCH_BINS * SKETCH_BINS + 1, dtype=np.uint64) * GOLDEN).reshape(SKETCH_BINS, SKETCH_BINS)


@cache
def _orders() -> NDArray[np.uint16]:
    """Give each bin's order of all bins; row t holds every bin's choice number t."""
    # No two keys are equal, since the mixer is one to one; a stable sort takes four times as long.
    return np.ascontiguousarray(np.argsort(_keys(), axis=1).T.astype(np.uint16))


def _shingle_hashes(points: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Hash the runs of five code points; a shorter text has one shingle, itself."""
    if len(points) < _SHINGLE:
        # Code points above Unicode's last keep a short text apart from every longer one.
        filler = np.full(_SHINGLE - len(points), 0x110000, np.uint32)
        points = np.concatenate([points, filler])
    wide = points.astype(np.uint64)
    pairs = (wide[:-1] << _POINT_BITS) | wide[1:]
    triples = (pairs[:-1] << _POINT_BITS) | wide[2:]
    # Three and two code points of 21 bits: both halves hold theirs without loss.
    values = triples[:-2] * GOLDEN
    values ^= values >> np.uint64(32)
    values += pairs[3:]
    values *= GOLDEN
    return mix(values)


def _densify(minima: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Fill empty bins, except in rows where all are empty."""
    filled = minima != _EMPTY
    if len(minima) <= _FEW:
        for row, is_filled in zip(minima, filled, strict=True):
            _fill(row, np.flatnonzero(is_filled), np.flatnonzero(~is_filled))
        return minima
    rows, bins = np.nonzero(~filled & filled.any(axis=1, keepdims=True))
    for choice in _orders():
        if not len(rows):
            break
        source = choice[bins]
        found = filled[rows, source]
        minima[rows[found], bins[found]] = minima[rows[found], source[found]]
        rows, bins = rows[~found], bins[~found]
    return minima


def _fill(row: NDArray[np.uint64], filled: NDArray[np.intp], empty: NDArray[np.intp]) -> None:
    """Fill the empty bins of one row by the least key of the filled ones, for which no order is needed."""
    if len(filled) and len(empty):
        row[empty] = row[filled[_keys()[empty].take(filled, axis=1).argmin(axis=1)]]


def _kept_bits(filled: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = ((filled & np.uint64(1)) != 0) & (filled != _EMPTY)
    return np.packbits(bits, axis=1).view(">u8").astype(np.uint64)


def _read(text: str, minima: NDArray[np.uint64]) -> tuple[bytes, int]:
    """Put the smallest hash of each bin into a row of `_EMPTY`; give digest and characters of the normalised text."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    size = 0
    before = np.empty(0, np.uint32)
    for piece in point_pieces(text):
        digest.update(to_text(piece).encode())
        size += len(piece)
        # Shingles reach over the borders of pieces.
        points = np.concatenate([before, piece]) if len(before) else piece
        if len(points) >= _SHINGLE:
            _keep_smallest(minima, _shingle_hashes(points))
        before = points[1 - _SHINGLE :]
    if 0 < size < _SHINGLE:
        _keep_smallest(minima, _shingle_hashes(before))
    return digest.digest(), size


def _keep_smallest(minima: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> None:
    np.minimum.at(minima, (hashes >> _BIN_SHIFT).astype(np.intp), hashes)


class Sketched(NamedTuple):
    """What is kept of texts, a row a text."""

    sketches: NDArray[np.uint64]  # Shape (texts, 8).
    digests: list[bytes]  # See `text_digests`.
    telling: NDArray[np.bool_]
    """Whether a sketch says anything: that of one shingle alone, a text of at most five characters, does not."""
    bands: NDArray[np.uint32]  # Segments of their sketch rows, shape (texts, bands); see `band_segments`.


NO_BANDS = Banding(0, 0)


def sketches_and_digests(texts: Sequence[str], banding: Banding = NO_BANDS) -> Sketched:
    """Sketch and digest texts, normalising each once; the minima serve the bands too."""
    sketches = np.empty((len(texts), SKETCH_WORDS), np.uint64)
    bands = np.empty((len(texts), banding.bands), np.uint32)
    digests: list[bytes] = []
    sizes: list[int] = []
    for start in range(0, len(texts), _BATCH):
        few = texts[start : start + _BATCH]
        minima = np.full((len(few), SKETCH_BINS), _EMPTY)
        for text, row in zip(few, minima, strict=True):
            digest, size = _read(text, row)
            digests.append(digest)
            sizes.append(size)
        filled = _densify(minima)
        sketches[start : start + len(few)] = _kept_bits(filled)
        if banding.bands:
            bands[start : start + len(few)] = band_segments(filled, banding)
    return Sketched(sketches, digests, np.array(sizes, np.int64) > _SHINGLE, bands)


def text_digests(texts: Sequence[str]) -> list[bytes]:
    """Digest normalised texts: equal digests mean equal texts but for case, blanks and punctuation.

    Examples
    --------
    >>> text_digests(["A b"]) == text_digests(["ab."])
    True
    """
    return [_digest(text) for text in texts]


def _digest(text: str) -> bytes:
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for piece in point_pieces(text):
        digest.update(to_text(piece).encode())
    return digest.digest()
