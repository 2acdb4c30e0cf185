"""Part ``queries``: near fingerprints among a million, against PyPI simhash's index and faiss."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.documents import made_entries
from bench.measuring import Table, count, in_turns, microseconds, one_by_one, peer, percentile, times
from bench.sizes import Sizes
from simhash_hbase.errors import SimhashError
from simhash_hbase.index.candidates import NO_PAIRS, Candidates, Near, Reach, find_candidates
from simhash_hbase.index.index import Index
from simhash_hbase.opening import create_index
from simhash_hbase.profile.matching import distances
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.keys import block_rows

DISTANCE = 3
"""Bits within which all look."""

Simhashes = NDArray[np.uint64]


def whole(candidates: Candidates) -> Near:
    """Join all queries at once, whatever memory that takes."""
    return Near(*(np.concatenate(column) for column in zip(NO_PAIRS, *candidates.parts(), strict=True)))


class Ours:
    """Block rows in one folder."""

    is_slow = False  # Whether it compares with every fingerprint, or takes long for another reason.
    name = "ours, `file:`"

    def __init__(self, index: Index) -> None:
        self.index = index
        self._scheme = index.profile.blocks
        self._limit = index.profile.max_rows_per_prefix
        sizes = index.store.size().rows or {}
        self.fingerprints = sizes["b"] // len(self._scheme.tables)

    def one(self, query: int) -> object:
        return self.batch(np.array([query], np.uint64))

    def batch(self, queries: Simhashes) -> Any:
        prefixes, reach = self._scheme.prefixes(queries), Reach(len(self._scheme.tables), DISTANCE, None)
        return whole(find_candidates(self.index.store, queries, prefixes, reach=reach, limit=self._limit))

    def pairs(self, queries: Simhashes) -> set[tuple[int, int]]:
        found = self.batch(queries)
        return set(zip(found.queries.tolist(), found.simhashes.tolist(), strict=True))


class Faiss:
    """An index of faiss, by one thread."""

    def __init__(self, name: str, index: Any, stored: Simhashes, *, is_slow: bool = False) -> None:
        peer("faiss").omp_set_num_threads(1)
        self.name = name
        self.is_slow = is_slow
        self.fingerprints = len(stored)
        self._stored = stored
        self._index = index
        index.add(_octets(stored))

    @classmethod
    def multi(cls, stored: Simhashes) -> "Faiss":
        """Four hash maps over 16 bits each: complete within 3 bits."""
        return cls("faiss `IndexBinaryMultiHash(64, 4, 16)`", peer("faiss").IndexBinaryMultiHash(64, 4, 16), stored)

    @classmethod
    def flipping(cls, stored: Simhashes) -> "Faiss":
        """One hash map over 24 bits, of which up to three are flipped: complete within 3 bits."""
        index = peer("faiss").IndexBinaryHash(64, 24)
        index.nflip = DISTANCE
        return cls("faiss `IndexBinaryHash(64, 24)`, nflip 3", index, stored, is_slow=True)

    @classmethod
    def flat(cls, stored: Simhashes) -> "Faiss":
        """Compare with all."""
        return cls("faiss `IndexBinaryFlat(64)`", peer("faiss").IndexBinaryFlat(64), stored, is_slow=True)

    def one(self, query: int) -> object:
        return self.batch(np.array([query], np.uint64))

    def batch(self, queries: Simhashes) -> Any:
        # Its radius is exclusive.
        return self._index.range_search(_octets(queries), DISTANCE + 1)

    def pairs(self, queries: Simhashes) -> set[tuple[int, int]]:
        limits, _, found = self.batch(queries)
        owners = np.repeat(np.arange(len(queries)), np.diff(limits.astype(np.int64)))
        return set(zip(owners.tolist(), self._stored[found].tolist(), strict=True))


class PyPI:
    """``simhash.SimhashIndex`` of the package simhash."""

    name = "PyPI simhash `SimhashIndex(k=3)`"
    is_slow = True

    def __init__(self, stored: Simhashes) -> None:
        module = peer("simhash")
        self.fingerprints = len(stored)
        self._make = module.Simhash
        self._index = module.SimhashIndex([], k=DISTANCE)
        for value in stored.tolist():
            self._index.add(f"{value:x}", module.Simhash(value))

    def one(self, query: int) -> Any:
        return self._index.get_near_dups(self._make(query))

    def batch(self, queries: Simhashes) -> list[Any]:
        return [self.one(query) for query in queries.tolist()]

    def pairs(self, queries: Simhashes) -> set[tuple[int, int]]:
        return {(at, int(name, 16)) for at, names in enumerate(self.batch(queries)) for name in names}


def _octets(simhashes: Simhashes) -> NDArray[np.uint8]:
    octets: NDArray[np.uint8] = simhashes.astype(">u8").view(np.uint8).reshape(-1, 8)
    return octets


Contestant = Ours | Faiss | PyPI


COLUMNS = ("fingerprints", "one query, median", "99 %", "ours is", "batch of {small}", "of {large}")
SINGLES = 1_000


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
        index.store.put_rows(block_rows(index.profile.blocks, planted.stored), timestamp=1)
        for entries in made_entries(planted.stored[: sizes.stored]):
            index.add_entries(entries)
        yield Ours(index)
        index.close()


def check(contestants: list[Contestant], planted: Planted, sizes: Sizes) -> None:
    """Refuse answers that are not those of a comparison with every fingerprint."""
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
            f"{count(len(singles))} single queries; the best of {sizes.repeats} rounds in turns. “Ours is” compares "
            "the medians. “—”: not faster in a batch."
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
        rows.append([count(number), times(found.best, theirs.best), microseconds(answered.best / number)])
    return Table(
        title=f"Batches, against {multi.name} in turns, and with documents",
        columns=["queries", "ours is", "`Index.query_entries`, a query"],
        rows=rows,
    )


def _as_queries(simhashes: NDArray[np.uint64]) -> Entries:
    bare = Entries.of_fingerprints([f"query {at}" for at in range(len(simhashes))], simhashes)
    return replace(bare, features=np.full(len(simhashes), 100, np.int32))
