"""Sketches in plain integers, as the specification has them, and the exact similarity that they estimate."""

from functools import cache

from simhash_hbase.kernel.texts import Batch, normalize

BINS = 512
GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def sketch_many(texts):
    """Sketch texts by the kernel; shape (texts, 8)."""
    return Batch(texts).sketch().sketches


def mix(x):
    """Mix as splitmix64 does."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


@cache
def order_of(place):
    """Return the bins in the order in which an empty one chooses."""
    return sorted(range(BINS), key=lambda other: mix((place * BINS + other + 1) * GOLDEN & MASK))


def shingle_hashes(text):
    """Hash the shingles of a text, one after the other."""
    points = [ord(c) for c in normalize(text)]
    if not points:
        return []
    points += [0x110000] * (5 - len(points))
    hashes = []
    for a, b, c, d, e in zip(*(points[i:] for i in range(5)), strict=False):
        x = ((a << 42) + (b << 21) + c) * GOLDEN & MASK
        hashes.append(mix(((x ^ x >> 32) + (d << 21) + e) * GOLDEN & MASK))
    return hashes


def own_minima(text):
    """Return the smallest hash of each bin that is not empty."""
    bins = {}
    for value in shingle_hashes(text):
        bins[value >> 55] = min(bins.get(value >> 55, MASK), value)
    return bins


def slow_minima(text):
    """Return the smallest hash of each bin, those of empty ones taken from others."""
    bins = own_minima(text)
    places = (place if place in bins else next(o for o in order_of(place) if o in bins) for place in range(BINS))
    return [bins[place] for place in places] if bins else None


def slow_count(text):
    """Return the number of shingles that their smallest hashes say."""
    bins = own_minima(text)
    waited = sum(value % 2**55 >> 20 for value in bins.values()) + (BINS - len(bins)) * 2**35
    return (len(bins) * 2**44 + waited // 2) // waited


def slow_sketch(text):
    """Return a sketch as one integer of 512 bits."""
    sketch = 0
    for minimum in slow_minima(text) or [0] * BINS:
        sketch = sketch << 1 | minimum & 1
    return sketch


def slow_segments(text, bands, bins):
    """Return a hash of each group of minima."""
    minima = slow_minima(text) or [MASK] * BINS
    order = sorted(range(BINS), key=lambda place: mix((place + 1) * GOLDEN & MASK))
    found = []
    for group in range(bands):
        hashed = GOLDEN
        for place in order[group * bins : (group + 1) * bins]:
            hashed = mix((hashed * GOLDEN + minima[place]) & MASK)
        found.append(hashed >> 32)
    return found


def jaccard(a, b, *, size=5):
    """Compute the exact Jaccard similarity of two texts' character shingles."""
    first, second = _shingles(normalize(a), size), _shingles(normalize(b), size)
    union = len(first | second)
    return len(first & second) / union if union else 1.0


def containment(a, b, *, size=5):
    """Compute the exact share of a text's character shingles that another one has."""
    own = _shingles(normalize(a), size)
    return len(own & _shingles(normalize(b), size)) / len(own)


def distinct(text, *, size=5):
    """Count the different character shingles of a text."""
    return len(_shingles(normalize(text), size))


def _shingles(text, size):
    if not text:
        return set()
    return {text[start : start + size] for start in range(max(1, len(text) - size + 1))}
