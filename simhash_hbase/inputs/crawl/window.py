"""A part of a file that is read on as needed, and where its gzip members begin and end."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from simhash_hbase.inputs.crawl.members import Damage, End, Member, Piece


class Lost(Exception):
    """Bytes are missing; nothing before them belongs to what follows."""


class _Whole(NamedTuple):
    """A member that has ended."""

    start: int  # Below 0 where its beginning was dropped.
    stop: int
    compressed: bytes | None


class Window:
    """Bytes from some place of a file on.

    Reading raises `Lost` where bytes are missing; the caller then clears the window.
    """

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self.bytes = bytearray()
        self.members: list[int] = []
        """Where gzip members begin."""
        self.is_gzip = False
        self._whole: list[_Whole] = []
        self._begun = 0
        self._pieces = iter(pieces)

    def pull(self) -> bool:
        """Read on; False at the end of the file."""
        piece = next(self._pieces, None)
        if isinstance(piece, Damage):
            raise Lost(piece.reason)
        if isinstance(piece, Member):
            self.is_gzip = True
            self._begun = len(self.bytes)
            self.members.append(self._begun)
        elif isinstance(piece, End):
            self._whole.append(_Whole(self._begun, len(self.bytes), piece.compressed))
        elif piece is not None:
            self.bytes += piece
        return piece is not None

    def has(self, count: int) -> bool:
        """Read until so many bytes are there; False where the file ends before."""
        while len(self.bytes) < count:
            if not self.pull():
                return False
        return True

    def goes_on(self, place: int) -> bool:
        """Tell whether a byte of the same member follows, without reading beyond the member's end."""
        while all(whole.stop != place for whole in self._whole):
            if len(self.bytes) > place:
                return True
            if not self.pull():
                return False
        return False

    def member(self, stop: int) -> bytes | None:
        """Return, compressed, the gzip member that is exactly the first ``stop`` bytes, if there is one."""
        return next((whole.compressed for whole in self._whole if (whole.start, whole.stop) == (0, stop)), None)

    def find(self, pattern: re.Pattern[bytes], start: int, limit: int) -> re.Match[bytes] | None:
        """Search the next ``limit`` bytes."""
        at = start
        while True:
            found = pattern.search(self.bytes, at, limit)
            if found is not None or len(self.bytes) >= limit or not self.pull():
                return found

    def drop(self, count: int) -> None:
        """Drop the first bytes."""
        del self.bytes[:count]
        self.members = [place - count for place in self.members if place >= count]
        self._begun -= count
        self._whole = [_Whole(a - count, b - count, data) for a, b, data in self._whole if b > count]

    def clear(self) -> None:
        """Drop all that has been read."""
        self.bytes.clear()
        self.members.clear()
        self._begun = 0
        self._whole.clear()
