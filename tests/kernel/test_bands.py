"""Bands: hashes of groups of whole minima, what a sketch row's segment is made of."""

import random

import numpy as np
import pytest
from support.sketching import jaccard, slow_segments

from simhash_hbase.features.analysis import Analysis
from simhash_hbase.kernel.texts import Batch, kernel_tables
from simhash_hbase.profile import Profile

KNOWN = [
    ["341861b9", "c9e6b87e", "5613e83a", "450c77fa", "cc9efdea", "99b4a8bb"],
    ["c0243eac", "7453c178", "a9e7fec1", "72b32622", "4a74b671", "126698a4"],
]


def made(length, seed):
    chosen = random.Random(seed)
    return "".join(chr(chosen.randrange(0x4E00, 0x9000)) for _ in range(length))


def segments(texts, bands=6, bins=6):
    return Batch(texts).sketch(bands, bins).segments


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

    together = Batch(texts).sketch(6, 6)

    assert together.segments.dtype == np.uint32
    assert (together.segments == np.concatenate([segments([text]) for text in texts])).all()
    assert (together.sketches == Batch(texts).sketch().sketches).all()
    assert Batch(texts).sketch().segments.shape == (150, 0)


def test_groups_are_disjoint():
    assert sorted(kernel_tables()["groups"].tolist()) == list(range(512))


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
