"""Parts ``growth`` and ``growth-hbase``: what loading and asking cost in indexes of growing size.

Documents are uniform ones, and a real template corpus multiplied.
"""

import sys
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import islice
from time import perf_counter, process_time, sleep

import numpy as np

from bench import measuring
from bench.documents import corpus, document_id, load_made, made_entries
from bench.hbase_clients import rewrite
from bench.hbase_instance import Instance, running_hbase
from bench.measuring import Table, count, fixed, microseconds, percentile
from bench.sizes import Sizes
from simhash_hbase.bulk import StoreWriter, Writer
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.index.arguments import BATCH_DOCUMENTS
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.stores.embedded import EmbeddedStore
from simhash_hbase.stores.hbase import HBaseStore

BITS = 3
PROFILE = Profile.resolve(analyzer="shingle")
CORPORA = ("uniform", "templates")
ROUNDS = 10
"""Rounds of single queries: within some seconds, each index has been asked for some of its own."""
FILES = (("FAST_DIFF", "NONE"),)
BATCHES_A_SECOND = 20
WARM_S = 10.0
COLD_S = 60.0
"""Until then the pages of a large file come from the disk."""


def made_corpus(name: str, documents: int, sizes: Sizes) -> Iterator[Entries]:
    """Make the documents of an index; those of a larger one begin with the same ones.

    Uniform ones have nothing to do with each other. Templates are pages that are multiplied: each copy is moved as a
    whole to another place of all three spaces. So every copy keeps its crowded prefixes and its near pairs, and copies
    have nothing to do with each other: that is what more sites with templates of their own would be.
    """
    if name == "uniform":
        rng = np.random.default_rng(4)
        yield from made_entries(rng.integers(0, 2**64, documents, dtype=np.uint64), bands=PROFILE.bands)
        return
    real, masks = _templates(sizes), np.random.default_rng(5)
    for made in range(0, documents, len(real)):
        few = real.take(range(min(len(real), documents - made)))
        moved = replace(
            few,
            ids=[document_id(made + at) for at in range(len(few))],
            simhashes=few.simhashes ^ masks.integers(0, 2**64, dtype=np.uint64),
            sketches=few.sketches ^ masks.integers(0, 2**64, few.sketches.shape[1], dtype=np.uint64),
            bands=few.segments ^ masks.integers(0, 2**32, few.segments.shape[1], dtype=np.uint32),
        )
        for at in range(0, len(moved), BATCH_DOCUMENTS):
            yield moved.take(range(at, min(at + BATCH_DOCUMENTS, len(moved))))


