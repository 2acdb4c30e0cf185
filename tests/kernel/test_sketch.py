"""Normalised text, sketches, digests, and the segments of sketch rows: hashes of groups of whole minima."""

import random
import sys
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support import plain_schema as plain
from support.corpora import sample
from support.sketching import containment, distinct, jaccard, slow_segments, slow_sketch

from simhash_hbase.features.analysis import Analysis
from simhash_hbase.kernel import normal as marks
from simhash_hbase.kernel.texts import Batch, normalize
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import estimated_containment, estimated_similarity


def as_integer(words):
    return int.from_bytes(words.astype(">u8").tobytes(), "big")


def edited(text, edits, seed):
    chance = random.Random(seed)
    characters = list(text)
    for _ in range(edits):
        characters[chance.randrange(len(characters))] = chr(chance.randrange(0x4E00, 0x9000))
    return "".join(characters)


@given(st.text())
@settings(max_examples=500)
def test_the_table_normalises_as_the_definition_does(text):
    assert normalize(text) == plain.normalized(text)


@pytest.mark.slow
def test_the_table_normalises_every_character_between_others_as_the_definition_does():
    for first in range(0, sys.maxunicode, 1024):
        text = "".join(f"a{chr(number)}ｶ" for number in range(first, first + 1024))
        assert normalize(text) == plain.normalized(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lctt_zh_edit", "laws_tw_en_versions"])
def test_the_estimate_is_near_the_exact_similarity(name):
    texts = [text for text in sample(name, 30) if len(text) > 1000]
    pairs = [(text, edited(text, len(text) // part, part)) for text in texts for part in (30, 60, 200)]
    exact = np.array([jaccard(*pair) for pair in pairs])

    estimates = estimated_similarity(*(Batch(side).sketch().sketches for side in zip(*pairs, strict=True)))

    assert np.sqrt(((estimates - exact) ** 2).mean()) < 0.035
    assert abs((estimates - exact).mean()) < 0.012


@pytest.mark.slow
@pytest.mark.parametrize(("length", "error"), [(5, 0), (60, 0.035), (300, 0.04), (3_000, 0.05), (20_000, 0.05)])
def test_the_number_of_shingles_is_near_the_exact_one(length, error):
    texts = [edited("天" * length, 3 * length, seed) for seed in range(max(8, 20_000 // length))]
    exact = np.array(list(map(distinct, texts)))

    estimates = Batch(texts).sketch().shingles

    assert np.sqrt(((estimates / exact - 1) ** 2).mean()) <= error
    assert Batch([texts[0] * 3]).sketch().shingles[0] <= estimates[0] * 1.05 + 5


def errors_of_containment(pairs):
    """Return the errors of estimated containments, and their standard errors by the docstring of the estimate."""
    errors, sizes = [], []
    for a, b in pairs:
        first, second = Batch([a]).sketch(), Batch([b]).sketch()
        numbers = int(first.shingles[0]), int(second.shingles[0])
        estimate = estimated_containment(float(estimated_similarity(first.sketches[0], second.sketches[0])), *numbers)
        exact, ratio = jaccard(a, b), distinct(b) / distinct(a)
        by_bits = (1 - exact**2) * ((1 + ratio) / (1 + exact) ** 2) ** 2
        by_numbers = 2 * (1 - exact) * (ratio * exact / (1 + exact)) ** 2
        errors.append(estimate - containment(a, b))
        sizes.append(np.sqrt((by_bits + by_numbers) / 512))
    return np.array(errors), np.array(sizes)


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32),
    length=st.integers(1_000, 6_000),
    longer=st.integers(0, 1_000),
    part=st.sampled_from([20, 40, 100, 400]),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_containment_is_as_near_the_exact_one_as_it_says(seed, length, longer, part):
    text = edited("天" * length, 3 * length, seed)
    other = edited(text, length // part, seed + 1) + edited("地" * longer, 3 * longer, seed + 2)

    errors, sizes = errors_of_containment([(text, other), (other, text)])

    assert (abs(errors) <= 5 * sizes).all()


@pytest.mark.parametrize("length", [40, 49, 50, 51, 54, 55, 99, 100, 101, 104, 500])
def test_a_text_of_several_pieces_has_the_sketch_and_the_digest_of_the_whole(length, monkeypatch):
    text = edited("天" * length, 3 * length, length)
    whole = Batch([text]).sketch()
    monkeypatch.setattr(marks, "PIECE", 50)
    pieced = Batch([text]).sketch()

    assert (pieced.sketches == whole.sketches).all()
    assert pieced.digests == whole.digests == [blake2b(normalize(text).encode(), digest_size=16).digest()]
    assert as_integer(pieced.sketches[0]) == slow_sketch(text)


def test_pieces_shorter_than_a_shingle_make_shingles_together(monkeypatch):
    monkeypatch.setattr(marks, "PIECE", 1)
    monkeypatch.setattr(marks, "_SEARCHED", 1)

    for text in ("天地", "天地玄黄", "天地玄黄宇", "天地玄黄宇宙洪荒，日月盈昃"):
        assert as_integer(Batch([text]).sketch().sketches[0]) == slow_sketch(text)


@pytest.mark.parametrize("length", [6, 7, 40, 700, 4000])
@pytest.mark.parametrize(("bands", "bins"), [(6, 6), (1, 1), (10, 8), (64, 8)])
def test_segments_are_what_their_definition_says(length, bands, bins):
    text = edited("天" * length, 3 * length, length)

    assert Batch([text]).sketch(bands, bins).segments[0].tolist() == slow_segments(text, bands, bins)


def test_analysis_gives_the_bands_that_its_profile_has():
    texts = ["天地玄黄宇宙洪荒", "短", "天地玄黄" * 100]

    with_bands = Analysis(Profile.resolve(analyzer="shingle", bands=4, band_bins=5)).texts("abc", texts).entries
    without = Analysis(Profile.resolve(analyzer="shingle", bands=0)).texts("abc", texts).entries

    assert with_bands.sketched.tolist() == [True, False, True]
    assert (with_bands.segments == Batch(texts).sketch(4, 5).segments).all()
    assert without.segments.shape == (3, 0)
    assert (with_bands.take([2, 0]).segments == with_bands.segments[[2, 0]]).all()
