"""Figures of an index: its documents, rows and bytes, how many rows prefixes have, how evenly regions are filled.

A large index is sampled: random slices of the key space are read, the same share of each region, and what is counted in
them is scaled up.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.index.answers import Shown
from simhash_hbase.index.indexrows import read_last_backup
from simhash_hbase.index.upkeep.walk import PAGE, ProgressCallback, Walk
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import rounded
from simhash_hbase.rows import clock, documentcells, keys, layout
from simhash_hbase.rows.documentcells import Count
from simhash_hbase.stores.base import RegionPlace, Store, StoreSize

_SAMPLED = (
    "documents",
    "states",
    "prefixes",
    "rows_per_prefix",
    "truncated_prefixes",
    "truncated_fingerprints",
    "days",
    "distances",
)
_SAMPLED_REGIONS = ("regions", "imbalance")

# An index of fewer block rows is read whole: in a folder that takes about a second, through a gateway some seconds.
READ_WHOLE = 1_000_000
READ_WHOLE_REMOTELY = 500_000

# A sample reads one part in so many, of this many stretches or more.
ONE_IN = 64
STRETCHES = 64

HOTTEST = 10

PROFILE_IN_SHORT = (
    *("analyzer", "top", "shingle", "idf_documents", "idf_name", "hash"),
    *("scheme", "match", "distance", "similarity", "bands", "passages", "ttl_days"),
)

Bounds = tuple[int, int]
WeightsByKey = defaultdict[int, float]


@dataclass(frozen=True, slots=True)
class HotPrefix:
    """A row-key prefix that very many documents share, so that queries for it read many rows."""

    table: Count  # Flag of its table.
    segment: str  # Eight hex digits.
    rows: int


@dataclass(frozen=True, slots=True)
class RegionShare:
    """The number of rows and cells in one region, a range of row keys that one HBase server serves."""

    start: str  # The first key of the region in hex digits; empty for the first region.
    server: str  # The region server that serves it, ``host:port``.
    rows: Count  # Block rows.
    cells: Count  # Member and document cells.
    share: float  # The region's share of all rows and cells, 0 to 1.


@dataclass(frozen=True, slots=True)
class Day:
    """The numbers of documents and duplicates that were added on one day, UTC."""

    date: str  # As in ``2026-11-21``.
    documents: Count  # Documents that queries find.
    duplicates: Count  # Ids with a decision that they duplicate another one.


@dataclass(slots=True)
class Stats(Shown):
    """The figures of an index, as the method and command `stats` show them."""

    exact: bool  # Everything was counted.
    sampled: list[str] = field(default_factory=list)  # The fields below that are estimates, from a sample.
    documents: Count = 0  # Documents that queries find.
    states: dict[str, Count] = field(default_factory=dict)  # Document cells by state.
    rows: Count = 0  # Block rows.
    bytes: Count | None = None  # Bytes on disk, or in a server's memory; None where the store does not know.
    prefixes: Count | None = 0  # Distinct prefixes; None where the store does not know.
    rows_per_prefix: dict[str, Count] = field(default_factory=dict)
    """How many prefixes have 1, 2, 3-4, 5-8, … rows."""
    hottest: list[HotPrefix] = field(default_factory=list)  # The most crowded prefixes of those that were read.
    truncated_prefixes: Count | None = 0
    """Prefixes with more rows than a query reads: answers that ask for one say ``truncated``."""
    truncated_fingerprints: Count | None = 0  # Fingerprints with more documents than a query reads: likewise.
    regions: list[RegionShare] | None = None  # The regions in the order of their keys; None where the store has none.
    imbalance: float | None = None
    """The largest region's share of rows and cells by the mean share; None where the store has no regions."""
    days: list[Day] = field(default_factory=list)  # Days on which documents were added that are still there.
    distances: dict[int, Count] = field(default_factory=dict)  # Duplicates by their distance to the original.
    format: int | None = None  # Version of rows and cells; None from a service that does not say.
    version: str | None = None  # The version of this package that counted; None as above.
    made_with: dict[str, str] = field(default_factory=dict)
    """Libraries installed where the index was made, with their versions."""
    profile: dict[str, str | int | float] = field(default_factory=dict)
    """The options of `PROFILE_IN_SHORT` that are set."""
    last_backup: str | None = None  # When the last backup that was noted began, RFC 3339 in UTC.


class Slice(NamedTuple):
    """A range ``[start, stop)`` of row-key prefixes within one region, which is read and counted."""

    region: int  # Number of the region.
    start: int
    stop: int
    weight: float  # Each row and cell of the slice stands for so many.


def region_bounds(starts: Sequence[bytes]) -> list[Bounds]:
    r"""Return the half-open range of 40-bit row prefixes of each region, from the first keys of the regions.

    Examples
    --------
    >>> region_bounds([b"", b"\x80"]) == [(0, 1 << 39), (1 << 39, 1 << 40)]
    True
    """
    edges = [*map(keys.row_prefix, starts), keys.ALL_PREFIXES]
    return list(pairwise(edges))


