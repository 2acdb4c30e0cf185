"""Counting the rows and cells of an index, or of parts of it that stand for more."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.index.upkeep.progress import PAGE, Progress, Watch
from simhash_hbase.index.upkeep.sampling import Slice
from simhash_hbase.profile import Profile
from simhash_hbase.rows.clock import MS_A_DAY
from simhash_hbase.rows.documents import DocumentState, decode_document
from simhash_hbase.rows.keys import row_bounds, row_flag
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, FLAG_DOCUMENT, FLAG_MEMBERS
from simhash_hbase.stores.base import Cell, Store

HOTTEST = 10

Counts = defaultdict[int, float]


class Tally:
    """Counts, each weighted by what its slice stands for."""

    def __init__(self, profile: Profile, watch: Watch | None = None) -> None:
        self._profile = profile
        self._walk = Progress(watch)
        self.rows_in: Counts = defaultdict(float)
        """Block rows by region."""
        self.cells_in: Counts = defaultdict(float)
        """Member and document cells by region."""
        self.prefixes: Counts = defaultdict(float)
        """Prefixes by the number of their rows."""
        self.hottest: list[tuple[int, int]] = []
        """Rows and prefix of the most crowded ones that were read."""
        self.truncated_fingerprints = 0.0
        """Fingerprints with more members than a query reads."""
        self.states: defaultdict[str, float] = defaultdict(float)
        """Document cells by state."""
        self.added: Counts = defaultdict(float)
        """Documents that queries find, by the day since 1970 on which they were added."""
        self.duplicates: Counts = defaultdict(float)
        """Duplicates by that day."""
        self.distances: Counts = defaultdict(float)
        """Duplicates by the distance to their original."""

    @property
    def rows(self) -> float:
        """Block rows."""
        return sum(self.rows_in.values())

    @property
    def truncated_prefixes(self) -> float:
        """Prefixes with more rows than a query reads."""
        return sum(n for rows, n in self.prefixes.items() if rows > self._profile.max_rows_per_prefix)

    def read(self, store: Store, slices: Sequence[Slice]) -> None:
        """Count what is in slices; memory is bounded by a page."""
        for part in slices:
            for prefixes, rows in _runs(store, part, self._walk):
                self._count_prefixes(prefixes, rows, part)
        for part in slices:
            self._count_cells(store, part)

    def _count_prefixes(self, prefixes: NDArray[np.uint64], rows: NDArray[np.intp], part: Slice) -> None:
        self.rows_in[part.region] += part.weight * int(rows.sum())
        for size, n in zip(*(column.tolist() for column in np.unique(rows, return_counts=True)), strict=True):
            self.prefixes[size] += part.weight * n
        hot = np.argsort(rows)[-HOTTEST:]
        pairs = zip(rows[hot].tolist(), prefixes[hot].tolist(), strict=True)
        self.hottest = sorted([*self.hottest, *pairs], reverse=True)[:HOTTEST]

    def _count_cells(self, store: Store, part: Slice) -> None:
        row, members = b"", 0
        for cell in _cells(store, part, self._walk):
            self.cells_in[part.region] += part.weight
            flag = row_flag(cell.row)
            if flag == FLAG_DOCUMENT:
                state = decode_document(cell.value)
                # Of a claim under way counts what stands until it is decided.
                self._count_document(state.in_force() or state, part.weight)
            elif flag == FLAG_MEMBERS:
                row, members = cell.row, members + 1 if cell.row == row else 1
                # Counted once, when it goes above what a query reads.
                self.truncated_fingerprints += part.weight * (members == self._profile.max_members + 1)

    def _count_document(self, state: DocumentState, weight: float) -> None:
        self.states[state.state] += weight
        day = state.order[0] // MS_A_DAY
        if state.is_found:
            self.added[day] += weight
        elif state.is_duplicate:
            self.duplicates[day] += weight
            if state.distance is not None:
                self.distances[state.distance] += weight


def _runs(store: Store, part: Slice, walk: Progress) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.intp]]]:
    """Count rows a prefix; a prefix that a page cuts is carried over to the next."""
    carried, carry = np.empty(0, np.uint64), 0
    for page in walk.rows(store.scan_range(part.start, part.stop, page=PAGE)):
        prefixes, rows = np.unique(np.concatenate([carried, page.prefixes]), return_counts=True)
        rows[0] += carry - len(carried) if len(carried) and prefixes[0] == carried[0] else 0
        carried, carry = prefixes[-1:], int(rows[-1])
        yield prefixes[:-1], rows[:-1]
    if carry:
        yield carried, np.array([carry])


def _cells(store: Store, part: Slice, walk: Progress) -> Iterable[Cell]:
    bounds = row_bounds(part.start, part.stop)
    for page in walk.cells(store.scan_cells(FAMILY_DOCUMENTS, *bounds, page=PAGE), before=1):
        yield from page
