"""The store over HBase's Thrift gateways."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows.keys import BlockRows, pack_prefixes, unpack_rows
from simhash_hbase.rows.table import TableSchema
from simhash_hbase.stores.abilities import Networked, Regional, RegionPlace, Shortfalls, Traffic
from simhash_hbase.stores.base import (
    Cell,
    CompareAndSet,
    PrefixScan,
    Store,
    StoreSize,
    Swap,
    check_cell_family,
    check_deletions,
    check_positive,
)
from simhash_hbase.stores.hbase import grouping
from simhash_hbase.stores.hbase.cells import CellWalk, read_on, read_rows
from simhash_hbase.stores.hbase.gateways import Gateways
from simhash_hbase.stores.hbase.options import HBaseOptions, format_url
from simhash_hbase.stores.hbase.parts import hold_in_parts
from simhash_hbase.stores.hbase.regions import Regions
from simhash_hbase.stores.hbase.scanning import scan_prefixes
from simhash_hbase.stores.hbase.tables import create_table, find_table
from simhash_hbase.stores.hbase.thrift.exchange import Conversation
from simhash_hbase.stores.hbase.thrift.pace import Pace, paged

WRITE_SOCKETS = 3
READ_SOCKETS = 4
SWAP_SOCKETS = 16
# A gateway does the calls of one connection in turn. A swap is about a kilobyte, and all calls that are sent before an
# answer is read must fit into the buffers of the sockets (see `Connection`).
SWAP_WINDOW = 4
END_OF_PREFIXES = 1 << 40
# The default of hbase.server.keyvalue.maxsize; above it Thrift 2 only answers "internal error".
CELL_BYTES = 10 << 20

K = TypeVar("K")
V = TypeVar("V")


class HBaseStore(Store, CompareAndSet, Networked, Regional, Shortfalls):
    """An index in one table of an HBase.

    Threads may share it; a forked child opens connections of its own. Acknowledged writes are in HBase's write-ahead
    log. The region server stamps cells without a timestamp and those of a compare-and-set. A write that is not safe to
    repeat and gets no answer raises `StoreTimeout` or `StoreUnavailable`: it may have taken effect. An empty value is
    refused in a compare-and-set, since HBase takes it for an absent one.
    """

    def __init__(self, gateways: Gateways, options: HBaseOptions, shortfalls: tuple[str, ...]) -> None:
        self._options = options
        self._gateways = gateways
        self._driver = gateways.driver
        self._exchange = gateways.exchange
        self._scan_pace, self._row_pace, self._cell_pace = Pace(), Pace(), Pace()
        self._get_pace, self._write_pace = Pace(), Pace()
        self._regions = Regions(lambda: [region.start for region in self.regions()])
        self._shortfalls = shortfalls

    @classmethod
    def open(cls, options: HBaseOptions) -> Self:
        """Connect to a table that is there."""
        return cls._connect(options, find_table)

    @classmethod
    def create(cls, options: HBaseOptions, schema: TableSchema | None = None) -> Self:
        """Make a table and connect to it; a table that an operator made is taken over while it is unused."""
        return cls._connect(options, lambda gateways: create_table(gateways, schema or TableSchema()))

    @classmethod
    def _connect(cls, options: HBaseOptions, look: Callable[[Gateways], tuple[str, ...]]) -> Self:
        gateways = Gateways(options)
        try:
            return cls(gateways, options, look(gateways))
        except BaseException:
            gateways.close()
            raise

    @property
    def url(self) -> str:
        return format_url(self._options)

    @property
    def shortfalls(self) -> tuple[str, ...]:
        return self._shortfalls

    def scan(self, prefixes: NDArray[np.uint64], *, limit: int) -> PrefixScan:
        check_positive("limit", limit)
        if not len(prefixes):
            return PrefixScan(BlockRows.empty(), np.empty(0, np.uint64))
        return scan_prefixes(self._exchange, self._driver, prefixes, limit, regions=self._regions, pace=self._scan_pace)

    def has_rows(self, rows: BlockRows) -> NDArray[np.bool_]:
        groups = grouping.group_row_keys(grouping.row_keys_of(rows), self._driver.rows_per_get)
        return np.array(self._look_up(groups, self._driver.has_keys), dtype=np.bool_)

    def scan_range(self, start: int, stop: int, *, page: int) -> Iterator[BlockRows]:
        check_positive("page", page)
        return self._pages_of_rows(start, stop, page)

    def put_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        self._write(grouping.group_rows(rows), partial(self._driver.put_keys, timestamp=timestamp))

    def delete_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        self._write(grouping.group_rows(rows), partial(self._driver.delete_keys, timestamp=timestamp))

    def put(self, family: str, cells: Sequence[Cell]) -> None:
        check_cell_family(family)
        _check_sizes(len(cell.value) for cell in cells)
        groups = grouping.group_cells(grouping.latest_writes(cells))
        repeat = all(cell.timestamp is not None for cell in cells)
        self._write(groups, partial(self._driver.put, family), repeat=repeat)

    def get(self, family: str, keys: Sequence[tuple[bytes, bytes]]) -> list[Cell | None]:
        check_cell_family(family)
        wanted = sorted(set(keys))
        groups = grouping.group_keys(wanted, self._driver.rows_per_get)
        found = dict(zip(wanted, self._look_up(groups, partial(self._driver.get, family)), strict=True))
        return [found[key] for key in keys]

    def get_rows(self, family: str, rows: Sequence[bytes], *, limit: int) -> Sequence[list[Cell]]:
        check_cell_family(family, limit=limit)
        wanted = sorted(set(rows))
        found = read_rows(
            self._exchange, self._driver, family, wanted, limit, regions=self._regions, pace=self._get_pace
        )
        if wanted == list(rows):
            return found
        numbers = {row: number for number, row in enumerate(wanted)}
        return [found[numbers[row]] for row in rows]

    def read_row(self, family: str, row: bytes, *, after: bytes, limit: int) -> list[Cell]:
        check_cell_family(family, limit=limit)
        return read_on(self._exchange, self._driver, family, row, after, limit)

    def delete(self, family: str, cells: Sequence[Cell]) -> None:
        check_deletions(family, cells)
        self._write(grouping.group_cells(cells), partial(self._driver.delete, family))

    def scan_cells(self, family: str, start: bytes, stop: bytes | None, *, page: int) -> Iterator[list[Cell]]:
        check_cell_family(family, page=page)
        return CellWalk(self._exchange, self._driver, family, self._cell_pace).pages(start, stop, page)

    def compare_and_set(self, swaps: Sequence[Swap]) -> list[bool]:
        if any(not swap.value or swap.expected == b"" for swap in swaps):
            raise InvalidArgument("an empty value cannot be compared and set: HBase takes it for an absent one")
        _check_sizes(len(swap.value) for swap in swaps)
        done: dict[int, bool] = {}
        for wave in grouping.swap_waves(swaps):
            tasks = [partial(self._driver.swap, swaps[number]) for number in wave]
            answers = self._exchange.hold(tasks, sockets=SWAP_SOCKETS, window=SWAP_WINDOW, repeat=False)
            done.update(zip(wave, answers, strict=True))
        return [done[number] for number in range(len(swaps))]

    def regions(self) -> list[RegionPlace]:
        return self._exchange.one(self._driver.regions)

    def size(self) -> StoreSize:
        """Nothing is known: a gateway reports no sizes, and counting means scanning."""
        return StoreSize(None, None)

    def traffic(self) -> Traffic:
        return self._exchange.traffic()

    def close(self) -> None:
        self._gateways.close()

    def _look_up(self, groups: list[list[K]], ask: Callable[[Sequence[K]], Conversation[list[V]]]) -> list[V]:
        answers = hold_in_parts(self._exchange, self._get_pace, groups, ask, sockets=READ_SOCKETS)
        return [found for answer in answers for found in answer]

    def _write(
        self, groups: list[list[K]], ask: Callable[[Sequence[K]], Conversation[None]], *, repeat: bool = True
    ) -> None:
        hold_in_parts(self._exchange, self._write_pace, groups, ask, sockets=WRITE_SOCKETS, repeat=repeat, writes=True)

    def _pages_of_rows(self, start: int, stop: int, page: int) -> Iterator[BlockRows]:
        if start >= stop:
            return
        first = _prefix_key(start)
        last = b"" if stop >= END_OF_PREFIXES else _prefix_key(stop)
        while True:
            ask = partial(self._driver.scan_keys, first, last, walk=True)
            keys, asked = self._exchange.one(partial(paged, self._row_pace, page, ask))
            if keys:
                yield unpack_rows(b"".join(keys))
            if len(keys) < asked:
                return
            first = keys[-1] + b"\0"


def _check_sizes(sizes: Iterable[int]) -> None:
    largest = max(sizes, default=0)
    if largest > CELL_BYTES:
        raise InvalidArgument(f"a cell of {largest} bytes is too large: HBase takes {CELL_BYTES}")


def _prefix_key(prefix: int) -> bytes:
    [key] = pack_prefixes(np.array([prefix], dtype=np.uint64))
    return key
