"""The messages of HBase's RPC that this package writes, and the parts that it reads.

Numbers and names of fields are those of HBase's ``.proto`` files (RPC, Client, Comparator, Filter, HBase, Master, Table
and Registry), of which 2.4 to 3.0 differ here by fields that may be left out; a test compares the bytes with those
files.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from simhash_hbase.stores.hbase.filters import CLASSES
from simhash_hbase.stores.hbase.options import Gateway
from simhash_hbase.stores.hbase.protobuf import Message, bytes_field, number_field, read_varint, varint
from simhash_hbase.stores.hbase.table import TableSchema

REGISTRY, CLIENT, MASTER = "ClientMetaService", "ClientService", "MasterService"
"""Services of HBase's servers; a connection belongs to one of them."""
_CODEC = b"org.apache.hadoop.hbase.codec.KeyValueCodec"
# A server behaves as for the oldest clients where the version is absent: it sends whole batches or nothing, and other
# errors (RSRpcServices.java). 2.6 has all that this package relies on.
_VERSION = (2, 6)
_META_PRIORITY = 200
_PUT, _DELETE = 2, 3  # MutationProto.MutationType
_EQUAL = 2  # CompareType
_REGION_NAME = 1  # RegionSpecifierType
_STREAM, _PREAD = 1, 2  # Scan.ReadType
_DISABLED, _DISABLING = 1, 2  # TableState.State
_COUNT = 0x08  # The key of field 1 with a number: cells_per_result.
_MORE = 0x80
_LONG_BYTES = 64  # From here on numpy reads counts in less time.
# Actions of one call; a server warns above 5,000.
MOST_ACTIONS = 4_096


class RpcCall(NamedTuple):
    """One call of a method of one server, before it is sent."""

    server: Gateway
    service: str
    method: str  # The method on the wire.
    parameter: bytes  # The message of the method's parameter.
    cells: bytes = b""
    timeout_s: float | None = None  # Seconds until it must be answered; None: as the options say.
    priority: int = 0  # 0: that of ordinary calls.
    trace: bytes = b""  # The field of the header that `trace_info` returns.


class RpcAnswer(NamedTuple):
    """The bytes of the answer to a call: a message, and cells."""

    message: bytes
    cells: bytes


def connection_header(user: str, service: str) -> bytes:
    """Return the ``ConnectionHeader``, the first message of a connection; `user` counts without Kerberos only."""
    major, minor = _VERSION
    texts = (f"{major}.{minor}.0", "simhash-hbase", "none", "simhash-hbase", "none", "none")
    version = b"".join(bytes_field(number, text.encode()) for number, text in enumerate(texts, 1))
    version += number_field(7, major) + number_field(8, minor)
    header = bytes_field(1, bytes_field(1, user.encode())) if user else b""
    return header + bytes_field(2, service.encode()) + bytes_field(3, _CODEC) + bytes_field(5, version)


def trace_info(headers: Mapping[str, str]) -> bytes:
    """Return the field of a ``RequestHeader`` with headers that name a span.

    HBase 2.5 and later continues its trace.
    """
    pairs = (bytes_field(1, name.encode()) + bytes_field(2, value.encode()) for name, value in headers.items())
    return bytes_field(2, b"".join(bytes_field(3, pair) for pair in pairs)) if headers else b""


def request(number: int, call: RpcCall, timeout_ms: int) -> bytes:
    """Return the bytes of a call that come before its cells: the length, the header and the parameter."""
    header = number_field(1, number) + call.trace + _method(call.method, timeout_ms)
    if call.cells:
        header += bytes_field(5, number_field(1, len(call.cells)))
    if call.priority:
        header += number_field(6, call.priority)
    body = varint(len(header)) + header + varint(len(call.parameter)) + call.parameter
    return (len(body) + len(call.cells)).to_bytes(4) + body


@lru_cache
def _method(name: str, timeout_ms: int) -> bytes:
    """Return the fields in the header of a call that are the same for all calls of a method with this time-out."""
    return bytes_field(3, name.encode()) + number_field(4, True) + number_field(7, timeout_ms)


class Scan(NamedTuple):
    """The parts of a ``Scan`` message: the range of rows that it reads, and how."""

    family: str
    start: bytes
    stop: bytes  # Exclusive; empty: to the end.
    filter: bytes = b""
    batch: int = 0  # Most cells of one result, so that a row is cut into parts; 0: whole rows.
    stream: bool = False  # Whether the servers open the files anew, for long scans.
    cached: bool = True  # Whether what is read goes into the servers' cache.


