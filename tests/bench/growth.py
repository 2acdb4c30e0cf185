"""Parts ``growth`` and ``growth-hbase``: what loading and asking cost in indexes of growing size."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

from bench.fixed_rate import measure_steady
from bench.growth_corpora import CORPORA, PROFILE, neighbours, queries
from bench.growth_queries import ROUNDS, Grown, Loaded, Place, filled, measured
from bench.hbase_instance import Instance, running_hbase
from bench.hbase_peer import rewrite
from bench.machine import processor_seconds
from bench.sizes import Sizes
from bench.tables import Table, count, fixed, microseconds
from bench.timing import percentile
from simhash_hbase.bulk import StoreWriter
from simhash_hbase.index.index import Index
from simhash_hbase.stores.embedded import EmbeddedStore
from simhash_hbase.stores.hbase import HBaseStore

__all__ = ["measure_growth", "measure_growth_in_hbase"]

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
        microseconds(each.spread),
        microseconds(each.neighbours),
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
        ratio(lambda one: one.spread),
        ratio(lambda one: one.neighbours),
        ratio(lambda one: one.same),
        "",
    ]


def _steady(sizes: Sizes, place) -> Table:
    documents = sizes.growth[-1]
    with place("uniform", documents) as made:
        filled(made, "uniform", documents, sizes)
        asked = queries("uniform", documents, 50 * sizes.growth_rate, sizes)
        return measure_steady(made.index, asked, rate=sizes.growth_rate, minutes=sizes.growth_minutes)
