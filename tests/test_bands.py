"""Bands: hashes of groups of whole minima, what a sketch row's segment is made of."""

import random

import numpy as np
import pytest
from sketching import jaccard

from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.bands import Banding, band_segments
from simhash_hbase.features.sketch import sketches_and_digests
from simhash_hbase.profile import Profile
from simhash_hbase.words.normal import normalize

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
KNOWN = [
    ["341861b9", "c9e6b87e", "5613e83a", "450c77fa", "cc9efdea", "99b4a8bb"],
    ["c0243eac", "7453c178", "a9e7fec1", "72b32622", "4a74b671", "126698a4"],
]


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def slow_minima(text):
    """The smallest hash of each of the 512 bins, empty ones filled, in plain integers."""
    points = [ord(c) for c in normalize(text)]
    points += [0x110000] * (5 - len(points))
    bins = {}
    for a, b, c, d, e in zip(*(points[i:] for i in range(5)), strict=False):
        x = ((a << 42) + (b << 21) + c) * GOLDEN & MASK
        h = mix(((x ^ x >> 32) + (d << 21) + e) * GOLDEN & MASK)
        bins[h >> 55] = min(bins.get(h >> 55, MASK), h)
    orders = (sorted(range(512), key=lambda o: mix((place * 512 + o + 1) * GOLDEN & MASK)) for place in range(512))
    return [
        bins[next(o for o in ([place] if place in bins else order) if o in bins)] for place, order in enumerate(orders)
    ]


def slow_segments(text, bands, bins):
    """The definition in plain integers."""
    minima = slow_minima(text)
    order = sorted(range(512), key=lambda place: mix((place + 1) * GOLDEN & MASK))
    found = []
    for group in range(bands):
        hashed = GOLDEN
        for place in order[group * bins : (group + 1) * bins]:
            hashed = mix((hashed * GOLDEN + minima[place]) & MASK)
        found.append(hashed >> 32)
    return found


def made(length, seed):
    chosen = random.Random(seed)
    return "".join(chr(chosen.randrange(0x4E00, 0x9000)) for _ in range(length))


def segments(texts, bands=6, bins=6):
    return sketches_and_digests(texts, Banding(bands, bins)).bands


@pytest.mark.parametrize("length", [6, 7, 40, 700, 4000])
@pytest.mark.parametrize(("bands", "bins"), [(6, 6), (1, 1), (10, 8), (64, 8)])
def test_segments_are_what_their_definition_says(length, bands, bins):
    text = made(length, seed=length)

    assert segments([text], bands, bins)[0].tolist() == slow_segments(text, bands, bins)


def test_segments_of_the_second_format_stay_as_they_are():
    found = segments(["天地玄黄宇宙洪荒", "Seven grey boats left before dawn; they didn't return."])

    assert [[f"{segment:08x}" for segment in row] for row in found.tolist()] == KNOWN


def test_segments_do_not_depend_on_the_batch_nor_the_sketches_on_them():
    texts = [made(9 * n + 6, seed=n) for n in range(150)]

    together = sketches_and_digests(texts, Banding(6, 6))

    assert together.bands.dtype == np.uint32
    assert (together.bands == np.concatenate([segments([text]) for text in texts])).all()
    assert (together.sketches == sketches_and_digests(texts).sketches).all()
    assert sketches_and_digests(texts).bands.shape == (150, 0)


def test_groups_are_disjoint():
    minima = np.arange(512, dtype=np.uint64)[np.newaxis]
    before = band_segments(minima, Banding(64, 8))
    changed = np.empty((512, 64), np.bool_)
    for place in range(512):
        other = minima.copy()
        other[0, place] += 1_000
        changed[place] = (band_segments(other, Banding(64, 8)) != before)[0]

    assert (changed.sum(axis=1) == 1).all()
    assert (changed.sum(axis=0) == 8).all()


def test_texts_share_a_group_as_often_as_their_similarity_says():
    pairs = []
    for seed in range(300):
        text = made(600, seed)
        place = 100 + seed
        pairs.append((text, text[:place] + made(10, -seed - 1) + text[place + 10 :]))
    similar = np.array([jaccard(*pair) for pair in pairs])

    alike = segments([a for a, _ in pairs]) == segments([b for _, b in pairs])

    assert abs(alike.mean() - (similar**6).mean()) < 0.04
    assert not (segments([a for a, _ in pairs[1:]]) == segments([a for a, _ in pairs[:-1]])).any()


def test_analysis_gives_the_bands_that_its_profile_has():
    texts = ["天地玄黄宇宙洪荒", "短", made(400, 1)]

    with_bands = Analysis(Profile.resolve(analyzer="shingle", bands=4, band_bins=5)).texts("abc", texts).entries
    without = Analysis(Profile.resolve(analyzer="shingle", bands=0)).texts("abc", texts).entries

    assert with_bands.sketched.tolist() == [True, False, True]
    assert (with_bands.segments == segments(texts, 4, 5)).all()
    assert without.segments.shape == (3, 0)
    assert (with_bands.take([2, 0]).segments == with_bands.segments[[2, 0]]).all()
