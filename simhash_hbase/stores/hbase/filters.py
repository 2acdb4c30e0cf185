"""Filters of HBase, serialised as its protocol buffers: one scan reads thousands of prefixes or rows.

``Filter {1: class name, 2: the filter's own message}``, ``MultiRowRangeFilter {repeated 1: RowRange}``, ``RowRange {1:
start, 2: start inclusive, 3: stop, 4: stop inclusive}``, ``FilterList {1: operator, repeated 2: Filter}``,
``ColumnPaginationFilter {1: limit, 2: offset}`` and ``ColumnRangeFilter {1: first column, 2: inclusive}`` (Filter.proto
of HBase).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.rows.keys import pack_prefixes, prefix_stop
from simhash_hbase.rows.layout import PREFIX_BYTES
from simhash_hbase.stores.hbase.protobuf import bytes_field, number_field

CLASSES = b"org.apache.hadoop.hbase.filter."
# Operator of a list: a cell has to pass all filters.
_EVERY = 1


def ranges_filter(start: bytes, prefixes: NDArray[np.uint64]) -> bytes:
    """Return a serialised filter for the rows whose keys begin with one of some sorted prefixes.

    Rows of the first prefix that come before `start` do not pass.
    """
    packed = np.frombuffer(b"".join(pack_prefixes(prefixes)), np.uint8).reshape(-1, PREFIX_BYTES)
    first = bytes_field(1, _row_range(start, prefix_stop(packed[0].tobytes())))
    return _filter(b"MultiRowRangeFilter", first + _many_ranges(packed[1:], prefix_stop(b"")))


def rows_filter(rows: Sequence[bytes], limit: int) -> bytes:
    """Return a serialised filter for at most `limit` cells of each of some rows, whose keys have one length."""
    packed = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
    ranges = _filter(b"MultiRowRangeFilter", _many_ranges(packed, b"\0"))
    first = _filter(b"ColumnPaginationFilter", number_field(1, limit) + number_field(2, 0))
    return _filter(b"FilterList", number_field(1, _EVERY) + bytes_field(2, ranges) + bytes_field(2, first))


def columns_after_filter(qualifier: bytes) -> bytes:
    """Return a serialised filter for the cells of a row whose qualifiers come after this one."""
    return _filter(b"ColumnRangeFilter", bytes_field(1, qualifier) + number_field(2, False))


def _many_ranges(packed: NDArray[np.uint8], behind: bytes) -> bytes:
    """Return a serialised ``RowRange`` for each packed key, from the key to the key with `behind` appended.

    All keys have one length, so one range is serialised and copied, and the keys are put into the copies.
    """
    zero = bytes(packed.shape[1])
    one = bytes_field(1, _row_range(zero, zero + behind))
    many = np.tile(np.frombuffer(one, np.uint8), (len(packed), 1))
    for at in (one.index(zero), one.index(zero + behind)):
        many[:, at : at + len(zero)] = packed
    return many.tobytes()


def _row_range(start: bytes, stop: bytes) -> bytes:
    return bytes_field(1, start) + number_field(2, True) + bytes_field(3, stop) + number_field(4, False)


def _filter(name: bytes, message: bytes) -> bytes:
    return bytes_field(1, CLASSES + name) + bytes_field(2, message)
