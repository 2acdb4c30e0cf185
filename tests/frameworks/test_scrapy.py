"""The item pipeline in real crawls of the demonstration's sites, from a web server of this machine."""

import asyncio
import json
import re
import signal
import subprocess
import sys

import pytest
from demo import write_pages
from scrapy.exceptions import DropItem
from scrapy.utils.test import get_crawler
from support.demonstration import chinese_with_copies
from support.fresh_clone import blocks
from support.listening import folder_served
from support.patience import END_S
from support.serving import wait_for

from simhash_hbase import create_index, open_index
from simhash_hbase.errors import InvalidArgument, StoreTimeout
from simhash_hbase.inputs.html import main_text
from simhash_hbase.scrapy import NearDuplicatesPipeline

TEXTS = chinese_with_copies()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    write_pages(TEXTS, str(folder))
    with folder_served(folder) as address:
        yield f"{address}/"


class Crawl:
    """A crawler of its own process, which is killed at the end of the block."""

    def __init__(self, folder, name, site, scrapy=None, **settings):
        self.items, self._log = folder / f"{name}.jsonl", folder / f"{name}.log"
        spider = folder / f"{name}.py"
        code = blocks("python")["spider"].replace("http://127.0.0.1:8000/", site)
        # A spider's own settings would win against those of the command line.
        spider.write_text(re.sub(r'\s+"SIMHASH_HBASE_.*', "", code))
        given = {f"SIMHASH_HBASE_{name}": value for name, value in {"FIELD": "html", "HTML": 1, **settings}.items()}
        words = [word for name, value in {**given, **(scrapy or {})}.items() for word in ("-s", f"{name}={value}")]
        command = [sys.executable, "-m", "scrapy", "runspider", spider, "-o", self.items, *words]
        with self._log.open("w") as log:
            self.process = subprocess.Popen(command, stderr=log, cwd=folder)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.process.kill()
        self.process.wait()

    def done(self):
        assert self.process.wait(END_S) == 0, self.log
        return self

    @property
    def log(self):
        return self._log.read_text()

    @property
    def kept(self):
        return [json.loads(line) for line in self.items.read_text().splitlines()]

    @property
    def stats(self):
        return {name: int(value) for name, value in re.findall(r"'simhash_hbase/(\w+)': (\d+)", self.log)}


@pytest.mark.parametrize("url", ["file", pytest.param("hbase", marks=pytest.mark.hbase)], indirect=True)
def test_of_two_crawlers_at_once_only_one_keeps_a_page(address, url, tmp_path, site):
    with Crawl(tmp_path, "one", site, URL=address) as one, Crawl(tmp_path, "two", site, URL=address) as two:
        crawls = [one.done(), two.done()]

    texts = {item["url"]: main_text(item["html"]).text for each in crawls for item in each.kept}
    with open_index(url, readonly=True) as index:
        stored = [stored.id.split()[0] for stored in index.export() if stored.state == "original"]
        near = {page: [match.id.split()[0] for match in index.query(text).matches] for page, text in texts.items()}
    assert sorted(stored) == sorted(item["url"] for each in crawls for item in each.kept)
    assert near == {page: [page] for page in stored}
    found = [each.stats for each in crawls]
    assert sum(stats.get("originals", 0) for stats in found) == len(stored)
    assert {stats.get("originals", 0) + stats.get("duplicates", 0) for stats in found} == {len(TEXTS)}
    assert len(TEXTS) > len(stored) > 0
    assert "shk_" not in one.log + two.log


def test_a_reactor_without_asyncio_keeps_the_same(url, tmp_path, site):
    reactor = "twisted.internet.selectreactor.SelectReactor"
    with Crawl(tmp_path, "one", site, scrapy={"TWISTED_REACTOR": reactor}, URL=url) as one:
        one.done()

    assert f"Using reactor: {reactor}" in one.log
    with open_index(url, readonly=True) as index:
        assert len(one.kept) == sum(stored.state == "original" for stored in index.export())
    assert one.stats["originals"] == len(one.kept)
    assert one.stats["duplicates"] == len(TEXTS) - len(one.kept) > 0
    # The log names what was dropped; only what was kept is in it whole.
    assert len(re.findall(r"dropped \S+\.html \S+: near-duplicate of \S+", one.log)) == one.stats["duplicates"]
    assert one.log.count("'html': ") == len(one.kept)


def test_duplicates_are_marked_where_that_is_asked_for(url, tmp_path, site):
    with Crawl(tmp_path, "one", site, URL=url, ACTION="mark", ID_FIELD="url") as crawler:
        items = crawler.done().kept

    urls = {item["url"] for item in items}
    copies = [item for item in items if item["duplicate_of"] is not None]
    assert copies
    assert {item["duplicate_of"] for item in copies} < urls - {item["url"] for item in copies}
    assert all(item["similarity"] >= 0.7 for item in copies)
    assert {item["distance"] for item in items if item not in copies} == {None}
    assert crawler.stats["duplicates"] == len(copies)


def test_an_interrupted_crawl_settles_its_claims(url, tmp_path, site):
    with Crawl(tmp_path, "one", site, URL=url) as crawler:
        wait_for(lambda: crawler.items.exists() and len(crawler.items.read_bytes().splitlines()) > 2)
        crawler.process.send_signal(signal.SIGINT)
        crawler.done()

    assert "'finish_reason': 'shutdown'" in crawler.log
    assert "Traceback" not in crawler.log
    with open_index(url, readonly=True) as index:
        stored = {stored.id.split()[0] for stored in index.export() if stored.state == "original"}
    assert {item["url"] for item in crawler.kept} == stored


