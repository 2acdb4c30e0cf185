"""Those who look for near fingerprints: this package, PyPI simhash's index, and three indexes of faiss."""

from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bench.machine import anonymous_bytes
from bench.peers import peer
from simhash_hbase.index.candidates import NO_PAIRS, Candidates, Near, Reach, find_candidates
from simhash_hbase.index.index import Index

__all__ = ["DISTANCE", "Contestant", "Faiss", "Ours", "PyPI"]

DISTANCE = 3
"""Bits within which all look."""

Simhashes = NDArray[np.uint64]


def whole(candidates: Candidates) -> Near:
    """Join all queries at once, whatever memory that takes."""
    return Near(*(np.concatenate(column) for column in zip(NO_PAIRS, *candidates.parts(), strict=True)))


class Contestant(Protocol):
    """An index over fingerprints."""

    name: str
    fingerprints: int
    seconds: float
    """What building it took."""
    memory: int
    """What it holds in memory, bytes."""
    is_slow: bool
    """It compares with every fingerprint, or takes long for another reason."""

    def one(self, query: int) -> object:
        """Answer one query."""

    def batch(self, queries: Simhashes) -> object:
        """Answer many."""

    def pairs(self, queries: Simhashes) -> set[tuple[int, int]]:
        """Answer many, as pairs of a query's position and a fingerprint."""


class Ours:
    """Block rows in one folder.

    Parameters
    ----------
    index : Index
        Holds them.
    seconds : float
        What writing them took.
    memory : int
        Bytes by which the process grew meanwhile.
    """

    is_slow = False
    name = "ours, `file:`"

    def __init__(self, index: Index, seconds: float, memory: int) -> None:
        self.index = index
        self.seconds = seconds
        self.memory = memory
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
    """An index of faiss, by one thread.

    Parameters
    ----------
    name : str
        What to call it.
    index : object
        One of its binary indexes, empty.
    stored : ndarray of uint64
        The fingerprints.
    is_slow : bool
        It compares with every fingerprint.
    """

    def __init__(self, name: str, index: Any, stored: Simhashes, *, is_slow: bool = False) -> None:
        peer("faiss").omp_set_num_threads(1)
        self.name = name
        self.is_slow = is_slow
        self.fingerprints = len(stored)
        self._stored = stored
        self._index = index
        before, start = anonymous_bytes(), perf_counter()
        index.add(_octets(stored))
        self.seconds = perf_counter() - start
        self.memory = anonymous_bytes() - before

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
    """``simhash.SimhashIndex`` of the package simhash.

    Parameters
    ----------
    stored : ndarray of uint64
        The fingerprints.
    """

    name = "PyPI simhash `SimhashIndex(k=3)`"
    is_slow = True

    def __init__(self, stored: Simhashes) -> None:
        module = peer("simhash")
        self.fingerprints = len(stored)
        self._make = module.Simhash
        before, start = anonymous_bytes(), perf_counter()
        named = ((f"{value:x}", module.Simhash(value)) for value in stored.tolist())
        self._index = module.SimhashIndex([], k=DISTANCE)
        for name, value in named:
            self._index.add(name, value)
        self.seconds = perf_counter() - start
        self.memory = anonymous_bytes() - before

    def one(self, query: int) -> Any:
        return self._index.get_near_dups(self._make(query))

    def batch(self, queries: Simhashes) -> list[Any]:
        return [self.one(query) for query in queries.tolist()]

    def pairs(self, queries: Simhashes) -> set[tuple[int, int]]:
        return {(at, int(name, 16)) for at, names in enumerate(self.batch(queries)) for name in names}


def _octets(simhashes: Simhashes) -> NDArray[np.uint8]:
    octets: NDArray[np.uint8] = simhashes.astype(">u8").view(np.uint8).reshape(-1, 8)
    return octets