@lru_cache
def _region(name: bytes) -> bytes:
    return bytes_field(1, number_field(1, _REGION_NAME) + bytes_field(2, name))


def open_scan(region: bytes, scan: Scan, rows: int, *, close: bool) -> bytes:
    """Return a ``ScanRequest`` for the first `rows` rows; with `close` the server forgets the scan after the answer.

    Partial rows and heartbeats are not asked for: an answer has whole results.
    """
    body = _way(scan.family, scan.batch, rows, stream=scan.stream, cached=scan.cached)
    body += bytes_field(3, scan.start) if scan.start else b""
    body += bytes_field(4, scan.stop) if scan.stop else b""
    body += bytes_field(5, scan.filter) if scan.filter else b""
    return _region(region) + bytes_field(2, body) + number_field(4, rows) + number_field(5, close)


@lru_cache
def _way(family: str, batch: int, rows: int, *, stream: bool, cached: bool) -> bytes:
    """Return the fields of a ``Scan`` that do not depend on its range."""
    fields = bytes_field(1, bytes_field(1, family.encode())) + number_field(8, cached)
    fields += number_field(9, batch) if batch else b""
    return fields + number_field(17, rows) + number_field(23, _STREAM if stream else _PREAD)


def go_on_scanning(scanner: int, rows: int, sequence: int) -> bytes:
    """Return a ``ScanRequest`` for `rows` more rows of the open scan `scanner`; 0 rows close the scan.

    `sequence` is the number of earlier calls for more rows; the server compares it, so that no answer gets lost.
    """
    if not rows:
        return number_field(3, scanner) + number_field(4, 0) + number_field(5, True)
    return number_field(3, scanner) + number_field(4, rows) + number_field(6, sequence)


class ScanAnswer:
    """A decoded ``ScanResponse``: how many cells each result has, and whether the scan has more."""

    def __init__(self, message: bytes) -> None:
        counts, at = _leading_counts(message)
        rest = Message(message[at:])
        self.cells_per_result: list[int] = counts + rest.numbers(1)
        self.scanner = rest.number(2)
        self.more = bool(rest.number(3, True))  # Whether the scan may have more rows, here or in later regions.
        self.more_in_region = bool(rest.number(8))


