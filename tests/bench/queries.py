"""Part ``queries``: near fingerprints among a million, against PyPI simhash's index and faiss."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.measuring import Table, count, in_turns, microseconds, one_by_one, peer, percentile, times
from bench.sizes import Sizes
from simhash_hbase.errors import SimhashError
from simhash_hbase.index.candidates import NO_PAIRS, CandidateLimits, CandidatePairs, find_candidates
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import distances
from simhash_hbase.rows.keys import block_rows
from simhash_hbase.stores.base import Store
from simhash_hbase.stores.embedded import EmbeddedStore

DISTANCE = 3
"""Bits within which all look."""
PROFILE = Profile.resolve(analyzer="jieba", bands=0)
LIMIT = PROFILE.max_rows_per_prefix
REACH = CandidateLimits(len(PROFILE.blocks.tables), DISTANCE, None)
SINGLES = 1_000

Simhashes = NDArray[np.uint64]
Pairs = set[tuple[int, int]]
"""The place of a query, and a fingerprint that is near to it."""


def find(store: Store, queries: Simhashes) -> CandidatePairs:
    """Find what is near by the block rows of a store, whatever memory that takes."""
    found = find_candidates(store, queries, PROFILE.blocks.prefixes(queries), reach=REACH, limit=LIMIT)
    if found.truncated.any():
        raise SimhashError("a prefix holds more rows than are read")
    return CandidatePairs(*(np.concatenate(column) for column in zip(NO_PAIRS, *found.parts(), strict=True)))


def pairs_of(near: CandidatePairs) -> Pairs:
    return set(zip(near.queries.tolist(), near.simhashes.tolist(), strict=True))


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """An index of fingerprints."""

    name: str
    fingerprints: int
    batch: Callable[[Simhashes], Any]
    """Finds what is near to queries."""
    pairs: Callable[[Any], Pairs]
    """Makes pairs of what `batch` returns."""
    is_slow: bool = False
    """Whether it compares with every fingerprint, or takes long for another reason."""


def faiss(name: str, index: Any, stored: Simhashes, *, is_slow: bool = True) -> Contestant:
    peer("faiss").omp_set_num_threads(1)
    index.add(_octets(stored))

    def batch(queries: Simhashes) -> Any:
        # The radius of a range search is exclusive.
        return index.range_search(_octets(queries), DISTANCE + 1)

    def pairs(answer: Any) -> Pairs:
        limits, _, found = answer
        owners = np.repeat(np.arange(len(limits) - 1), np.diff(limits.astype(np.int64)))
        return set(zip(owners.tolist(), stored[found].tolist(), strict=True))

    return Contestant(name=f"faiss {name}", fingerprints=len(stored), batch=batch, pairs=pairs, is_slow=is_slow)


def pypi(stored: Simhashes) -> Contestant:
    module = peer("simhash")
    index = module.SimhashIndex([], k=DISTANCE)
    for value in stored.tolist():
        index.add(f"{value:x}", module.Simhash(value))
    return Contestant(
        name="PyPI simhash `SimhashIndex(k=3)`",
        fingerprints=len(stored),
        batch=lambda queries: [index.get_near_dups(module.Simhash(query)) for query in queries.tolist()],
        pairs=lambda answers: {(at, int(name, 16)) for at, names in enumerate(answers) for name in names},
        is_slow=True,
    )


def _octets(simhashes: Simhashes) -> NDArray[np.uint8]:
    return simhashes.astype(">u8").view(np.uint8).reshape(-1, 8)


class Planted:
    """Uniform fingerprints and queries, half of which have a neighbour."""

    def __init__(self, sizes: Sizes) -> None:
        rng = np.random.default_rng(7)
        self.stored = rng.integers(0, 2**64, sizes.fingerprints, dtype=np.uint64)
        self.queries = rng.integers(0, 2**64, sizes.queries, dtype=np.uint64)
        near = np.arange(0, sizes.queries, 2)
        self.queries[near] = self.stored[rng.integers(0, sizes.fingerprints, len(near))]
        # One to three bits, some of which may cancel: distances 0 to 3.
        for _ in range(DISTANCE):
            self.queries[near] ^= np.uint64(1) << rng.integers(0, 64, len(near), dtype=np.uint64)

    def answer(self, queries: Simhashes, within: int) -> Pairs:
        """Compare with every one of the first fingerprints."""
        found = set()
        for at, query in enumerate(queries):
            near = np.flatnonzero(distances(self.stored[:within], query) <= DISTANCE)
            found |= {(at, simhash) for simhash in self.stored[near].tolist()}
        return found


def measure_queries(sizes: Sizes) -> list[Table]:
    """Build all indexes over the same fingerprints, check that they agree, and time them in turns."""
    planted, module = Planted(sizes), peer("faiss")
    # Hash maps over 16 bits each, and over 24 of which up to three are flipped: both are complete within 3 bits.
    multi, flipping = module.IndexBinaryMultiHash(64, 4, 16), module.IndexBinaryHash(64, 24)
    flipping.nflip = DISTANCE
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        closing(EmbeddedStore.create(f"{folder}/index")) as store,
    ):
        store.put_rows(block_rows(PROFILE.blocks, planted.stored), timestamp=1)
        ours = {"name": "ours, `file:`", "batch": partial(find, store), "pairs": pairs_of}
        contestants = [
            Contestant(**ours, fingerprints=sizes.fingerprints),
            faiss("`IndexBinaryMultiHash(64, 4, 16)`", multi, planted.stored, is_slow=False),
            faiss("`IndexBinaryHash(64, 24)`, nflip 3", flipping, planted.stored),
            faiss("`IndexBinaryFlat(64)`", module.IndexBinaryFlat(64), planted.stored),
            pypi(planted.stored[: sizes.index_fingerprints]),
        ]
        _check(contestants, planted, sizes)
        return [_singles(contestants, planted, sizes), _batches(contestants, planted, sizes)]


def _check(contestants: Sequence[Contestant], planted: Planted, sizes: Sizes) -> None:
    """Refuse answers that are not those of a comparison with every fingerprint."""
    few = planted.queries[: sizes.flat_queries]
    for contestant in contestants:
        if contestant.pairs(contestant.batch(few)) != planted.answer(few, contestant.fingerprints):
            raise SimhashError(f"{contestant.name} does not answer what comparing with all of them does")
    some = planted.queries[: sizes.queries // 10]
    if len({frozenset(each.pairs(each.batch(some))) for each in contestants if not each.is_slow}) > 1:
        raise SimhashError("the answers to a batch differ")


def _singles(contestants: Sequence[Contestant], planted: Planted, sizes: Sizes) -> Table:
    queries = [planted.queries[at : at + 1] for at in range(min(SINGLES, sizes.queries))]
    rounds = [[one_by_one(each.batch, queries) for each in contestants] for _ in range(sizes.repeats)]
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


def _batches(contestants: Sequence[Contestant], planted: Planted, sizes: Sizes) -> Table:
    fast = [each for each in contestants if not each.is_slow]
    columns, rows = ["index"], [[each.name] for each in fast]
    for number in (sizes.queries // 10, sizes.queries):
        columns += [f"batch of {count(number)}", "ours is"]
        timed = in_turns([partial(each.batch, planted.queries[:number]) for each in fast], repeats=sizes.repeats)
        for row, each in zip(rows, timed, strict=True):
            row += [microseconds(each.best / number), times(timed[0].best, each.best)]
    return Table(title="The same in batches, time a query", columns=columns, rows=rows)
