"""Distance and similarity of two documents, and the rules by which they match; no other module has limits for these."""

from math import isnan
from typing import Annotated, NamedTuple, overload

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from simhash_hbase.profile import defaults
from simhash_hbase.rows.analysed import SKETCH_WORDS, Entries
from simhash_hbase.rows.documentcells import Bits, sketch_bytes
from simhash_hbase.rows.layout import SIMHASH_BITS, SKETCH_BYTES

# Two unrelated sketches of 512 one-bit values agree in half of them: J is 1 - differing / 256.
SKETCH_SCALE = 32 * SKETCH_WORDS
_MASK = (1 << SIMHASH_BITS) - 1
BandDistance = Annotated[tuple[Bits, ...], msgspec.Meta(min_length=1)]
"""Most bits that may differ between documents that share one sketch row, two, …; the last number is for all above."""


class MatchRule(msgspec.Struct, frozen=True, kw_only=True):
    """The rule that decides whether two documents are near-duplicates: ``distance``, ``verified`` or ``copied``.

    Notes
    -----
    ``distance``: every document within `distance` bits, and nothing else. ``verified``: of the candidates that share a
    block row within `radius` bits, or sketch rows within the `band_distance` for their number, those whose sketches say
    `similarity` or more; it promises precision, not completeness. Fingerprint and sketch are two witnesses: each bit
    beyond `free_distance` asks for 1/256 more similarity; where the limits reach 64 bits, equal sketches are enough. A
    pair of which one side has no sketch is judged by `distance` under both. Whether two documents match depends on
    these two alone, and is symmetric. ``copied``: documents of which either holds `share` of the rare passages of the
    other one, as `is_copied` says, and exact copies; pairs of which one has fewer than two passages are judged by
    ``verified``. Whether two documents match depends on all documents of the index, by which passages are rare.
    """

    match: defaults.MatchName = defaults.MATCH
    """Name of the rule."""
    distance: Bits = defaults.DISTANCE
    """Most bits that may differ under ``distance``, and between documents of which one has no sketch."""
    similarity: Annotated[float, msgspec.Meta(ge=0, le=1)] = defaults.SIMILARITY
    """Least estimated Jaccard similarity of 5-character shingles, under ``verified``."""
    radius: Bits = 2 * defaults.DISTANCE + 1
    """Most bits that may differ between documents that share a block row, for their sketches to be compared."""
    band_distance: BandDistance | None = None
    """The same for documents that share one sketch row, two, …; None: sketch rows are not read."""
    free_distance: Bits | None = None
    """Bits that may differ before more than `similarity` is required; None: more is never required."""
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """Least share of the rare passages of either document that both hold, under ``copied``; None under other rules."""

    @property
    def reach(self) -> int:
        """The largest distance, in bits, at which documents that share a block row are candidates, to be judged.

        A block row has some blocks of a fingerprint in its key: documents that share one agree in these bits.
        """
        return max(self.distance, self.radius) if self.match != "distance" else self.distance

    @property
    def band_reach(self) -> BandDistance | None:
        """The largest distances, in bits, of candidates that share one sketch row, two, …; None: none are read.

        A sketch row has a hash of a part (band) of the sketch in its key: very similar texts share one or more.
        """
        return self.band_distance if self.match != "distance" else None

    @property
    def farthest(self) -> int:
        """The largest distance, in bits, at which two documents can match if both have sketches."""
        return max((self.radius, *(self.band_reach or ()))) if self.match != "distance" else self.distance

    def asks_sketches(self, distance: int, *, by_blocks: bool) -> bool:
        """Return whether documents at this distance can match by their sketches.

        `by_blocks` says that they share a block row.
        """
        reach = max((self.radius if by_blocks else -1, *(self.band_reach or ())))
        return self.match != "distance" and distance <= reach

    def more_asked(self, distances: ArrayLike) -> NDArray[np.float64]:
        """Return, for each distance in bits, how much similarity is required in addition to `similarity`."""
        free = SIMHASH_BITS if self.free_distance is None else self.free_distance
        return np.maximum(0.0, np.asarray(distances, np.float64) - free) / SKETCH_SCALE


def hamming(a: int, b: int) -> int:
    """Return the number of bits in which two fingerprints differ, 0 to 64; bits above the lowest 64 are ignored.

    Examples
    --------
    >>> hamming(0b1011, 0b1001)
    1
    >>> hamming(0, 2**64 - 1)
    64
    """
    return ((a ^ b) & _MASK).bit_count()


