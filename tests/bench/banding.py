"""Parts ``bands`` and ``hbase-bands``: what sketch rows cost, beside an index without them."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from time import perf_counter, process_time

import numpy as np

from bench.hbase_bytes import with_and_without
from bench.hbase_instance import Instance, running_hbase
from bench.machine import processor_seconds
from bench.made import made_entries
from bench.sizes import Sizes
from bench.tables import Table, count, microseconds
from bench.texts import are_shared, spread
from bench.timing import Timed, in_turns
from simhash_hbase.index.index import Index
from simhash_hbase.opening import create_index
from simhash_hbase.rows.entries import Entries

__all__ = ["measure_bands", "measure_hbase_bands"]

BANDS = 6
SHARED = 4
"""Sketch rows that a query has in common with the document that it is a copy of."""
Clock = Callable[[], np.ndarray]
COLUMNS = ("a query without", "with", "ratio", "control", "by the clock", "control")


def measure_bands(sizes: Sizes) -> list[Table]:
    """Ask an index in a folder with and without sketch rows, and analyse texts for both."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        number = iter(range(3))
        make = partial(lambda bands: _filled(f"file:{folder}/{next(number)}", bands, sizes))
        rows = _queried("`file:`", make, lambda: np.array([process_time(), perf_counter()]), sizes)
    return [_queries(rows, sizes), _analysis(sizes)]


def measure_hbase_bands(sizes: Sizes) -> list[Table]:
    """Ask HBase in the same way, and weigh its files."""
    with running_hbase() as instance:
        rows = _queried("HBase, Thrift 2", partial(_table, instance, sizes), partial(_everyone, instance), sizes)
        return [_queries(rows, sizes), with_and_without(instance, BANDS, sizes)]


def _table(instance: Instance, sizes: Sizes, bands: int) -> Index:
    return _filled(f"hbase://{instance.thrift2}/{instance.new_table()}", bands, sizes)


def _everyone(instance: Instance) -> np.ndarray:
    """Read the processor time of server, gateway and this process, and the clock."""
    processes = (instance.pids["master"], instance.pids["thrift2"], os.getpid())
    return np.array([sum(map(processor_seconds, processes)), perf_counter()])


def _filled(url: str, bands: int, sizes: Sizes) -> Index:
    index = create_index(url, analyzer="jieba", bands=bands)
    for entries in _documents(bands, sizes):
        index.add_entries(entries)
    return index


def _documents(bands: int, sizes: Sizes) -> Iterator[Entries]:
    simhashes = np.random.default_rng(29).integers(0, 2**64, sizes.banded_documents, dtype=np.uint64)
    return made_entries(simhashes, bands=bands)


def _asked(bands: int, sizes: Sizes) -> list[Entries]:
    """Make queries: half of them copies of documents, a bit off, the others like nothing."""
    rng, made = np.random.default_rng(31), []
    for batch in _documents(bands, sizes):
        simhashes, sketches, segments = batch.simhashes.copy(), batch.sketches.copy(), batch.segments.copy()
        simhashes[::2] ^= np.uint64(1) << rng.integers(0, 64, len(simhashes[::2]), dtype=np.uint64)
        segments[::2, SHARED:] = rng.integers(0, 2**32, segments[::2, SHARED:].shape, dtype=np.uint32)
        simhashes[1::2] = rng.integers(0, 2**64, len(simhashes[1::2]), dtype=np.uint64)
        sketches[1::2] = rng.integers(0, 2**64, sketches[1::2].shape, dtype=np.uint64)
        segments[1::2] = rng.integers(0, 2**32, segments[1::2].shape, dtype=np.uint32)
        made.append(replace(batch, simhashes=simhashes, sketches=sketches, bands=segments))
    return made


def _queried(place: str, make: Callable[[int], Index], clock: Clock, sizes: Sizes) -> list[list[str]]:
    """Time batches and single queries, each on an index without, on a second one without, and on one with."""
    with ExitStack() as opened:
        indexes = [(opened.enter_context(make(bands)), _asked(bands, sizes)) for bands in (0, 0, BANDS)]
        return [_timed(place, indexes, single, clock, sizes) for single in (False, True)]


def _timed(
    place: str, indexes: Sequence[tuple[Index, list[Entries]]], single: bool, clock: Clock, sizes: Sizes
) -> list[str]:
    works = [partial(_ask, index, _singles(batches, sizes) if single else batches) for index, batches in indexes]
    for work in works:
        work()
    timed = in_turns(works, repeats=sizes.banded_rounds, clock=clock)
    n = sizes.banded_singles if single else sizes.banded_documents
    return [f"{place}, {'one at a time' if single else 'batches'}", *_ratios(timed, n)]


def _singles(batches: Sequence[Entries], sizes: Sizes) -> list[Entries]:
    return [batches[0].take([at % len(batches[0])]) for at in range(sizes.banded_singles)]


def _ask(index: Index, queries: Sequence[Entries]) -> int:
    """Ask, and count the queries with matches."""
    return sum(bool(answer.matches) for entries in queries for answer in index.query_entries(entries))


def _ratios(timed: Sequence[Timed], queries: int) -> list[str]:
    plain, again, banded = (np.median(np.array(each.seconds), axis=0) for each in timed)
    (ratio, clock), (control, clock_control) = banded / plain, again / plain
    shares = [f"{value:.2f} x" for value in (ratio, control, clock, clock_control)]
    return [microseconds(plain[0] / queries), microseconds(banded[0] / queries), *shares]


def _queries(rows: Sequence[Sequence[str]], sizes: Sizes) -> Table:
    return Table(
        title="Queries of an index with six sketch rows beside one without",
        columns=["queries", *COLUMNS],
        rows=rows,
        notes=[
            f"{count(sizes.banded_documents)} documents, as many queries in batches of 2,000, "
            f"{count(sizes.banded_singles)} single ones. Half of the queries are copies of documents, a bit of the "
            f"fingerprint and {BANDS - SHARED} of {BANDS} sketch rows off; the others are like nothing. Rule "
            "`verified`, ready fingerprints and sketches.",
            f"Processor time; in HBase that of server, gateway and client. Medians of {sizes.banded_rounds} rounds in "
            "turns. The control is a second index without sketch rows beside the first one.",
        ],
    )


def _analysis(sizes: Sizes) -> Table:
    names = [name for name in sizes.sets if are_shared(name)] or ["lctt"]
    plain, banded = (create_index("memory:", analyzer="jieba", bands=bands).analysis for bands in (0, BANDS))
    rows = []
    for name in names:
        texts = spread(name, sizes.texts)
        works = [partial(analysis.texts, [""] * len(texts), texts) for analysis in (plain, plain, banded)]
        for work in works:
            work()
        seconds = [np.array(timed.seconds) for timed in in_turns(works, repeats=sizes.banded_rounds)]
        first, again, with_bands = (float(np.min(each)) / len(texts) for each in seconds)
        shares = [f"{value / first:.3f} x" for value in (with_bands, again)]
        rows.append([name, microseconds(first), microseconds(with_bands), *shares])
    return Table(
        title="Analysis: fingerprint and sketch, and the same with six bands",
        columns=["set", "a document without", "with", "ratio", "control"],
        rows=rows,
        notes=[
            f"Processor time of {count(sizes.texts)} documents; the best of {sizes.banded_rounds} rounds in turns. "
            "The minima are computed once."
        ],
    )
