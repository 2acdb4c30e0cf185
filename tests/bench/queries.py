"""Part ``queries``: near fingerprints among a million, against PyPI simhash's index and faiss."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from bench.contestants import DISTANCE, Contestant, Faiss, Ours, PyPI
from bench.machine import anonymous_bytes
from bench.sizes import Sizes
from bench.synthetic import made_entries
from bench.tables import Table, count, fixed, microseconds, times
from bench.timing import in_turns, one_by_one, percentile
from simhash_hbase.errors import SimhashError
from simhash_hbase.opening import create_index
from simhash_hbase.profile.matching import distances
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.keys import block_rows

__all__ = ["Planted", "check", "measure_queries"]

COLUMNS = ("fingerprints", "build", "memory", "one query, median", "99 %", "ours is", "batch of {small}", "of {large}")
SINGLES = 1_000


class Planted:
    """Uniform fingerprints and queries, half of which have a neighbour.

    Parameters
    ----------
    sizes : Sizes
        How many.
    """

    def __init__(self, sizes: Sizes) -> None:
        rng = np.random.default_rng(7)
        self.stored = rng.integers(0, 2**64, sizes.fingerprints, dtype=np.uint64)
        self.queries = rng.integers(0, 2**64, sizes.queries, dtype=np.uint64)
        near = np.arange(0, sizes.queries, 2)
        self.queries[near] = self.stored[rng.integers(0, sizes.stored, len(near))]
        # One to three bits, some of which may cancel: distances 0 to 3.
        for _ in range(DISTANCE):
            self.queries[near] ^= np.uint64(1) << rng.integers(0, 64, len(near), dtype=np.uint64)

    def answer(self, queries: NDArray[np.uint64], within: int) -> set[tuple[int, int]]:
        """Compare with every stored fingerprint."""
        found = set()
        for at, query in enumerate(queries):
            near = np.flatnonzero(distances(self.stored[:within], query) <= DISTANCE)
            found |= {(at, simhash) for simhash in self.stored[near].tolist()}
        return found


def measure_queries(sizes: Sizes) -> list[Table]:
    """Build all indexes over the same fingerprints, check that they agree, and time them."""
    planted = Planted(sizes)
    with _our_index(planted, sizes) as ours:
        peers: list[Contestant] = [
            Faiss.multi(planted.stored),
            Faiss.flipping(planted.stored),
            Faiss.flat(planted.stored),
            PyPI(planted.stored[: sizes.index_fingerprints]),
        ]
        check([ours, *peers], planted, sizes)
        return [_table([ours, *peers], planted, sizes), _details(ours, peers[0], planted, sizes)]


@contextmanager
def _our_index(planted: Planted, sizes: Sizes) -> Iterator[Ours]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        index = create_index(f"file:{Path(folder) / 'index'}", analyzer="jieba", bands=0)
        before, start = anonymous_bytes(), perf_counter()
        index.store.put_rows(block_rows(index.profile.blocks, planted.stored), timestamp=1)
        seconds, memory = perf_counter() - start, anonymous_bytes() - before
        for entries in made_entries(planted.stored[: sizes.stored]):
            index.add_entries(entries)
        yield Ours(index, seconds, memory)
        index.close()


def check(contestants: list[Contestant], planted: Planted, sizes: Sizes) -> None:
    """Refuse answers that are not those of a comparison with every fingerprint.

    Raises
    ------
    SimhashError
        It names who answers something else.
    """
    few = planted.queries[: sizes.flat_queries]
    for contestant in contestants:
        wanted = planted.answer(few, contestant.fingerprints)
        if contestant.pairs(few) != wanted:
            raise SimhashError(f"{contestant.name} does not answer what comparing with all of them does")
    exact = [c for c in contestants if c.fingerprints == sizes.fingerprints and not c.is_slow]
    some = planted.queries[: sizes.queries // 10]
    if len({frozenset(contestant.pairs(some)) for contestant in exact}) > 1:
        raise SimhashError("the answers to a batch differ")


def _table(contestants: list[Contestant], planted: Planted, sizes: Sizes) -> Table:
    singles = planted.queries[:SINGLES].tolist()
    ones = [min(rounds) for rounds in zip(*_rounds(contestants, singles, sizes), strict=True)]
    batches = [_batches(contestant, planted, sizes) for contestant in contestants]
    rows = [
        [
            contestant.name,
            count(contestant.fingerprints),
            fixed(contestant.seconds, " s"),
            fixed(contestant.memory / 2**20, " MiB"),
            microseconds(median),
            microseconds(late),
            times(ones[0][0], median),
            *batch,
        ]
        for contestant, (median, late), batch in zip(contestants, ones, batches, strict=True)
    ]
    columns = [head.format(small=count(sizes.queries // 10), large=count(sizes.queries)) for head in COLUMNS]
    return Table(
        title=f"Fingerprints within {DISTANCE} bits, among {count(sizes.fingerprints)}, time a query",
        columns=["index", *columns],
        rows=rows,
        notes=[
            "Uniform fingerprints. Half of the queries have a neighbour at 0 to 3 bits, the others have none. All "
            f"answers to {count(sizes.flat_queries)} queries equal a comparison with all fingerprints. The answers of "
            f"ours and MultiHash to {count(sizes.queries // 10)} queries are equal.",
            "Ours is a `file:` index on disk with scheme 5x2: scans of the block rows and distances, no documents. "
            "Memory is private memory, without the pages of the mapped file.",
            f"{count(len(singles))} single queries; the best of {sizes.repeats} rounds in turns. “Ours is” compares "
            "the medians. “—”: not faster in a batch.",
        ],
    )


def _rounds(contestants: list[Contestant], singles: list[int], sizes: Sizes) -> Iterator[list[tuple[float, float]]]:
    """Give median and 99 % of each contestant, round after round."""
    for _ in range(sizes.repeats):
        seconds = [one_by_one(contestant.one, singles) for contestant in contestants]
        yield [(percentile(each, 0.5), percentile(each, 0.99)) for each in seconds]


def _batches(contestant: Contestant, planted: Planted, sizes: Sizes) -> list[str]:
    if contestant.is_slow:
        return ["—", "—"]
    cells = []
    for number in (sizes.queries // 10, sizes.queries):
        [timed] = in_turns([partial(contestant.batch, planted.queries[:number])], repeats=sizes.repeats)
        cells.append(microseconds(timed.best / number))
    return cells


def _details(ours: Ours, multi: Contestant, planted: Planted, sizes: Sizes) -> Table:
    """Compare what is asked of each: the fingerprints, and the documents behind them."""
    rows = []
    for number in (sizes.queries // 10, sizes.queries):
        some = planted.queries[:number]
        whole = partial(ours.index.query_entries, _as_queries(some), rule=ours.index.rule(match="distance"))
        found, theirs, answered = in_turns(
            [partial(ours.batch, some), partial(multi.batch, some), whole], repeats=sizes.repeats
        )
        rows.append(
            [
                count(number),
                times(found.best, theirs.best),
                times(found.typical, theirs.typical),
                microseconds(answered.best / number),
                count(sum(bool(answer.matches) for answer in answered.result)),
            ]
        )
    return Table(
        title=f"Batches, against {multi.name} in turns, and with documents",
        columns=["queries", "ours is, best", "median", "`Index.query_entries`, a query", "queries with matches"],
        rows=rows,
        notes=["`Index.query_entries` also reads ids, states and sketches of all hits, and sorts the answers."],
    )


def _as_queries(simhashes: NDArray[np.uint64]) -> Entries:
    bare = Entries.of_fingerprints([f"query {at}" for at in range(len(simhashes))], simhashes)
    return replace(bare, features=np.full(len(simhashes), 100, np.int32))
