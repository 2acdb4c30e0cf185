"""The calls of HBase that a store makes, by the interface Thrift 2."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import StoreUnavailable
from simhash_hbase.rows.layout import FAMILY_BLOCKS, FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Cell, CellKey, RegionPlace, Swap
from simhash_hbase.stores.columns import CellRows, Columns
from simhash_hbase.stores.hbase import driver
from simhash_hbase.stores.hbase.exchange import Conversation
from simhash_hbase.stores.hbase.filters import ranges_filter, rows_filter
from simhash_hbase.stores.hbase.sockets import UnreadableAnswer
from simhash_hbase.stores.hbase.table import TABLE_ATTRIBUTES, TableSchema
from simhash_hbase.stores.hbase.thrift import answers
from simhash_hbase.stores.hbase.thrift.wire import Call, Interface, Reply, interface


class Thrift2(driver.Driver):
    """The calls of HBase that a store makes, by the interface Thrift 2, for one table."""

    prefixes_per_scan = 4_000
    rows_per_get = 2_000
    scanned_rows = 256

    def __init__(self, table: str, *, framed: bool = False) -> None:
        self._idl = interface("thrift2")
        self._table = table.encode()
        namespace, _, name = table.rpartition(":")
        self._name = self._idl.TableName(ns=(namespace or "default").encode(), qualifier=name.encode())
        # With all its split keys, a table of many regions does not fit into a frame.
        self.makes_everything = not framed
        self._block_columns = [self._idl.Column(family=FAMILY_BLOCKS.encode())]
        self._block_cells = [self._idl.Column(family=FAMILY_BLOCKS.encode(), qualifier=b"")]
        self._block_values = [self._idl.ColumnValue(family=FAMILY_BLOCKS.encode(), qualifier=b"", value=b"")]

    def scan_keys(
        self, start: bytes, stop: bytes, rows: int, prefixes: NDArray[np.uint64] | None = None, *, walk: bool = False
    ) -> Conversation[list[bytes]]:
        scan = self._idl.Scan(
            startRow=start,
            stopRow=stop or None,
            columns=self._block_columns,
            caching=rows,
            limit=rows,
            cacheBlocks=False if walk else None,
            # Short scans share the open file; long ones get a stream of their own.
            readType=self._idl.ReadType.STREAM if prefixes is not None else self._idl.ReadType.PREAD,
            filterBytes=None if prefixes is None else ranges_filter(start, prefixes),
        )
        arguments = {"table": self._table, "tscan": scan, "numRows": rows}
        [found] = yield [Call(self._idl.Keys, "getScannerResults", arguments)]
        return answers.block_keys(found)

    def has_keys(self, keys: Sequence[bytes]) -> Conversation[list[bool]]:
        gets = [self._idl.Get(row=key, columns=self._block_cells) for key in keys]
        [found] = yield [self._call("existsAll", tgets=gets)]
        return [bool(there) for _, there in zip(keys, found, strict=True)]

    def scan_cells(
        self, family: str, start: bytes, stop: bytes, rows: int, row_part: int
    ) -> Conversation[list[list[Cell]]]:
        scan = self._idl.Scan(
            startRow=start or None,
            stopRow=stop or None,
            columns=[self._idl.Column(family=family.encode())],
            caching=rows,
            batchSize=row_part,
            cacheBlocks=False,
        )
        [found] = yield [self._call("getScannerResults", tscan=scan, numRows=rows)]
        return driver.row_parts([_cells(result) for result in found])

    def row_tail(
        self, family: str, row: bytes, after: bytes, limit: int, *, walk: bool = False
    ) -> Conversation[list[Cell]]:
        get = self._idl.Get(
            row=row,
            columns=[self._idl.Column(family=family.encode())],
            filterString=answers.after_qualifier(after),
            storeLimit=limit,
            cacheBlocks=False if walk else None,
        )
        [[found]] = yield [self._call("getMultiple", tgets=[get])]
        return _cells(found)

    def get(self, family: str, keys: Sequence[CellKey]) -> Conversation[list[Cell | None]]:
        column, name = self._idl.Column, family.encode()
        gets = [self._idl.Get(row=row, columns=[column(family=name, qualifier=qualifier)]) for row, qualifier in keys]
        [found] = yield [self._call("getMultiple", tgets=gets)]
        cells = [next(iter(_cells(result)), None) for result in found]
        if any(cell is not None and cell[:2] != key for key, cell in zip(keys, cells, strict=True)):
            raise UnreadableAnswer("a cell that was not asked for came")
        return cells

    def get_rows(self, family: str, rows: Sequence[bytes], limit: int, *, scan: bool = False) -> Conversation[CellRows]:
        columns = [self._idl.Column(family=family.encode())]
        if not scan or len(set(map(len, rows))) > 1:
            gets = [self._idl.Get(row=row, columns=columns, storeLimit=limit) for row in rows]
            [found] = yield [self._call("getMultiple", tgets=gets)]
            return _rows(rows, [result.columnValues or [] for result in found])
        scanned = self._idl.Scan(
            startRow=rows[0],
            stopRow=rows[-1] + b"\0",
            columns=columns,
            caching=len(rows),
            limit=len(rows),
            readType=self._idl.ReadType.PREAD,
            filterBytes=rows_filter(rows, limit),
        )
        [found] = yield [self._call("getScannerResults", tscan=scanned, numRows=len(rows))]
        there = {result.row: result.columnValues for result in found}
        return _rows(rows, [there.get(row, []) for row in rows])

    def put_keys(self, keys: Sequence[bytes], timestamp: int) -> Conversation[None]:
        put, values = self._idl.Put, self._block_values
        yield [
            self._call("putMultiple", tputs=[put(row=key, columnValues=values, timestamp=timestamp) for key in keys])
        ]

    def delete_keys(self, keys: Sequence[bytes], timestamp: int) -> Conversation[None]:
        columns = [self._idl.Column(family=FAMILY_BLOCKS.encode(), qualifier=b"", timestamp=timestamp)]
        return (yield from self._delete([self._idl.Delete(row=key, columns=columns) for key in keys]))

    def put(self, family: str, cells: Sequence[Cell]) -> Conversation[None]:
        yield [self._call("putMultiple", tputs=[self._put(family, cell) for cell in cells])]

    def delete(self, family: str, cells: Sequence[Cell]) -> Conversation[None]:
        name = family.encode()
        deletes = [
            self._idl.Delete(
                row=cell.row,
                columns=[self._idl.Column(family=name, qualifier=cell.qualifier, timestamp=cell.timestamp)],
            )
            for cell in cells
        ]
        return (yield from self._delete(deletes))

    def swap(self, swap: Swap) -> Conversation[bool]:
        put = self._put(FAMILY_DOCUMENTS, Cell(swap.row, swap.qualifier, swap.value))
        call = self._call(
            "checkAndPut",
            row=swap.row,
            family=FAMILY_DOCUMENTS.encode(),
            qualifier=swap.qualifier,
            value=swap.expected,
            tput=put,
        )
        [done] = yield [call]
        return bool(done)

    def regions(self) -> Conversation[list[RegionPlace]]:
        [found] = yield [self._call("getAllRegionLocations")]
        return sorted(
            answers.region_place(at.regionInfo.startKey, at.serverName.hostName, at.serverName.port) for at in found
        )

    def create(self, schema: TableSchema) -> Conversation[None]:
        attributes = {name.encode(): value.encode() for name, value in TABLE_ATTRIBUTES.items()}
        families = [
            self._idl.Family(
                name=family.name.encode(),
                configuration=dict(family.configuration),
                bloomnFilterType=getattr(self._idl.BloomFilter, family.settings["BLOOMFILTER"]),
                compressionType=getattr(self._idl.Compression, family.settings["COMPRESSION"]),
                dataBlockEncoding=getattr(self._idl.Encoding, family.settings["DATA_BLOCK_ENCODING"]),
                maxVersions=int(family.settings["VERSIONS"]),
                timeToLive=int(family.settings["TTL"]),
                blockCacheEnabled=family.settings["BLOCKCACHE"] == "true",
                blockSize=int(family.settings["BLOCKSIZE"]),
            )
            for family in schema.families
        ]
        table = self._idl.Table(tableName=self._name, columns=families, attributes=attributes)
        split_keys = schema.split_keys if self.makes_everything else []
        yield [Call(self._idl.Cells, "createTable", {"desc": table, "splitKeys": split_keys})]

    def describe(self) -> Conversation[driver.TableDescription | None]:
        [there] = yield [Call(self._idl.Cells, "tableExists", {"tableName": self._name})]
        if not there:
            return None
        [table] = yield [Call(self._idl.Cells, "getTableDescriptor", {"table": self._name})]
        [regions] = yield [Call(self._idl.Cells, "getAllRegionLocations", {"table": self._table})]
        starts = sorted(region.regionInfo.startKey or b"" for region in regions)
        families = {
            family.name.decode(): {
                "BLOOMFILTER": str(self._idl.BloomFilter._VALUES_TO_NAMES.get(family.bloomnFilterType)),
                "COMPRESSION": str(self._idl.Compression._VALUES_TO_NAMES.get(family.compressionType)),
                "DATA_BLOCK_ENCODING": str(self._idl.Encoding._VALUES_TO_NAMES.get(family.dataBlockEncoding)),
                "VERSIONS": str(family.maxVersions),
                "TTL": str(family.timeToLive),
                "BLOCKCACHE": answers.boolean(family.blockCacheEnabled),
                "BLOCKSIZE": str(family.blockSize),
                **_texts(family.configuration),
            }
            for family in table.columns
        }
        return driver.TableDescription(families, _texts(table.attributes), starts[1:])

    def is_disabled(self) -> Conversation[bool]:
        [disabled] = yield [Call(self._idl.Cells, "isTableDisabled", {"tableName": self._name})]
        return bool(disabled)

    def _call(self, method: str, **arguments: object) -> Call:
        return Call(self._idl.Cells, method, {"table": self._table, **arguments})

    def _put(self, family: str, cell: Cell) -> Interface:
        value = self._idl.ColumnValue(
            family=family.encode(), qualifier=cell.qualifier, value=cell.value, timestamp=cell.timestamp
        )
        return self._idl.Put(row=cell.row, columnValues=[value])

    def _delete(self, deletes: list[Interface]) -> Conversation[None]:
        # DELETE_COLUMN would bring an older version back: seen on a real HBase.
        for delete in deletes:
            delete.deleteType = self._idl.DeleteType.DELETE_COLUMNS
        [left] = yield [self._call("deleteMultiple", tdeletes=deletes)]
        if left:
            raise StoreUnavailable(f"deleteMultiple: {len(left)} of {len(deletes)} deletes were not done")


def _cells(result: Reply) -> list[Cell]:
    row = result.row
    cells = [Cell(row, found.qualifier, found.value, found.timestamp) for found in result.columnValues or ()]
    return answers.whole(cells)


def _rows(rows: Sequence[bytes], found: list[list[Reply]]) -> CellRows:
    """Return the cells of rows, found in answers, as columns, so that Python's garbage collector has fewer objects."""
    counts = list(map(len, found))
    keys = [row + cell.qualifier for row, cells in zip(rows, found, strict=True) for cell in cells]
    cells = list(chain.from_iterable(found))
    values = answers.present([cell.value for cell in cells])
    return CellRows(rows, Columns(counts, keys, values), answers.present([cell.timestamp for cell in cells]))


def _texts(pairs: dict[bytes | str, bytes | str] | None) -> dict[str, str]:
    return {answers.decoded(name): answers.decoded(value) for name, value in (pairs or {}).items()}
