"""The one place where a distance is compared with k and a similarity with its threshold, for many pairs at a time."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.entries import SKETCH_WORDS, Entries
from simhash_hbase.profile import MatchRule

__all__ = ["Sketches", "accept", "judge", "known_similarity"]

# Two unrelated sketches of 512 one-bit values agree in half of them: J is 1 - differing / 256.
SKETCH_SCALE = 32 * SKETCH_WORDS
SKETCH_BYTES = 8 * SKETCH_WORDS
NO_SKETCH = bytes(SKETCH_BYTES)


class Sketches(NamedTuple):
    """Sketches of *n* documents, as columns."""

    words: NDArray[np.uint64]
    """Shape (n, 8)."""
    present: NDArray[np.bool_]
    """Whether a document has one, shape (n,)."""

    @classmethod
    def of_entries(cls, entries: Entries) -> "Sketches":
        """Take those of analysed documents."""
        return cls(entries.sketches, entries.sketched)

    @classmethod
    def unpacked(cls, packed: list[bytes]) -> "Sketches":
        """Read sketches as members hold them: 64 bytes each, or none."""
        words = np.frombuffer(b"".join([sketch or NO_SKETCH for sketch in packed]), dtype=">u8").astype(np.uint64)
        return cls(words.reshape(-1, SKETCH_WORDS), np.array([bool(sketch) for sketch in packed], np.bool_))

    def at(self, rows: NDArray[np.intp]) -> "Sketches":
        """Select by position."""
        return Sketches(self.words[rows], self.present[rows])


def judge(
    rule: MatchRule, distances: NDArray[np.uint8], a: Sketches, b: Sketches
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Judge pairs.

    Parameters
    ----------
    rule : MatchRule
        What to judge by.
    distances : ndarray of uint8, shape (n,)
        Bits between the fingerprints.
    a, b : Sketches
        Of the two documents of each pair; of one document, too, that is compared with many.

    Returns
    -------
    accepted : ndarray of bool, shape (n,)
    similarities : ndarray of float64, shape (n,)
        Estimated Jaccard similarity, 0 to 1; NaN when a sketch is missing.
    """
    differing = np.bitwise_count(a.words ^ b.words).sum(axis=1, dtype=np.int64)
    similarities = np.maximum(0.0, 1.0 - differing / SKETCH_SCALE)
    both = a.present & b.present
    within = distances <= rule.distance
    if rule.match == "verified":
        within = np.where(both, (distances <= rule.radius) & (similarities >= rule.similarity), within)
    return within, np.where(both, similarities, np.nan)


def known_similarity(similarity: float) -> float | None:
    """Read one of the similarities of `judge`; None when a sketch was missing."""
    return None if np.isnan(similarity) else similarity


def accept(rule: MatchRule, distance: int, a: Entries, b: Entries) -> tuple[bool, float | None]:
    """Judge one pair of documents.

    Parameters
    ----------
    rule : MatchRule
        What to judge by.
    distance : int
        Bits between the fingerprints.
    a, b : Entries
        One document each.

    Returns
    -------
    accepted : bool
    similarity : float or None
        Estimated Jaccard similarity, 0 to 1; None when a sketch is missing.
    """
    accepted, similarities = judge(rule, np.array([distance], np.uint8), Sketches.of_entries(a), Sketches.of_entries(b))
    return bool(accepted[0]), known_similarity(float(similarities[0]))
