"""Sketches alone, and the exact similarity that they estimate."""

from simhash_hbase.features.sketch import sketches_and_digests
from simhash_hbase.words.normal import normalize


def sketch_many(texts):
    """Sketch texts; shape (texts, 8)."""
    return sketches_and_digests(texts).sketches


def jaccard(a, b, *, size=5):
    """Compute the exact Jaccard similarity of two texts' character shingles."""
    first, second = _shingles(normalize(a), size), _shingles(normalize(b), size)
    union = len(first | second)
    return len(first & second) / union if union else 1.0


def _shingles(text, size):
    if not text:
        return set()
    return {text[start : start + size] for start in range(max(1, len(text) - size + 1))}
