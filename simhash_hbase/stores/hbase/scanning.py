"""Scans of many prefixes: one scan each for the few of a query, one filter of thousands for those of a batch."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import SimhashError
from simhash_hbase.rows.keys import last_row, pack_prefixes, prefix_stop, row_prefix, unpack_rows
from simhash_hbase.rows.layout import PREFIX_BYTES
from simhash_hbase.stores.base import PrefixScan, first_rows
from simhash_hbase.stores.hbase.regions import Regions
from simhash_hbase.stores.hbase.thrift.driver import Driver
from simhash_hbase.stores.hbase.thrift.exchange import Conversation, Exchange
from simhash_hbase.stores.hbase.thrift.pace import Pace

U64 = np.uint64

# One query has 4 to 35 tables. Up to this number each prefix has a scan of its own, all in flight at once, and the
# server uses its bloom filter.
FEW_PREFIXES = 64
# Most rows of one reply: about a megabyte.
REPLY_ROWS = 20_000
FAN_OUT_SOCKETS = 5
BATCH_SOCKETS = 4
# A request is about 150 bytes.
WINDOW = 32


class _Page(NamedTuple):
    keys: list[bytes]
    # The rows and prefixes that were asked for.
    rows: int
    prefixes: int


def scan_prefixes(
    exchange: Exchange, driver: Driver, prefixes: NDArray[np.uint64], limit: int, *, regions: Regions, pace: Pace
) -> PrefixScan:
    """Find the rows under many prefixes; see `Store.scan`."""
    many = len(prefixes) > FEW_PREFIXES and driver.prefixes_per_scan > 1
    try:
        if many:
            groups = _by_region(prefixes, regions.starts(), driver.prefixes_per_scan)
            jobs = [_Job(group, limit, pace) for group in groups if len(group)]
        else:
            jobs = [_Job(prefixes[i : i + 1], limit, pace) for i in range(len(prefixes))]
        _read(exchange, driver, jobs, many=many)
    except SimhashError:
        regions.forget()
        raise
    return first_rows(unpack_rows(b"".join(part for job in jobs for part in job.packed)), limit)


def _read(exchange: Exchange, driver: Driver, jobs: list["_Job"], *, many: bool) -> None:
    sockets, window = (BATCH_SOCKETS, 1) if many else (FAN_OUT_SOCKETS, WINDOW)
    while jobs:
        pages = exchange.hold([partial(job.next_page, driver) for job in jobs], sockets=sockets, window=window)
        jobs = [job for job, page in zip(jobs, pages, strict=True) if not job.take(page)]


class _Job:
    """Sorted prefixes, read page by page."""

    def __init__(self, prefixes: NDArray[np.uint64], limit: int, pace: Pace) -> None:
        self.packed: list[bytes] = []
        self._prefixes = prefixes
        self._whole = len(prefixes)
        self._limit = limit
        self._pace = pace
        [self._start] = pack_prefixes(prefixes[:1])
        # Rows of the first prefix that have been read.
        self._seen = 0

    def next_page(self, driver: Driver) -> Conversation[_Page]:
        """Read the next page."""
        wanted = self._prefixes[: self._pace.share(self._whole)]
        [last] = pack_prefixes(wanted[-1:])
        alone = len(wanted) == 1
        # One row more than the limit shows that a single prefix has more.
        rows = self._pace.share(min(self._limit + 1 - self._seen, REPLY_ROWS) if alone else REPLY_ROWS)
        with self._pace.watched():
            keys = yield from driver.scan_keys(self._start, prefix_stop(last), rows, None if alone else wanted)
        return _Page(keys, rows, len(wanted))

    def take(self, page: _Page) -> bool:
        """Keep a page; return whether it was the last one."""
        self.packed.append(b"".join(page.keys))
        if len(page.keys) < page.rows:
            self._go_on_at(page.prefixes)
            return not len(self._prefixes)
        last = page.keys[-1][:PREFIX_BYTES]
        at = int(np.searchsorted(self._prefixes, U64(row_prefix(last))))
        seen = len(page.keys) - bisect_left(page.keys, last) + (self._seen if at == 0 else 0)
        if seen > self._limit or page.keys[-1] == last_row(last):
            # The rest of this prefix is not wanted: a hot prefix must not be read to its end. After its last possible
            # key there is nothing, and HBase refuses a filter with an empty range.
            self._go_on_at(at + 1)
        else:
            self._prefixes, self._seen = self._prefixes[at:], seen
            self._start = page.keys[-1] + b"\0"
        return not len(self._prefixes)

    def _go_on_at(self, number: int) -> None:
        self._prefixes, self._seen = self._prefixes[number:], 0
        if len(self._prefixes):
            [self._start] = pack_prefixes(self._prefixes[:1])


def _by_region(prefixes: NDArray[np.uint64], region_starts: Sequence[bytes], most: int) -> Iterator[NDArray[np.uint64]]:
    """Split prefixes where regions begin, and each part into equal parts of a bounded size."""
    edges = np.searchsorted(prefixes, np.array(list(map(row_prefix, region_starts)), dtype=U64))
    for group in np.split(prefixes, edges):
        yield from np.array_split(group, -(-len(group) // most) or 1)
