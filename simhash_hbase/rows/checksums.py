"""The checksum (CRC-32) at the end of a stored cell's value: it shows damage, and which bit if only one has changed."""

import zlib
from collections.abc import Iterable
from operator import add
from struct import Struct
from typing import Final

PLACEHOLDER: Final = 2**32 - 1
"""The number at the end of an encoded cell in place of its checksum: MessagePack writes it in five bytes, and `sealed`
replaces the last four."""

_PACKED: Final = Struct(">I")
_BYTES: Final = _PACKED.size
_POLYNOMIAL: Final = 0xEDB88320
"""The polynomial of zlib's CRC-32, without its highest term, in reversed order of bits."""
_MOST_BITS: Final = 91_607
"""Most bits of a cell that `mended` corrects: in a longer one, two changed bits may look like a single other one."""


def sealed(encoded: bytes) -> bytes:
    """Return a cell's encoded value with its CRC-32 in the last four bytes, in place of the `PLACEHOLDER` there."""
    return sealed_all([encoded])[0]


def sealed_all(encoded: Iterable[bytes]) -> list[bytes]:
    """Return the encoded values of cells, each with its CRC-32, as `sealed` returns one."""
    covered = [cell[:-_BYTES] for cell in encoded]
    return list(map(add, covered, map(_PACKED.pack, map(zlib.crc32, covered))))


def is_sealed(value: bytes) -> bool:
    """Return whether the last four bytes of a cell's value are the CRC-32 of the bytes before them.

    Examples
    --------
    >>> value = sealed(b"of these bytes" + bytes(4))
    >>> is_sealed(value), is_sealed(value.replace(b"these", b"those"))
    (True, False)
    """
    return len(value) > _BYTES and _difference(value) == 0


def mended(value: bytes) -> bytes | None:
    """Return a damaged cell's value with its one changed bit corrected; None if no single bit explains the damage.

    The result is None, too, for a value above 11 KB, in which two changed bits may look like a single other one.

    Examples
    --------
    >>> value = sealed(b"of these bytes" + bytes(4))
    >>> mended(value.replace(b"these", b"thesd")) == value, mended(value.replace(b"these", b"those"))
    (True, None)
    """
    covered = 8 * (len(value) - _BYTES)
    if not 0 < covered <= _MOST_BITS:
        return None
    difference = _difference(value)
    if difference.bit_count() == 1:
        return sealed(value)
    # The difference that each bit makes, from the last covered one to the first.
    changed = _POLYNOMIAL
    for place in reversed(range(covered)):
        if changed == difference:
            at = place // 8
            return value[:at] + bytes([value[at] ^ 1 << place % 8]) + value[at + 1 :]
        changed = changed >> 1 ^ (_POLYNOMIAL if changed & 1 else 0)
    return None


def _difference(value: bytes) -> int:
    return zlib.crc32(value[:-_BYTES]) ^ int.from_bytes(value[-_BYTES:], "big")
