"""Settings of the item pipeline that are wrong: the crawl does not begin, or its log says what is amiss."""

import asyncio

import pytest
from frameworks.test_scrapy import given, pipeline

from simhash_hbase import create_index
from simhash_hbase.errors import InvalidArgument, Unsupported


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "SIMHASH_HBASE_URL is not set"),
        ({"URL": "file:none", "ACTION": "hide"}, "SIMHASH_HBASE_ACTION is drop or mark"),
        ({"URL": "file:none", "THREADS": "0"}, "SIMHASH_HBASE_THREADS at least 1"),
        ({"URL": "file:none", "THREADS": "two"}, "SIMHASH_HBASE_THREADS: invalid literal"),
        ({"URL": "file:none", "HTML": "maybe"}, "SIMHASH_HBASE_HTML: Supported values"),
    ],
)
def test_settings_are_checked(settings, sentence):
    with pytest.raises(InvalidArgument, match=sentence):
        pipeline(**settings)


def test_a_field_that_no_item_has_is_warned_of(tmp_path, caplog):
    with create_index(f"file:{tmp_path / 'crawl.index'}", analyzer="shingle") as index:
        asyncio.run(given(pipeline(URL=index.store.url, FIELD="body"), {"text": "some words"}))
        assert "no item had a text in the field 'body', which SIMHASH_HBASE_FIELD names" in caplog.text
        caplog.clear()
        asyncio.run(given(pipeline(URL=index.store.url), {"text": "some words"}, {"other": 1}))

    assert "no item" not in caplog.text


def test_an_index_that_cannot_claim_is_refused_before_the_first_item(monkeypatch):
    opened = create_index("memory:", analyzer="shingle")
    monkeypatch.setattr("simhash_hbase.index.reading.CellCounts", type(opened.store))
    monkeypatch.setattr("simhash_hbase.scrapy.pipeline.open_index", lambda url: opened)

    with pytest.raises(Unsupported, match="claim needs a file: or hbase:// index"):
        asyncio.run(pipeline(URL="redis://127.0.0.1").open_spider())
