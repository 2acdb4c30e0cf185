"""Parts ``growth`` and ``growth-hbase``: what loading and asking cost in indexes of growing size."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np

from bench.documents import fill_spool
from bench.fixed_rate import measure_steady
from bench.growth_corpora import CORPORA, PROFILE, made_corpus, neighbours, queries
from bench.hbase_clients import rewrite
from bench.hbase_instance import Instance, running_hbase
from bench.measuring import (
    Table,
    Timed,
    count,
    fixed,
    in_turns,
    microseconds,
    one_by_one,
    percentile,
    processor_seconds,
)
from bench.sizes import Sizes
from simhash_hbase.bulk import Spool, StoreWriter, Writer, begin, load
from simhash_hbase.index.index import Index
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.stores.embedded import EmbeddedStore
from simhash_hbase.stores.hbase import HBaseStore

ROUNDS = 10
"""Of single queries: within some seconds, each index has been asked for some of its own."""


class Place(NamedTuple):
    """Where one index is made."""

    index: Index
    writer: Writer
    size: Callable[[], int]
    """Bytes on disk."""
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


class Figures(NamedTuple):
    """What one index costs."""

    cells: list[tuple[float, Callable[[float], str]]]
    """What a row says of it, and how that is written."""
    matches: float
    """Matches a query."""


def filled(made: Place, name: str, documents: int, sizes: Sizes) -> float:
    """Load an index, and return the seconds that it took."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        spool = Spool(Path(folder) / "spool", made.index.store.url, made.index.profile)
        fill_spool(spool, made_corpus(name, documents, sizes))
        start = made.clock()
        begin(made.index, spool)
        load(made.index, spool, made.writer)
        return made.clock() - start


def measured(loaded: Sequence[Loaded], sizes: Sizes) -> list[Figures]:
    """Ask all indexes in turns: what else the machine does hits all alike, so that ratios between them hold."""
    shuffled = [each.spread.take(np.random.default_rng(1).permutation(len(each.spread))) for each in loaded]
    for each, asked in zip(loaded, shuffled, strict=True):
        _warm(each, asked)
    singles = _singles(loaded, [asked.take(range(min(len(asked), sizes.growth_queries))) for asked in shuffled])
    batches = _batches(loaded, sizes.growth_repeats)
    return [_figures(*each) for each in zip(loaded, singles, batches, strict=True)]


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


def _figures(each: Loaded, singles: Timed, batches: list[Timed]) -> Figures:
    alone, spread = sorted(singles.result), batches[0]
    asked = (each.spread, each.neighbours, each.same)
    took = [batch.best / len(queries) for batch, queries in zip(batches, asked, strict=True)]
    times = [sum(singles.seconds) / len(alone), percentile(alone, 0.5), percentile(alone, 0.99), *took]
    return Figures(
        [
            (each.documents, count),
            (each.seconds, partial(fixed, unit=" s")),
            (each.documents / each.seconds, count),
            (each.made.size() / each.documents, count),
            *((seconds, microseconds) for seconds in times),
        ],
        sum(len(answer.matches) for answer in spread.result) / len(each.spread),
    )


FILES = (("FAST_DIFF", "NONE"),)
COLUMNS = (
    *("documents", "load", "documents /s", "bytes a document", "one query", "median", "99 %"),
    *("in a batch of {}", "in a batch of neighbours", "in the same batch"),
)


def measure_growth(sizes: Sizes) -> list[Table]:
    """Measure folders; then ask the largest one for some time."""
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        place = partial(_folder, Path(scratch))
        return [*(_table(name, sizes, place) for name in CORPORA), _steady(sizes, place)]


def measure_growth_in_hbase(sizes: Sizes) -> list[Table]:
    """Measure tables, which `load` fills by HFiles."""
    with running_hbase() as instance:
        return [_table(name, sizes, partial(_in_hbase, instance, sizes.hbase_warm)) for name in CORPORA]


@contextmanager
def _folder(folder: Path, name: str, documents: int) -> Iterator[Place]:
    path = folder / f"{name}-{documents}"
    store = EmbeddedStore.create(str(path))
    with Index.create(store, PROFILE) as index:
        yield Place(index, StoreWriter(store), lambda: store.size().bytes or 0, process_time, process_time)
    shutil.rmtree(path)


@contextmanager
def _in_hbase(instance: Instance, warm: int, name: str, documents: int) -> Iterator[Place]:
    table = instance.new_table()
    size = partial(_compacted, instance, table)
    with Index.create(HBaseStore.open(instance.options(2, table)), PROFILE) as index:
        yield Place(index, instance.writer(table), size, perf_counter, partial(_used_with_hbase, instance), warm)
    instance.drop(table)


def _used_with_hbase(instance: Instance) -> float:
    return process_time() + sum(map(processor_seconds, instance.pids.values()))


def _compacted(instance: Instance, table: str) -> int:
    return sum(size for family in "bd" for size in rewrite(instance, table, family, FILES))


def _table(name: str, sizes: Sizes, place) -> Table:
    grown = _grown(name, sizes, place)
    batch = count(10 * sizes.growth_queries)
    rows = [_row(each) for each in grown] + [_ratios(each, grown[0]) for each in grown[1:]]
    return Table(
        title=f"Growth, {name}",
        columns=["what", *(column.format(batch) for column in COLUMNS), "matches a query"],
        rows=rows,
        notes=[
            f"{count(sizes.growth_queries)} single queries in {ROUNDS} rounds; a batch is the best of "
            f"{sizes.growth_repeats}. “The same batch” is about the first {count(sizes.growth[0])} documents."
        ],
    )


def _grown(name: str, sizes: Sizes, place) -> list[Figures]:
    with ExitStack() as held:
        places = [held.enter_context(place(name, documents)) for documents in sizes.growth]
        loaded = [_loaded(made, name, each, sizes) for made, each in zip(places, sizes.growth, strict=True)]
        grown = measured(loaded, sizes)
    for each in grown:
        _tell(name, _row(each)[1:])
    return grown


def _loaded(made: Place, name: str, documents: int, sizes: Sizes) -> Loaded:
    seconds = filled(made, name, documents, sizes)
    _tell(name, [count(documents), "documents loaded in", fixed(seconds, " s")])
    many = 10 * sizes.growth_queries
    same = queries(name, sizes.growth[0], many, sizes)
    asked = [make(name, documents, many, sizes) for make in (queries, neighbours)]
    return Loaded(made, documents, seconds, *asked, same)


def _tell(name: str, words: list[str]) -> None:
    """Say it at once: an hour may lie between this and the table."""
    print(f"{name}:", *words, file=sys.stderr, flush=True)


def _row(each: Figures) -> list[str]:
    return ["cost", *(written(value) for value, written in each.cells), fixed(each.matches)]


def _ratios(each: Figures, first: Figures) -> list[str]:
    pairs = zip(each.cells, first.cells, strict=True)
    return ["to the smallest", *(f"{one / other:.2f} x" for (one, _), (other, _) in pairs), ""]


def _steady(sizes: Sizes, place) -> Table:
    documents = sizes.growth[-1]
    with place("uniform", documents) as made:
        filled(made, "uniform", documents, sizes)
        asked = queries("uniform", documents, 50 * sizes.growth_rate, sizes)
        return measure_steady(made.index, asked, rate=sizes.growth_rate, minutes=sizes.growth_minutes)
