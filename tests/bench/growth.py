"""Parts ``growth`` and ``growth-hbase``: what loading and asking cost in indexes of growing size."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
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
    return [_cost_of(*each) for each in zip(loaded, singles, batches, strict=True)]


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


def _cost_of(each: Loaded, singles: Timed, batches: list[Timed]) -> Grown:
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


FILES = (("FAST_DIFF", "NONE"),)
COLUMNS = (
    *("documents", "load", "documents /s", "bytes a document", "one query", "median", "99 %"),
    *("in a batch of {}", "in a batch of neighbours", "in the same batch"),
)


def measure_growth(sizes: Sizes) -> list[Table]:
    """Measure folders; then ask the largest one for some time."""
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        place = partial(_folder, sizes.growth_folder or Path(scratch), sizes.growth_folder is not None)
        tables = [_table(name, sizes, place) for name in CORPORA]
        tables.append(_steady(sizes, place))
    return tables


def measure_growth_in_hbase(sizes: Sizes) -> list[Table]:
    """Measure tables, which `load` fills by HFiles."""
    with running_hbase() as instance, tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        return [_table(name, sizes, partial(_in_hbase, instance, sizes.hbase_warm, Path(scratch))) for name in CORPORA]


@contextmanager
def _folder(folder: Path, is_kept: bool, name: str, documents: int) -> Iterator[Place]:
    path = folder / f"{name}-{documents}"
    took = path.with_suffix(".seconds")
    if not took.exists():
        # Of an earlier run that was interrupted.
        shutil.rmtree(path, ignore_errors=True)
        Index.create(EmbeddedStore.create(str(path)), PROFILE).close()
    store = EmbeddedStore.open(str(path))
    with Index(store) as index:
        yield Place(index, StoreWriter(store), lambda: store.size().bytes or 0, took, process_time, process_time)
    if not is_kept:
        shutil.rmtree(path)
        took.unlink()


@contextmanager
def _in_hbase(instance: Instance, warm: int, scratch: Path, name: str, documents: int) -> Iterator[Place]:
    table = instance.new_table()
    size = partial(_compacted, instance, table)
    with Index.create(HBaseStore.open(instance.options(2, table)), PROFILE) as index:
        used = partial(_used_with_hbase, instance)
        yield Place(index, instance.writer(table), size, scratch / table, perf_counter, used, warm)
    instance.drop(table)


def _used_with_hbase(instance: Instance) -> float:
    return process_time() + sum(map(processor_seconds, instance.pids.values()))


def _compacted(instance: Instance, table: str) -> int:
    return sum(size for family in "bd" for size in rewrite(instance, table, family, FILES))


def _table(name: str, sizes: Sizes, place) -> Table:
    grown = _grown(name, sizes, place)
    batch = count(10 * sizes.growth_queries)
    rows = [_row(each) for each in grown]
    rows += [_ratios(each, grown[0]) for each in grown[1:]]
    return Table(
        title=f"Growth, {name}",
        columns=["what", *(column.format(batch) for column in COLUMNS), "matches a query"],
        rows=rows,
        notes=[
            "`load` of analysed documents (ids of 40 bytes, sketch, digest, six sketch rows): sorting and writing. "
            "Processor time into a folder, wall-clock time into HBase.",
            "`Index.query_entries` by the index's own rule, `verified`, with documents and their sketches. "
            + (
                "Half of the queries are stored documents with up to three other bits, the others are near nothing. "
                if name == "uniform"
                else "The documents are those of a set of templated pages, each copy of the set moved elsewhere; "
                "queries are stored documents with up to three other bits. "
            )
            + f"{count(sizes.growth_queries)} single queries: their mean processor time, median and 99 % of wall-clock "
            f"time. A batch is the best of {sizes.growth_repeats}, processor time; that of HBase's processes is "
            "counted with it. A batch is about documents at equal distances in the whole index. All are asked the same "
            f"batch, about the first {count(sizes.growth[0])} documents, which all have: its queries share as much in "
            "each. "
            "A batch of neighbours is about documents that follow each other in the second half of the index, as a "
            "crawl of one site after another hands them over.",
            f"All indexes are open at once and take turns: single queries in {ROUNDS} rounds, batches one by one.",
        ],
    )


def _grown(name: str, sizes: Sizes, place) -> list[Grown]:
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


def _figures(each: Grown) -> list[tuple[float, Callable[[float], str]]]:
    """Return what a row says of an index, and how that is written."""
    medium, late = (percentile(each.singles, share) for share in (0.5, 0.99))
    return [
        (each.documents, count),
        (each.seconds, partial(fixed, unit=" s")),
        (each.documents / each.seconds, count),
        (each.size / each.documents, count),
        *((value, microseconds) for value in (each.single, medium, late, each.spread, each.neighbours, each.same)),
    ]


def _row(each: Grown) -> list[str]:
    return ["cost", *(written(value) for value, written in _figures(each)), fixed(each.matches)]


def _ratios(each: Grown, first: Grown) -> list[str]:
    pairs = zip(_figures(each), _figures(first), strict=True)
    return ["to the smallest", *(f"{one / other:.2f} x" for (one, _), (other, _) in pairs), ""]


def _steady(sizes: Sizes, place) -> Table:
    documents = sizes.growth[-1]
    with place("uniform", documents) as made:
        filled(made, "uniform", documents, sizes)
        asked = queries("uniform", documents, 50 * sizes.growth_rate, sizes)
        return measure_steady(made.index, asked, rate=sizes.growth_rate, minutes=sizes.growth_minutes)
