"""The store over HBase, by Thrift gateways or without one, and the making and checking of its table."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import IndexExists, IndexMissing, InvalidArgument, NotAnIndex, Retryable, StoreRefused
from simhash_hbase.rows import layout
from simhash_hbase.rows.keys import BlockRows, packed_rows
from simhash_hbase.stores import base
from simhash_hbase.stores.hbase import driver, exchange, table
from simhash_hbase.stores.hbase.gateways import Gateways
from simhash_hbase.stores.hbase.options import HBaseOptions, format_url
from simhash_hbase.stores.hbase.reader import HBaseReader, Regions
from simhash_hbase.stores.hbase.rpc.servers import Servers

WRITE_SOCKETS = 3
SWAP_SOCKETS = 16
# A gateway does the calls of one connection in turn. A swap is about a kilobyte, and all calls that are sent before an
# answer is read must fit into the buffers of the sockets (see `GatewayConnection`).
SWAP_WINDOW = 4
# The default of hbase.server.keyvalue.maxsize; above it Thrift 2 only answers "internal error".
CELL_BYTES = 10 << 20
# No row of an index has this key, and reading it needs only the permission that every reader has.
NO_ROW = b"\0"

K = TypeVar("K")
Access: TypeAlias = Gateways | Servers
"""The servers of HBase that an address names: Thrift gateways, or HBase's own servers."""


