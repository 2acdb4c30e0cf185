"""The bytes of a crawler's file, with marks where gzip members begin and where bytes are lost; a window over them."""

import re
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.streams import unzstd

_WARC = re.compile(rb"WARC/\d\.\d{1,2}\r?\n")
_ZSTD = b"\x28\xb5\x2f\xfd"
# A header with the only defined method, and without undefined flags.
_GZIP_MEMBER = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
_HEADER_BYTES = 4
_SNIFFED_BYTES = 16
_GZIP_WBITS = 31
_PROBED_BYTES = 1 << 12
_STEP_BYTES = 1 << 16
_JUNK = "the file has data outside its gzip members"
_RESCUE_BYTES = 1 << 8
# Most bytes of a damaged member that are searched for the next one.
_HELD_BYTES = 32 << 20


class GzipMember(NamedTuple):
    """A gzip member begins."""


class GzipEnd(NamedTuple):
    """The member ends, with the right checksum."""

    compressed: bytes | None  # The member as it is in the file; None when it is too long to be held.


class Damage(NamedTuple):
    """Bytes are missing; the bytes of a member that has not ended may be wrong."""

    reason: str


CrawlPiece = bytes | GzipMember | GzipEnd | Damage


def pieces(chunks: Iterable[bytes], block_bytes: int, *, named_gzip: bool) -> Iterator[CrawlPiece]:
    """Decompress a file by its content, whatever its name says; damage costs one gzip member."""
    chunks = iter(chunks)
    head = b""
    while len(head) < _SNIFFED_BYTES and (chunk := next(chunks, b"")):
        head += chunk
    everything = chain((head,), chunks) if head else iter(())
    if head.startswith(_ZSTD):
        try:
            yield from unzstd(everything, block_bytes)
        except InvalidInput as error:
            yield Damage(str(error))
    elif _GZIP_MEMBER.match(head) or (named_gzip and not _WARC.match(head)):
        yield from _Gzip(everything, block_bytes).pieces()
    else:
        yield from everything


class _Gzip:
    """Members of a gzip file; the compressed bytes of the present one are held, since it may be damaged."""

    def __init__(self, chunks: Iterator[bytes], block_bytes: int) -> None:
        self._chunks = chunks
        self._block_bytes = block_bytes
        self._held = bytearray()
        self._offset = 0
        self._fault: str | None = None
        self._junk = False

    def pieces(self) -> Iterator[CrawlPiece]:
        while self._find_member():
            if self._junk:
                yield Damage(_JUNK)
            yield GzipMember()
            whole = yield from self._member()
            yield GzipEnd(whole) if self._fault is None else Damage(self._fault)
        if self._junk:
            yield Damage(_JUNK)

    def _find_member(self) -> bool:
        """Move to the next readable member; skipped bytes are junk, unless they belong to a damaged member."""
        known, self._fault, self._junk = self._fault is not None, None, False
        if known:
            self._drop(1)
        while self._has(_HEADER_BYTES):
            found = _GZIP_MEMBER.search(self._held)
            passed = found.start() if found else len(self._held) - _HEADER_BYTES + 1
            self._junk |= not known and any(self._held[:passed])
            self._drop(passed)
            if found and self._is_readable():
                return True
            self._junk |= bool(found) and not known
            self._drop(1 if found else 0)
        self._junk |= not known and any(self._held)
        return False

    def _is_readable(self) -> bool:
        self._has(_PROBED_BYTES)
        member = zlib.decompressobj(wbits=_GZIP_WBITS)
        try:
            return bool(member.decompress(self._held[:_PROBED_BYTES], 1)) or member.eof
        except zlib.error:
            return False

    def _member(self) -> Generator[bytes, None, bytes | None]:
        start = self._offset
        member, at, given = zlib.decompressobj(wbits=_GZIP_WBITS), 0, False
        while not member.eof:
            at_end = not self._has(at + 1)
            data = bytes(self._held[at : at + _STEP_BYTES])
            try:
                block = member.decompress(data, self._block_bytes)
            except zlib.error:
                self._fault = "the gzip data is damaged"
                if not given:
                    yield from _before_damage(data)
                return None
            at += len(data) - len(member.unused_data if member.eof else member.unconsumed_tail)
            if block:
                given = True
                yield block
            elif at_end:
                self._fault = "the gzip data is cut off"
                return None
            if at > _HELD_BYTES:
                self._drop(at)
                at = 0
        whole = bytes(self._held[:at]) if self._offset == start else None
        self._drop(at)
        return whole

    def _has(self, count: int) -> bool:
        """Read until so many bytes are held; False at the end of the file."""
        while len(self._held) < count:
            chunk = next(self._chunks, None)
            if chunk is None:
                return False
            self._held += chunk
        return True

    def _drop(self, count: int) -> None:
        del self._held[:count]
        self._offset += count


def _before_damage(data: bytes) -> Iterator[bytes]:
    """Yield a member's bytes before its damage, which zlib does not return in longer steps."""
    member = zlib.decompressobj(wbits=_GZIP_WBITS)
    with suppress(zlib.error):
        while block := member.decompress(data, _RESCUE_BYTES):
            yield block
            data = member.unconsumed_tail


class Lost(Exception):
    """Bytes are missing; nothing before them belongs to what follows."""


class _WholeMember(NamedTuple):
    """A member that has ended."""

    start: int  # Below 0 where its beginning was dropped.
    stop: int
    compressed: bytes | None


class Window:
    """Bytes from some place of a file on.

    Reading raises `Lost` where bytes are missing; the caller then clears the window.
    """

    def __init__(self, pieces: Iterable[CrawlPiece]) -> None:
        self.bytes = bytearray()
        self.members: list[int] = []
        """Where gzip members begin."""
        self.is_gzip = False
        self._whole: list[_WholeMember] = []
        self._begun = 0
        self._pieces = iter(pieces)

    def pull(self) -> bool:
        """Read on; False at the end of the file."""
        piece = next(self._pieces, None)
        if isinstance(piece, Damage):
            raise Lost(piece.reason)
        if isinstance(piece, GzipMember):
            self.is_gzip = True
            self._begun = len(self.bytes)
            self.members.append(self._begun)
        elif isinstance(piece, GzipEnd):
            self._whole.append(_WholeMember(self._begun, len(self.bytes), piece.compressed))
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
        self._whole = [_WholeMember(a - count, b - count, data) for a, b, data in self._whole if b > count]

    def clear(self) -> None:
        """Drop all that has been read."""
        self.bytes.clear()
        self.members.clear()
        self._begun = 0
        self._whole.clear()
