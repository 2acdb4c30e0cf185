"""Pages of which nine parts in ten are the frame of a site are compared by their articles."""

from itertools import combinations

import pytest
from demo import chinese, docstrings
from support.sites import Site

from simhash_hbase import create_index
from simhash_hbase.inputs import read

pytestmark = pytest.mark.slow


ARTICLES = 20
SITES = 10
FRAMES = 5
TITLE_WORDS = 6


def articles():
    """Return 20 articles in Chinese and 20 in English, with their titles."""
    prose = (text for text in docstrings() if ">>>" not in text.text)
    english = [text for text in prose if 1_500 <= len(text.text) <= 6_000]
    for text in chinese()[:ARTICLES]:
        yield "zh", text.id.partition("-")[2], text.text
    for text in english[:: len(english) // ARTICLES][:ARTICLES]:
        yield "en", " ".join(text.text.split()[:TITLE_WORDS]), text.text


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Return a folder of 200 pages: each article in five frames, in each frame ten articles of its language."""
    folder = tmp_path_factory.mktemp("pages")
    for number, (lang, title, text) in enumerate(articles()):
        for frame in range(FRAMES):
            site = (number + frame) % SITES
            (folder / f"{number:02} {lang} {site}.html").write_text(Site(site, lang).page(text, title))
    return folder


def article(name):
    return name.split()[0]


def frame(name):
    return name.split(maxsplit=1)[1]


def matches(texts):
    """Return the pairs that the index calls near-duplicates."""
    with create_index("memory:", learn_from=list(texts.values())) as index:
        list(index.add_many(texts.items()))
        found = {(name, match.id) for name, text in texts.items() for match in index.query(text).matches}
    return {pair for pair in combinations(sorted(texts), 2) if pair in found or pair[::-1] in found}


def pairs(texts):
    """Return the pairs of one article in two frames, and those of two articles in one frame."""
    every = list(combinations(sorted(texts), 2))
    same_article = {(a, b) for a, b in every if article(a) == article(b)}
    same_frame = {(a, b) for a, b in every if frame(a) == frame(b)}
    return same_article, same_frame


def test_with_extraction_the_same_articles_match_and_no_others(pages):
    texts = {record.id: record.text for record in read([str(pages)])}
    same_article, same_frame = pairs(texts)

    found = matches(texts)

    assert (len(texts), len(same_article), len(same_frame)) == (200, 400, 900)
    assert found == same_article
