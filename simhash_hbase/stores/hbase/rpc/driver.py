"""The calls of HBase that a store makes, as calls of region servers, of the master and of ``hbase:meta``."""

import operator
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import Retryable, SimhashError, StoreTimeout, StoreUnavailable
from simhash_hbase.rows.layout import FAMILY_BLOCKS, FAMILY_DOCUMENTS
from simhash_hbase.stores.base import Cell, CellKey, RegionPlace, Swap
from simhash_hbase.stores.columns import CellColumns, CellRows, Columns
from simhash_hbase.stores.hbase import driver
from simhash_hbase.stores.hbase.exchange import Conversation
from simhash_hbase.stores.hbase.filters import columns_after_filter, ranges_filter, rows_filter
from simhash_hbase.stores.hbase.options import Gateway
from simhash_hbase.stores.hbase.protobuf import Message, bytes_field, number_field
from simhash_hbase.stores.hbase.rpc import messages
from simhash_hbase.stores.hbase.rpc.cells import (
    DELETE_COLUMN,
    PUT,
    pack_block_rows,
    pack_cells,
    unpack_block_rows,
    unpack_cells,
)
from simhash_hbase.stores.hbase.rpc.errors import UNFINISHED, NotDone, ServerException, of_exception
from simhash_hbase.stores.hbase.rpc.regions import Locator, Region
from simhash_hbase.stores.hbase.table import TABLE_ATTRIBUTES, TableSchema

T = TypeVar("T")

_PROCEDURE_RUNNING = 1  # GetProcedureResultResponse.State
_PROCEDURE_POLL_S = 0.05


