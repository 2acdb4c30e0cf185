"""Reads of whole rows and ranges of cells, in parts of a bounded size."""

from collections.abc import Iterator, Sequence
from functools import partial

from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.columns import CellRows
from simhash_hbase.stores.hbase.grouping import group_row_keys
from simhash_hbase.stores.hbase.parts import hold_in_parts
from simhash_hbase.stores.hbase.regions import Regions, by_region, in_one_region
from simhash_hbase.stores.hbase.thrift.driver import Driver
from simhash_hbase.stores.hbase.thrift.exchange import Conversation, Exchange
from simhash_hbase.stores.hbase.thrift.pace import Pace, paged

# Cells are some hundred bytes: a reply stays at a few megabytes.
REPLY_CELLS = 20_000
# Few rows of members are longer, so a call may ask for thousands of rows; those that are longer are read again.
FEW_CELLS = 100
MANY_CELLS = 2_000
ROW_PART = 16
SCAN_ROWS = 2_000


def read_rows(  # noqa: PLR0913
    exchange: Exchange, driver: Driver, family: str, rows: Sequence[bytes], limit: int, *, regions: Regions, pace: Pace
) -> CellRows:
    """Read sorted rows, none twice, up to a limit of cells each."""
    most = min(limit, MANY_CELLS)
    # What fits into one call with the longer limit is not read twice.
    first = most if len(rows) <= _rows_at_once(driver, most) else min(limit, FEW_CELLS)
    read = partial(_first_cells, exchange, driver, family, regions=regions, pace=pace)
    found = read(rows, first)
    longer: dict[int, list[Cell]] = {}
    if first < most:
        wide = [at for at, count in enumerate(found.counts) if count == first]
        # They are read anew: what was written in between would be there twice, or not at all, if the rest were added.
        longer = dict(zip(wide, read([rows[at] for at in wide], most), strict=True))
    if most < limit:
        full = [at for at, count in enumerate(found.counts) if len(longer.get(at, ())) == most or count == most]
        for at in full:
            cells = longer.get(at) or found[at]
            longer[at] = [*cells, *read_on(exchange, driver, family, rows[at], cells[-1].qualifier, limit - most)]
    return found.replaced(longer) if longer else found


def _rows_at_once(driver: Driver, limit: int) -> int:
    return max(1, min(driver.rows_per_get, 10 * REPLY_CELLS // limit))


def _first_cells(  # noqa: PLR0913
    exchange: Exchange, driver: Driver, family: str, rows: Sequence[bytes], limit: int, *, regions: Regions, pace: Pace
) -> CellRows:
    """Read rows up to a limit that one reply can hold; a scan reads many of one region, gets the others."""
    many = driver.scanned_rows
    starts = regions.starts() if len(rows) >= many else []

    def ask(few: Sequence[bytes]) -> Conversation[CellRows]:
        return driver.get_rows(family, few, limit, scan=len(few) >= many and in_one_region(few, starts))

    parts = by_region(rows, starts, many)
    groups = [group for part in parts for group in group_row_keys(part, _rows_at_once(driver, limit))]
    return CellRows.joined(hold_in_parts(exchange, pace, groups, ask, sockets=4))


class CellWalk:
    """Reads ranges of cells of one family."""

    def __init__(self, exchange: Exchange, driver: Driver, family: str, pace: Pace) -> None:
        self._exchange = exchange
        self._driver = driver
        self._family = family
        self._pace = pace

    def pages(self, start: bytes, stop: bytes | None, page: int) -> Iterator[list[Cell]]:
        """Read a range in pages; see `Store.scan_cells`."""
        waiting: list[Cell] = []
        for cells in self._parts(start, stop, min(page, SCAN_ROWS)):
            waiting += cells
            whole = len(waiting) - len(waiting) % page
            for i in range(0, whole, page):
                yield waiting[i : i + page]
            del waiting[:whole]
        if waiting:
            yield waiting

    def _parts(self, start: bytes, stop: bytes | None, rows: int) -> Iterator[list[Cell]]:
        # For HBase, an empty stop means no stop, and one equal to the start a single row.
        while stop is None or start < stop:
            ask = partial(self._driver.scan_cells, self._family, start, stop or b"", row_part=ROW_PART)
            parts, asked = self._exchange.one(partial(paged, self._pace, rows, ask))
            yield [cell for part in parts for cell in part]
            if len(parts) < asked:
                return
            last = parts[-1][-1]
            if len(parts[-1]) == ROW_PART:
                yield from _tail_parts(
                    self._exchange, self._driver, self._family, last.row, last.qualifier, walk=self._pace
                )
            start = last.row + b"\0"


def read_on(exchange: Exchange, driver: Driver, family: str, row: bytes, after: bytes, limit: int) -> list[Cell]:
    """Read the cells of one row after a qualifier, up to a limit."""
    found: list[Cell] = []
    for part in _tail_parts(exchange, driver, family, row, after, limit=limit):
        found += part
        if len(found) >= limit:
            break
    return found[:limit]


def _tail_parts(  # noqa: PLR0913
    exchange: Exchange,
    driver: Driver,
    family: str,
    row: bytes,
    after: bytes,
    *,
    limit: int = REPLY_CELLS,
    walk: Pace | None = None,
) -> Iterator[list[Cell]]:
    """Read the cells of a row after a qualifier; the first reply is no larger than the limit."""
    pace = walk or Pace()
    size = min(limit, REPLY_CELLS)
    while True:
        ask = partial(driver.row_tail, family, row, after, walk=walk is not None)
        part, asked = exchange.one(partial(paged, pace, size, ask))
        if part:
            yield part
        if len(part) < asked:
            return
        after = part[-1].qualifier
