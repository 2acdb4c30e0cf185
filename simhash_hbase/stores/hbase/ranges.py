"""The filter with which one scan reads thousands of prefixes: HBase's ``MultiRowRangeFilter``, serialised.

Its form is that of HBase's protocol buffers: ``Filter {1: class name, 2: MultiRowRangeFilter}``,
``MultiRowRangeFilter {repeated 1: RowRange}``, ``RowRange {1: start, 2: start inclusive, 3: stop, 4: stop inclusive}``.
"""

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.rows.keys import pack_prefixes, prefix_stop
from simhash_hbase.rows.layout import PREFIX_BYTES

_CLASS = b"org.apache.hadoop.hbase.filter.MultiRowRangeFilter"
_BYTES, _NUMBER = 2, 0
_MORE = 0x80


def ranges_filter(start: bytes, prefixes: NDArray[np.uint64]) -> bytes:
    """Serialise a filter that lets the rows of some prefixes pass."""
    packed = np.frombuffer(b"".join(pack_prefixes(prefixes)), np.uint8).reshape(-1, PREFIX_BYTES)
    ranges = _field(1, _row_range(start, prefix_stop(packed[0].tobytes()))) + _many_ranges(packed[1:])
    return _field(1, _CLASS) + _field(2, ranges)


def _many_ranges(packed: NDArray[np.uint8]) -> bytes:
    """Serialise the ranges of whole prefixes: all of one length, so the prefixes are set into copies of one."""
    zero = bytes(PREFIX_BYTES)
    one = _field(1, _row_range(zero, prefix_stop(zero)))
    start = one.index(zero)
    stop = one.index(prefix_stop(zero))
    many = np.tile(np.frombuffer(one, np.uint8), (len(packed), 1))
    for at in (start, stop):
        many[:, at : at + PREFIX_BYTES] = packed
    return many.tobytes()


def _row_range(start: bytes, stop: bytes) -> bytes:
    return _field(1, start) + _flag(2, value=True) + _field(3, stop) + _flag(4, value=False)


def _flag(number: int, *, value: bool) -> bytes:
    return bytes([number << 3 | _NUMBER, value])


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | _BYTES]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= _MORE:
        out.append(value % _MORE | _MORE)
        value //= _MORE
    return bytes([*out, value])