class RpcDriver(driver.Driver):
    """The calls of HBase's own RPC for one table; `deadline_s`: seconds that the master may take to make it."""

    prefixes_per_scan = 4_000
    rows_per_get = 2_000
    scanned_rows = 256
    makes_everything = True

    def __init__(self, table: str, locator: Locator, *, deadline_s: float) -> None:
        self._table = table
        self._locator = locator
        self._deadline_s = deadline_s

    def scan_keys(
        self, start: bytes, stop: bytes, rows: int, prefixes: NDArray[np.uint64] | None = None, *, walk: bool = False
    ) -> Conversation[list[bytes]]:
        filtered = b"" if prefixes is None else ranges_filter(start, prefixes)
        scan = messages.Scan(FAMILY_BLOCKS, start, stop, filtered, stream=prefixes is not None, cached=not walk)
        return (yield from self._scan_rows(scan, rows, unpack_block_rows, _key))

    def has_keys(self, keys: Sequence[bytes]) -> Conversation[list[bool]]:
        results = yield from self._get_all([messages.Get(key, FAMILY_BLOCKS, b"", exists=True) for key in keys])
        return [result.exists for result, _ in results]

    def scan_cells(
        self, family: str, start: bytes, stop: bytes, rows: int, row_part: int
    ) -> Conversation[list[list[Cell]]]:
        regions = yield from self._locator.regions()
        parts: list[list[Cell]] = []
        while True:
            region = regions.of(start)
            scan = messages.Scan(family, start, stop, batch=row_part, cached=False)
            parts += yield from self._scan_parts(region, scan, rows - len(parts))
            start = region.end
            if len(parts) >= rows or not start or (stop and start >= stop):
                return driver.row_parts(parts)

    def row_tail(
        self, family: str, row: bytes, after: bytes, limit: int, *, walk: bool = False
    ) -> Conversation[list[Cell]]:
        get = messages.Get(row, family, filter=columns_after_filter(after), limit=limit, cached=not walk)
        [(_, found)] = yield from self._get_all([get])
        return list(found)

    def get(self, family: str, keys: Sequence[CellKey]) -> Conversation[list[Cell | None]]:
        results = yield from self._get_all([messages.Get(row, family, qualifier) for row, qualifier in keys])
        found = [next(iter(columns), None) for _, columns in results]
        if any(cell is not None and cell[:2] != key for key, cell in zip(keys, found, strict=True)):
            raise ValueError("a cell that was not asked for came")
        return found

    def get_rows(self, family: str, rows: Sequence[bytes], limit: int, *, scan: bool = False) -> Conversation[CellRows]:
        if not scan or len(set(map(len, rows))) > 1:
            results = yield from self._get_all([messages.Get(row, family, limit=limit) for row in rows])
            return _cell_rows(rows, [columns for _, columns in results])
        scanned = messages.Scan(family, rows[0], rows[-1] + b"\0", rows_filter(rows, limit))

        def unpack(block: bytes) -> list[Cell]:
            return list(unpack_cells(block, family))

        found = yield from self._scan_rows(scanned, len(rows), unpack, _row_of)
        there: dict[bytes, list[Cell]] = {}
        for cell in found:
            there.setdefault(cell.row, []).append(cell)
        return CellRows.of(rows, [there.get(row, []) for row in rows])

    def put_keys(self, keys: Sequence[bytes], timestamp: int) -> Conversation[None]:
        return (yield from self._change(keys, lambda some: pack_block_rows(some, timestamp, PUT), _key))

    def delete_keys(self, keys: Sequence[bytes], timestamp: int) -> Conversation[None]:
        def packed(some: Sequence[bytes]) -> bytes:
            return pack_block_rows(some, timestamp, DELETE_COLUMN)

        return (yield from self._change(keys, packed, _key, delete=True))

    def put(self, family: str, cells: Sequence[Cell]) -> Conversation[None]:
        return (yield from self._change_cells(family, cells, PUT))

    def delete(self, family: str, cells: Sequence[Cell]) -> Conversation[None]:
        return (yield from self._change_cells(family, cells, DELETE_COLUMN))

    def swap(self, swap: Swap) -> Conversation[bool]:
        regions = yield from self._locator.regions()
        region = regions.of(swap.row)
        parameter = messages.check_and_put(region.name, (swap.row, FAMILY_DOCUMENTS, swap.qualifier), swap.expected)
        block = pack_cells(FAMILY_DOCUMENTS, [Cell(swap.row, swap.qualifier, swap.value)], PUT)
        [answer] = yield [_call(region, "Mutate", parameter, block)]
        return messages.was_put(answer.message)

    def regions(self) -> Conversation[list[RegionPlace]]:
        return (yield from self._locator.places())

    def create(self, schema: TableSchema) -> Conversation[None]:
        master = yield from self._locator.master()
        parameter = messages.create_table(self._table, schema, TABLE_ATTRIBUTES)
        [answer] = yield [messages.RpcCall(master, messages.MASTER, "CreateTable", parameter)]
        yield from self._finished(master, Message(answer.message).number(1))

    def describe(self) -> Conversation[driver.TableDescription | None]:
        master = yield from self._locator.master()
        parameter = bytes_field(1, messages.table_name(self._table))
        [answer] = yield [messages.RpcCall(master, messages.MASTER, "GetTableDescriptors", parameter)]
        settings = messages.table_settings(answer.message)
        if settings is None:
            return None
        regions = yield from self._locator.read()
        return driver.TableDescription(*settings, [region.start for region in regions][1:])

    def is_disabled(self) -> Conversation[bool]:
        return (yield from self._locator.is_disabled())

    def _finished(self, master: Gateway, procedure: int) -> Conversation[None]:
        """Wait until a procedure of the master, such as making a table, has ended; raise its error."""
        deadline = time.monotonic() + self._deadline_s
        while True:
            parameter = number_field(1, procedure)
            [answer] = yield [messages.RpcCall(master, messages.MASTER, "getProcedureResult", parameter)]
            result = Message(answer.message)
            if result.number(1) != _PROCEDURE_RUNNING:
                break
            if time.monotonic() > deadline:
                made = f"table {self._table} is not made within {self._deadline_s:g} s"
                raise StoreTimeout(f"{made}; the master at {master} goes on: are there region servers?")
            time.sleep(_PROCEDURE_POLL_S)
        if result.has(5):
            thrown = result.message(5).message(2)
            exception = ServerException(thrown.text(1), thrown.text(2), final=True)
            raise of_exception(exception, f"making table {self._table} at {master}", self._table)

    def _scan_rows(
        self, scan: messages.Scan, rows: int, unpack: Callable[[bytes], list[T]], row: Callable[[T], bytes]
    ) -> Conversation[list[T]]:
        """Read at most `rows` whole rows, from region to region; each call opens a scan, reads and closes it.

        `unpack` decodes an answer's cells, and `row` returns the row key of a decoded one.
        """
        regions = yield from self._locator.regions()
        found: list[T] = []
        left = rows
        while True:
            region = regions.of(scan.start)
            parameter = messages.open_scan(region.name, scan, left, close=True)
            [message] = yield [_call(region, "Scan", parameter)]
            answer, part = messages.ScanAnswer(message.message), unpack(message.cells)
            _check_counts(answer, message.cells, len(part))
            found += part
            left -= len(answer.cells_per_result)
            if left <= 0 or not answer.more:
                return found
            if answer.more_in_region:
                # The answer was large enough without the rest.
                if not part:
                    raise StoreUnavailable(f"{region.server} answers a scan without a row and without an end")
                scan = scan._replace(start=row(part[-1]) + b"\0")
            else:
                scan = scan._replace(start=region.end)
            if not scan.start or (scan.stop and scan.start >= scan.stop):
                return found

    def _scan_parts(self, region: Region, scan: messages.Scan, parts: int) -> Conversation[list[list[Cell]]]:
        """Read at most `parts` parts of rows in one region; the server keeps the scan open between the calls."""
        found: list[list[Cell]] = []
        parameter = messages.open_scan(region.name, scan, parts, close=False)
        scanner = sequence = 0
        while True:
            [message] = yield [_call(region, "Scan", parameter)]
            answer = messages.ScanAnswer(message.message)
            block = list(unpack_cells(message.cells, scan.family))
            _check_counts(answer, message.cells, len(block))
            at = 0
            for count in answer.cells_per_result:
                found.append(block[at : at + count])
                at += count
            if not (answer.more and answer.more_in_region):
                return found
            scanner = answer.scanner or scanner
            if len(found) >= parts:
                # A scanner that is not closed is closed by the server after a minute.
                with suppress(Retryable):
                    yield [_call(region, "Scan", messages.go_on_scanning(scanner, 0, 0))]
                return found
            parameter = messages.go_on_scanning(scanner, parts - len(found), sequence)
            sequence += 1

    def _get_all(self, gets: Sequence[messages.Get]) -> Conversation[list[tuple[messages.GetResult, CellColumns]]]:
        """Return the answer to each of some gets, with its cells, in their order; all servers are asked at once."""
        regions = yield from self._locator.regions()
        answers: dict[int, tuple[messages.GetResult, CellColumns]] = {}
        left = list(range(len(gets)))
        while left:
            calls, places = [], []
            for server, groups in regions.grouped([gets[at].row for at in left]):
                numbered = [[left[at] for at in positions] for _, positions in groups]
                named = (
                    (region.name, [gets[at] for at in some]) for (region, _), some in zip(groups, numbered, strict=True)
                )
                calls.append(messages.RpcCall(server, messages.CLIENT, "Multi", messages.multi_gets(named)))
                places.append(numbered)
            before = len(answers)
            errors: list[SimhashError] = []
            for call, numbered, answer in zip(calls, places, (yield calls), strict=True):
                results = messages.multi_results(answer.message, [len(some) for some in numbered])
                columns = unpack_cells(answer.cells, gets[0].family)
                at = 0
                for number, result in zip([at for some in numbered for at in some], results, strict=True):
                    if isinstance(result, messages.ActionError):
                        errors.append(self._error(result, call))
                    else:
                        answers[number] = result, columns[at : at + result.cells]
                        at += result.cells
                if at != len(columns.rows):
                    raise ValueError("an answer has more or fewer cells than its results say")
            if errors and (len(answers) == before or not all(isinstance(error, _LeftOut) for error in errors)):
                raise next((error for error in errors if not isinstance(error, _LeftOut)), errors[0])
            left = [at for at in left if at not in answers]
        return [answers[at] for at in range(len(gets))]

    def _change_cells(self, family: str, changed: Sequence[Cell], kind: int) -> Conversation[None]:
        def packed(some: Sequence[Cell]) -> bytes:
            return pack_cells(family, some, kind)

        return (yield from self._change(changed, packed, _row_of, delete=kind != PUT))

    def _change(
        self,
        items: Sequence[T],
        packed: Callable[[Sequence[T]], bytes],
        row: Callable[[T], bytes],
        *,
        delete: bool = False,
    ) -> Conversation[None]:
        """Write or delete cells, one for each item, at all their servers at once.

        `packed` returns the cells' bytes, and `row` the row key of an item.
        """
        regions = yield from self._locator.regions()
        calls, counts = [], []
        for server, groups in regions.grouped([row(item) for item in items]):
            counts.append([len(positions) for _, positions in groups])
            named = ((region.name, len(positions)) for region, positions in groups)
            block = packed([items[at] for _, positions in groups for at in positions])
            parameter = messages.multi_mutations(named, delete=delete)
            calls.append(messages.RpcCall(server, messages.CLIENT, "Multi", parameter, block))
        errors = [
            self._error(error, call)
            for call, count, answer in zip(calls, counts, (yield calls), strict=True)
            for error in messages.multi_errors(answer.message, count)
        ]
        if not errors:
            return
        worst = next((error for error in errors if not isinstance(error, NotDone)), errors[0])
        if isinstance(worst, NotDone) and len(errors) < len(items):
            raise StoreUnavailable(f"{len(errors)} of {len(items)} changes were not made: {worst}")
        raise worst

    def _error(self, error: messages.ActionError, call: messages.RpcCall) -> SimhashError:
        exception = ServerException(error.java_class, error.trace)
        what = f"{call.method} at {call.server}"
        if exception.name in UNFINISHED:
            return _LeftOut(f"{what}: {exception.line}")
        return of_exception(exception, what, self._table)


