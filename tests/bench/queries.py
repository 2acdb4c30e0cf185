"""Part ``queries``: near fingerprints among a million, against PyPI simhash's index and faiss."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.documents import made_entries
from bench.measuring import Table, count, in_turns, microseconds, one_by_one, peer, percentile, times
from bench.sizes import Sizes
from simhash_hbase.api import create_index
from simhash_hbase.errors import SimhashError
from simhash_hbase.index.candidates import NO_PAIRS, Candidates, Near, Reach, find_candidates
from simhash_hbase.index.index import Index
from simhash_hbase.profile.matching import distances
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.keys import block_rows

DISTANCE = 3
"""Bits within which all look."""

SINGLES = 1_000

Simhashes = NDArray[np.uint64]


def whole(candidates: Candidates) -> Near:
    """Join all queries at once, whatever memory that takes."""
    return Near(*(np.concatenate(column) for column in zip(NO_PAIRS, *candidates.parts(), strict=True)))


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """An index of fingerprints."""

    name: str
    fingerprints: int
    batch: Callable[[Simhashes], Any]
    """Finds what is near to queries."""
    pairs: Callable[[Any], set[tuple[int, int]]]
    """Makes of what `batch` returns the places of queries, and the fingerprints that are near to them."""
    one: Callable[[int], Any]
    """Finds what is near to one query."""
    is_slow: bool = False
    """Whether it compares with every fingerprint, or takes long for another reason."""


def ours(index: Index) -> Contestant:
    """Ask for the block rows in one folder."""
    scheme, limit = index.profile.blocks, index.profile.max_rows_per_prefix
    reach = Reach(len(scheme.tables), DISTANCE, None)

    def batch(queries: Simhashes) -> Near:
        return whole(find_candidates(index.store, queries, scheme.prefixes(queries), reach=reach, limit=limit))

    return Contestant(
        name="ours, `file:`",
        fingerprints=(index.store.size().rows or {})["b"] // len(scheme.tables),
        batch=batch,
        pairs=lambda found: set(zip(found.queries.tolist(), found.simhashes.tolist(), strict=True)),
        one=lambda query: batch(np.array([query], np.uint64)),
    )


def faiss(name: str, index: Any, stored: Simhashes, *, is_slow: bool = True) -> Contestant:
    """Ask an index of faiss, by one thread."""
    peer("faiss").omp_set_num_threads(1)
    index.add(_octets(stored))

    def batch(queries: Simhashes) -> Any:
        # Its radius is exclusive.
        return index.range_search(_octets(queries), DISTANCE + 1)

    def pairs(answer: Any) -> set[tuple[int, int]]:
        limits, _, found = answer
        owners = np.repeat(np.arange(len(limits) - 1), np.diff(limits.astype(np.int64)))
        return set(zip(owners.tolist(), stored[found].tolist(), strict=True))

    return Contestant(
        name=f"faiss {name}",
        fingerprints=len(stored),
        batch=batch,
        pairs=pairs,
        one=lambda query: batch(np.array([query], np.uint64)),
        is_slow=is_slow,
    )


def pypi(stored: Simhashes) -> Contestant:
    """Ask ``simhash.SimhashIndex`` of the package simhash."""
    module = peer("simhash")
    index = module.SimhashIndex([], k=DISTANCE)
    for value in stored.tolist():
        index.add(f"{value:x}", module.Simhash(value))

    def one(query: int) -> Any:
        return index.get_near_dups(module.Simhash(query))

    return Contestant(
        name="PyPI simhash `SimhashIndex(k=3)`",
        fingerprints=len(stored),
        batch=lambda queries: list(map(one, queries.tolist())),
        pairs=lambda answers: {(at, int(name, 16)) for at, names in enumerate(answers) for name in names},
        one=one,
        is_slow=True,
    )


def _octets(simhashes: Simhashes) -> NDArray[np.uint8]:
    octets: NDArray[np.uint8] = simhashes.astype(">u8").view(np.uint8).reshape(-1, 8)
    return octets


class Planted:
    """Uniform fingerprints and queries, half of which have a neighbour."""

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
    """Build all indexes over the same fingerprints, check that they agree, and time them in turns."""
    planted = Planted(sizes)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        index = create_index(f"file:{Path(folder) / 'index'}", analyzer="jieba", bands=0)
        index.store.put_rows(block_rows(index.profile.blocks, planted.stored), timestamp=1)
        for entries in made_entries(planted.stored[: sizes.stored]):
            index.add_entries(entries)
        # Hash maps over 16 bits each, and over 24 of which up to three are flipped: both are complete within 3 bits.
        module = peer("faiss")
        flipping = module.IndexBinaryHash(64, 24)
        flipping.nflip = DISTANCE
        multi = module.IndexBinaryMultiHash(64, 4, 16)
        contestants = [
            ours(index),
            faiss("`IndexBinaryMultiHash(64, 4, 16)`", multi, planted.stored, is_slow=False),
            faiss("`IndexBinaryHash(64, 24)`, nflip 3", flipping, planted.stored),
            faiss("`IndexBinaryFlat(64)`", module.IndexBinaryFlat(64), planted.stored),
            pypi(planted.stored[: sizes.index_fingerprints]),
        ]
        check(contestants, planted, sizes)
        tables = [_singles(contestants, planted, sizes), _batches(index, contestants, planted, sizes)]
        index.close()
    return tables


def check(contestants: list[Contestant], planted: Planted, sizes: Sizes) -> None:
    """Refuse answers that are not those of a comparison with every fingerprint."""
    few = planted.queries[: sizes.flat_queries]
    for contestant in contestants:
        if contestant.pairs(contestant.batch(few)) != planted.answer(few, contestant.fingerprints):
            raise SimhashError(f"{contestant.name} does not answer what comparing with all of them does")
    exact = [c for c in contestants if c.fingerprints == sizes.fingerprints and not c.is_slow]
    some = planted.queries[: sizes.queries // 10]
    if len({frozenset(contestant.pairs(contestant.batch(some))) for contestant in exact}) > 1:
        raise SimhashError("the answers to a batch differ")


def _singles(contestants: list[Contestant], planted: Planted, sizes: Sizes) -> Table:
    queries = planted.queries[:SINGLES].tolist()
    rounds = [[one_by_one(each.one, queries) for each in contestants] for _ in range(sizes.repeats)]
    # The best of all rounds by its median, then by the last hundredth.
    best = [min((percentile(s, 0.5), percentile(s, 0.99)) for s in taken) for taken in zip(*rounds, strict=True)]
    return Table(
        title=f"Fingerprints within {DISTANCE} bits, among {count(sizes.fingerprints)}, one query at a time",
        columns=["index", "fingerprints", "median", "99 %", "ours is"],
        rows=[
            [each.name, count(each.fingerprints), *map(microseconds, figures), times(best[0][0], figures[0])]
            for each, figures in zip(contestants, best, strict=True)
        ],
        notes=[f"{count(len(queries))} queries; the best of {sizes.repeats} rounds. “Ours is” compares the medians."],
    )


def _batches(index: Index, contestants: list[Contestant], planted: Planted, sizes: Sizes) -> Table:
    """Compare those that are faster in a batch, and `Index.query_entries`, which has the documents, too."""
    fast = [each for each in contestants if not each.is_slow]
    rows = [[name] for name in (*(each.name for each in fast), "`Index.query_entries`")]
    for number in (sizes.queries // 10, sizes.queries):
        some = planted.queries[:number]
        bare = Entries.of_fingerprints([f"query {at}" for at in range(number)], some)
        asked = replace(bare, features=np.full(number, 100, np.int32))
        documents = partial(index.query_entries, asked, rule=index.rule(match="distance"))
        timed = in_turns([*(partial(each.batch, some) for each in fast), documents], repeats=sizes.repeats)
        for row, each in zip(rows, timed, strict=True):
            row += [microseconds(each.best / number), times(timed[0].best, each.best)]
    columns = [
        head for number in (sizes.queries // 10, sizes.queries) for head in (f"batch of {count(number)}", "ours is")
    ]
    return Table(title="The same in batches, time a query", columns=["index", *columns], rows=rows)
