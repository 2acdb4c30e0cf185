"""An index as a container: how many documents, whether one is there, one removed, and what it is called."""

from simhash_hbase import create_index, open_index

TEXT = "A document long enough to leave some features."


def test_it_counts_finds_and_removes(make_index):
    index = make_index()
    index.claim("a", TEXT)
    index.claim("b", TEXT.upper())
    index.add("c", "Another thing altogether, and nothing like it.")

    assert (len(index), "a" in index, "b" in index, "d" in index, 5 in index) == (2, True, True, False, False)
    assert (index.remove("c"), index.remove("c"), "c" in index, len(index)) == (True, False, False, 1)


def test_each_collection_counts_its_own(make_index):
    index = make_index()
    index.claim("a", TEXT)
    news = index.in_collection("news")
    news.claim("b", TEXT)
    news.claim("c", TEXT)

    assert (len(index), len(news), "b" in index, "b" in news) == (1, 1, False, True)


def test_an_empty_one_is_true(make_index):
    index = make_index()

    assert (len(index), bool(index)) == (0, True)


def test_it_shows_its_address_and_whether_it_is_closed(tmp_path):
    url = f"file:{tmp_path / 'some.index'}"
    with create_index(url, analyzer="shingle") as index:
        assert repr(index) == f"<Index {url}>"
    assert repr(index) == f"<Index {url}, closed>"
    with open_index(url, collection="news") as index:
        assert repr(index) == f"<Index {url} (collection news)>"