def distances(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the numbers of bits in which two arrays of fingerprints differ, element by element.

    The arrays are broadcast as in numpy.

    Examples
    --------
    >>> distances(np.array([0, 7], dtype=np.uint64), np.array([1, 0], dtype=np.uint64)).tolist()
    [1, 3]
    """
    counts: NDArray[np.uint8] = np.bitwise_count(a ^ b)
    return counts


class Sketches(NamedTuple):
    """The MinHash sketches of *n* documents, as columns."""

    words: NDArray[np.uint64]  # Shape (n, 8).
    shingles: NDArray[np.uint32]  # Numbers of distinct shingles, shape (n,); 0 where a document has no sketch.
    segments: NDArray[np.uint32]  # The segments of sketch rows, shape (n, bands).

    @classmethod
    def of_entries(cls, entries: Entries) -> "Sketches":
        """Return the sketches of analysed documents, without copying them."""
        return cls(entries.sketches, entries.shingles, entries.segments)

    @classmethod
    def unpacked(cls, packed: list[bytes], bands: int) -> "Sketches":
        """Return the sketches in the bytes that member cells hold, as `packed` writes them.

        A member cell stands for one document, in the row of its fingerprint. Empty bytes mean that it has no sketch.
        """
        width, count = sketch_bytes(bands), len(packed)
        octets = np.frombuffer(b"".join([sketch or bytes(width) for sketch in packed]), np.uint8).reshape(count, width)
        words = np.ascontiguousarray(octets[:, :SKETCH_BYTES]).view(">u8").astype(np.uint64)
        numbers = np.ascontiguousarray(octets[:, SKETCH_BYTES:]).view(">u4").astype(np.uint32).reshape(count, 1 + bands)
        return cls(words.reshape(count, SKETCH_WORDS), numbers[:, 0], numbers[:, 1:])

    @property
    def present(self) -> NDArray[np.bool_]:
        """A mask of the documents that have a sketch, shape (n,)."""
        return np.asarray(self.shingles > 0)

    def packed(self) -> list[bytes]:
        """Return the bytes of each sketch, as a document's member cell holds them; empty for a document without sketch.

        They are its 8 words, the number of shingles and the segments of its sketch rows, all big-endian.
        """
        width = sketch_bytes(self.segments.shape[1])
        octets = np.empty((len(self.shingles), width), np.uint8)
        octets[:, :SKETCH_BYTES] = np.ascontiguousarray(self.words, ">u8").view(np.uint8)
        octets[:, SKETCH_BYTES:] = np.column_stack([self.shingles, self.segments]).astype(">u4").view(np.uint8)
        packed, starts = octets.tobytes(), range(0, octets.size, width)
        return [packed[at : at + width] if has else b"" for at, has in zip(starts, self.present.tolist(), strict=True)]

    def and_of(self, other: "Sketches") -> "Sketches":
        """Return these sketches followed by the `other` ones."""
        words, shingles = np.concatenate([self.words, other.words]), np.concatenate([self.shingles, other.shingles])
        return Sketches(words, shingles, np.concatenate([self.segments, other.segments]))

    def at(self, rows: NDArray[np.intp]) -> "Sketches":
        """Return the sketches of the documents at these positions."""
        return Sketches(self.words[rows], self.shingles[rows], self.segments[rows])


def joined_within(limits: BandDistance, shared: NDArray[np.intp]) -> NDArray[np.int8]:
    """Return the largest distance, in bits, at which pairs are candidates, from how many sketch rows each pair shares.

    It is -1, so that no distance is near enough, for a pair that shares none.
    """
    return np.array((-1, *limits), np.int8)[np.minimum(shared, len(limits))]


def estimated_similarity(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return estimated Jaccard similarities of texts, 0 to 1, from the words of their sketches, shape (…, 8).

    The two arrays are broadcast as in numpy.
    """
    differing = np.bitwise_count(a ^ b).sum(axis=-1, dtype=np.int64)
    return np.asarray(np.maximum(0.0, 1.0 - differing / SKETCH_SCALE), np.float64)


def estimated_containment(similarity: float | None, own: int, other: int) -> float | None:
    """Return the estimated share of a text's distinct shingles that another text has, too, to four decimals.

    Two sets of n and m shingles with a Jaccard similarity of J share J (n + m) / (1 + J) of them (Broder 1997, On the
    resemblance and containment of documents): as a share of the first set at least J, and at most 1.

    Parameters
    ----------
    similarity : float or None
        Similarity of the two texts, as `estimated_similarity` returns it; None when one of them has no sketch.
    own, other : int
        Numbers of distinct shingles of the two texts, as estimated with their sketches.

    Returns
    -------
    float or None
        From `similarity` to 1; None when that is not known.

    Notes
    -----
    With r = m / n, to first order, the standard error is ``sqrt((1 - J²) ((1 + r) / (1 + J)²)² + 2 (1 - J)
    (r J / (1 + J))²) / sqrt(512)``: .020 at a similarity of .8 and .010 at .95, for texts of one size. The first term
    is that of J: 512 bits, each the same in both with a probability of (1 + J) / 2. The second is that of r: each
    number is the reciprocal of a mean of 512 minima, which is off by 1 / sqrt(512), and the minima of the two texts
    have a correlation of J.

    Examples
    --------
    >>> estimated_containment(0.8, 900, 1000), estimated_containment(0.8, 1000, 900), estimated_containment(None, 0, 9)
    (0.9383, 0.8444, None)
    """
    if similarity is None:
        return None
    return rounded(min(max(similarity, similarity * (own + other) / ((1 + similarity) * own)), 1.0))


@overload
def rounded(share: float) -> float: ...
@overload
def rounded(share: float | None) -> float | None: ...
def rounded(share: float | None) -> float | None:
    """Return a similarity or share rounded to four decimals, as all answers have it; None stays None.

    Examples
    --------
    >>> rounded(490 / 512), rounded(None)
    (0.957, None)
    """
    return None if share is None else round(share, 4)


def judge(
    rule: MatchRule, distances: NDArray[np.uint8], a: Sketches, b: Sketches, *, by_blocks: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return for each pair of documents whether it matches by the rule, and its estimated similarity.

    `distances` are those of the pairs' fingerprints, and `by_blocks` is true for pairs that share a block row. The
    similarity is NaN unless both documents have a sketch.
    """
    similarities = estimated_similarity(a.words, b.words)
    both = a.present & b.present
    within = by_blocks & (distances <= rule.distance)
    if rule.match != "distance":
        met = by_blocks & (distances <= rule.radius)
        if rule.band_distance is not None and min(a.segments.shape[1], b.segments.shape[1]):
            met |= distances <= joined_within(rule.band_distance, (a.segments == b.segments).sum(axis=1))
        enough = similarities - rule.more_asked(distances) >= rule.similarity
        if rule.farthest == SIMHASH_BITS:
            # An index of 1.0.0 has nearer limits, and keeps its answers.
            enough |= similarities == 1
        within = np.where(both, met & enough, within)
    return within, np.where(both, similarities, np.nan)


def is_rare(others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the passages (hashed runs of characters) that are rare, so that rule ``copied`` counts them.

    `others` has for each passage how many other fingerprints than the document's own have it.
    """
    return np.asarray(others < defaults.RARE)


def is_copied(rule: MatchRule, shared: int, own: int, other: int) -> bool:
    """Return whether two documents match by rule ``copied``: by the rare passages (hashed runs) that they share.

    `shared` is the number of rare passages that both have; `own` and `other` are the numbers that each of them has.

    Examples
    --------
    >>> rule = MatchRule(match="copied", share=0.5)
    >>> is_copied(rule, 5, 10, 90), is_copied(rule, 4, 10, 90), is_copied(rule, 1, 1, 90)
    (True, False, False)
    """
    return shared >= defaults.LEAST_PASSAGES and shared >= (rule.share or 0.0) * min(own, other)


def known_similarity(similarity: float) -> float | None:
    """Return a similarity that `judge` returned, with None in place of NaN, which stands for a missing sketch."""
    return None if isnan(similarity) else similarity


def known_likeness(similarity: float, own: int, other: int) -> tuple[float | None, float | None]:
    """Return a similarity that `judge` returned, and the containment estimated from it; both None if it is NaN.

    `own` and `other` are the numbers of distinct shingles of the two documents.
    """
    known = known_similarity(similarity)
    return known, estimated_containment(known, own, other)


def accept(rule: MatchRule, distance: int, a: Entries, b: Entries, *, by_blocks: bool) -> tuple[bool, float | None]:
    """Return whether two single documents match by the rule, and their estimated similarity; see `judge`.

    The similarity is None unless both have a sketch.
    """
    own, other = Sketches.of_entries(a), Sketches.of_entries(b)
    accepted, similarities = judge(rule, np.array([distance], np.uint8), own, other, by_blocks=np.array([by_blocks]))
    return bool(accepted[0]), known_similarity(float(similarities[0]))