class HBaseStore(base.Store):
    """An index in one table of an HBase.

    Threads may share it; a forked child opens connections of its own. Acknowledged writes are in HBase's write-ahead
    log. The region server stamps cells without a timestamp and those of a compare-and-set. A write that is not safe to
    repeat and gets no answer raises `StoreTimeout` or `StoreUnavailable`: it may have taken effect. An empty value is
    refused in a compare-and-set, since HBase takes it for an absent one.
    """

    def __init__(self, gateways: Access, options: HBaseOptions, shortfalls: tuple[str, ...]) -> None:
        self._options = options
        self._gateways = gateways
        self._driver = gateways.driver
        self._exchange = gateways.exchange
        regions = Regions(lambda: [region.start for region in self.regions()])
        self._reader = HBaseReader(self._exchange, self._driver, regions)
        self._write_size = exchange.PageSize()
        self._shortfalls = shortfalls

    @classmethod
    def open(cls, options: HBaseOptions) -> Self:
        """Return a store over a table that exists; raise an error if that is not usable."""
        return cls._connect(options, find_table)

    @classmethod
    def create(cls, options: HBaseOptions, schema: table.TableSchema | None = None) -> Self:
        """Make the table that the options name, and return a store over it.

        A table that an operator made is taken over while no index is in it.
        """
        return cls._connect(options, lambda gateways: create_table(gateways, schema or table.TableSchema()))

    @classmethod
    def _connect(cls, options: HBaseOptions, look: Callable[[Access], tuple[str, ...]]) -> Self:
        gateways = Servers(options) if options.rpc else Gateways(options)
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

    def scan(self, prefixes: NDArray[np.uint64], *, limit: int) -> base.PrefixScan:
        base.check_positive("limit", limit)
        if not len(prefixes):
            return base.PrefixScan(BlockRows.empty(), np.empty(0, np.uint64))
        return self._reader.scan(prefixes, limit)

    def has_rows(self, rows: BlockRows) -> NDArray[np.bool_]:
        groups = self._reader.sizes.group_row_keys(packed_rows(rows), self._driver.rows_per_get)
        return np.array(self._reader.look_up(groups, self._driver.has_keys), dtype=np.bool_)

    def scan_range(self, start: int, stop: int, *, page: int) -> Iterator[BlockRows]:
        base.check_positive("page", page)
        return self._reader.row_pages(start, stop, page)

    def put_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        self._write(
            self._reader.sizes.group_row_keys(packed_rows(rows)), partial(self._driver.put_keys, timestamp=timestamp)
        )

    def delete_rows(self, rows: BlockRows, *, timestamp: int) -> None:
        self._write(
            self._reader.sizes.group_row_keys(packed_rows(rows)), partial(self._driver.delete_keys, timestamp=timestamp)
        )

    def put(self, family: str, cells: Sequence[base.Cell]) -> None:
        base.check_cell_family(family)
        _check_sizes(len(cell.value) for cell in cells)
        groups = self._reader.sizes.group_cells(latest_writes(cells))
        repeat = all(cell.timestamp is not None for cell in cells)
        self._write(groups, partial(self._driver.put, family), repeat=repeat)

    def get(self, family: str, keys: Sequence[base.CellKey]) -> list[base.Cell | None]:
        base.check_cell_family(family)
        distinct = sorted(set(keys))
        groups = self._reader.sizes.group_keys(distinct, self._driver.rows_per_get)
        cells = dict(zip(distinct, self._reader.look_up(groups, partial(self._driver.get, family)), strict=True))
        return [cells[key] for key in keys]

    def get_rows(self, family: str, rows: Sequence[bytes], *, limit: int) -> Sequence[list[base.Cell]]:
        base.check_cell_family(family, limit=limit)
        distinct = sorted(set(rows))
        answer = self._reader.rows(family, distinct, limit)
        if distinct == list(rows):
            return answer
        numbers = {row: number for number, row in enumerate(distinct)}
        return [answer[numbers[row]] for row in rows]

    def read_row(self, family: str, row: bytes, *, after: bytes, limit: int) -> list[base.Cell]:
        base.check_cell_family(family, limit=limit)
        return self._reader.tail(family, row, after, limit)

    def delete(self, family: str, cells: Sequence[base.Cell]) -> None:
        base.check_deletions(family, cells)
        self._write(self._reader.sizes.group_cells(cells), partial(self._driver.delete, family))

    def scan_cells(self, family: str, start: bytes, stop: bytes | None, *, page: int) -> Iterator[list[base.Cell]]:
        base.check_cell_family(family, page=page)
        return self._reader.cell_pages(family, start, stop, page)

    def compare_and_set(self, swaps: Sequence[base.Swap]) -> list[bool]:
        if any(not swap.value or swap.expected == b"" for swap in swaps):
            raise InvalidArgument("an empty value cannot be compared and set: HBase takes it for an absent one")
        _check_sizes(len(swap.value) for swap in swaps)
        swapped: dict[int, bool] = {}
        for wave in swap_waves(swaps):
            tasks = [partial(self._driver.swap, swaps[number]) for number in wave]
            answers = self._exchange.hold(tasks, sockets=SWAP_SOCKETS, window=SWAP_WINDOW, repeat=False)
            swapped.update(zip(wave, answers, strict=True))
        return [swapped[number] for number in range(len(swaps))]

    def regions(self) -> list[base.RegionPlace]:
        return self._exchange.one(self._driver.regions)

    def size(self) -> base.StoreSize:
        """Return an unknown size: a gateway reports none, and counting means scanning."""
        return base.StoreSize(None, None)

    def traffic(self) -> base.Traffic:
        return self._exchange.traffic()

    def close(self) -> None:
        self._gateways.close()

    def _write(
        self, groups: list[list[K]], ask: Callable[[Sequence[K]], exchange.Conversation[None]], *, repeat: bool = True
    ) -> None:
        self._exchange.hold_in_parts(self._write_size, groups, ask, sockets=WRITE_SOCKETS, repeat=repeat, writes=True)


def latest_writes(cells: Sequence[base.Cell]) -> list[base.Cell]:
    """Return cells without those that a later one with the same row, qualifier and timestamp replaces.

    They are written by several calls, which may overtake each other.
    """
    return list({(cell.row, cell.qualifier, cell.timestamp): cell for cell in cells}.values())


def swap_waves(swaps: Sequence[base.Swap]) -> list[list[int]]:
    """Return the positions of compare-and-sets in waves, to be made one wave after the other.

    No wave has a row twice: within a row the order matters, between rows it does not.
    """
    waves: list[list[int]] = []
    times: Counter[bytes] = Counter()
    for number, swap in enumerate(swaps):
        if times[swap.row] == len(waves):
            waves.append([])
        waves[times[swap.row]].append(number)
        times[swap.row] += 1
    return waves


