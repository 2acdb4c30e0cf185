"""The comparison of ``scripts/evaluate --peers``: all similar pairs are known, and every index gives its pairs."""

import random
from contextlib import closing
from dataclasses import replace
from itertools import combinations

import peers
import pytest
from demo import chinese
from evaluate import STRICT
from peers.entrants import ENTRANTS
from peers.truth import similar_pairs
from peers.weaknesses import SOURCE, Kind, figures, kinds
from support.labelled import Corpus, Similarities, documents_file

NEEDS = {"datasketch": "datasketch", "Lance": "lance", "rensa": "rensa", "PyPI": "simhash"}


@pytest.fixture(scope="module")
def corpus():
    """Return articles, each with a copy that lacks an end and a whole one."""
    texts = [text.text for text in chinese()[:12]]
    versions = [version for text in texts for version in (text, text[: len(text) * 9 // 10], f"{text} ")]
    pairs = [(at, at + 2) for at in range(0, len(versions), 3)]
    return Corpus(name="made", ids=list(map(str, range(len(versions)))), groups=[], texts=versions, pairs=pairs)


def test_all_similar_pairs_are_those_of_comparing_each_with_each():
    chosen, exact = random.Random(2), {}
    alphabet = "一二三四五六七八九十甲乙丙丁"
    texts = ["".join(chosen.choices(alphabet, k=chosen.randint(3, 400))) for _ in range(30)]
    # Less and less of the end of each: similarities on both sides of the limit.
    texts += [text[: len(text) * (99 - 3 * (at % 12)) // 100] for at, text in enumerate(texts * 4)]
    similarities = Similarities(texts, exact)

    expected = {pair for pair in combinations(range(len(texts)), 2) if similarities.of(pair) >= STRICT}

    assert similar_pairs(texts, Similarities(texts)) == expected
    assert len(expected) > 50
    assert sum(0.75 <= alike < STRICT for alike in exact.values()) > 10


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entrant", ENTRANTS)
def test_an_index_finds_the_copies_of_a_corpus(entrant, corpus):
    for module in (module for name, module in NEEDS.items() if name in entrant):
        pytest.importorskip(module, reason="./scripts/install dev,peers", exc_type=ImportError)

    with closing(ENTRANTS[entrant](corpus.texts)) as measured:
        result = peers.measure(measured, corpus.texts)

    assert len(result.answers) == 1 + any(name in entrant for name in ("Lance", "datasketch", "rensa"))
    for pairs in result.answers.values():
        assert set(corpus.pairs) <= pairs
        assert all(a < b and a // 3 == b // 3 for a, b in pairs)
    assert min(result.add, result.one) > 0


def test_the_table_has_a_row_for_each_index(monkeypatch, corpus, capsys):
    alike = peers.Result(answers={"": {*corpus.pairs, (0, 3)}}, add=2.0, one=0.001, size=3_600)
    monkeypatch.setattr(peers, "measured", lambda entrant, name: alike)
    monkeypatch.setattr(peers, "read", lambda name: replace(corpus, name=name))

    assert peers.main(["made"]) == 0

    head, _, *rows = capsys.readouterr().out.splitlines()
    assert len(rows) == len(ENTRANTS)
    assert {row.count("|") for row in [head, *rows]} == {13}
    assert all("| 1.000 | - | - | 0.333 | 13 | 0.923 | 0.923 | 18 | 1.00 ms | 100 |" in row for row in rows)


def test_a_kind_of_failure_counts_copies_found_and_documents_joined_with_strangers():
    kind = Kind(name="made", texts=list("abcd"), copies={(0, 1), (2, 3)})

    assert figures(kind, {(0, 1)}) == "0.50, 0.00"
    assert figures(kind, {(0, 1), (1, 2)}) == "0.50, 0.50"
    assert figures(replace(kind, copies=set()), {(0, 1)}) == "-, 0.50"


@pytest.mark.skipif(not documents_file(SOURCE).exists(), reason=f"there is no {documents_file(SOURCE)}")
def test_every_kind_of_failure_has_texts_that_differ():
    for kind in kinds():
        assert len(set(kind.texts)) == len(kind.texts)
        assert all(kind.texts[a] != kind.texts[b] for a, b in kind.copies)
        assert len(kind.copies) in {0, 300}
