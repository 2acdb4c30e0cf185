"""Figures of an index: how many documents, rows and bytes, and how crowded its prefixes are."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.layout import (
    FAMILY_BLOCKS,
    FAMILY_DOCUMENTS,
    FLAG_BITS,
    FLAG_DOCUMENT,
    FLAG_MEMBERS,
    PREFIX_BITS,
    SEGMENT_BITS,
    SEGMENT_BYTES,
)
from simhash_hbase.profile import Profile
from simhash_hbase.records import decode_document
from simhash_hbase.rowkey import row_flag
from simhash_hbase.stores.base import CellCounts, Store

__all__ = ["HotPrefix", "Stats", "read_stats"]

PAGE = 10_000
HOTTEST = 10
# A sample reads this many of 4,096 equal slices of the key space.
SLICES = 4096
SAMPLED = 64
# An index of fewer block rows is read whole: that takes about a second.
READ_WHOLE = 1_000_000


@dataclass(frozen=True, slots=True)
class HotPrefix:
    """A prefix that many documents share."""

    table: int
    """Flag of its table."""
    segment: str
    """Eight hex digits."""
    rows: int


@dataclass(slots=True)
class Stats:
    """What `stats` prints; an estimate unless `exact`."""

    exact: bool
    documents: int = 0
    """Documents that queries find."""
    states: dict[str, int] = field(default_factory=dict)
    """Document cells by state."""
    rows: int = 0
    """Block rows."""
    bytes: int | None = None
    """Bytes on disk, or in a server's memory; None where the store cannot tell."""
    prefixes: int | None = 0
    """Distinct prefixes; None where the store cannot tell."""
    rows_per_prefix: dict[str, int] = field(default_factory=dict)
    """Prefixes by the number of their rows: 1, 2, 3-4, 5-8, …"""
    hottest: list[HotPrefix] = field(default_factory=list)
    """The most crowded prefixes of those that were read."""


def read_stats(store: Store, profile: Profile, *, exact: bool) -> Stats:
    """Count documents, rows and bytes.

    Parameters
    ----------
    store, profile
        The index.
    exact : bool
        Read everything; else 1/64 of the key space, unless the index is small.

    Returns
    -------
    Stats
        Of a sample, the counts are scaled up and `exact` is false.

    Notes
    -----
    A sample is of slices of the key space chosen at random anew each time. A store that reads no ranges tells
    documents, rows and bytes only, from its own counters.
    """
    size = store.size()
    if isinstance(store, CellCounts):
        # A document that queries find has one member; what a crash or a race left over is counted with them.
        documents = store.count_cells(FAMILY_DOCUMENTS, FLAG_MEMBERS)
        rows = (size.rows or {}).get(FAMILY_BLOCKS, 0)
        return Stats(exact=False, documents=documents, rows=rows, bytes=size.bytes, prefixes=None)
    small = size.rows is not None and size.rows["b"] <= READ_WHOLE
    whole = exact or small
    slices = [(0, 1 << SEGMENT_BITS)] if whole else _sample()
    scale = 1 if whole else SLICES / SAMPLED
    counts, hottest = _count_prefixes(store, slices)
    states = _count_states(store, slices)
    result = Stats(exact=whole, bytes=size.bytes)
    result.states = {state: round(n * scale) for state, n in sorted(states.items())}
    result.documents = result.states.get("added", 0) + result.states.get("original", 0)
    result.prefixes = round(sum(counts.values()) * scale)
    result.rows = round(sum(rows * n for rows, n in counts.items()) * scale)
    if size.rows is not None:
        result.rows = size.rows["b"]
    result.rows_per_prefix = {name: round(n * scale) for name, n in _histogram(counts).items()}
    result.hottest = hottest
    return result


def _sample() -> list[tuple[int, int]]:
    width = (1 << SEGMENT_BITS) // SLICES
    return [(i * width, (i + 1) * width) for i in sorted(random.sample(range(SLICES), SAMPLED))]


def _count_prefixes(store: Store, slices: list[tuple[int, int]]) -> tuple[Counter[int], list[HotPrefix]]:
    counts: Counter[int] = Counter()
    top: list[tuple[int, int]] = []
    for prefixes, rows in _runs(store, slices):
        sizes, n = np.unique(rows, return_counts=True)
        counts.update(dict(zip(sizes.tolist(), n.tolist(), strict=True)))
        hot = np.argsort(rows)[-HOTTEST:]
        top = sorted([*top, *zip(rows[hot].tolist(), prefixes[hot].tolist(), strict=True)], reverse=True)[:HOTTEST]
    mask = (1 << FLAG_BITS) - 1
    return counts, [HotPrefix(prefix & mask, f"{prefix >> FLAG_BITS:08x}", n) for n, prefix in top]


def _runs(store: Store, slices: list[tuple[int, int]]) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.intp]]]:
    """Count rows a prefix; a prefix that a page cuts is carried over to the next."""
    for start, stop in slices:
        carried, carry = np.empty(0, np.uint64), 0
        for page in store.scan_range(start << FLAG_BITS, min(stop << FLAG_BITS, 1 << PREFIX_BITS), page=PAGE):
            prefixes, rows = np.unique(np.concatenate([carried, page.prefixes]), return_counts=True)
            rows[0] += carry - len(carried) if len(carried) and prefixes[0] == carried[0] else 0
            carried, carry = prefixes[-1:], int(rows[-1])
            yield prefixes[:-1], rows[:-1]
        if carry:
            yield carried, np.array([carry])


def _count_states(store: Store, slices: list[tuple[int, int]]) -> Counter[str]:
    states: Counter[str] = Counter()
    for start, stop in slices:
        first = start.to_bytes(SEGMENT_BYTES, "big")
        last = None if stop >> SEGMENT_BITS else stop.to_bytes(SEGMENT_BYTES, "big")
        for cells in store.scan_cells(FAMILY_DOCUMENTS, first, last, page=PAGE):
            states.update(decode_document(c.value).state for c in cells if row_flag(c.row) == FLAG_DOCUMENT)
    return states


def _histogram(counts: Counter[int]) -> dict[str, int]:
    """Group by powers of two."""
    groups: Counter[int] = Counter()
    for rows, n in counts.items():
        groups[(rows - 1).bit_length()] += n
    return {_label(power): groups[power] for power in sorted(groups)}


def _label(power: int) -> str:
    low, high = (1 << power >> 1) + 1, 1 << power
    return str(high) if low >= high else f"{low}-{high}"