class _LeftOut(NotDone):
    """A server left out one of several gets, since its answer was large enough without it: ask again."""


def _call(region: Region, method: str, parameter: bytes, block: bytes = b"") -> messages.RpcCall:
    assert region.server is not None
    return messages.RpcCall(region.server, messages.CLIENT, method, parameter, block)


def _check_counts(answer: messages.ScanAnswer, block: bytes, found: int) -> None:
    """Raise `ValueError` unless the results of a scan's answer say as many cells as have come."""
    if sum(answer.cells_per_result) != found:
        raise ValueError(f"{found} cells came in {len(block)} bytes for results of other sizes")


def _key(key: bytes) -> bytes:
    return key


_row_of: Callable[[Cell], bytes] = operator.itemgetter(0)


def _cell_rows(rows: Sequence[bytes], found: Sequence[CellColumns]) -> CellRows:
    """Return the cells of rows, found in answers, as columns, so that Python's garbage collector has fewer objects."""
    counts = [len(columns.rows) for columns in found]
    keys = [row + qualifier for row, columns in zip(rows, found, strict=True) for qualifier in columns.qualifiers]
    values = [value for columns in found for value in columns.values]
    timestamps: list[int | None] = [timestamp for columns in found for timestamp in columns.timestamps]
    return CellRows(rows, Columns(counts, keys, values), timestamps)
