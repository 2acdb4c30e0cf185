"""Sketches in plain integers, as the second implementation has them, and the exact similarity that they estimate."""

from simhash_hbase.kernel.texts import normalize
from support import plain_schema as plain


def shingle_hashes(text):
    return plain.shingle_hashes(normalize(text))


def slow_minima(text):
    """Return the smallest hash of each bin, those of empty ones taken from others; None for an empty text."""
    normal = normalize(text)
    return plain.filled_minima(normal) if normal else None


def slow_count(text):
    """Return the number of shingles that their smallest hashes say."""
    return plain.shingle_count(normalize(text))


def slow_sketch(text):
    minima = slow_minima(text)
    return int.from_bytes(plain.sketch(minima), "big") if minima else 0


def slow_segments(text, bands, bins):
    return plain.segments(plain.filled_minima(normalize(text)), {"bands": bands, "band_bins": bins})


def jaccard(a, b):
    """Compute the exact Jaccard similarity of two texts' character shingles."""
    first, second = _shingles(a), _shingles(b)
    union = len(first | second)
    return len(first & second) / union if union else 1.0


def containment(a, b):
    """Compute the exact share of a text's character shingles that another one has."""
    own = _shingles(a)
    return len(own & _shingles(b)) / len(own)


def distinct(text):
    return len(_shingles(text))


def _shingles(text):
    return set(plain.shingle_features(normalize(text), {"shingle": 5, "binary": True}))
