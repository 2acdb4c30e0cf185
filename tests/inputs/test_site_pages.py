"""Pages of which nine parts in ten are the frame of a site are compared by their articles."""

from itertools import combinations

import pytest
from demo import chinese, docstrings
from support.sites import Site

from simhash_hbase import create_index
from simhash_hbase.inputs import read

pytestmark = pytest.mark.slow
ARTICLES = 20


def articles():
    """Return 20 articles in Chinese and 20 in English, with their titles."""
    english = [text for text in docstrings() if ">>>" not in text.text and 1_500 <= len(text.text) <= 6_000]
    for text in chinese()[:ARTICLES]:
        yield "zh", text.id.partition("-")[2], text.text
    for text in english[:: len(english) // ARTICLES][:ARTICLES]:
        yield "en", " ".join(text.text.split()[:6]), text.text


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Return a folder of 200 pages: each article in five frames, in each frame ten articles of its language."""
    folder = tmp_path_factory.mktemp("pages")
    for number, (lang, title, text) in enumerate(articles()):
        for frame in range(5):
            site = (number + frame) % 10
            (folder / f"{number:02} {lang} {site}.html").write_text(Site(site, lang).page(text, title))
    return folder


def matches(texts):
    """Return the pairs that the index calls near-duplicates."""
    with create_index("memory:", learn_from=list(texts.values())) as index:
        list(index.add_many(texts.items()))
        found = {(name, match.id) for name, text in texts.items() for match in index.query(text).matches}
    return {pair for pair in combinations(sorted(texts), 2) if pair in found or pair[::-1] in found}


def test_with_extraction_the_same_articles_match_and_no_others(pages):
    texts = {record.id: record.text for record in read([str(pages)])}
    # Of a name: the number of the article, and the rest, which is that of the frame.
    every = [(a, b, a.split(maxsplit=1), b.split(maxsplit=1)) for a, b in combinations(sorted(texts), 2)]
    same_article = {(a, b) for a, b, (here, _), (there, _) in every if here == there}

    assert (len(texts), len(same_article)) == (200, 400)
    assert sum(here == there for *_, (_, here), (_, there) in every) == 900
    assert matches(texts) == same_article
