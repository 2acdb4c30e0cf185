"""Figures of an index: how many documents, rows and bytes, how crowded its prefixes and how alike its regions are."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from simhash_hbase.index.notebook import Shown
from simhash_hbase.index.upkeep.progress import PAGE, Watch
from simhash_hbase.index.upkeep.sampling import region_bounds, sampled_slices, whole_slices
from simhash_hbase.index.upkeep.tally import Tally
from simhash_hbase.profile import Profile
from simhash_hbase.rows.clock import MS_A_DAY
from simhash_hbase.rows.keys import ALL_PREFIXES
from simhash_hbase.rows.layout import FAMILY_BLOCKS, FAMILY_DOCUMENTS, FLAG_BITS, FLAG_MEMBERS
from simhash_hbase.stores.abilities import CellCounts, Regional, RegionPlace
from simhash_hbase.stores.base import Store, StoreSize

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


@dataclass(frozen=True, slots=True)
class HotPrefix:
    """A prefix that many documents share."""

    table: int  # Flag of its table.
    segment: str  # Eight hex digits.
    rows: int


@dataclass(frozen=True, slots=True)
class RegionShare:
    """What one region holds."""

    start: str  # Its first key in hex digits; empty for the first region.
    server: str  # The region server that serves it, ``host:port``.
    rows: int  # Block rows.
    cells: int  # Member and document cells.
    share: float  # Its part of all rows and cells, 0 to 1.


@dataclass(frozen=True, slots=True)
class Day:
    """What was added on one day, UTC."""

    date: str  # As in ``2026-11-21``.
    documents: int  # Documents that queries find.
    duplicates: int  # Ids with a decision that they duplicate another one.


@dataclass(slots=True)
class Stats(Shown):
    """What `stats` prints."""

    exact: bool  # Everything was counted.
    sampled: list[str] = field(default_factory=list)  # The fields below that are estimates, from a sample.
    documents: int = 0  # Documents that queries find.
    states: dict[str, int] = field(default_factory=dict)  # Document cells by state.
    rows: int = 0  # Block rows.
    bytes: int | None = None  # Bytes on disk, or in a server's memory; None where the store does not know.
    prefixes: int | None = 0  # Distinct prefixes; None where the store does not know.
    rows_per_prefix: dict[str, int] = field(default_factory=dict)
    """Prefixes by the number of their rows: 1, 2, 3-4, 5-8, …"""
    hottest: list[HotPrefix] = field(default_factory=list)  # The most crowded prefixes of those that were read.
    truncated_prefixes: int | None = 0
    """Prefixes with more rows than a query reads: answers that ask for one say ``truncated``."""
    truncated_fingerprints: int | None = 0  # Fingerprints with more documents than a query reads: likewise.
    regions: list[RegionShare] | None = None  # The regions in the order of their keys; None where the store has none.
    imbalance: float | None = None
    """The largest region's share of rows and cells by the mean share; None where the store has no regions."""
    days: list[Day] = field(default_factory=list)  # Days on which documents were added that are still there.
    distances: dict[int, int] = field(default_factory=dict)  # Duplicates by their distance to the original.


def read_stats(store: Store, profile: Profile, *, exact: bool, watch: Watch | None = None) -> Stats:
    """Count documents, rows and bytes.

    A sample is chosen at random each time. A store that reads no ranges counts documents, rows and bytes only, from its
    own counters.
    """
    size = store.size()
    if isinstance(store, CellCounts):
        return _counted(store, (size.rows or {}).get(FAMILY_BLOCKS, 0), size.bytes)
    places = store.regions() if isinstance(store, Regional) else None
    bounds = region_bounds([place.start for place in places] if places else [b""])
    whole = exact or _is_small(store, size)
    tally = Tally(profile)
    if not whole:
        tally.read(store, sampled_slices(bounds))
        # A sample says little about an index that could have been read whole.
        whole = size.rows is None and tally.rows <= READ_WHOLE_REMOTELY
    if whole:
        tally = Tally(profile, watch)
        tally.read(store, whole_slices(bounds))
    result = _figures(tally, exact=whole)
    result.bytes = size.bytes
    if size.rows is not None:
        result.rows = size.rows[FAMILY_BLOCKS]
    if not whole:
        result.sampled = [*_SAMPLED, *(("rows",) if size.rows is None else ()), *(_SAMPLED_REGIONS if places else ())]
    if places is not None:
        result.regions = _shares(tally, places)
        result.imbalance = round(max(region.share for region in result.regions) * len(places), 3)
    return result


def _is_small(store: Store, size: StoreSize) -> bool:
    """Tell, by one call at most, whether an index is quickly read whole."""
    if size.rows is not None:
        return size.rows[FAMILY_BLOCKS] <= READ_WHOLE
    first = next(store.scan_range(0, ALL_PREFIXES, page=PAGE), None)
    return first is None or len(first.prefixes) < PAGE


def _counted(store: CellCounts, rows: int, octets: int | None) -> Stats:
    # A document that queries find has one member; what a crash or a race left over is counted with them.
    result = Stats(exact=False, documents=store.count_cells(FAMILY_DOCUMENTS, FLAG_MEMBERS), rows=rows, bytes=octets)
    result.prefixes = result.truncated_prefixes = result.truncated_fingerprints = None
    return result


def _figures(tally: Tally, *, exact: bool) -> Stats:
    states = {state: round(n) for state, n in sorted(tally.states.items())}
    mask = (1 << FLAG_BITS) - 1
    return Stats(
        exact=exact,
        documents=states.get("added", 0) + states.get("original", 0),
        states=states,
        rows=round(tally.rows),
        prefixes=round(sum(tally.prefixes.values())),
        rows_per_prefix={name: round(n) for name, n in _histogram(tally.prefixes).items()},
        hottest=[HotPrefix(prefix & mask, f"{prefix >> FLAG_BITS:08x}", rows) for rows, prefix in tally.hottest],
        truncated_prefixes=round(tally.truncated_prefixes),
        truncated_fingerprints=round(tally.truncated_fingerprints),
        days=[
            Day(_date(day), round(tally.added[day]), round(tally.duplicates[day]))
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
            share=round(both[at] / total if total else equal, 4),
        )
        for at, place in enumerate(places)
    ]


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * MS_A_DAY / 1000, UTC).date().isoformat()


def _histogram(counts: Mapping[int, float]) -> dict[str, float]:
    """Group by powers of two."""
    groups: defaultdict[int, float] = defaultdict(float)
    for rows, n in counts.items():
        groups[(rows - 1).bit_length()] += n
    return {_label(power): groups[power] for power in sorted(groups)}


def _label(power: int) -> str:
    low, high = (1 << power >> 1) + 1, 1 << power
    return str(high) if low >= high else f"{low}-{high}"
