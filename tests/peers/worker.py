"""A process that measures one entrant on one set: ``python -m peers.worker NUMBER SET FILE``."""

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import process_time

import msgspec
from bench.documents import Sentences
from support.labelled import Corpus, folder, read_corpus

from peers.entrants import ENTRANTS, Answers, Entrant

MADE = "made"
MADE_DOCUMENTS = 5_000
SINGLES = 100


class Result(msgspec.Struct, kw_only=True):
    """What one entrant did."""

    answers: Answers
    add: float
    """Processor seconds from texts to documents that are found."""
    one: float
    """Processor seconds of one query by a text, the median."""
    size: int
    """Bytes of the index."""


def read(name: str) -> Corpus:
    """Read a shared set, or make documents of twelve sentences and copies that lack half of one, without groups."""
    if name != MADE:
        return read_corpus(name, folder())
    sentences = Sentences(MADE_DOCUMENTS)
    texts = [sentences.text(numbers) for numbers in sentences.documents.tolist()]
    pairs = [(at, at + 1) for at in range(0, len(texts), 2)]
    return Corpus(name=MADE, ids=[str(at) for at in range(len(texts))], groups=[], texts=texts, pairs=pairs)


def measure(entrant: Entrant, texts: Sequence[str]) -> Result:
    """Add all texts, ask for each, then for some alone."""
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


def main(number: str, name: str, path: str) -> None:
    """Measure, and write the result for the process that asked."""
    texts = read(name).texts
    entrant = list(ENTRANTS.values())[int(number)](texts)
    Path(path).write_bytes(msgspec.msgpack.encode(measure(entrant, texts)))


if __name__ == "__main__":
    main(*sys.argv[1:])
