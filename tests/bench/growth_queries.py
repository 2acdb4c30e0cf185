"""What indexes of several sizes cost, side by side: all are open, and each question goes to all of them in turns."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.growth_corpora import made_corpus
from bench.sizes import Sizes
from bench.synthetic import fill_spool
from bench.timing import Timed, in_turns, one_by_one
from simhash_hbase.bulk import Spool, Writer, begin, load
from simhash_hbase.index.index import Index
from simhash_hbase.rows.analysed import Entries

__all__ = ["ROUNDS", "Grown", "Loaded", "Place", "filled", "measured"]

ROUNDS = 10
"""Of single queries: within some seconds, each index has been asked for some of its own."""


class Place(NamedTuple):
    """Where one index is made."""

    index: Index
    writer: Writer
    size: Callable[[], int]
    """Bytes on disk."""
    took: Path
    """File with the seconds of the load, once the index is loaded."""
    clock: Callable[[], float]
    """Of a load: where another process writes the files, processor time of this one says little."""
    used: Callable[[], float]
    """Seconds of processor time so far, of this process and of those that answer it."""
    warm: int = 0
    """Single queries before any is timed: Java compiles what was called ten thousands of times."""


class Loaded(NamedTuple):
    """An index with its documents, and what it is asked."""

    made: Place
    documents: int
    seconds: float
    """Seconds that the load took."""
    spread: Entries
    """Queries about documents all over the index."""
    neighbours: Entries
    """Queries about documents that follow each other."""
    same: Entries
    """Queries that every index is asked: about documents of the first one."""


@dataclass(frozen=True)
class Grown:
    """What one index costs."""

    documents: int
    seconds: float
    size: int
    single: float
    """Seconds of processor time a query that is asked alone."""
    singles: list[float]
    spread: float
    """Seconds a query, in a batch about documents all over the index."""
    neighbours: float
    """Seconds a query, in a batch about documents that follow each other."""
    same: float
    """Seconds a query, in one batch that every index is asked."""
    matches: float
    """Matches a query."""


def filled(made: Place, name: str, documents: int, sizes: Sizes) -> float:
    """Load an index unless that was done before, and return the seconds that it took."""
    if made.took.exists():
        return float(made.took.read_text())
    with tempfile.TemporaryDirectory(prefix="bench-", dir=made.took.parent) as folder:
        spool = Spool(Path(folder) / "spool", made.index.store.url, made.index.profile)
        fill_spool(spool, made_corpus(name, documents, sizes))
        start = made.clock()
        begin(made.index, spool)
        load(made.index, spool, made.writer)
        seconds = made.clock() - start
    made.took.write_text(str(seconds))
    return seconds


def measured(loaded: Sequence[Loaded], sizes: Sizes) -> list[Grown]:
    """Ask all indexes in turns: what else the machine does hits all alike, so that ratios between them hold."""
    shuffled = [each.spread.take(np.random.default_rng(1).permutation(len(each.spread))) for each in loaded]
    for each, asked in zip(loaded, shuffled, strict=True):
        _warm(each, asked)
    singles = _singles(loaded, [asked.take(range(min(len(asked), sizes.growth_queries))) for asked in shuffled])
    batches = _batches(loaded, sizes.growth_repeats)
    return [_grown(*each) for each in zip(loaded, singles, batches, strict=True)]


def _warm(each: Loaded, shuffled: Entries) -> None:
    """Ask first: the first queries find nothing in memory, and what they leave there is what a running index has."""
    for batch in (each.spread, each.neighbours, each.same):
        each.made.index.query_entries(batch)
    for at in range(each.made.warm):
        each.made.index.query_entries(shuffled.take([-1 - at % len(shuffled)]))


def _singles(loaded: Sequence[Loaded], asked: list[Entries]) -> list[Timed]:
    """Time single queries: the clock by rounds, the result is the time of every query."""
    work = [partial(_round, each.made.index, _rounds(few), []) for each, few in zip(loaded, asked, strict=True)]
    return in_turns(work, repeats=ROUNDS, clock=loaded[0].made.used)


def _rounds(asked: Entries) -> Iterator[list[Entries]]:
    alone = [asked.take([at]) for at in range(len(asked))]
    return (alone[first::ROUNDS] for first in range(ROUNDS))


def _round(index: Index, rounds: Iterator[list[Entries]], took: list[float]) -> list[float]:
    took += one_by_one(index.query_entries, next(rounds))
    return took


def _batches(loaded: Sequence[Loaded], repeats: int) -> list[list[Timed]]:
    """Time the batches of each index: spread, neighbours, same; those of one kind follow each other."""
    kinds = zip(*((each.spread, each.neighbours, each.same) for each in loaded), strict=True)
    work = [
        partial(each.made.index.query_entries, batch)
        for kind in kinds
        for each, batch in zip(loaded, kind, strict=True)
    ]
    timed = in_turns(work, repeats=repeats, clock=loaded[0].made.used)
    return [timed[at :: len(loaded)] for at in range(len(loaded))]


def _grown(each: Loaded, singles: Timed, batches: list[Timed]) -> Grown:
    spread, neighbours, same = batches
    return Grown(
        documents=each.documents,
        seconds=each.seconds,
        size=each.made.size(),
        single=sum(singles.seconds) / len(singles.result),
        singles=sorted(singles.result),
        spread=spread.best / len(each.spread),
        neighbours=neighbours.best / len(each.neighbours),
        same=same.best / len(each.same),
        matches=sum(len(answer.matches) for answer in spread.result) / len(each.spread),
    )
