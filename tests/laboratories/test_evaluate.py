"""The figures that ``scripts/evaluate`` computes."""

import gzip
import json
from dataclasses import replace
from itertools import combinations

import pytest
from demo import chinese
from evaluate import LEARNED, RECALL_ONLY, Figures, main, missed, run, sample, score
from support.corpora import need
from support.labelled import Corpus, Similarities, read_corpus
from support.sketching import jaccard

TEXTS = [
    "", "雨", "春雨", "今天下雨了", "今天下雨了吗", "今天下雪了吗", "aaaaaaaaaa", "AAAAAA",
    "The tide rises twice a day",
]  # fmt: skip


@pytest.fixture
def corpus():
    """Return ten Chinese texts and a copy of each; every pair is listed."""
    texts = [text.text for text in chinese()[:10]]
    ids, groups = zip(*((f"{number}{side}", str(number)) for side in "ab" for number in range(10)), strict=True)
    pairs = [(number, number + 10) for number in range(10)]
    return Corpus(name="made", ids=list(ids), groups=list(groups), texts=texts * 2, pairs=pairs)


def test_similarities_are_those_of_the_sketch_module():
    similarities = Similarities(TEXTS)

    for a, b in combinations(range(len(TEXTS)), 2):
        assert similarities.of((a, b)) == jaccard(TEXTS[a], TEXTS[b])


def test_recall_is_counted_in_each_bin_of_listed_pairs():
    similarities = Similarities([], {(0, 1): 0.95, (0, 2): 0.97, (1, 2): 0.85, (1, 3): 0.1})

    listed, recall = score(list(similarities.known), {(0, 1), (1, 2), (0, 3)}, similarities)

    assert listed == [2, 0, 1, 0]
    assert recall == [0.5, None, 1.0, None]


def test_missed_figures_are_said():
    counts = {"documents": 10, "listed": [4, 3, 2, 1], "returned": 9, "judged": 9, "truncated": 0}
    good = Figures(**counts, recall=[1.0, 0.995, 0.97, None], precise=1.0, strictly=0.9)
    bad = replace(good, recall=[1.0, 0.985, 0.94, None], precise=None)

    assert missed("lctt_zh_edit", good) == []
    assert missed("lctt_zh_edit", bad) == [
        "lctt_zh_edit: recall at J .9-.95 is 0.9850, required is 0.99",
        "lctt_zh_edit: recall at J .8-.9 is 0.9400, required is 0.963",
        "lctt_zh_edit: precision (J >= 0.75) is unknown, required is 0.98",
    ]


@pytest.mark.parametrize(("words", "rows"), [([], 8), (["--exact"], 2)])
def test_a_set_has_its_table(monkeypatch, tmp_path, capsys, corpus, words, rows):
    monkeypatch.setenv("SIMHASH_HBASE_DATA", str(tmp_path))
    with gzip.open(tmp_path / "docs.made.jsonl.gz", "wt") as file:
        for name, group, text in zip(corpus.ids, corpus.groups, corpus.texts, strict=True):
            file.write(json.dumps({"id": name, "group": group, "text": text}) + "\n")
    with gzip.open(tmp_path / "pairs.made.tsv.gz", "wt") as file:
        file.write("".join(f"{number}b\t{number}a\tcopy\t1.0\n" for number in range(10)))

    assert main([*words, "made"]) == 0

    head, _, *printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(printed) == rows
    assert {row.count("|") for row in printed} == {head.count("|")}
    assert {row.split(" | ")[3] for row in printed} == {"1.000"}  # The recall.
    assert {row.split(" | ")[4 if words else -1].strip(" |") for row in printed} == {"1.000"}  # The precision.


@pytest.mark.parametrize("words", [["lctt"], ["--exact", "lctt"], ["--peers", "lctt"]])
def test_an_absent_set_is_wrong_usage(monkeypatch, tmp_path, capsys, words):
    monkeypatch.setenv("SIMHASH_HBASE_DATA", str(tmp_path))

    assert main(words) == 2
    assert "graph_zh_v1_beta" in capsys.readouterr().err


def test_all_twenty_pairs_of_english_news_are_found():
    need(RECALL_ONLY)
    corpus = read_corpus(RECALL_ONLY)
    rows = sorted({*range(0, len(corpus.ids), 5), *(row for pair in corpus.pairs for row in pair)})

    measured = run(corpus, rows, LEARNED, sample(range(len(corpus.ids)), 1), Similarities(corpus.texts))

    assert (measured.listed[0], measured.recall[0]) == (20, 1.0)
