"""Copies of a templated set: the same templates, other content words; and other ways to make sketch rows."""

from itertools import pairwise

import numpy as np
from bench.bandings import BANDINGS, BANDS, Bandings
from bench.templates import MOST_DOCUMENTS, RUN, Templates

from simhash_hbase.demo.texts import chinese
from simhash_hbase.features.analyzers import ShingleAnalyzer
from simhash_hbase.features.fingerprints import Fingerprinter
from simhash_hbase.kernel.texts import Batch

FRAME = "Request a permission to read {} or write {}. 权限"
# Letters alone, so that every number is a run.
NAMES = [f"{chr(97 + at // 26)}{chr(97 + at % 26)}name" for at in range(3 * MOST_DOCUMENTS)]


def pages():
    """Return more pages of one template than content words may have, each with two names."""
    return [FRAME.format(NAMES[at], NAMES[at + 1]) for at in range(len(NAMES) - 1)]


def test_a_copy_keeps_templates_and_exchanges_content_words():
    texts = pages()
    templates = Templates(texts)
    copies = [templates.copy(number) for number in (0, 1, 2)]

    assert copies[0] == texts
    assert copies[1] != copies[2]
    assert copies[1] == Templates(texts).copy(1)
    for copy in copies:
        words = [RUN.findall(text) for text in copy]
        assert all(FRAME.format(found[5], found[8]) == text for found, text in zip(words, copy, strict=True))
        # Neighbouring pages share a name in each copy, too, and every name is there.
        assert all(one[8] == other[5] for one, other in pairwise(words))
        assert {found[5] for found in words} | {words[-1][8]} == set(NAMES)


def test_some_texts_of_a_copy_are_those_of_the_whole_copy():
    templates = Templates(pages())

    assert templates.copy(3, [5, 2]) == [templates.copy(3)[at] for at in (5, 2)]


def test_the_first_way_is_that_of_the_package_and_rare_shingles_leave_templates_out():
    frame = "这是网站的页脚，所有页面都有相同的文字和链接。"
    texts = [text.text for text in chinese()[:8]]
    framed = [*(f"{text}{frame}" for text in texts), frame]
    entries, segments = Bandings(framed * 20, Fingerprinter(ShingleAnalyzer())).analyse([""] * 9, framed)
    bandings = Bandings([*framed, *(f"{n}{frame}" for n in range(900))], Fingerprinter(ShingleAnalyzer()))
    ways = dict(zip(BANDINGS, bandings.analyse([""] * 9, framed)[1], strict=True))
    own = Batch(framed).sketch(BANDS, 6)

    assert np.array_equal(entries.sketches, own.sketches)
    assert np.array_equal(ways["6 minima"], own.segments)
    # Where all shingles are common, none is left out.
    assert all(np.array_equal(way[-1:], segments[at][-1:]) for at, way in enumerate(ways.values()))
    assert np.array_equal(ways["6 minima over rare shingles"][-1], own.segments[-1])
    assert not np.array_equal(ways["6 minima over rare shingles"][:-1], own.segments[:-1])
