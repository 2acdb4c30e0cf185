"""The plain way to answer: compare with every document. What the index says is compared with this."""

import random
from dataclasses import replace
from itertools import combinations

import numpy as np

from simhash_hbase.entries import SKETCH_WORDS, Entries

ALL_BITS = (1 << 64) - 1
SKETCH_BITS = 64 * SKETCH_WORDS


def entries(documents, *, sketches=None, features=None, digests=None, lengths=None):
    """Make entries of a mapping of ids to fingerprints, or of pairs of the two.

    Parameters
    ----------
    documents : mapping or sequence of (str, int)
        Ids and fingerprints.
    sketches : sequence of (int or None), optional
        512-bit integers.
    features, digests, lengths : sequence, optional
        Columns of the same names.
    """
    pairs = list(documents.items()) if isinstance(documents, dict) else list(documents)
    made = Entries.of_fingerprints([name for name, _ in pairs], np.array([s for _, s in pairs], dtype=np.uint64))
    if sketches is not None:
        words = [[(s or 0) >> shift & ALL_BITS for shift in range(SKETCH_BITS - 64, -1, -64)] for s in sketches]
        shaped = np.array(words, dtype=np.uint64).reshape(-1, SKETCH_WORDS)
        made = replace(made, sketches=shaped, sketched=np.array([s is not None for s in sketches], dtype=np.bool_))
    columns = {"features": features, "digests": digests, "lengths": lengths}
    arrays = {n: v if n == "digests" else np.array(v, np.int32) for n, v in columns.items() if v is not None}
    return replace(made, **arrays)


def flip(value, bits):
    """Flip bits of an integer."""
    for bit in bits:
        value ^= 1 << bit
    return value


def flips(value, count, *, most=2_000, seed=0):
    """List fingerprints with just so many bits flipped: all of them, or a sample."""
    every = list(combinations(range(64), count)) if count <= 2 else None
    if every is None or len(every) > most:
        chosen = random.Random(seed)
        every = [chosen.sample(range(64), count) for _ in range(most)]
    return [flip(value, bits) for bits in every]


def clustered(count, *, seed, centres=12, spread=6):
    """Make fingerprints around few centres, so that distances from 0 to 2 x spread are common."""
    chosen = random.Random(seed)
    middles = [chosen.getrandbits(64) for _ in range(centres - 2)] + [0, ALL_BITS]
    return [flip(chosen.choice(middles), chosen.sample(range(64), chosen.randint(0, spread))) for _ in range(count)]


def sketch_near(sketch, differing, *, seed=0):
    """Make a sketch that differs in so many bits: its estimated similarity is 1 - differing / 256."""
    return flip(sketch, random.Random(seed).sample(range(SKETCH_BITS), differing))


def neighbours(documents, simhash, distance, *, without=None):
    """Compare a fingerprint with every document of a mapping of ids to fingerprints.

    Returns
    -------
    list of (str, int)
        Id and distance, nearest first, then by id.
    """
    found = [
        (name, (other ^ simhash).bit_count())
        for name, other in documents.items()
        if (other ^ simhash).bit_count() <= distance and name != without
    ]
    return sorted(found, key=lambda pair: (pair[1], pair[0]))


def answered(answer):
    """Reduce an answer to what `neighbours` returns."""
    return [(match.id, match.distance) for match in answer.matches]


def similarity(a, b):
    """Estimate Jaccard similarity from two sketches as DESIGN writes it down: 1 - differing / 256, from 0 to 1."""
    return None if a is None or b is None else max(0.0, 1 - (a ^ b).bit_count() / 256)
