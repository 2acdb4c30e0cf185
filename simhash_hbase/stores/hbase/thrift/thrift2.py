"""The calls of Thrift 2."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import StoreUnavailable
from simhash_hbase.rows.layout import FAMILY_BLOCKS, FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Cell, RegionPlace, Swap
from simhash_hbase.stores.hbase.ranges import ranges_filter
from simhash_hbase.stores.hbase.thrift.driver import Key, after_qualifier, region_place
from simhash_hbase.stores.hbase.thrift.exchange import Conversation
from simhash_hbase.stores.hbase.thrift.idl import Interface, thrift2
from simhash_hbase.stores.hbase.thrift.wire import Answer, Call


class Thrift2:
    """Implements `Driver`."""

    version = 2
    prefixes_per_scan = 4_000
    rows_per_get = 2_000

    def __init__(self, table: str) -> None:
        self._idl = thrift2()
        self._table = table.encode()
        self._block_columns = [self._idl.Column(family=FAMILY_BLOCKS.encode())]
        self._block_cells = [self._idl.Column(family=FAMILY_BLOCKS.encode(), qualifier=b"")]
        self._block_values = [self._idl.ColumnValue(family=FAMILY_BLOCKS.encode(), qualifier=b"", value=b"")]

    def scan_keys(
        self, start: bytes, stop: bytes, rows: int, prefixes: NDArray[np.uint64] | None = None, *, walk: bool = False
    ) -> Conversation[list[bytes]]:
        """See `Driver.scan_keys`."""
        scan = self._idl.Scan(
            startRow=start,
            stopRow=stop or None,
            columns=self._block_columns,
            caching=rows,
            limit=rows,
            cacheBlocks=_caching(walk),
            # Short scans share the open file; long ones get a stream of their own.
            readType=self._idl.ReadType.STREAM if prefixes is not None else self._idl.ReadType.PREAD,
            filterBytes=None if prefixes is None else ranges_filter(start, prefixes),
        )
        arguments = {"table": self._table, "tscan": scan, "numRows": rows}
        [found] = yield [Call(self._idl.Keys, "getScannerResults", arguments)]
        return [result.row for result in found]

    def has_keys(self, keys: Sequence[bytes]) -> Conversation[list[bool]]:
        """See `Driver.has_keys`."""
        gets = [self._idl.Get(row=key, columns=self._block_cells) for key in keys]
        [found] = yield [self._call("existsAll", tgets=gets)]
        return [bool(there) for there in found]

    def scan_cells(
        self, family: str, start: bytes, stop: bytes, rows: int, row_part: int
    ) -> Conversation[list[list[Cell]]]:
        """See `Driver.scan_cells`."""
        scan = self._idl.Scan(
            startRow=start or None,
            stopRow=stop or None,
            columns=[self._idl.Column(family=family.encode())],
            caching=rows,
            batchSize=row_part,
            cacheBlocks=_caching(walk=True),
        )
        [found] = yield [self._call("getScannerResults", tscan=scan, numRows=rows)]
        return [_cells(result) for result in found]

    def row_tail(
        self, family: str, row: bytes, after: bytes, limit: int, *, walk: bool = False
    ) -> Conversation[list[Cell]]:
        """See `Driver.row_tail`."""
        columns = [self._idl.Column(family=family.encode())]
        get = self._idl.Get(
            row=row, columns=columns, filterString=after_qualifier(after), storeLimit=limit, cacheBlocks=_caching(walk)
        )
        [[found]] = yield [self._call("getMultiple", tgets=[get])]
        return _cells(found)

    def get(self, family: str, keys: Sequence[Key]) -> Conversation[list[Cell | None]]:
        """See `Driver.get`."""
        column, name = self._idl.Column, family.encode()
        gets = [self._idl.Get(row=row, columns=[column(family=name, qualifier=qualifier)]) for row, qualifier in keys]
        [found] = yield [self._call("getMultiple", tgets=gets)]
        return [next(iter(_cells(result)), None) for result in found]

    def get_rows(self, family: str, rows: Sequence[bytes], limit: int) -> Conversation[list[list[Cell]]]:
        """See `Driver.get_rows`."""
        columns = [self._idl.Column(family=family.encode())]
        gets = [self._idl.Get(row=row, columns=columns, storeLimit=limit) for row in rows]
        [found] = yield [self._call("getMultiple", tgets=gets)]
        return [_cells(result) for result in found]

    def put_keys(self, keys: Sequence[bytes], timestamp: int) -> Conversation[None]:
        """See `Driver.put_keys`."""
        put, values = self._idl.Put, self._block_values
        yield [
            self._call("putMultiple", tputs=[put(row=key, columnValues=values, timestamp=timestamp) for key in keys])
        ]

    def delete_keys(self, keys: Sequence[bytes], timestamp: int) -> Conversation[None]:
        """See `Driver.delete_keys`."""
        columns = [self._idl.Column(family=FAMILY_BLOCKS.encode(), qualifier=b"", timestamp=timestamp)]
        return (yield from self._delete([self._idl.Delete(row=key, columns=columns) for key in keys]))

    def put(self, family: str, cells: Sequence[Cell]) -> Conversation[None]:
        """See `Driver.put`."""
        yield [self._call("putMultiple", tputs=[self._put(family, cell) for cell in cells])]

    def delete(self, family: str, cells: Sequence[Cell]) -> Conversation[None]:
        """See `Driver.delete`."""
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
        """See `Driver.swap`."""
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
        """See `Driver.regions`."""
        [found] = yield [self._call("getAllRegionLocations")]
        return sorted(region_place(at.regionInfo.startKey, at.serverName.hostName, at.serverName.port) for at in found)

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


def _caching(walk: bool) -> bool | None:
    """Leave it to the server, which caches by default, unless it is a walk."""
    return False if walk else None


def _cells(result: Answer) -> list[Cell]:
    row = result.row
    return [Cell(row, found.qualifier, found.value, found.timestamp) for found in result.columnValues or ()]