def _leading_counts(message: bytes) -> tuple[list[int], int]:
    """Return the cell counts below 128 at the beginning of a long ``ScanResponse``, and the position after them.

    numpy reads these faster than a field at a time. Of a short message none are read here.
    """
    if len(message) < _LONG_BYTES:
        return [], 0
    pairs = np.frombuffer(message, np.uint8, count=len(message) // 2 * 2).reshape(-1, 2)
    other = (pairs[:, 0] != _COUNT) | (pairs[:, 1] >= _MORE)
    most = int(other.argmax()) if other.any() else len(pairs)
    return pairs[:most, 1].tolist(), 2 * most


class Get(NamedTuple):
    """The parts of a ``Get`` message: the row, the family, and which of its cells are wanted."""

    row: bytes
    family: str
    qualifier: bytes | None = None  # None: all cells.
    filter: bytes = b""
    limit: int = 0  # Most cells; 0: all.
    exists: bool = False  # Whether only its existence is asked for.
    cached: bool = True

    def action(self) -> bytes:
        """Return the bytes of the get as a field of an ``Action``, one of the operations of a ``MultiRequest``."""
        column = bytes_field(1, self.family.encode())
        column += bytes_field(2, self.qualifier) if self.qualifier is not None else b""
        get = bytes_field(1, self.row) + bytes_field(2, column)
        get += bytes_field(4, self.filter) if self.filter else b""
        get += number_field(7, False) if not self.cached else b""
        get += number_field(8, self.limit) if self.limit else b""
        get += number_field(10, True) if self.exists else b""
        return bytes_field(3, get)


def multi_gets(regions: Iterable[tuple[bytes, Sequence[Get]]]) -> bytes:
    """Return a ``MultiRequest`` of gets, from pairs of a region's name and the gets in that region."""
    parts = []
    for region, gets in regions:
        actions = (bytes_field(3, number_field(1, at) + get.action()) for at, get in enumerate(gets))
        parts.append(bytes_field(1, _region(region) + b"".join(actions)))
    return b"".join(parts)


def multi_mutations(regions: Iterable[tuple[bytes, int]], *, delete: bool) -> bytes:
    """Return a ``MultiRequest`` of writes or deletes of the cells that are sent with the call.

    `regions` has each region's name and its number of these cells, in their order.
    """
    parts = (_region(region) + _actions(delete=delete).first(count) for region, count in regions)
    return b"".join(bytes_field(1, part) for part in parts)


class _Numbered:
    """Messages that are numbered from 0, of which the first ones are wanted, as one byte string."""

    def __init__(self, messages: Iterable[bytes]) -> None:
        pieces = list(messages)
        self._all = b"".join(pieces)
        self._ends = np.cumsum([0, *map(len, pieces)]).tolist()

    def first(self, count: int) -> bytes:
        """Return the bytes of the first `count` messages."""
        return self._all[: self._ends[count]]


@cache
def _actions(*, delete: bool) -> _Numbered:
    # Row, time and value are in the cell.
    mutation = bytes_field(2, number_field(2, _DELETE if delete else _PUT) + number_field(8, 1))
    return _Numbered(bytes_field(3, number_field(1, at) + mutation) for at in range(MOST_ACTIONS))


@cache
def _successes() -> _Numbered:
    return _Numbered(bytes_field(1, number_field(1, at) + bytes_field(2, b"")) for at in range(MOST_ACTIONS))


class GetResult(NamedTuple):
    """The answer to one get of a ``MultiRequest``."""

    cells: int  # How many cells of the answer belong to it.
    exists: bool


class ActionError(NamedTuple):
    """The error of an action of a ``MultiRequest``, or of all its actions in one region."""

    java_class: str
    trace: str


def multi_errors(message: bytes, counts: Sequence[int]) -> list[ActionError]:
    """Return the errors in a ``MultiResponse`` to mutations; `counts` are the numbers of mutations in each region.

    A region that did everything in order answers with bytes that are known beforehand, so nothing is read of it.
    """
    errors: list[ActionError] = []
    for content, count in zip(_region_results(message, len(counts)), counts, strict=True):
        if content != _successes().first(count):
            results = _action_results(content, count)
            errors += [result for _, result in results if isinstance(result, ActionError)]
    return errors


def multi_results(message: bytes, counts: Sequence[int]) -> list[GetResult | ActionError]:
    """Return the answers in a ``MultiResponse`` to gets, in order; `counts` are the numbers of gets in each region."""
    answers: list[GetResult | ActionError] = []
    for content, count in zip(_region_results(message, len(counts)), counts, strict=True):
        results = _action_results(content, count)
        if [number for number, _ in results] != list(range(count)):
            raise ValueError("the answers of a region are not in the order of its gets")
        answers += [result for _, result in results]
    return answers


def _region_results(message: bytes, regions: int) -> list[bytes]:
    contents = Message(message).contents(1)
    if len(contents) != regions:
        raise ValueError(f"{len(contents)} of {regions} regions answered")
    return contents


def _action_results(content: bytes, count: int) -> list[tuple[int, GetResult | ActionError]]:
    region = Message(content)
    if region.has(2):
        return [(number, _error(region.message(2))) for number in range(count)]
    results: list[tuple[int, GetResult | ActionError]] = []
    for action in region.messages(1):
        result = action.message(2)
        answer = _error(action.message(3)) if action.has(3) else GetResult(result.number(2), bool(result.number(3)))
        results.append((action.number(1), answer))
    if {number for number, _ in results} != set(range(count)) or len(results) != count:
        raise ValueError(f"{len(results)} answers came to {count} actions")
    return results


def _error(pair: Message) -> ActionError:
    return ActionError(pair.text(1), pair.text(2))


def check_and_put(region: bytes, key: tuple[bytes, str, bytes], expected: bytes | None) -> bytes:
    """Return a ``MutateRequest`` that puts the cell sent with the call if the cell `key` has the value `expected`.

    If `expected` is None, the cell is put where there is none yet. For the server, an empty value means that, too.
    """
    row, family, qualifier = key
    comparable = bytes_field(1, bytes_field(1, expected or b""))
    comparator = bytes_field(1, CLASSES + b"BinaryComparator") + bytes_field(2, comparable)
    condition = bytes_field(1, row) + bytes_field(2, family.encode()) + bytes_field(3, qualifier)
    condition += number_field(4, _EQUAL) + bytes_field(5, comparator)
    mutation = bytes_field(1, row) + number_field(2, _PUT) + number_field(8, 1)
    return _region(region) + bytes_field(2, mutation) + bytes_field(3, condition)


def was_put(message: bytes) -> bool:
    """Return whether a ``MutateResponse`` to a `check_and_put` says that the cell was put."""
    answer = Message(message)
    if not answer.has(2):
        raise ValueError("an answer does not say whether the cell was changed")
    return bool(answer.number(2))


class RegionInfo(NamedTuple):
    """A region as the table ``hbase:meta`` describes it."""

    table: str
    start: bytes
    end: bytes  # First row behind it; empty: the end of the table.
    is_served: bool  # Not split, not offline.


def region_info(value: bytes) -> RegionInfo:
    """Return the region that a value in the column ``info:regioninfo`` of the table ``hbase:meta`` describes."""
    if not value.startswith(b"PBUF"):
        raise ValueError("the description of a region is no message")
    info = Message(value[4:])
    name = info.message(2)
    namespace, table = name.text(1), name.text(2)
    full = table if namespace in ("", "default") else f"{namespace}:{table}"
    return RegionInfo(full, info.content(3), info.content(4), not (info.number(5) or info.number(6)))


def server_of(name: Message) -> Gateway:
    """Return the host and port in a ``ServerName`` message."""
    return Gateway(name.text(1), name.number(2))


def meta_server(message: bytes) -> Gateway | None:
    """Return the server of ``hbase:meta`` in a ``GetMetaRegionLocationsResponse``; None while it has none."""
    locations = Message(message).messages(1)
    return server_of(locations[0].message(2)) if locations and locations[0].has(2) else None


def is_disabled(value: bytes) -> bool:
    """Return whether a value in ``table:state`` of ``hbase:meta`` says that a table is disabled, or becomes so."""
    return Message(value).number(1) in (_DISABLED, _DISABLING)


def table_name(name: str) -> bytes:
    """Return the ``TableName`` message for a name such as ``table`` or ``namespace:table``."""
    namespace, _, table = name.rpartition(":")
    return bytes_field(1, (namespace or "default").encode()) + bytes_field(2, table.encode())


def create_table(name: str, schema: TableSchema, attributes: Mapping[str, str]) -> bytes:
    """Return a ``CreateTableRequest`` for a table with the families and regions of a schema."""
    table = bytes_field(1, table_name(name)) + _pairs(2, attributes)
    for family in schema.families:
        content = bytes_field(1, family.name.encode()) + _pairs(2, family.settings) + _pairs(3, family.configuration)
        table += bytes_field(3, content)
    return bytes_field(1, table) + b"".join(bytes_field(2, key) for key in schema.split_keys)


def table_settings(message: bytes) -> tuple[dict[str, dict[str, str]], dict[str, str]] | None:
    """Return a table's settings from a ``GetTableDescriptorsResponse``: by family, and its own attributes.

    None if there is no table.
    """
    tables = Message(message).messages(1)
    if not tables:
        return None
    families = {
        family.text(1): {**_read_pairs(family, 2), **_read_pairs(family, 3)} for family in tables[0].messages(3)
    }
    return families, {**_read_pairs(tables[0], 2), **_read_pairs(tables[0], 4)}


def _pairs(number: int, pairs: Mapping[str, str]) -> bytes:
    return b"".join(
        bytes_field(number, bytes_field(1, name.encode()) + bytes_field(2, value.encode()))
        for name, value in pairs.items()
    )


def _read_pairs(message: Message, number: int) -> dict[str, str]:
    return {pair.text(1): pair.text(2) for pair in message.messages(number)}


def read_answer(frame: bytes) -> tuple[Message, RpcAnswer]:
    """Return the header of an answer, and its message and cells, from the bytes of its frame.

    Message and cells are empty for an error.
    """
    size, at = read_varint(frame, 0)
    if at + size > len(frame):
        raise ValueError("the header of an answer is cut off")
    header = Message(frame[at : at + size])
    at += size
    if header.has(2):
        return header, RpcAnswer(b"", b"")
    size, at = read_varint(frame, at)
    cells = at + size
    if header.message(3).number(1) != len(frame) - cells:
        raise ValueError("an answer has another length than its header says")
    return header, RpcAnswer(frame[at:cells], frame[cells:])