def test_a_crawl_without_an_index_does_not_begin(tmp_path, site):
    with Crawl(tmp_path, "one", site, URL="file:none") as crawler:
        crawler.process.wait(END_S)

    assert "there is no index" in crawler.log
    assert "NearDuplicatesPipeline' object has no attribute" not in crawler.log
    assert not crawler.items.exists() or crawler.kept == []


def test_only_items_without_a_text_pass_undecided(url):
    made = pipeline(URL=url, FIELD="body", ID_FIELD="key")

    assert asyncio.run(given(made, {"key": 1}, {"key": 2, "body": "…"})) == [{"key": 1}, {"key": 2, "body": "…"}]
    with pytest.raises(InvalidArgument, match="the item has no field 'key'"):
        asyncio.run(given(made, {"body": "some words of a text"}))


@pytest.mark.parametrize("page", ["data:" + "x" * 70_000, "http://a/\ud800"])
def test_an_address_that_is_no_id_is_replaced_by_a_digest(url, page):
    item = {"url": page, "text": "some words of text"}

    assert asyncio.run(given(pipeline(URL=url), item)) == [item]
    with open_index(url) as index:
        [stored] = index.export()
    assert re.fullmatch(r"blake2b:[0-9a-f]{32} [0-9a-f]{8}/1", stored.id)


@pytest.mark.parametrize(
    ("settings", "bad", "sentence"),
    [
        ({}, {"text": ["some", "words"]}, "'text', which SIMHASH_HBASE_FIELD names, is of type list: wanted str"),
        ({"HTML": "1"}, {"text": b"<p>words"}, "'text', which SIMHASH_HBASE_FIELD names, is of type bytes: wanted str"),
        ({"ID_FIELD": "key"}, {"text": "some words", "key": "k" * 70_000}, "is longer than 65536 bytes"),
        ({"ID_FIELD": "key"}, {"text": "some words", "key": "\ud800"}, "is not Unicode text"),
    ],
)
def test_a_bad_item_is_refused_alone(url, settings, bad, sentence):
    made = pipeline(URL=url, **settings)
    good = [{"key": f"k{at}", "url": f"u{at}", "text": f"<p>{page}</p>"} for at, page in enumerate(PAGES)]

    ended = asyncio.run(given(made, good[0], bad, *good[1:], at_once=True))

    assert isinstance(ended[1], InvalidArgument)
    assert sentence in str(ended[1])
    assert [ended[0], *ended[2:]] == good
    assert made._stats.get_value("simhash_hbase/errors") == 1


@pytest.mark.parametrize(("error", "lost"), [(RuntimeError, 1), (StoreTimeout, 5)])
def test_what_fails_for_one_document_fails_for_the_others_only_where_the_store_does(url, monkeypatch, error, lost):
    made = pipeline(URL=url, THREADS=1)
    read = made._text

    def failing(name, content):
        if content == PAGES[2]:
            raise error("of this one")
        return read(name, content)

    monkeypatch.setattr(made, "_text", failing)
    items = [{"url": f"u{at}", "text": page} for at, page in enumerate(PAGES)]

    ended = asyncio.run(given(made, *items, at_once=True))

    assert [type(each) for each in ended].count(error) == lost
    assert isinstance(ended[2], error)
    assert made._stats.get_value("simhash_hbase/errors") == lost


PAGES = [(f"{word} " * 3 + "is what this page is about, and nothing else. ") * 5
         for word in ("silk", "copper", "lanterns", "granite", "violins")]  # fmt: skip


def pipeline(**settings):
    named = {f"SIMHASH_HBASE_{name}": value for name, value in settings.items()}
    return NearDuplicatesPipeline.from_crawler(get_crawler(settings_dict=named))


async def given(made, *items, at_once=False):
    await made.open_spider()
    try:
        if at_once:
            return await asyncio.gather(*map(made.process_item, items), return_exceptions=True)
        return [await made.process_item(item) for item in items]
    finally:
        await made.close_spider()


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


def test_a_field_that_no_item_has_is_warned_of(url, caplog):
    asyncio.run(given(pipeline(URL=url, FIELD="body"), {"text": "some words"}))
    assert "no item had a text in the field 'body', which SIMHASH_HBASE_FIELD names" in caplog.text

    caplog.clear()
    asyncio.run(given(pipeline(URL=url), {"text": "some words"}, {"other": 1}))
    assert "no item" not in caplog.text


def test_items_of_a_batch_agree_about_the_field_of_the_index(tmp_path):
    url = f"file:{tmp_path / 'some.index'}"
    create_index(url, analyzer="shingle", agree="url").close()
    items = [{"id": at, "url": f"https://{site}.example/{at}", "text": PAGES[0]} for at, site in enumerate("aab", 1)]

    ended = asyncio.run(given(pipeline(URL=url, ID_FIELD="id", BATCH="monday"), *items, at_once=True))

    with open_index(url) as index:
        assert [type(each) for each in ended] == [dict, DropItem, dict]
        assert index.get("3").metadata == {"url": "https://b.example/3"}
        assert [(each.batch, each.documents) for each in index.batches()] == [("monday", 3)]


def test_items_are_claimed_in_the_collection_that_a_setting_names(tmp_path):
    url = f"file:{tmp_path / 'some.index'}"
    with create_index(url, analyzer="shingle") as index:
        index.add("a", PAGES[0])

    [ended] = asyncio.run(given(pipeline(URL=url, ID_FIELD="id", COLLECTION="zh"), {"id": "b", "text": PAGES[0]}))

    assert isinstance(ended, dict)
    with open_index(url) as index:
        assert ("b" in index, "b" in index.in_collection("zh")) == (False, True)
