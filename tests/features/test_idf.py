"""Idf tables: learning, packing, jieba's own, and the sample they are learned from."""

import math
import zlib
from collections import Counter

import msgspec
import pytest
from hypothesis import given, strategies as st
from support.plain_jieba import jieba
from support.words import idf_of

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.features import idf
from simhash_hbase.features.idf import IdfTable, Reservoir, jieba_idf

documents = st.lists(st.lists(st.text(max_size=3), max_size=5), min_size=1, max_size=8)


def test_a_word_of_one_document_is_not_stored_and_weighs_as_an_unknown_one():
    table = idf_of([["a", "b"], ["b"], ["b", "b"]])

    assert dict(table.frequencies) == {"b": 3}
    assert table.weight("a") == table.weight("never seen") == math.log(1 + 3 / 1)
    assert table.weight("b") == math.log(2)


@given(documents)
def test_a_packed_table_unpacks_to_the_same(token_lists):
    table = idf_of(token_lists)

    assert IdfTable.decode(table.encode()) == table


@given(documents)
def test_the_order_of_documents_does_not_change_the_bytes(token_lists):
    table, turned = idf_of(token_lists), idf_of(token_lists[::-1])

    assert table.encode() == turned.encode()
    assert table.digest() == turned.digest()


def test_the_digest_tells_tables_apart():
    digests = {
        IdfTable(documents=documents, frequencies=frequencies).digest()
        for documents, frequencies in [(3, {}), (4, {}), (4, {"a": 2}), (4, {"a": 3}), (4, {"b": 2})]
    }

    assert len(digests) == 5


ENCODED = idf_of([["word", "other"]] * 3).encode()
OTHER_FORMS = [[2, 3, [], []], [1, 3, ["a"], []], [1, 0, [], []], [1, 3, ["a"], [1]], "x"]


@pytest.mark.parametrize(
    "data",
    [
        *(ENCODED[:-1], b"", b"x" + ENCODED, ENCODED[:20] + b"?" + ENCODED[21:]),
        *(zlib.compress(msgspec.msgpack.encode(content)) for content in OTHER_FORMS),
    ],
)
def test_damaged_bytes_and_those_of_another_form_are_corrupt(data):
    with pytest.raises(CorruptIndex, match="idf table"):
        IdfTable.decode(data)


def test_a_word_that_jieba_does_not_know_has_its_median_idf():
    table = jieba_idf()

    assert table.weight("no such word") == jieba.analyse.default_tfidf.median_idf
    assert table.weight("电影") == jieba.analyse.default_tfidf.idf_freq["电影"]


def test_the_median_of_another_table_is_found(monkeypatch, tmp_path):
    file = tmp_path / "idf.txt"
    file.write_text("一 1.5\n二 30\n三 4\n三 2", "utf-8")
    monkeypatch.setattr(idf, "jieba_file", lambda *_: file)
    arrays = idf._jieba_tables(seed=0)

    # Of two lines about a word the last one counts; the median is the upper one of two in the middle.
    assert arrays["median"].tolist() == [2.0]


def test_a_reservoir_draws_the_same_sample_for_the_same_seed():
    samples = [Reservoir(limit=5, seed=seed) for seed in (1, 1, 2)]
    for sample in samples:
        for number in range(5):
            sample.add(number)
        assert sample.items == list(range(5))
        for number in range(5, 1000):
            sample.add(number)

    assert samples[0].items == samples[1].items != samples[2].items


def test_a_reservoir_draws_every_item_about_as_often():
    drawn = Counter()
    for seed in range(2000):
        sample = Reservoir(limit=3, seed=seed)
        for number in range(12):
            sample.add(number)
        drawn.update(sample.items)

    assert all(400 < drawn[number] < 600 for number in range(12))
