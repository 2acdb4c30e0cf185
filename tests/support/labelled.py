"""The shared evaluation sets: documents, listed pairs, and the exact similarity of any two documents."""

import gzip
import json
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.kernel.texts import normalize

SHINGLE = 5
CACHED_DOCUMENTS = 3_000
FILLER = 0x110000
"""Above every code point, so that a short text is like no part of a longer one."""

Pair = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """A set: its documents, and the listed pairs as positions, the smaller first."""

    name: str
    ids: list[str]
    groups: list[str]
    texts: list[str]
    pairs: list[Pair]


@dataclass
class Similarities:
    """Exact Jaccard similarities of 5-character shingles, each computed once.

    Shingles are compared by a 64-bit hash; two different ones share it with probability 2**-43 or less.
    """

    texts: Sequence[str]
    known: dict[Pair, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._shingles = lru_cache(CACHED_DOCUMENTS)(lambda at: shingles(self.texts[at]))

    def of(self, pair: Pair) -> float:
        if pair not in self.known:
            a, b = map(self._shingles, pair)
            common = len(np.intersect1d(a, b, assume_unique=True))
            self.known[pair] = common / (len(a) + len(b) - common)
        return self.known[pair]

    def of_many(self, pairs: Iterable[Pair]) -> NDArray[np.float64]:
        return np.array([self.of(pair) for pair in pairs])


def shingles(text: str) -> NDArray[np.uint64]:
    """Hash the distinct shingles of a text; a shorter text is its own one shingle."""
    points = np.frombuffer(normalize(text).encode("utf-32-le"), "<u4")
    if len(points) < SHINGLE:
        points = np.concatenate([points, np.full(SHINGLE - len(points), FILLER, np.uint32)])
    windows = np.lib.stride_tricks.sliding_window_view(points.astype(np.uint64), SHINGLE)
    factors = np.array([random.Random(i).getrandbits(64) | 1 for i in range(SHINGLE)], dtype=np.uint64)
    hashes = np.zeros(len(windows), np.uint64)
    for column, factor in enumerate(factors):
        hashes += windows[:, column] * factor
    return np.unique(hashes)


def folder() -> Path:
    return Path(os.environ.get("SIMHASH_HBASE_DATA", Path(__file__).parents[3] / "shared" / "data"))


def documents_file(name: str) -> Path:
    return folder() / f"docs.{name}.jsonl.gz"


def read_documents(name: str) -> Iterator[dict[str, str]]:
    with gzip.open(documents_file(name), "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def read_corpus(name: str) -> Corpus:
    documents = list(read_documents(name))
    at = {document["id"]: i for i, document in enumerate(documents)}
    with gzip.open(folder() / f"pairs.{name}.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.split("\t") for line in lines]
    pairs = {(min(p), max(p)) for a, b, *_ in rows if a in at and b in at and (p := (at[a], at[b]))}
    return Corpus(
        name=name,
        ids=[document["id"] for document in documents],
        groups=[document["group"] for document in documents],
        texts=[document["text"] for document in documents],
        pairs=sorted(pairs),
    )


def halves(corpus: Corpus) -> tuple[list[int], list[int]]:
    """Cut a set in two, no group on both sides: about half of the groups on one, always the same ones."""
    sides: tuple[list[int], list[int]] = ([], [])
    for at, group in enumerate(corpus.groups):
        sides[blake2b(group.encode(), digest_size=1).digest()[0] % 2 == 0].append(at)
    return sides
