"""This package beside other near-duplicate indexes, on the same documents.

Run by ``scripts/evaluate --peers [SET…]``. Each index is measured in a process of its own: it takes all texts of a set,
is asked for each, then for some alone. Recall is of the listed pairs by bin, and of all pairs of the set with
J >= 0.8; precision is of the pairs that come back.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from evaluate import REQUIRED_RECALL, STRICT, precision, score
from support.labelled import Similarities

from peers.entrants import ENTRANTS
from peers.truth import similar_pairs
from peers.worker import MADE, Result, read

SETS = (*REQUIRED_RECALL, MADE)
HEAD = (
    "| set | index | recall J >= .95 | .9-.95 | .8-.9 | all pairs J >= .8 | pairs returned | precision J >= .8 "
    "| J >= .75 | documents /s | one query | bytes a document |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)
TESTS = Path(__file__).parents[1]
# Processor time counts, and threads that wait for each other spend it.
ALONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "LANCE_CPU_THREADS"), "1")


def measured(number: int, name: str) -> Result:
    """Let a process of its own measure an entrant."""
    with tempfile.TemporaryDirectory(prefix="simhash-hbase-") as scratch:
        file = Path(scratch) / "result"
        command = [sys.executable, "-W", "ignore", "-m", "peers.worker", str(number), name, str(file)]
        subprocess.run(command, env={**os.environ, **ALONE, "LANCE_LOG": "error", "PYTHONPATH": str(TESTS)}, check=True)
        return msgspec.msgpack.decode(file.read_bytes(), type=Result)


def rows(name: str) -> Iterator[str]:
    """Measure all entrants on a set, a row of the table for each."""
    corpus = read(name)
    exact = Similarities(corpus.texts)
    similar = similar_pairs(corpus.texts, exact)
    print(f"{name}: {len(similar):,} pairs with J >= {STRICT}", file=sys.stderr, flush=True)
    for number, entrant in enumerate(ENTRANTS):
        result = measured(number, name)
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
