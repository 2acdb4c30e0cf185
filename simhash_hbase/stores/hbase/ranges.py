"""The filter with which one scan reads thousands of prefixes or rows: HBase's ``MultiRowRangeFilter``, serialised.

Its form is that of HBase's protocol buffers: ``Filter {1: class name, 2: the filter's own message}``,
``MultiRowRangeFilter {repeated 1: RowRange}``, ``RowRange {1: start, 2: start inclusive, 3: stop, 4: stop inclusive}``,
``FilterList {1: operator, repeated 2: Filter}`` and ``ColumnPaginationFilter {1: limit, 2: offset}``.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.rows.keys import pack_prefixes, prefix_stop
from simhash_hbase.rows.layout import PREFIX_BYTES

_CLASSES = b"org.apache.hadoop.hbase.filter."
_EVERY = 1
"""Operator of a list: a cell has to pass all filters."""
_BYTES, _NUMBER = 2, 0
_MORE = 0x80


def ranges_filter(start: bytes, prefixes: NDArray[np.uint64]) -> bytes:
    """Serialise a filter that lets the rows of some prefixes pass."""
    packed = np.frombuffer(b"".join(pack_prefixes(prefixes)), np.uint8).reshape(-1, PREFIX_BYTES)
    first = _field(1, _row_range(start, prefix_stop(packed[0].tobytes())))
    return _filter(b"MultiRowRangeFilter", first + _many_ranges(packed[1:], prefix_stop(b"")))


def rows_filter(rows: Sequence[bytes], limit: int) -> bytes:
    """Serialise a filter that lets the first cells of some rows pass, up to a limit each.

    Parameters
    ----------
    rows : sequence of bytes
        Sorted and of one length.
    limit : int
        At least 1.
    """
    packed = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
    ranges = _filter(b"MultiRowRangeFilter", _many_ranges(packed, b"\0"))
    first = _filter(b"ColumnPaginationFilter", _number(1, limit) + _number(2, 0))
    return _filter(b"FilterList", _number(1, _EVERY) + _field(2, ranges) + _field(2, first))


def _many_ranges(packed: NDArray[np.uint8], behind: bytes) -> bytes:
    """Serialise ranges from keys to the same with something behind: keys of one length are set into copies of one."""
    zero = bytes(packed.shape[1])
    one = _field(1, _row_range(zero, zero + behind))
    many = np.tile(np.frombuffer(one, np.uint8), (len(packed), 1))
    for at in (one.index(zero), one.index(zero + behind)):
        many[:, at : at + len(zero)] = packed
    return many.tobytes()


def _row_range(start: bytes, stop: bytes) -> bytes:
    return _field(1, start) + _flag(2, value=True) + _field(3, stop) + _flag(4, value=False)


def _filter(name: bytes, message: bytes) -> bytes:
    return _field(1, _CLASSES + name) + _field(2, message)


def _flag(number: int, *, value: bool) -> bytes:
    return _number(number, value)


def _number(number: int, value: int) -> bytes:
    return bytes([number << 3 | _NUMBER]) + _varint(value)


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | _BYTES]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= _MORE:
        out.append(value % _MORE | _MORE)
        value //= _MORE
    return bytes([*out, value])
