"""The checksum at the end of a cell, a CRC-32: it shows that a bit of the cell has changed, and which one."""

import zlib
from collections.abc import Iterable
from operator import add
from struct import Struct
from typing import Final

PLACEHOLDER: Final = 2**32 - 1
"""The last field of an encoded cell until the checksum replaces it: MessagePack takes five bytes for it, of which the
last four are the number."""

_PACKED: Final = Struct(">I")
_BYTES: Final = _PACKED.size
_POLYNOMIAL: Final = 0xEDB88320
"""The polynomial of zlib's CRC-32 without its highest term; the lowest bit is that of the highest power."""
_MOST_BITS: Final = 91_607
"""Most bits of a cell that is mended: in a longer one, two changed bits may look like another single one."""


def sealed(encoded: bytes) -> bytes:
    """Return an encoded cell with its checksum in place of the `PLACEHOLDER` at its end."""
    return sealed_all([encoded])[0]


def sealed_all(encoded: Iterable[bytes]) -> list[bytes]:
    """Return encoded cells, each with its checksum in place of the `PLACEHOLDER` at its end."""
    covered = [cell[:-_BYTES] for cell in encoded]
    return list(map(add, covered, map(_PACKED.pack, map(zlib.crc32, covered))))


def is_sealed(value: bytes) -> bool:
    """Return whether the last four bytes of a cell are the checksum of the bytes before them.

    Examples
    --------
    >>> value = sealed(b"of these bytes" + bytes(4))
    >>> is_sealed(value), is_sealed(value.replace(b"these", b"those"))
    (True, False)
    """
    return len(value) > _BYTES and _difference(value) == 0


def mended(value: bytes) -> bytes | None:
    """Return a damaged cell with the one bit that has changed put back; None if the checksum shows no such bit.

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