@cache
def _templates(sizes: Sizes) -> Entries:
    """Analyse the pages that are multiplied: the same ones in all sizes."""
    texts = list(islice(corpus("graph"), max(1, sizes.growth[0] // 10)))
    return Analysis(PROFILE).texts([str(at) for at in range(len(texts))], texts, [None] * len(texts)).entries


def queries(name: str, documents: int, wanted: int, sizes: Sizes) -> Entries:
    """Make queries about documents at equal distances in the whole index."""
    return _asked(name, documents, range(0, documents, max(1, documents // wanted))[:wanted], sizes)


def neighbours(name: str, documents: int, wanted: int, sizes: Sizes) -> Entries:
    """Make queries about documents that follow each other in the second half of the index.

    They begin with a copy of the templated pages, so that those of another size are copies of the same pages.
    """
    wanted = min(wanted, documents)
    first = min(documents * 3 // 4, documents - wanted)
    if name == "templates":
        first -= first % len(_templates(sizes))
    return _asked(name, documents, range(first, first + wanted), sizes)


def _asked(name: str, number: int, numbers: range, sizes: Sizes) -> Entries:
    """Make near copies of documents of a corpus; every second query of uniform ones is near nothing."""
    before, taken = 0, []
    for entries in made_corpus(name, number, sizes):
        after = before + len(entries)
        few = numbers[bisect_left(numbers, before) : bisect_left(numbers, after)]
        if few:
            taken.append(entries.take([place - before for place in few]))
        before = after
    documents = Entries.joined(taken)
    rng = np.random.default_rng(2)
    simhashes, bands = documents.simhashes.copy(), documents.segments.copy()
    for _ in range(BITS):
        simhashes ^= np.uint64(1) << rng.integers(0, 64, len(documents), dtype=np.uint64)
    if name == "uniform":
        strangers = np.arange(1, len(documents), 2)
        simhashes[strangers] = rng.integers(0, 2**64, len(strangers), dtype=np.uint64)
        bands[strangers] = rng.integers(0, 2**32, (len(strangers), bands.shape[1]), dtype=np.uint32)
    return replace(documents, simhashes=simhashes, bands=bands, ids=[f"query {at}" for at in range(len(documents))])


@dataclass(kw_only=True)
class Grown:
    """An index of one size, and what it is asked."""

    documents: int
    index: LocalIndex
    writer: Writer
    size: Callable[[], int]  # Bytes on disk.
    # The clock of a load: where another process writes the files, processor time of this one says little.
    clock: Callable[[], float] = process_time
    # Seconds of processor time so far, of this process and of those that answer it.
    used: Callable[[], float] = process_time
    warm: int = 0  # Single queries before any is timed: Java compiles what was called ten thousands of times.
    load: float = 0.0  # Seconds that it took.
    batches: list[Entries] = field(default_factory=list)
    """Queries about documents all over the index, about such that follow each other, and those that all are asked."""

    def fill(self, name: str, sizes: Sizes) -> None:
        self.load = load_made(self.index, made_corpus(name, self.documents, sizes), self.writer, self.clock)
        # Said at once: an hour may lie between this and the table.
        print(f"{name}: {count(self.documents)} documents loaded in {self.load:.1f} s", file=sys.stderr, flush=True)


COLUMNS = (
    *("documents", "load", "documents /s", "bytes a document", "one query", "median", "99 %"),
    *("in a batch of {}", "in a batch of neighbours", "in the same batch", "matches a query"),
)
FORMATS = (count, partial(fixed, unit=" s"), count, count, *[microseconds] * 6, fixed)


def measured(grown: Sequence[Grown], sizes: Sizes) -> list[list[float]]:
    """Ask all indexes in turns, so that what else the machine does hits all alike; return the `COLUMNS` of each."""
    shuffled = [each.batches[0].take(np.random.default_rng(1).permutation(len(each.batches[0]))) for each in grown]
    # The first queries find nothing in memory, and what they leave there is what a running index has.
    for each, asked in zip(grown, shuffled, strict=True):
        for batch in each.batches:
            each.index.query_entries(batch)
        for at in range(each.warm):
            each.index.query_entries(asked.take([-1 - at % len(asked)]))
    used, taken, processor = grown[0].used, [[] for _ in grown], [0.0] * len(grown)
    for first in range(ROUNDS):
        for at, (each, asked) in enumerate(zip(grown, shuffled, strict=True)):
            alone = [asked.take([place]) for place in range(first, min(len(asked), sizes.growth_queries), ROUNDS)]
            before = used()
            taken[at] += measuring.one_by_one(each.index.query_entries, alone)
            processor[at] += used() - before
    work = [partial(each.index.query_entries, each.batches[kind]) for kind in range(3) for each in grown]
    timed = measuring.in_turns(work, repeats=sizes.rounds, clock=used)
    figures = []
    for at, each in enumerate(grown):
        singles, answered = taken[at], timed[at :: len(grown)]
        figures.append([
            *(each.documents, each.load, each.documents / each.load, each.size() / each.documents),
            *(processor[at] / len(singles), percentile(singles, 0.5), percentile(singles, 0.99)),
            *(batch.best / len(asked) for batch, asked in zip(answered, each.batches, strict=True)),
            sum(len(answer.matches) for answer in answered[0].result) / len(each.batches[0]),
        ])  # fmt: skip
    return figures


def measure_growth(sizes: Sizes) -> list[Table]:
    tables = [_table(name, sizes, _in_folder) for name in CORPORA]
    with _in_folder(sizes.growth[-1]) as made:
        made.fill("uniform", sizes)
        asked = queries("uniform", made.documents, 50 * sizes.growth_rate, sizes)
        return [*tables, measure_steady(made.index, asked, rate=sizes.growth_rate, minutes=sizes.growth_minutes)]


def measure_growth_in_hbase(sizes: Sizes) -> list[Table]:
    with running_hbase() as instance:
        return [_table(name, sizes, partial(_in_hbase, instance, sizes.hbase_warm)) for name in CORPORA]


@contextmanager
def _in_folder(documents: int) -> Iterator[Grown]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        store = EmbeddedStore.create(f"{folder}/index")
        with LocalIndex.create(store, PROFILE) as index:
            yield Grown(documents=documents, index=index, writer=StoreWriter(store), size=lambda: store.size().bytes)


@contextmanager
def _in_hbase(instance: Instance, warm: int, documents: int) -> Iterator[Grown]:
    table = instance.new_table()
    with LocalIndex.create(HBaseStore.open(instance.options(2, table)), PROFILE) as index:
        yield Grown(
            documents=documents,
            index=index,
            writer=instance.writer(table),
            size=lambda: sum(size for family in "bd" for size in rewrite(instance, table, family, FILES)),
            clock=perf_counter,
            used=lambda: process_time() + sum(map(measuring.processor_seconds, instance.pids.values())),
            warm=warm,
        )
    instance.drop(table)


def _table(name: str, sizes: Sizes, place: Callable[[int], AbstractContextManager[Grown]]) -> Table:
    many = 10 * sizes.growth_queries
    with ExitStack() as opened:
        grown = [opened.enter_context(place(documents)) for documents in sizes.growth]
        same = queries(name, sizes.growth[0], many, sizes)
        for each in grown:
            each.fill(name, sizes)
            each.batches = [*(make(name, each.documents, many, sizes) for make in (queries, neighbours)), same]
        figures = measured(grown, sizes)
    costs = [["cost", *(write(value) for write, value in zip(FORMATS, each, strict=True))] for each in figures]
    ratios = [
        ["to the smallest", *(f"{one / other:.2f} x" for one, other in zip(each[:-1], figures[0], strict=False)), ""]
        for each in figures[1:]
    ]
    return Table(
        title=f"Growth, {name}",
        columns=["what", *(column.format(count(many)) for column in COLUMNS)],
        rows=costs + ratios,
        notes=[
            f"{count(sizes.growth_queries)} single queries in {ROUNDS} rounds; a batch is the best of "
            f"{sizes.rounds}. “The same batch” is about the first {count(sizes.growth[0])} documents."
        ],
    )


def measure_steady(index: LocalIndex, asked: Entries, *, rate: int, minutes: float) -> Table:
    """Ask an index for so many lookups a second, in batches that come whether the one before is answered or not."""
    size = max(1, rate // BATCHES_A_SECOND)
    batches = [asked.take(range(at, at + size)) for at in range(0, len(asked) - size + 1, size)]
    _ask(index, batches, rate=rate, seconds=min(WARM_S, 6 * minutes))
    before, began = measuring.anonymous_bytes(), perf_counter()
    late = _ask(index, batches, rate=rate, seconds=60 * minutes)
    seconds, after = perf_counter() - began, measuring.anonymous_bytes()
    # What was due in the first minute is told apart, or in the first half of a run that is too short for it.
    minute, half = round(COLD_S * rate / size), len(late) // 2
    first, when = (minute, " after the first minute") if minute <= half else (half, " after the first half")
    milliseconds = [["answered after, median", percentile(late, 0.5)]]
    for some, of in ((late, ""), (late[first:], when)):
        milliseconds += [[f"99 %{of}", percentile(some, 0.99)], [f"longest{of}", max(some)]]
    return Table(
        title=f"{count(rate)} lookups a second for {fixed(seconds / 60)} minutes",
        columns=["what", "value"],
        rows=[
            ["lookups", count(size * len(late))],
            ["a second", count(size * len(late) / seconds)],
            *([what, fixed(1000 * took, " ms")] for what, took in milliseconds),
            ["memory at the start", fixed(before / 2**20, " MiB")],
            ["at the end", fixed(after / 2**20, " MiB")],
        ],
        notes=[f"Batches of {count(size)}, {count(len(batches) * size)} different queries in turn."],
    )


def _ask(index: LocalIndex, batches: list[Entries], *, rate: int, seconds: float) -> list[float]:
    """Return how long after it was due each batch was answered."""
    began, late = perf_counter(), []
    interval = len(batches[0]) / rate
    for number in range(max(1, round(seconds / interval))):
        due = began + number * interval
        sleep(max(0.0, due - perf_counter()))
        index.query_entries(batches[number % len(batches)])
        late.append(perf_counter() - due)
    return late
