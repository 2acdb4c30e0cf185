"""Reads of one table: rows under many prefixes, whole rows and ranges of cells; and how each call is kept small."""

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import SimhashError
from simhash_hbase.rows import keys as rowkeys
from simhash_hbase.rows.layout import PREFIX_BYTES
from simhash_hbase.stores.base import Cell, PrefixScan, first_rows
from simhash_hbase.stores.columns import CellRows
from simhash_hbase.stores.hbase.driver import Driver
from simhash_hbase.stores.hbase.exchange import Conversation, Exchange, PageSize
from simhash_hbase.stores.hbase.sizes import CALL_SIZES, CallSizes

U64 = np.uint64
K = TypeVar("K")
V = TypeVar("V")

FAN_OUT_SOCKETS = 5
SOCKETS = 4
# A request is about 150 bytes.
WINDOW = 32
ROW_PART = 16
SCAN_ROWS = 2_000
# A table's regions rarely split or move, and an error makes them be read again at once.
REMEMBER_S = 300.0


class Regions:
    """Remembers the first keys of the table's regions, by which rows are grouped, so that a call reads one region.

    They are read again after `REMEMBER_S`.
    """

    def __init__(self, ask: Callable[[], list[bytes]]) -> None:
        self._ask = ask
        self._known: list[bytes] | None = None
        self._asked = 0.0

    def starts(self) -> list[bytes]:
        """Return the first keys of the table's regions, sorted; they are read from HBase if they are not known."""
        # Threads share it: another one may forget at any time.
        known = self._known
        if known is None or time.monotonic() - self._asked > REMEMBER_S:
            known = self._ask()
            self._known, self._asked = known, time.monotonic()
        return known

    def forget(self) -> None:
        """Forget the regions, so that the next call reads them again: one may have been split or moved."""
        self._known = None


def by_region(rows: Sequence[bytes], starts: Sequence[bytes], many: int) -> Iterator[Sequence[bytes]]:
    """Yield sorted rows in groups: a region with at least `many` of them has one of its own; the others stay together.

    `starts` are the sorted first keys of the regions.

    Examples
    --------
    >>> list(by_region([b"a", b"b", b"m", b"x", b"y"], [b"", b"h", b"t"], 2))
    [[b'a', b'b'], [b'm'], [b'x', b'y']]
    >>> list(by_region([b"a", b"m", b"x", b"y"], [b"", b"h", b"t"], 2))
    [[b'a', b'm'], [b'x', b'y']]
    """
    first = 0
    for start, stop in pairwise([*(bisect_left(rows, start) for start in starts), len(rows)]):
        if stop - start >= many:
            yield from (part for part in (rows[first:start], rows[start:stop]) if part)
            first = stop
    if first < len(rows):
        yield rows[first:]


def in_one_region(rows: Sequence[bytes], starts: Sequence[bytes]) -> bool:
    """Return whether sorted rows lie in one region; `starts` are the regions' first keys."""
    return bisect_right(starts, rows[0]) == bisect_right(starts, rows[-1])


