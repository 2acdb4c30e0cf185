"""The plain way to answer: compare with every document. What the index says is compared with this."""

import random
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from simhash_hbase.rows.analysed import SKETCH_WORDS, Entries

ALL_BITS = (1 << 64) - 1
# A fingerprint, and one that is near to nothing that is near to it.
BASE = 0x9E3779B97F4A7C15
FAR = ~BASE & ALL_BITS
SKETCH_BITS = 64 * SKETCH_WORDS


def entries(documents, *, sketches=None, features=None, digests=None, bands=None):
    """Make entries of a mapping of ids to fingerprints, or of pairs; sketches are integers of 512 bits, or None."""
    pairs = list(documents.items()) if isinstance(documents, dict) else list(documents)
    made = Entries.of_fingerprints([name for name, _ in pairs], np.array([s for _, s in pairs], dtype=np.uint64))
    if sketches is not None:
        words = [[(s or 0) >> shift & ALL_BITS for shift in range(SKETCH_BITS - 64, -1, -64)] for s in sketches]
        shaped = np.array(words, dtype=np.uint64).reshape(-1, SKETCH_WORDS)
        made = replace(made, sketches=shaped, shingles=np.array([s is not None for s in sketches], dtype=np.uint32))
    arrays = {} if digests is None else {"digests": digests}
    if features is not None:
        arrays["features"] = np.array(features, np.int32)
    if bands is not None:
        arrays["bands"] = np.array(list(bands), np.uint32).reshape(len(pairs), -1)
    return replace(made, **arrays)


def flip(value, bits):
    for bit in bits:
        value ^= 1 << bit
    return value


def flips(value, count, *, most=2_000, seed=0):
    """List fingerprints with just so many bits flipped: all of them, or a sample."""
    chosen, every = random.Random(seed), combinations(range(64), count)
    if comb(64, count) > most:
        every = (chosen.sample(range(64), count) for _ in range(most))
    return [flip(value, bits) for bits in every]


def clustered(count, *, seed, centres=12, spread=6):
    """Make fingerprints around few centres, so that distances from 0 to 2 x spread are common."""
    chosen = random.Random(seed)
    middles = [chosen.getrandbits(64) for _ in range(centres - 2)] + [0, ALL_BITS]
    return [flip(chosen.choice(middles), chosen.sample(range(64), chosen.randint(0, spread))) for _ in range(count)]


def sketch_near(sketch, differing, *, seed=0):
    """Make a sketch that differs in so many bits: its estimated similarity is 1 - differing / 256."""
    return flip(sketch, random.Random(seed).sample(range(SKETCH_BITS), differing))


def neighbours(documents, simhash, distance):
    """Compare a fingerprint with every document: ids and distances, nearest first, then by id."""
    every = [(name, (other ^ simhash).bit_count()) for name, other in documents.items()]
    return sorted((pair for pair in every if pair[1] <= distance), key=lambda pair: (pair[1], pair[0]))


def dedup(index, documents):
    return index.dedup_entries(documents, index.deduplicator())


def answered(answer):
    return [(match.id, match.distance) for match in answer.matches]


def similarity(a, b):
    """Estimate Jaccard similarity from two sketches by its definition: 1 - differing / 256, from 0 to 1."""
    return None if a is None or b is None else max(0.0, 1 - (a ^ b).bit_count() / 256)


class Written(NamedTuple):
    """A document as the rule sees it."""

    simhash: int
    sketch: int | None = None
    segments: tuple[int, ...] = ()
    digest: bytes = b""

    def is_same(self, other):
        """Tell whether it is the same text, as far as is known."""
        return self.simhash == other.simhash and (self.digest == other.digest or not (self.digest and other.digest))


def written_entries(documents, bands):
    empty = (0,) * bands
    return entries(
        {name: one.simhash for name, one in documents.items()},
        sketches=[one.sketch for one in documents.values()],
        bands=[one.segments if one.sketch is not None else empty for one in documents.values()],
        digests=[one.digest for one in documents.values()],
    )


def shares_block_row(a, b, widths=(13, 13, 13, 13, 12), choose=2):
    """Tell whether two fingerprints agree in so many blocks, counted bit by bit."""
    one, other, start, agreeing = f"{a:064b}", f"{b:064b}", 0, 0
    for width in widths:
        agreeing += one[start : start + width] == other[start : start + width]
        start += width
    return agreeing >= choose


def matches(one, other, rule):
    """Apply a rule to two documents as README writes it down: they share a row that the rule reads, and are near."""
    distance, alike = (one.simhash ^ other.simhash).bit_count(), similarity(one.sketch, other.sketch)
    by_block = shares_block_row(one.simhash, other.simhash)
    if rule.match == "distance" or alike is None:
        return by_block and distance <= rule.distance
    shared = sum(a == b for a, b in zip(one.segments, other.segments, strict=True))
    by_band = rule.band_distance is not None and shared > 0
    met = (by_block and distance <= rule.radius) or (by_band and distance <= [*rule.band_distance][:shared][-1])
    free = 64 if rule.free_distance is None else rule.free_distance
    return met and (alike == 1 or alike - max(0, distance - free) / 256 >= rule.similarity)


def crowd(count, *, seed, bands=6):
    """Make documents of which many share fingerprints, sketches and segments, in every combination."""
    chosen = random.Random(seed)
    sketch = chosen.getrandbits(SKETCH_BITS)
    simhashes = clustered(max(4, count // 2), seed=seed, centres=6, spread=9)
    made = {}
    for number in range(count):
        own = flip(sketch, chosen.sample(range(SKETCH_BITS), chosen.choice((0, 10, 40, 70))))
        segments = tuple(chosen.choice((group, chosen.getrandbits(32))) for group in range(bands))
        few = tuple(chosen.getrandbits(32) for _ in range(bands))
        has = chosen.random() < 0.9
        made[f"document {number}"] = Written(
            chosen.choice(simhashes), own if has else None, chosen.choice((segments, few)) if has else (0,) * bands
        )
    return made


def unmask(view):
    view.collection._simhash_mask, view.collection._segment_mask = 0, np.uint32(0)
    view.collection._simhash_array = np.uint64(0)