def _check_sizes(sizes: Iterable[int]) -> None:
    largest = max(sizes, default=0)
    if largest > CELL_BYTES:
        raise InvalidArgument(f"a cell of {largest} bytes is too large: HBase takes {CELL_BYTES}")


def create_table(gateways: Access, schema: table.TableSchema) -> tuple[str, ...]:
    """Make the table for an index, or take over an unused one that an operator made.

    Return its shortfalls: sentences about settings in which it differs from the schema, or which are not known.
    """
    try:
        found = _describe(gateways)
    except driver.AccessDenied:
        # An operator made it, and the gateway's user may not read its description.
        find_table(gateways)
        _check_unused(gateways)
        return ("its settings are not known: reading them needs the permission C or A on the table",)
    if found is not None:
        _check_families(gateways, [family for family in layout.FAMILIES if family not in found.families])
        _check_unused(gateways)
        return differences(schema, found, unknown=gateways.driver.makes_everything)
    try:
        make = partial(gateways.driver.create, schema)
        gateways.exchange.one(make, repeat=False, timeout_s=gateways.options.deadline_s)
    except Retryable:
        # The answer was lost: is the table there?
        if _describe(gateways) is None:
            raise
    made = _describe(gateways)
    if made is None:
        raise StoreRefused(f"table {gateways.options.table} is not there after it was made")
    wrong = differences(schema, made)
    if wrong and gateways.driver.makes_everything:
        raise StoreRefused(f"table {gateways.options.table} was made, but not as asked: {'; '.join(wrong)}")
    return wrong


def find_table(gateways: Access) -> tuple[str, ...]:
    """Raise an error unless there is a usable table for an index; return no shortfalls (see `create_table`).

    HBase shows a table's description only to users with permission to make or change it, so only `create_table` reads
    the description, and here no shortfall is known.
    """
    if gateways.exchange.one(gateways.driver.is_disabled):
        raise StoreRefused(f"table {gateways.options.table} is disabled: enable it in the HBase shell")
    missing = []
    for family in layout.FAMILIES:
        try:
            gateways.exchange.one(partial(gateways.driver.get, family, [(NO_ROW, b"")]))
        except NotAnIndex:
            missing.append(family)
    _check_families(gateways, missing)
    return ()


def _describe(gateways: Access) -> driver.TableDescription | None:
    try:
        return gateways.exchange.one(gateways.driver.describe)
    except IndexMissing:
        return None


def _check_families(gateways: Access, missing: list[str]) -> None:
    if missing:
        raise NotAnIndex(
            f"table {gateways.options.table} was made for other data: it lacks the families {', '.join(missing)}"
        )


def _check_unused(gateways: Access) -> None:
    """Raise `IndexExists` for a table that holds an index: then column family ``m`` has a row."""
    if gateways.exchange.one(partial(gateways.driver.scan_cells, layout.FAMILY_INDEX, b"", b"", 1, 1)):
        raise IndexExists(f"there is an index in table {gateways.options.table} already")


def differences(schema: table.TableSchema, found: driver.TableDescription, *, unknown: bool = True) -> tuple[str, ...]:
    """Return sentences about the settings in which a table differs from its schema.

    With `unknown`, settings that HBase does not report count as different.
    """
    places = [
        (f"family {family.name}", {**family.settings, **family.configuration}, found.families.get(family.name, {}))
        for family in schema.families
    ]
    wrong = [
        f"{place} has {name} {settings.get(name, 'not known')} instead of {value}"
        for place, wanted, settings in [*places, ("the table", table.TABLE_ATTRIBUTES, found.attributes)]
        for name, value in wanted.items()
        if settings.get(name) != value and (unknown or name in settings)
    ]
    if found.split_keys != schema.split_keys:
        wrong.append(f"the table has {len(found.split_keys) + 1} regions instead of {schema.regions}, or at other keys")
    return tuple(wrong)
