"""The calls of Thrift 1, for clusters that offer nothing else.

A scan takes three calls: open, read, close. There are no filters of many ranges, and no limit on the cells of a row
that is read by its key, so rows are scanned one by one, many on a connection.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.rows.layout import FAMILY_BLOCKS, FAMILY_DOCUMENTS
from simhash_hbase.stores.base import UNLIMITED, Cell, CellKey, RegionPlace, Swap
from simhash_hbase.stores.columns import CellRows
from simhash_hbase.stores.hbase import driver
from simhash_hbase.stores.hbase.exchange import Conversation
from simhash_hbase.stores.hbase.table import TableSchema
from simhash_hbase.stores.hbase.thrift import answers
from simhash_hbase.stores.hbase.thrift.wire import Call, Interface, Reply, interface, thrift1

# Calls sent before the first answer is read; the answers, some ten bytes each, must fit into a socket's buffer.
WRITES_AT_ONCE = 64


class Thrift1(driver.Driver):
    """The calls of HBase that a store makes, by the interface Thrift 1, for one table.

    A table cannot be made with everything that a schema asks for: Thrift 1 knows neither encodings, nor the length of a
    bloom filter's prefix, nor attributes of the table, nor where its regions begin.
    """

    makes_everything = False
    prefixes_per_scan = 1
    rows_per_get = 50
    scanned_rows = UNLIMITED

    def __init__(self, table: str) -> None:
        self._idl = thrift1()
        self._walk = interface("walk1")
        self._table = table.encode()

    def scan_keys(
        self, start: bytes, stop: bytes, rows: int, prefixes: NDArray[np.uint64] | None = None, *, walk: bool = False
    ) -> Conversation[list[bytes]]:
        """Read the keys of block rows (prefix and fingerprint) under one prefix, from `start` to `stop`.

        `prefixes` are not used: Thrift 1 takes one at a time.
        """
        scan = self._scan(FAMILY_BLOCKS, start, stop, walk=walk, caching=rows)
        [found] = yield from self._read_scans([scan], rows)
        return answers.block_keys(found)

    def has_keys(self, keys: Sequence[bytes]) -> Conversation[list[bool]]:
        columns = [_column(FAMILY_BLOCKS, b"")]
        [found] = yield [self._call("getRowsWithColumns", rows=list(keys), columns=columns, attributes={})]
        there = {result.row for result in found if result.columns}
        return [key in there for key in keys]

    def scan_cells(
        self, family: str, start: bytes, stop: bytes, rows: int, row_part: int
    ) -> Conversation[list[list[Cell]]]:
        scan = self._scan(family, start, stop, walk=True, caching=rows, batchSize=row_part)
        [found] = yield from self._read_scans([scan], rows)
        return driver.row_parts([_cells(result) for result in found])

    def row_tail(
        self, family: str, row: bytes, after: bytes, limit: int, *, walk: bool = False
    ) -> Conversation[list[Cell]]:
        part = {"batchSize": limit, "filterString": answers.after_qualifier(after)}
        scan = self._scan(family, row, row + b"\0", walk=walk, caching=1, **part)
        [found] = yield from self._read_scans([scan], 1)
        return [cell for result in found for cell in _cells(result)]

    def get(self, family: str, keys: Sequence[CellKey]) -> Conversation[list[Cell | None]]:
        rows_by_column: dict[bytes, list[bytes]] = defaultdict(list)
        for row, qualifier in keys:
            rows_by_column[qualifier].append(row)
        answers = yield [
            self._call("getRowsWithColumns", rows=rows, columns=[_column(family, qualifier)], attributes={})
            for qualifier, rows in rows_by_column.items()
        ]
        found = {(cell.row, cell.qualifier): cell for rows in answers for row in rows for cell in _cells(row)}
        return [found.get(key) for key in keys]

    def get_rows(self, family: str, rows: Sequence[bytes], limit: int, *, scan: bool = False) -> Conversation[CellRows]:
        """Read the first `limit` cells of each row by a scan of its own, since a get of Thrift 1 has no limit."""
        scans = [self._scan(family, row, row + b"\0", caching=1, batchSize=limit) for row in rows]
        answers = yield from self._read_scans(scans, 1)
        return CellRows.of(rows, [[cell for result in found for cell in _cells(result)] for found in answers])

    def put_keys(self, keys: Sequence[bytes], timestamp: int) -> Conversation[None]:
        mutations = [self._idl.Mutation(column=_column(FAMILY_BLOCKS, b""), value=b"")]
        yield [self._write(timestamp, [self._idl.BatchMutation(row=key, mutations=mutations) for key in keys])]

    def delete_keys(self, keys: Sequence[bytes], timestamp: int) -> Conversation[None]:
        mutations = [self._idl.Mutation(isDelete=True, column=_column(FAMILY_BLOCKS, b""))]
        yield [self._write(timestamp, [self._idl.BatchMutation(row=key, mutations=mutations) for key in keys])]

    def put(self, family: str, cells: Sequence[Cell]) -> Conversation[None]:
        return (yield from self._write_cells(family, cells, delete=False))

    def delete(self, family: str, cells: Sequence[Cell]) -> Conversation[None]:
        return (yield from self._write_cells(family, cells, delete=True))

    def swap(self, swap: Swap) -> Conversation[bool]:
        column = _column(FAMILY_DOCUMENTS, swap.qualifier)
        call = self._call(
            "checkAndPut",
            row=swap.row,
            column=column,
            value=swap.expected,
            mput=self._idl.Mutation(column=column, value=swap.value),
            attributes={},
        )
        [done] = yield [call]
        return bool(done)

    def regions(self) -> Conversation[list[RegionPlace]]:
        [found] = yield [self._call("getTableRegions")]
        return sorted(answers.region_place(region.startKey, region.serverName, region.port) for region in found)

    def create(self, schema: TableSchema) -> Conversation[None]:
        families = [
            self._idl.ColumnDescriptor(
                name=family.name.encode() + b":",
                maxVersions=int(family.settings["VERSIONS"]),
                compression=family.settings["COMPRESSION"],
                # A filter of prefixes needs their length, for which there is no field; one of rows serves only gets.
                bloomFilterType="NONE" if family.name == FAMILY_BLOCKS else family.settings["BLOOMFILTER"],
                blockCacheEnabled=family.settings["BLOCKCACHE"] == "true",
                timeToLive=int(family.settings["TTL"]),
            )
            for family in schema.families
        ]
        yield [self._call("createTable", columnFamilies=families)]

    def describe(self) -> Conversation[driver.TableDescription | None]:
        [families] = yield [self._call("getColumnDescriptors")]
        [regions] = yield [self._call("getTableRegions")]
        starts = sorted(region.startKey for region in regions)
        settings = {
            name.rstrip(b":").decode(): {
                "VERSIONS": str(family.maxVersions),
                "COMPRESSION": answers.decoded(family.compression),
                "BLOOMFILTER": answers.decoded(family.bloomFilterType),
                "BLOCKCACHE": answers.boolean(family.blockCacheEnabled),
                "TTL": str(family.timeToLive),
            }
            for name, family in families.items()
        }
        return driver.TableDescription(settings, {}, starts[1:])

    def is_disabled(self) -> Conversation[bool]:
        [enabled] = yield [self._call("isTableEnabled")]
        return not enabled

    def _call(self, method: str, **arguments: object) -> Call:
        return Call(self._idl.Hbase, method, {"tableName": self._table, **arguments})

    def _scan(self, family: str, start: bytes, stop: bytes, *, walk: bool = False, **options: object) -> Call:
        scan = self._walk.Scan(
            startRow=start,
            stopRow=stop or None,
            columns=[family.encode()],
            cacheBlocks=False if walk else None,
            **options,
        )
        arguments = {"tableName": self._table, "scan": scan, "attributes": {}}
        return Call(self._walk.Walk, "scannerOpenWithScan", arguments)

    def _read_scans(self, opens: Sequence[Call], rows: int) -> Conversation[list[list[Reply]]]:
        scanners = yield opens
        calls = [
            Call(self._idl.Hbase, method, {"id": scanner, **arguments})
            for scanner in scanners
            for method, arguments in (("scannerGetList", {"nbRows": rows}), ("scannerClose", {}))
        ]
        answers = yield calls
        return answers[::2]

    def _write_cells(self, family: str, cells: Sequence[Cell], *, delete: bool) -> Conversation[None]:
        # A call has one timestamp for all its cells.
        by_timestamp: dict[int | None, list[Interface]] = defaultdict(list)
        for cell in cells:
            mutation = self._idl.Mutation(
                isDelete=delete, column=_column(family, cell.qualifier), value=None if delete else cell.value
            )
            by_timestamp[cell.timestamp].append(self._idl.BatchMutation(row=cell.row, mutations=[mutation]))
        calls = [self._write(timestamp, rows) for timestamp, rows in by_timestamp.items()]
        for first in range(0, len(calls), WRITES_AT_ONCE):
            yield calls[first : first + WRITES_AT_ONCE]

    def _write(self, timestamp: int | None, rows: list[Interface]) -> Call:
        if timestamp is None:
            return self._call("mutateRows", rowBatches=rows, attributes={})
        return self._call("mutateRowsTs", rowBatches=rows, timestamp=timestamp, attributes={})


def _column(family: str, qualifier: bytes) -> bytes:
    return family.encode() + b":" + qualifier


def _cells(result: Reply) -> list[Cell]:
    """Return the cells of a row in an answer, sorted: Thrift 1 answers with a map from ``family:qualifier``."""
    cells = [
        Cell(result.row, column.partition(b":")[2], found.value, found.timestamp)
        for column, found in sorted((result.columns or {}).items())
    ]
    return answers.whole(cells)
