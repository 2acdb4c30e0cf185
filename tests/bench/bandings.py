"""Other ways to make the sketch rows of texts, to compare with the one that the package has."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.features.fingerprints import Fingerprinter
from simhash_hbase.kernel.texts import kernel_tables, normalize
from simhash_hbase.rows.entries import SKETCH_BINS, Entries

__all__ = ["BANDINGS", "BANDS", "Bandings"]

Minima = NDArray[np.uint64]

BANDS = 6
COMMON = 0.01
"""A shingle that this share of a sample's texts has, or more, is common."""
BATCH = 500

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SHINGLE = 5
FILLER = 0x110000


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix 64-bit integers as splitmix64 does."""
    values = (values ^ values >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ values >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return values ^ values >> np.uint64(31)


def band_segments(minima: Minima, bins: int) -> NDArray[np.uint32]:
    """Hash groups of so many minima, a row a text."""
    groups = kernel_tables()["groups"][: BANDS * bins].reshape(BANDS, bins)
    hashed = np.full((len(minima), BANDS), GOLDEN)
    for column in groups.T:
        hashed = mix(hashed * GOLDEN + minima[:, column])
    return (hashed >> np.uint64(32)).astype(np.uint32)


def _one_rare(whole: Minima, rare: Minima) -> NDArray[np.uint32]:
    """Take one of six minima of each group over rare shingles alone."""
    mixed, firsts = whole.copy(), kernel_tables()["groups"][: BANDS * 6 : 6]
    mixed[:, firsts] = rare[:, firsts]
    return band_segments(mixed, 6)


BANDINGS: dict[str, Callable[[Minima, Minima], NDArray[np.uint32]]] = {
    "4 minima": lambda whole, _: band_segments(whole, 4),
    "6 minima": lambda whole, _: band_segments(whole, 6),
    "8 minima": lambda whole, _: band_segments(whole, 8),
    "10 minima": lambda whole, _: band_segments(whole, 10),
    "5 minima and one over rare shingles": _one_rare,
    "6 minima over rare shingles": lambda _, rare: band_segments(rare, 6),
}
"""What is made of the minima over all shingles of a text, and of those over its rare ones."""


class Bandings:
    """Analyses texts once for all ways.

    Parameters
    ----------
    sample : sequence of str
        Texts by which shingles are common or rare.
    fingerprinter : Fingerprinter
        Makes the fingerprints.
    """

    def __init__(self, sample: Sequence[str], fingerprinter: Fingerprinter) -> None:
        found, texts = np.unique(np.concatenate([np.unique(_hashes(text)) for text in sample]), return_counts=True)
        self._common = found[texts >= COMMON * len(sample)]
        self._fingerprinter = fingerprinter

    def analyse(self, ids: Sequence[str], texts: Sequence[str]) -> tuple[Entries, list[NDArray[np.uint32]]]:
        """Make entries without bands, and the segments of each way."""
        parts = [self._some(ids[at : at + BATCH], texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
        segments = [np.concatenate(column) for column in zip(*(some for _, some in parts), strict=True)]
        return Entries.joined([entries for entries, _ in parts]), segments

    def _some(self, ids: Sequence[str], texts: Sequence[str]) -> tuple[Entries, list[NDArray[np.uint32]]]:
        simhashes, features = self._fingerprinter.fingerprint_many(texts)
        hashes = [_hashes(text) for text in texts]
        whole, rare = _minima(hashes), _minima([self._rare(each) for each in hashes])
        n = len(texts)
        entries = Entries(
            ids=list(ids),
            simhashes=simhashes,
            sketches=np.packbits((whole & np.uint64(1)).astype(np.uint8), axis=1).view(">u8").astype(np.uint64),
            sketched=np.ones(n, np.bool_),
            features=features.astype(np.int32),
            lengths=np.fromiter(map(len, texts), np.int32, n),
            digests=[b""] * n,
            metadata=[None] * n,
        )
        return entries, [make(whole, rare) for make in BANDINGS.values()]

    def _rare(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        places = np.minimum(np.searchsorted(self._common, hashes), len(self._common) - 1)
        rare = hashes[self._common[places] != hashes]
        return rare if len(rare) else hashes


def _hashes(text: str) -> NDArray[np.uint64]:
    points = np.frombuffer(normalize(text).encode("utf-32-le"), "<u4")
    points = np.concatenate([points, np.full(max(0, SHINGLE - len(points)), FILLER, np.uint32)]).astype(np.uint64)
    a, b, c, d, e = np.lib.stride_tricks.sliding_window_view(points, SHINGLE).T
    values = (a << np.uint64(42) | b << np.uint64(21) | c) * GOLDEN
    values = (values ^ values >> np.uint64(32)) + (d << np.uint64(21) | e)
    return mix(values * GOLDEN)


def _minima(hashes: Sequence[NDArray[np.uint64]]) -> Minima:
    """Keep the smallest hash of each bin, and give empty bins those of others."""
    minima = np.full((len(hashes), SKETCH_BINS), EMPTY)
    orders = kernel_tables()["orders"].reshape(SKETCH_BINS, SKETCH_BINS)
    for row, each in zip(minima, hashes, strict=True):
        np.minimum.at(row, (each >> np.uint64(55)).astype(np.intp), each)
        empty = np.flatnonzero(row == EMPTY)
        filled = row != EMPTY
        row[empty] = row[orders[empty, filled[orders[empty]].argmax(axis=1)]]
    return minima
