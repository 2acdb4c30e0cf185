"""Parts ``growth`` and ``growth-hbase``: what loading and asking cost in indexes of growing size."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np

from bench.growth_corpora import CORPORA, PROFILE, numbered
from bench.hbase_instance import Instance, running_hbase
from bench.hbase_peer import rewrite
from bench.machine import processor_seconds
from bench.made import fill_spool
from bench.sizes import Sizes
from bench.steady import measure_steady
from bench.tables import Table, count, fixed, microseconds
from bench.timing import in_turns, one_by_one, percentile
from simhash_hbase.bulk import Spool, StoreWriter, Writer, begin, load
from simhash_hbase.index.index import Index
from simhash_hbase.rows.entries import Entries
from simhash_hbase.stores.embedded import EmbeddedStore
from simhash_hbase.stores.hbase import HBaseStore

__all__ = ["measure_growth", "measure_growth_in_hbase"]

BITS = 3
FILES = (("FAST_DIFF", "NONE"),)
COLUMNS = (
    *("documents", "load", "documents /s", "bytes a document", "one query", "median", "99 %"),
    *("in a batch of {}", "in the same batch"),
)


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


@dataclass(frozen=True)
class Grown:
    """What one index costs."""

    documents: int
    seconds: float
    size: int
    single: float
    """Seconds of processor time a query that is asked alone."""
    singles: list[float]
    batch: float
    """Seconds a query, in a batch about documents all over the index."""
    same: float
    """Seconds a query, in one batch that every index is asked: about documents of the smallest one."""
    matches: float
    """A query."""


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
    grown = []
    for documents in sizes.growth:
        with place(name, documents) as made:
            seconds = _load(made, name, documents, sizes)
            grown.append(_measure(made, name, documents, seconds, sizes))
            # An hour may lie between this and the table.
            print(f"{name}:", *_row(grown[-1])[1:], file=sys.stderr, flush=True)
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
            f"time. A batch is the best of {sizes.repeats}, processor time; that of HBase's processes is counted with "
            "it. A batch is about documents at equal distances in the whole index. All are asked the same batch, "
            f"about the first {count(sizes.growth[0])} documents, which all have: its queries share as much in each.",
        ],
    )


def _corpus(name: str, documents: int, sizes: Sizes) -> Iterator[Entries]:
    """Make the documents of an index; the templates are the same ones in all sizes."""
    return CORPORA[name](documents, max(1, sizes.growth[0] // 10))


def _load(made: Place, name: str, documents: int, sizes: Sizes) -> float:
    if made.took.exists():
        return float(made.took.read_text())
    with tempfile.TemporaryDirectory(prefix="bench-", dir=made.took.parent) as folder:
        spool = Spool(Path(folder) / "spool", made.index.store.url, made.index.profile)
        fill_spool(spool, _corpus(name, documents, sizes))
        start = made.clock()
        begin(made.index, spool)
        load(made.index, spool, made.writer)
        seconds = made.clock() - start
    made.took.write_text(str(seconds))
    return seconds


def _measure(made: Place, name: str, documents: int, seconds: float, sizes: Sizes) -> Grown:
    asked = queries(name, documents, 10 * sizes.growth_queries, sizes)
    # The first ones find nothing in memory, and what they leave there is what a running index has.
    made.index.query_entries(asked)
    shuffled = asked.take(np.random.default_rng(1).permutation(len(asked)))
    few = shuffled.take(range(min(len(asked), sizes.growth_queries)))
    for at in range(made.warm):
        made.index.query_entries(shuffled.take([-1 - at % len(asked)]))
    start = made.used()
    singles = one_by_one(made.index.query_entries, [few.take([at]) for at in range(len(few))])
    single = (made.used() - start) / len(few)
    batches = [asked, queries(name, sizes.growth[0], 10 * sizes.growth_queries, sizes)]
    work = [partial(made.index.query_entries, batch) for batch in batches]
    spread, same = in_turns(work, repeats=sizes.repeats, clock=made.used)
    matches = sum(len(answer.matches) for answer in spread.result) / len(asked)
    cost = [timed.best / len(batch) for timed, batch in zip((spread, same), batches, strict=True)]
    return Grown(documents, seconds, made.size(), single, singles, *cost, matches)


def queries(name: str, documents: int, wanted: int, sizes: Sizes) -> Entries:
    """Make queries of an index: near copies of its documents, and among uniform ones as many that are near nothing."""
    asked = numbered(_corpus(name, documents, sizes), min(wanted, documents), documents)
    rng = np.random.default_rng(2)
    simhashes = asked.simhashes.copy()
    for _ in range(BITS):
        simhashes ^= np.uint64(1) << rng.integers(0, 64, len(asked), dtype=np.uint64)
    if name == "uniform":
        strangers = np.arange(1, len(asked), 2)
        simhashes[strangers] = rng.integers(0, 2**64, len(strangers), dtype=np.uint64)
        bands = asked.segments.copy()
        bands[strangers] = rng.integers(0, 2**32, (len(strangers), bands.shape[1]), dtype=np.uint32)
        asked = replace(asked, bands=bands)
    return replace(asked, simhashes=simhashes, ids=[f"query {at}" for at in range(len(asked))])


def _row(each: Grown) -> list[str]:
    return [
        "cost",
        count(each.documents),
        fixed(each.seconds, " s"),
        count(each.documents / each.seconds),
        count(each.size / each.documents),
        microseconds(each.single),
        microseconds(percentile(each.singles, 0.5)),
        microseconds(percentile(each.singles, 0.99)),
        microseconds(each.batch),
        microseconds(each.same),
        fixed(each.matches),
    ]


def _ratios(each: Grown, first: Grown) -> list[str]:
    def ratio(of: Callable[[Grown], float]) -> str:
        return f"{of(each) / of(first):.2f} x"

    return [
        "to the smallest",
        ratio(lambda one: one.documents),
        ratio(lambda one: one.seconds),
        ratio(lambda one: one.documents / one.seconds),
        ratio(lambda one: one.size / one.documents),
        ratio(lambda one: one.single),
        ratio(lambda one: percentile(one.singles, 0.5)),
        ratio(lambda one: percentile(one.singles, 0.99)),
        ratio(lambda one: one.batch),
        ratio(lambda one: one.same),
        "",
    ]


def _steady(sizes: Sizes, place) -> Table:
    documents = sizes.growth[-1]
    with place("uniform", documents) as made:
        _load(made, "uniform", documents, sizes)
        asked = queries("uniform", documents, 50 * sizes.growth_rate, sizes)
        return measure_steady(made.index, asked, rate=sizes.growth_rate, minutes=sizes.growth_minutes)
