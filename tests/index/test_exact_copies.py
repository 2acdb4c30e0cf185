"""Exact copies: texts of one normal form are found, wherever blanks, line ends or U+200B stand in them."""

import random
from itertools import islice

import pytest
from demo import chinese, docstrings

from simhash_hbase import create_index

BETWEEN = {"blanks": " ", "zero-width spaces": "\u200b", "line ends": "\r\n", "tabs": "\t", "wide blanks": "\u3000"}
# Texts of one shingle.
SHORT = ["早安", "你好世界", "ok", "Goon", "我是工程师", "a1b2c", "今天下雨", "カメラ", "Çava", "雨", "안녕하세요"]


def spread(text, between, share, seed=0):
    """Return a text with something behind a share of its characters."""
    chance = random.Random(seed)
    return "".join(character + (between if chance.random() < share else "") for character in text)


def corpus():
    """Return texts of 30 characters and more, Chinese and English."""
    whole = [text.text for text in chinese()]
    lines = [line for text in whole for line in text.splitlines()]
    english = [text.text for text in islice(docstrings(), 400)]
    return list(dict.fromkeys(text for text in (*whole[:20], *lines[:20], *english[::20]) if len(text) >= 30))


TEXTS = corpus()


def add(index, texts):
    for _ in index.add_many((f"text {number}", text) for number, text in enumerate(texts)):
        pass


def missed(index, copies, **how):
    """Return the positions of the copies whose texts are not found as exact copies; those refused are none."""
    answers = index.query_many(((f"copy {number}", copy) for number, copy in enumerate(copies)), **how)
    return [
        number
        for number, (_, answer) in enumerate(answers)
        if answer is not None and f"text {number}" not in {match.id for match in answer.matches if match.exact}
    ]


@pytest.fixture(scope="module", params=["learned", "jieba", "shingle"])
def index(request):
    sample = TEXTS if request.param == "learned" else None
    with create_index("memory:", analyzer=request.param, learn_from=sample) as made:
        add(made, TEXTS)
        yield made


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
@pytest.mark.parametrize("share", [0.1, 0.5, 1])
def test_copies_with_something_between_their_characters_are_found(index, between, share):
    assert missed(index, [spread(text, between, share, seed) for seed, text in enumerate(TEXTS)]) == []


@pytest.mark.parametrize("similarity", [0.77, 0.95, 1])
def test_copies_are_found_whatever_similarity_is_asked_for(index, similarity):
    copies = [spread(text, " ", 0.5, seed) for seed, text in enumerate(TEXTS)]

    assert missed(index, copies, rule=index.rule(similarity=similarity)) == []


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
def test_dedup_keeps_one_of_exact_copies(between):
    documents = [(f"{number} {share}", spread(text, between, share, number))
                 for share in (0, 0.3, 1) for number, text in enumerate(TEXTS)]  # fmt: skip
    with create_index("memory:", learn_from=TEXTS) as index:
        kept = {name for name, answer in index.dedup_many(documents) if answer.is_original}

    assert [name for name in kept if not name.endswith(" 0")] == []


@pytest.mark.parametrize("bands", [1, 2, 3, 8])
def test_copies_are_found_with_any_number_of_sketch_rows(bands):
    with create_index("memory:", learn_from=TEXTS, bands=bands) as index:
        add(index, TEXTS)

        assert missed(index, [spread(text, "\u200b", 1) for text in TEXTS]) == []


@pytest.mark.parametrize("analyzer", ["learned", "shingle"])
@pytest.mark.parametrize("between", [*BETWEEN.values(), ", "], ids=[*BETWEEN, "commas"])
def test_copies_of_texts_of_one_shingle_are_found(analyzer, between):
    sample = [*TEXTS, *SHORT] if analyzer == "learned" else None
    with create_index("memory:", analyzer=analyzer, learn_from=sample) as index:
        add(index, SHORT)

        assert missed(index, [spread(text, between, 1) for text in SHORT]) == []
        assert missed(index, [between + text.upper() + between for text in SHORT]) == []
