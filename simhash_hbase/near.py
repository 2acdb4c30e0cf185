"""How near two documents are, and whether that is near enough: the one place that compares with k and a threshold."""

from typing import Annotated, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.entries import SKETCH_WORDS, Entries
from simhash_hbase.rows.layout import SIMHASH_BITS

# Two unrelated sketches of 512 one-bit values agree in half of them: J is 1 - differing / 256.
SKETCH_SCALE = 32 * SKETCH_WORDS
SKETCH_BYTES = 8 * SKETCH_WORDS
NO_SKETCH = bytes(SKETCH_BYTES)
_MASK = (1 << SIMHASH_BITS) - 1


class MatchRule(msgspec.Struct, frozen=True, kw_only=True):
    """When a candidate counts as a near-duplicate.

    Notes
    -----
    ``distance``: every document within `distance` bits, and nothing else. ``verified``: of the candidates that the
    scans bring within `radius` bits those whose sketches say `similarity` or more; it promises precision, not
    completeness. A pair of which one side has no sketch is judged by `distance` under both.
    """

    match: Literal["distance", "verified"] = "verified"
    """Which of the two rules."""
    distance: Annotated[int, msgspec.Meta(ge=0, le=64)] = 3
    """Bits that may differ."""
    similarity: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.77
    """Least estimated Jaccard similarity of 5-character shingles, under ``verified``."""
    radius: Annotated[int, msgspec.Meta(ge=0, le=64)] = 7
    """Bits that may differ before the sketch is asked, under ``verified``."""

    @property
    def reach(self) -> int:
        """Bits within which a candidate is looked at at all."""
        return max(self.distance, self.radius) if self.match == "verified" else self.distance


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

    Examples
    --------
    >>> distances(np.array([0, 7], dtype=np.uint64), np.array([1, 0], dtype=np.uint64)).tolist()
    [1, 3]
    """
    counts: NDArray[np.uint8] = np.bitwise_count(a ^ b)
    return counts


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

    def packed(self) -> list[bytes]:
        """Write sketches as members hold them."""
        octets = self.words.astype(">u8").tobytes()
        each = (octets[at : at + SKETCH_BYTES] for at in range(0, len(octets), SKETCH_BYTES))
        return [sketch if there else b"" for sketch, there in zip(each, self.present.tolist(), strict=True)]

    def at(self, rows: NDArray[np.intp]) -> "Sketches":
        """Select by position."""
        return Sketches(self.words[rows], self.present[rows])


def similarity(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Estimate the Jaccard similarity of sketched texts: words of sketches, shape (…, 8), with numpy's broadcasting."""
    differing = np.bitwise_count(a ^ b).sum(axis=-1, dtype=np.int64)
    return np.asarray(np.maximum(0.0, 1.0 - differing / SKETCH_SCALE), np.float64)


def judge(
    rule: MatchRule, distances: NDArray[np.uint8], a: Sketches, b: Sketches
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Judge pairs."""
    similarities = similarity(a.words, b.words)
    both = a.present & b.present
    within = distances <= rule.distance
    if rule.match == "verified":
        within = np.where(both, (distances <= rule.radius) & (similarities >= rule.similarity), within)
    return within, np.where(both, similarities, np.nan)


def known_similarity(similarity: float) -> float | None:
    """Read one of the similarities of `judge`; None when a sketch was missing."""
    return None if np.isnan(similarity) else similarity


def accept(rule: MatchRule, distance: int, a: Entries, b: Entries) -> tuple[bool, float | None]:
    """Judge one pair of documents."""
    accepted, similarities = judge(rule, np.array([distance], np.uint8), Sketches.of_entries(a), Sketches.of_entries(b))
    return bool(accepted[0]), known_similarity(float(similarities[0]))