class HBaseReader:
    """Reads one table; each kind of read adapts the size of its pages to time-outs. Threads may share it."""

    def __init__(self, exchange: Exchange, driver: Driver, regions: Regions, sizes: CallSizes = CALL_SIZES) -> None:
        self.sizes = sizes
        self._exchange = exchange
        self._driver = driver
        self._regions = regions
        self._scan_size, self._row_size, self._cell_size, self._get_size = (PageSize() for _ in range(4))

    def scan(self, prefixes: NDArray[np.uint64], limit: int) -> PrefixScan:
        """Return the block rows under many prefixes, keys that lead to fingerprints, at most `limit` for each prefix.

        See `Store.scan`. There must be a prefix.
        """
        many = len(prefixes) > self.sizes.few_prefixes and self._driver.prefixes_per_scan > 1
        sockets, window = (SOCKETS, 1) if many else (FAN_OUT_SOCKETS, WINDOW)
        try:
            if many:
                # Split where regions begin, and each part into equal parts of a bounded size.
                starts = [rowkeys.row_prefix(start) for start in self._regions.starts()]
                edges = np.searchsorted(prefixes, np.array(starts, dtype=U64))
                most = self._driver.prefixes_per_scan
                parts = np.split(prefixes, edges)
                groups = [group for part in parts for group in np.array_split(part, -(-len(part) // most) or 1)]
            else:
                groups = [prefixes[at : at + 1] for at in range(len(prefixes))]
            jobs = left = [_Job(group, limit, self._scan_size, self.sizes.reply_rows) for group in groups if len(group)]
            while left:
                tasks = [partial(job.next_page, self._driver) for job in left]
                pages = self._exchange.hold(tasks, sockets=sockets, window=window)
                left = [job for job, page in zip(left, pages, strict=True) if not job.take(*page)]
        except SimhashError:
            self._regions.forget()
            raise
        return first_rows(rowkeys.unpack_rows(b"".join(part for job in jobs for part in job.packed)), limit)

    def look_up(self, groups: list[list[K]], ask: Callable[[Sequence[K]], Conversation[list[V]]]) -> list[V]:
        """Return the answer for each of some items, such as keys of cells; a group of items is one call.

        ``ask(items)`` returns the conversation, a generator of calls, about a group, or a part of it after a time-out.
        """
        answers = self._exchange.hold_in_parts(self._get_size, groups, ask, sockets=SOCKETS)
        return [item for answer in answers for item in answer]

    def row_pages(self, start: int, stop: int, page: int) -> Iterator[rowkeys.BlockRows]:
        """Yield the block rows, keys that lead to fingerprints, with prefixes in ``[start, stop)``, `page` at a time.

        See `Store.scan_range`.
        """
        if start >= min(stop, rowkeys.ALL_PREFIXES):
            return
        first = rowkeys.pack_prefix(start)
        last = b"" if stop >= rowkeys.ALL_PREFIXES else rowkeys.pack_prefix(stop)
        while True:
            ask = partial(self._driver.scan_keys, first, last, walk=True)
            keys, size = self._exchange.one(partial(self._row_size.page, page, ask))
            if keys:
                yield rowkeys.unpack_rows(b"".join(keys))
            if len(keys) < size:
                return
            first = keys[-1] + b"\0"

    def rows(self, family: str, rows: Sequence[bytes], limit: int) -> CellRows:
        """Read the cells of rows, at most `limit` of each; the rows are sorted and named once."""
        most = min(limit, self.sizes.many_cells)
        # Rows that fit into one call with the longer limit are not read twice.
        first = most if len(rows) <= self._rows_at_once(most) else min(limit, self.sizes.few_cells)
        answer = self._first_cells(family, rows, first)
        longer: dict[int, list[Cell]] = {}
        if first < most:
            wide = [at for at, count in enumerate(answer.columns.counts) if count == first]
            # The rows are read anew: rows written in between would be there twice, or not at all, if the rest were
            # added.
            longer = dict(zip(wide, self._first_cells(family, [rows[at] for at in wide], most), strict=True))
        if most < limit:
            full = [
                at for at, count in enumerate(answer.columns.counts) if len(longer.get(at, ())) == most or count == most
            ]
            for at in full:
                cells = longer.get(at) or answer[at]
                longer[at] = [*cells, *self.tail(family, rows[at], cells[-1].qualifier, limit - most)]
        return answer.replaced(longer) if longer else answer

    def _rows_at_once(self, limit: int) -> int:
        return max(1, min(self._driver.rows_per_get, 10 * self.sizes.reply_cells // limit))

    def _first_cells(self, family: str, rows: Sequence[bytes], limit: int) -> CellRows:
        """Return the first cells of sorted rows, `limit` of each at most, which is few enough for one reply.

        Many rows of one region are read by one scan.
        """
        many = self._driver.scanned_rows
        starts = self._regions.starts() if len(rows) >= many else []

        def ask(few: Sequence[bytes]) -> Conversation[CellRows]:
            scan = len(few) >= many and in_one_region(few, starts)
            return self._driver.get_rows(family, few, limit, scan=scan)

        parts = by_region(rows, starts, many)
        groups = [group for part in parts for group in self.sizes.group_row_keys(part, self._rows_at_once(limit))]
        return CellRows.joined(self._exchange.hold_in_parts(self._get_size, groups, ask, sockets=SOCKETS))

    def tail(self, family: str, row: bytes, after: bytes, limit: int) -> list[Cell]:
        """Read the cells of one row whose qualifiers come after `after`, at most `limit`."""
        cells: list[Cell] = []
        for part in self._tail_parts(family, row, after, min(limit, self.sizes.reply_cells), PageSize()):
            cells += part
            if len(cells) >= limit:
                break
        return cells[:limit]

    def cell_pages(self, family: str, start: bytes, stop: bytes | None, page: int) -> Iterator[list[Cell]]:
        """Yield the cells of rows in ``[start, stop)``, `page` at a time; see `Store.scan_cells`."""
        waiting: list[Cell] = []
        for cells in self._cell_parts(family, start, stop, min(page, SCAN_ROWS)):
            waiting += cells
            whole = len(waiting) - len(waiting) % page
            for i in range(0, whole, page):
                yield waiting[i : i + page]
            del waiting[:whole]
        if waiting:
            yield waiting

    def _cell_parts(self, family: str, start: bytes, stop: bytes | None, rows: int) -> Iterator[list[Cell]]:
        # For HBase, an empty stop means no stop, and one equal to the start a single row.
        while stop is None or start < stop:
            ask = partial(self._driver.scan_cells, family, start, stop or b"", row_part=ROW_PART)
            parts, size = self._exchange.one(partial(self._cell_size.page, rows, ask))
            yield [cell for part in parts for cell in part]
            if len(parts) < size:
                return
            last = parts[-1][-1]
            if len(parts[-1]) == ROW_PART:
                yield from self._tail_parts(
                    family, last.row, last.qualifier, self.sizes.reply_cells, self._cell_size, walk=True
                )
            start = last.row + b"\0"

    def _tail_parts(
        self, family: str, row: bytes, after: bytes, most: int, page_size: PageSize, *, walk: bool = False
    ) -> Iterator[list[Cell]]:
        """Yield the cells of a row whose qualifiers come after `after`, in parts of at most `most` cells."""
        while True:
            ask = partial(self._driver.row_tail, family, row, after, walk=walk)
            part, size = self._exchange.one(partial(page_size.page, most, ask))
            if part:
                yield part
            if len(part) < size:
                return
            after = part[-1].qualifier


class _Job:
    """A part of a scan for keys that lead to fingerprints: sorted prefixes, whose rows are read page by page."""

    def __init__(self, prefixes: NDArray[np.uint64], limit: int, page_size: PageSize, reply_rows: int) -> None:
        self.packed: list[bytes] = []
        self._prefixes = prefixes
        self._whole = len(prefixes)
        self._limit = limit
        self._page_size = page_size
        self._reply_rows = reply_rows
        [self._start] = rowkeys.pack_prefixes(prefixes[:1])
        # Rows of the first prefix that have been read.
        self._seen = 0

    def next_page(self, driver: Driver) -> Conversation[tuple[list[bytes], int, int]]:
        """Read the next page of rows.

        Return their keys, and the numbers of rows and prefixes that were asked for.
        """
        wanted = self._prefixes[: self._page_size.share(self._whole)]
        [last] = rowkeys.pack_prefixes(wanted[-1:])
        alone = len(wanted) == 1
        # A row more than the limit shows that a single prefix has more.
        most = min(self._limit + 1 - self._seen, self._reply_rows) if alone else self._reply_rows
        rows = self._page_size.share(most)
        with self._page_size.watched():
            keys = yield from driver.scan_keys(self._start, rowkeys.prefix_stop(last), rows, None if alone else wanted)
        return keys, rows, len(wanted)

    def take(self, keys: list[bytes], rows: int, prefixes: int) -> bool:
        """Keep a page that `next_page` has read, and return whether all rows are read."""
        self.packed.append(b"".join(keys))
        if len(keys) < rows:
            self._go_on_at(prefixes)
            return not len(self._prefixes)
        last = keys[-1][:PREFIX_BYTES]
        at = int(np.searchsorted(self._prefixes, U64(rowkeys.row_prefix(last))))
        seen = len(keys) - bisect_left(keys, last) + (self._seen if at == 0 else 0)
        if seen > self._limit or keys[-1] == rowkeys.last_row(last):
            # The rest of this prefix is not wanted: a hot prefix must not be read to its end. After its last possible
            # key there is nothing, and HBase refuses a filter with an empty range.
            self._go_on_at(at + 1)
        else:
            self._prefixes, self._seen = self._prefixes[at:], seen
            self._start = keys[-1] + b"\0"
        return not len(self._prefixes)

    def _go_on_at(self, number: int) -> None:
        self._prefixes, self._seen = self._prefixes[number:], 0
        if len(self._prefixes):
            [self._start] = rowkeys.pack_prefixes(self._prefixes[:1])