def whole_slices(bounds: Sequence[Bounds]) -> list[Slice]:
    """Return one slice for each region, of the whole region, so that everything is counted."""
    return [Slice(number, start, stop, 1.0) for number, (start, stop) in enumerate(bounds)]


def sampled_slices(bounds: Sequence[Bounds]) -> list[Slice]:
    """Return random slices that make up a 64th of every region, from 64 places of the key space or more."""
    places = -(-STRETCHES // len(bounds))
    slices = []
    for region, (start, stop) in enumerate(bounds):
        edges = [start + (stop - start) * edge // places for edge in range(places + 1)]
        for first, end in pairwise(edges):
            length = -(-(end - first) // ONE_IN)
            if length:
                begin = random.randrange(first, end - length + 1)
                slices.append(Slice(region, begin, begin + length, (end - first) / length))
    return slices


class Tally:
    """Counts of the rows and cells in slices of the key space, scaled up by the slices' weights to the whole index."""

    def __init__(self, profile: Profile, walk: Walk) -> None:
        self._profile = profile
        self._walk = walk
        self.rows_in: WeightsByKey = defaultdict(float)  # Block rows by region.
        self.cells_in: WeightsByKey = defaultdict(float)  # Member and document cells by region.
        self.prefixes: WeightsByKey = defaultdict(float)  # Prefixes by the number of their rows.
        self.hottest: list[tuple[int, int]] = []  # Rows and prefix of the most crowded ones that were read.
        self.truncated_fingerprints = 0.0  # Fingerprints with more members than a query reads.
        self.states: defaultdict[str, float] = defaultdict(float)  # Document cells by state.
        self.added: WeightsByKey = defaultdict(float)  # Documents that queries find, by the day since 1970.
        self.duplicates: WeightsByKey = defaultdict(float)  # Duplicates by that day.
        self.distances: WeightsByKey = defaultdict(float)  # Duplicates by the distance to their original.

    @property
    def rows(self) -> float:
        """The number of search rows (block, sketch and passage rows) in all regions, estimated if it was sampled."""
        return sum(self.rows_in.values())

    @property
    def truncated_prefixes(self) -> float:
        """The number of prefixes that have more rows than a query reads, so that answers may be cut."""
        return sum(n for rows, n in self.prefixes.items() if rows > self._profile.max_rows_per_prefix)

    def read(self, store: Store, slices: Sequence[Slice]) -> None:
        """Read the slices and add their rows and cells to the counts, each as often as its slice's `weight` says.

        The prefixes with the most rows are noted, too. At most one page is in memory.
        """
        for part in slices:
            for prefixes, rows in _runs(store, part, self._walk):
                self.rows_in[part.region] += part.weight * int(rows.sum())
                for size, n in zip(*(column.tolist() for column in np.unique(rows, return_counts=True)), strict=True):
                    self.prefixes[size] += part.weight * n
                hot = np.argsort(rows)[-HOTTEST:]
                pairs = zip(rows[hot].tolist(), prefixes[hot].tolist(), strict=True)
                self.hottest = sorted([*self.hottest, *pairs], reverse=True)[:HOTTEST]
        for part in slices:
            self._count_cells(store, part)

    def _count_cells(self, store: Store, part: Slice) -> None:
        row, members = b"", 0
        pages = store.scan_cells(layout.FAMILY_DOCUMENTS, *keys.row_bounds(part.start, part.stop), page=PAGE)
        for cell in chain.from_iterable(self._walk.cells(pages, before=1)):
            self.cells_in[part.region] += part.weight
            flag = keys.row_flag(cell.row)
            if flag == layout.FLAG_DOCUMENT:
                state = documentcells.decode_document(cell.value)
                # For a claim under way the decision before it counts, which is in force until the claim ends.
                state = state.in_force() or state
                self.states[state.state] += part.weight
                day = state.order[0] // clock.MS_A_DAY
                if state.is_found:
                    self.added[day] += part.weight
                elif state.is_duplicate:
                    self.duplicates[day] += part.weight
                    if state.distance is not None:
                        self.distances[state.distance] += part.weight
            elif flag == layout.FLAG_MEMBERS:
                row, members = cell.row, members + 1 if cell.row == row else 1
                # A fingerprint is counted once, when its members exceed the limit of a query.
                self.truncated_fingerprints += part.weight * (members == self._profile.max_members + 1)


def _runs(store: Store, part: Slice, walk: Walk) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.intp]]]:
    """Yield the distinct row-key prefixes in a slice of the key space, with the number of rows of each, page by page.

    The last prefix of a page is counted with the next page, which may have more rows of it.
    """
    carried, carry = np.empty(0, np.uint64), 0
    for page in walk.rows(store.scan_range(part.start, part.stop, page=PAGE)):
        prefixes, rows = np.unique(np.concatenate([carried, page.prefixes]), return_counts=True)
        rows[0] += carry - len(carried) if len(carried) and prefixes[0] == carried[0] else 0
        carried, carry = prefixes[-1:], int(rows[-1])
        yield prefixes[:-1], rows[:-1]
    if carry:
        yield carried, np.array([carry])


