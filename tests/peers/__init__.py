"""This package beside other near-duplicate indexes, on the same documents.

Run by ``scripts/evaluate --peers [SET…]``. Each index is measured in a process of its own: it takes all texts of a set,
is asked for each, then for some alone. Recall is of the listed pairs by bin, and of all pairs of the set with
J >= 0.8; precision is of the pairs that come back.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import median
from time import process_time
from typing import Any

from bench.documents import Sentences
from evaluate import REQUIRED_RECALL, STRICT, precision, score
from support.labelled import Corpus, Similarities, read_corpus

from peers.entrants import ENTRANTS, Answers
from peers.truth import similar_pairs

MADE = "made"
MADE_DOCUMENTS = 5_000
SINGLES = 100
SETS = (*REQUIRED_RECALL, MADE)
HEAD = (
    "| set | index | recall J >= .95 | .9-.95 | .8-.9 | all pairs J >= .8 | pairs returned | precision J >= .8 "
    "| J >= .75 | documents /s | one query | bytes a document |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)
# Processor time counts, and threads that wait for each other spend it.
ALONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "LANCE_CPU_THREADS"), "1")


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of one entrant."""

    answers: Answers
    add: float  # Processor seconds from texts to documents that are found.
    one: float  # Processor seconds of one query by a text, the median.
    size: int  # Bytes of the index.


def read(name: str) -> Corpus:
    """Read a shared set, or make documents of twelve sentences and copies that lack half of one, without groups."""
    if name != MADE:
        return read_corpus(name)
    sentences = Sentences(MADE_DOCUMENTS)
    texts = [sentences.text(numbers) for numbers in sentences.documents.tolist()]
    pairs = [(at, at + 1) for at in range(0, len(texts), 2)]
    return Corpus(name=MADE, ids=[str(at) for at in range(len(texts))], groups=[], texts=texts, pairs=pairs)


def measure(entrant: Any, texts: Sequence[str]) -> Result:
    start = process_time()
    entrant.add(texts)
    added = process_time() - start
    size, answers = entrant.size(), entrant.ask_all(texts)
    singles = []
    for text in texts[:: max(1, len(texts) // SINGLES)]:
        start = process_time()
        entrant.ask(text)
        singles.append(process_time() - start)
    return Result(answers=answers, add=added, one=median(singles), size=size)


def measured(entrant: str, name: str) -> Result:
    """Let a process of its own measure an entrant."""
    os.environ.update(ALONE, LANCE_LOG="error", PYTHONWARNINGS="ignore")
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(_measured_here, entrant, name).result()


def _measured_here(entrant: str, name: str) -> Result:
    texts = read(name).texts
    return measure(ENTRANTS[entrant](texts), texts)


def rows(name: str) -> Iterator[str]:
    """Measure all entrants on a set, a row of the table for each."""
    corpus = read(name)
    exact = Similarities(corpus.texts)
    similar = similar_pairs(corpus.texts, exact)
    print(f"{name}: {len(similar):,} pairs with J >= {STRICT}", file=sys.stderr, flush=True)
    for entrant in ENTRANTS:
        result = measured(entrant, name)
        for how, pairs in result.answers.items():
            _, recall = score(corpus.pairs, pairs, exact)
            shares = [*recall[:3], len(similar & pairs) / len(similar), *precision(pairs, exact)[1:]]
            told = ["-" if share is None else f"{share:.3f}" for share in shares]
            documents = len(corpus.texts)
            figures = f"{documents / result.add:,.0f} | {result.one * 1e3:.2f} ms | {result.size / documents:,.0f}"
            cells = [name, entrant + how, *told[:4], f"{len(pairs):,}", *told[4:], figures]
            yield f"| {' | '.join(cells)} |"


def main(names: Sequence[str]) -> int:
    print(HEAD)
    for name in names or SETS:
        for line in rows(name):
            print(line, flush=True)
    return 0
