"""The bytes of a crawler's file, with marks where gzip members begin and where bytes are lost."""

import re
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.stream.decompress import unzstd

_WARC = re.compile(rb"WARC/\d\.\d{1,2}\r?\n")
_ZSTD = b"\x28\xb5\x2f\xfd"
# A header of the one method there is, without flags that nobody has defined.
_GZIP_MEMBER = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
_HEADER_BYTES = 4
_SNIFFED_BYTES = 16
_GZIP_WBITS = 31
_PROBED_BYTES = 1 << 12
_STEP_BYTES = 1 << 16
_JUNK = "something that is no gzip data is among it"
_RESCUE_BYTES = 1 << 8
# Of a longer member that is damaged, so much is searched for the next one, and what follows.
_HELD_BYTES = 32 << 20


class Member(NamedTuple):
    """A gzip member begins."""

    offset: int
    """Byte of the file where."""


class End(NamedTuple):
    """The member is whole, by its checksum."""

    compressed: bytes | None
    """The member as it is in the file; None of one that was too long to be held."""


class Damage(NamedTuple):
    """Bytes are missing; what was given of the member before, if it has not ended, may be wrong."""

    reason: str


Piece = bytes | Member | End | Damage


def pieces(chunks: Iterable[bytes], block_bytes: int, *, named_gzip: bool) -> Iterator[Piece]:
    """Decompress a file as it needs, whatever its name says; damage costs a gzip member."""
    chunks = iter(chunks)
    head = b""
    while len(head) < _SNIFFED_BYTES and (chunk := next(chunks, b"")):
        head += chunk
    everything = chain((head,), chunks) if head else iter(())
    if head.startswith(_ZSTD):
        yield from _until_damage(unzstd(everything, block_bytes))
    elif _GZIP_MEMBER.match(head) or (named_gzip and not _WARC.match(head)):
        yield from _Gzip(everything, block_bytes).pieces()
    else:
        yield from everything


def _until_damage(blocks: Iterable[bytes]) -> Iterator[Piece]:
    try:
        yield from blocks
    except InvalidInput as error:
        yield Damage(str(error))


class _Gzip:
    """Members of a gzip file; the compressed bytes of the present one are held, since its end may not be its own."""

    def __init__(self, chunks: Iterator[bytes], block_bytes: int) -> None:
        self._chunks = chunks
        self._block_bytes = block_bytes
        self._held = bytearray()
        self._offset = 0
        self._fault: str | None = None
        self._junk = False

    def pieces(self) -> Iterator[Piece]:
        while self._find_member():
            if self._junk:
                yield Damage(_JUNK)
            yield Member(self._offset)
            whole = yield from self._member()
            yield End(whole) if self._fault is None else Damage(self._fault)
        if self._junk:
            yield Damage(_JUNK)

    def _find_member(self) -> bool:
        """Move to the next member that can be read; what is passed over is junk, unless it is known to be damaged."""
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
    """Yield what a member's beginning holds before it is damaged, which zlib keeps to itself in a longer step."""
    member = zlib.decompressobj(wbits=_GZIP_WBITS)
    with suppress(zlib.error):
        while block := member.decompress(data, _RESCUE_BYTES):
            yield block
            data = member.unconsumed_tail