def read_stats(store: Store, profile: Profile, *, exact: bool, watch: ProgressCallback | None = None) -> Stats:
    """Return the figures of an index: documents, rows, bytes, versions, options and the time of the last backup.

    Without `exact` a large index is estimated from a random sample, another one each time. A store that keeps rows in
    no order is read whole.
    """
    # importlib.metadata is loaded here, so that other commands do not wait for it.
    from importlib.metadata import version  # noqa: PLC0415

    stats = _count(store, profile, exact=exact, watch=watch)
    stats.format, stats.version, stats.made_with = profile.format, version("simhash-hbase"), profile.versions or {}
    options = {name: getattr(profile, name) for name in PROFILE_IN_SHORT}
    stats.profile = {name: value for name, value in options.items() if value is not None}
    last_backup = read_last_backup(store)
    stats.last_backup = None if last_backup is None else clock.rfc3339(last_backup)
    return stats


def _count(store: Store, profile: Profile, *, exact: bool, watch: ProgressCallback | None) -> Stats:
    size = store.size()
    # A table is sampled in each of its regions.
    places = store.regions()
    bounds = region_bounds([place.start for place in places] if places else [b""])
    whole = exact or not store.is_sorted or _is_small(store, size)
    tally = Tally(profile, Walk())
    if not whole:
        tally.read(store, sampled_slices(bounds))
        # A sample says little about an index that could have been read whole.
        whole = size.rows is None and tally.rows <= READ_WHOLE_REMOTELY
    if whole:
        tally = Tally(profile, Walk(watch))
        tally.read(store, whole_slices(bounds))
    result = _figures(tally, exact=whole)
    result.bytes = size.bytes
    if size.rows is not None:
        result.rows = size.rows[layout.FAMILY_BLOCKS]
    if not whole:
        result.sampled = [*_SAMPLED, *(("rows",) if size.rows is None else ()), *(_SAMPLED_REGIONS if places else ())]
    if places is not None:
        result.regions = _shares(tally, places)
        result.imbalance = rounded(max(region.share for region in result.regions) * len(places))
    return result


def _is_small(store: Store, size: StoreSize) -> bool:
    """Return whether an index is so small that it is read whole, not sampled; costs at most one call of the store."""
    if size.rows is not None:
        return size.rows[layout.FAMILY_BLOCKS] <= READ_WHOLE
    first = next(store.scan_range(0, keys.ALL_PREFIXES, page=PAGE), None)
    return first is None or len(first.prefixes) < PAGE


def _figures(tally: Tally, *, exact: bool) -> Stats:
    states = {state: round(n) for state, n in sorted(tally.states.items())}
    groups: defaultdict[int, float] = defaultdict(float)
    for rows, n in tally.prefixes.items():
        groups[(rows - 1).bit_length()] += n
    histogram = {}
    for power in sorted(groups):
        low, high = (1 << power >> 1) + 1, 1 << power
        histogram[str(high) if low >= high else f"{low}-{high}"] = round(groups[power])
    mask = (1 << layout.FLAG_BITS) - 1
    return Stats(
        exact=exact,
        documents=states.get("added", 0) + states.get("original", 0),
        states=states,
        rows=round(tally.rows),
        prefixes=round(sum(tally.prefixes.values())),
        rows_per_prefix=histogram,
        hottest=[HotPrefix(prefix & mask, f"{prefix >> layout.FLAG_BITS:08x}", rows) for rows, prefix in tally.hottest],
        truncated_prefixes=round(tally.truncated_prefixes),
        truncated_fingerprints=round(tally.truncated_fingerprints),
        days=[
            Day(
                date=datetime.fromtimestamp(day * clock.MS_A_DAY / 1000, UTC).date().isoformat(),
                documents=round(tally.added[day]),
                duplicates=round(tally.duplicates[day]),
            )
            for day in sorted(tally.added | tally.duplicates)
        ],
        distances={distance: round(n) for distance, n in sorted(tally.distances.items())},
    )


def _shares(tally: Tally, places: Sequence[RegionPlace]) -> list[RegionShare]:
    both = [tally.rows_in[at] + tally.cells_in[at] for at in range(len(places))]
    # An empty index is in balance.
    total, equal = sum(both), 1 / len(places)
    return [
        RegionShare(
            start=place.start.hex(),
            server=place.server,
            rows=round(tally.rows_in[at]),
            cells=round(tally.cells_in[at]),
            share=rounded(both[at] / total if total else equal),
        )
        for at, place in enumerate(places)
    ]
