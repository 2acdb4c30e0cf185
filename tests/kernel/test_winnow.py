"""Winnowing: which hashes of a text are kept, and that every long run which two texts share has one of them."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support.plain_schema import normalized, passage_hashes

from simhash_hbase.kernel.texts import Batch

# Few characters: many runs occur twice.
alphabets = st.sampled_from(["ab", "天地玄黄", "abcdefgh，。"])
texts = alphabets.flatmap(lambda letters: st.text(letters, max_size=120))
forms = st.sampled_from([(16, 8), (20, 12), (12, 12)])


@given(st.lists(texts, min_size=1, max_size=4), forms)
def test_the_smallest_hash_of_each_window_is_kept(given_texts, form):
    length, gram = form
    kept = [np.unique(each.hashes).tolist() for each in Batch(given_texts).passages(length, gram)]
    assert kept == [passage_hashes(normalized(text), length, gram) for text in given_texts]


@given(texts, forms)
def test_each_hash_stands_where_it_says(text, form):
    length, gram = form
    [found] = Batch([text]).passages(length, gram)
    for value, place in zip(found.hashes.tolist(), found.places.tolist(), strict=True):
        assert passage_hashes(normalized(text)[place : place + gram], gram, gram) == [value]


@given(texts, texts, texts, st.text("天地玄黄", min_size=20, max_size=30))
def test_texts_that_share_a_run_share_a_hash(before, after, other, shared):
    first, second = Batch([before + shared + after, other + shared]).passages(20, 12)
    assert np.intersect1d(first.hashes, second.hashes).size


@pytest.mark.parametrize("text", ["", "十一个字的一段话不够长", "…！"])
def test_a_text_without_a_whole_run_has_no_hash(text):
    [found] = Batch([text]).passages(50, 12)
    assert (len(found.hashes), found.packed()) == (0, b"")


def test_a_run_of_one_character_has_one_hash():
    [found] = Batch(["哈" * 500]).passages(50, 12)
    assert len(np.unique(found.hashes)) == 1
    # A window keeps the place of the one before it.
    assert len(found.hashes) < 500 / 39 + 2
