"""Division of a WARC or WET file into its records; damage costs one record or one gzip member, not the rest."""

import base64
import hashlib
import re
import zlib
from collections.abc import Generator, Iterable, Iterator
from io import BytesIO
from itertools import chain
from typing import NamedTuple

from simhash_hbase.errors import InvalidInput, missing_extra
from simhash_hbase.inputs.compression import GZIP_WBITS, ZSTD_FRAME, inflated_before_damage, unzstd

try:
    from warcio.statusandheaders import StatusAndHeaders, StatusAndHeadersParser
except ImportError as error:
    raise missing_extra("WARC files need warcio", "warc") from error

_WARC_LINE = re.compile(rb"WARC/\d\.\d{1,2}\r?\n")
# A header with the only defined method, and without undefined flags.
_GZIP_MEMBER = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
_HEADER_BYTES = 4
_SNIFFED_BYTES = 16  # First bytes of the file, which tell how it is compressed.
_PROBED_BYTES = 1 << 12
_STEP_BYTES = 1 << 16
_JUNK = "the file has data outside its gzip members"
# Most bytes of a damaged member that are searched for the next one.
_HELD_BYTES = 32 << 20


class GzipMember(NamedTuple):
    """A marker in the sequence of a file's `pieces`: here a gzip member begins, a part that is compressed by itself."""


class GzipEnd(NamedTuple):
    """A marker in the sequence of a file's `pieces`: here a gzip member ends, and its checksum is right."""

    compressed: bytes | None  # The member as it is in the file; None when it is too long to be held.


class Damage(NamedTuple):
    """A marker in the sequence of a file's `pieces`: here bytes are missing or damaged, for the reason that it names.

    The content of a gzip member that has not ended may be wrong.
    """

    reason: str


CrawlPiece = bytes | GzipMember | GzipEnd | Damage


def pieces(chunks: Iterable[bytes], block_bytes: int, *, named_gzip: bool) -> Iterator[CrawlPiece]:
    """Yield the decompressed bytes of a file, with markers for beginnings and ends of gzip members and for damage.

    The first bytes tell the compression. `named_gzip` says that the name ends with ``.gz``: then a file that does not
    begin with a WARC record is searched for gzip members.
    """
    chunks = iter(chunks)
    head = b""
    while len(head) < _SNIFFED_BYTES and (chunk := next(chunks, b"")):
        head += chunk
    everything = chain((head,), chunks) if head else iter(())
    if ZSTD_FRAME.match(head):
        try:
            yield from unzstd(everything)
        except InvalidInput as error:
            yield Damage(str(error))
    elif _GZIP_MEMBER.match(head) or (named_gzip and not _WARC_LINE.match(head)):
        yield from _Gzip(everything, block_bytes).pieces()
    else:
        yield from everything


class _Gzip:
    """Decompresses the members of a gzip file, each compressed by itself, one by one, and goes on after a damaged one.

    The compressed bytes of a member are kept until it ends: where it is damaged, the next member is looked for in them.
    """

    def __init__(self, chunks: Iterator[bytes], block_bytes: int) -> None:
        self._chunks = chunks
        self._block_bytes = block_bytes
        self._held = bytearray()
        self._offset = 0
        self._fault: str | None = None
        self._junk = False

    def pieces(self) -> Iterator[CrawlPiece]:
        while self.find_member():
            if self._junk:
                yield Damage(_JUNK)
            yield GzipMember()
            whole = yield from self.member()
            yield GzipEnd(whole) if self._fault is None else Damage(self._fault)
        if self._junk:
            yield Damage(_JUNK)

    def find_member(self) -> bool:
        """Move to the next gzip member that can be decompressed; return False if there is none.

        Bytes before it are skipped: the rest of a damaged member, or else junk, which is noted.
        """
        known, self._fault, self._junk = self._fault is not None, None, False
        if known:
            self.drop(1)
        while self.has(_HEADER_BYTES):
            found = _GZIP_MEMBER.search(self._held)
            passed = found.start() if found else len(self._held) - _HEADER_BYTES + 1
            self._junk |= not known and any(self._held[:passed])
            self.drop(passed)
            if found and self.is_readable():
                return True
            self._junk |= bool(found) and not known
            self.drop(1 if found else 0)
        self._junk |= not known and any(self._held)
        return False

    def is_readable(self) -> bool:
        self.has(_PROBED_BYTES)
        member = zlib.decompressobj(wbits=GZIP_WBITS)
        try:
            return bool(member.decompress(self._held[:_PROBED_BYTES], 1)) or member.eof
        except zlib.error:
            return False

    def member(self) -> Generator[bytes, None, bytes | None]:
        start = self._offset
        member, at = zlib.decompressobj(wbits=GZIP_WBITS), 0
        while not member.eof:
            at_end, before = not self.has(at + 1), member.copy()
            data = bytes(self._held[at : at + _STEP_BYTES])
            try:
                block = member.decompress(data, self._block_bytes)
            except zlib.error:
                self._fault = "the gzip data is damaged"
                yield from inflated_before_damage(before, data)
                return None
            at += len(data) - len(member.unused_data if member.eof else member.unconsumed_tail)
            if block:
                yield block
            elif at_end:
                self._fault = "the gzip data is cut off"
                return None
            if at > _HELD_BYTES:
                self.drop(at)
                at = 0
        whole = bytes(self._held[:at]) if self._offset == start else None
        self.drop(at)
        return whole

    def has(self, count: int) -> bool:
        """Read until at least `count` compressed bytes are in the buffer; return False if the file ends before."""
        while len(self._held) < count:
            chunk = next(self._chunks, None)
            if chunk is None:
                return False
            self._held += chunk
        return True

    def drop(self, count: int) -> None:
        del self._held[:count]
        self._offset += count


class _Damaged(Exception):
    """Raised for bytes that are no valid record; `start` is where to look for the next record.

    `start` None means that bytes are missing from the file here: the buffer is emptied and filled with those after
    them.
    """

    def __init__(self, reason: str, start: int | None = None) -> None:
        super().__init__(reason)
        self.start = start


class _Window:
    """A buffer of the decompressed file from some position on, which also knows where gzip members begin and end.

    Where bytes are missing, reading raises `_Damaged`, and the caller empties the buffer.
    """

    def __init__(self, pieces: Iterable[CrawlPiece]) -> None:
        self.bytes = bytearray()
        self.members: list[int] = []
        """The places where gzip members begin."""
        # Members that have ended: start, below 0 where the beginning was dropped, stop, and the compressed bytes.
        self._whole: list[tuple[int, int, bytes | None]] = []
        self._begun = 0
        self._pieces = iter(pieces)

    def pull(self) -> bool:
        """Read the next piece of the file into the buffer; return False at the end of the file."""
        piece = next(self._pieces, None)
        if isinstance(piece, Damage):
            raise _Damaged(piece.reason)
        if isinstance(piece, GzipMember):
            self._begun = len(self.bytes)
            self.members.append(self._begun)
        elif isinstance(piece, GzipEnd):
            self._whole.append((self._begun, len(self.bytes), piece.compressed))
        elif piece is not None:
            self.bytes += piece
        return piece is not None

    def has(self, count: int) -> bool:
        """Read until at least `count` bytes are in the buffer; return False if the file ends before."""
        while len(self.bytes) < count:
            if not self.pull():
                return False
        return True

    def goes_on(self, place: int) -> bool:
        """Return whether the gzip member that contains the byte before `place` goes on with a byte at `place`.

        Nothing is read beyond the member's end.
        """
        while all(stop != place for _, stop, _ in self._whole):
            if len(self.bytes) > place:
                return True
            if not self.pull():
                return False
        return False

    def member(self, stop: int) -> bytes | None:
        """Return the compressed gzip member whose content is exactly the first `stop` bytes of the buffer, or None.

        A gzip file has one member or several, each compressed by itself.
        """
        return next((data for start, end, data in self._whole if (start, end) == (0, stop)), None)

    def drop(self, count: int) -> None:
        """Remove the first `count` bytes from the buffer."""
        del self.bytes[:count]
        self.members = [place - count for place in self.members if place >= count]
        self._begun -= count
        self._whole = [(a - count, b - count, data) for a, b, data in self._whole if b > count]

    def clear(self) -> None:
        """Remove all bytes from the buffer."""
        self.bytes.clear()
        self.members.clear()
        self._begun = 0
        self._whole.clear()


_WARC = b"WARC/"
_BLANK_LINES = b"\r\n\r\n"
_START = re.compile(rb"WARC/[01]\.\d{1,2}\r?\n[A-Za-z-]{1,40}:")
_START_BYTES = 64
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_MAX_HEAD_BYTES = 64 << 10
_KEPT_BYTES = 64 << 10
# No file is as long, and neither Python nor the system takes any number.
_LENGTH_DIGITS = 15
_PARSER = StatusAndHeadersParser([], verify=False)
_DIGESTS = {
    "md5": hashlib.md5, "sha1": hashlib.sha1, "sha224": hashlib.sha224, "sha256": hashlib.sha256,
    "sha384": hashlib.sha384, "sha512": hashlib.sha512,
}  # fmt: skip


class WarcRecord(NamedTuple):
    """One undamaged WARC record."""

    number: int  # From 1, of all in the file.
    headers: StatusAndHeaders  # The WARC headers.
    block: bytes  # The content; of a long record its first 64 KB.
    raw: bytes
    """The whole record to its last blank line, as a gzip member where it is exactly one; of a long record as much as of
    the block."""
    is_long: bool = False  # Whether the block is longer than the limit.


class Broken(NamedTuple):
    """A damaged WARC record, or bytes in the place of a record that are none."""

    number: int
    reason: str
    headers: StatusAndHeaders | None  # The WARC headers, if they are left.
    raw: bytes  # First 64 KB of the record, as far as they are known.


def head_of(head: bytes) -> StatusAndHeaders:
    """Return the first line and the headers of a WARC record or an HTTP response, parsed from their bytes."""
    return _PARSER.parse(BytesIO(head))


def field(headers: StatusAndHeaders | None, name: str) -> str:
    """Return the value of a WARC header, named without ``WARC-``, such as ``Target-URI``; empty if there is none.

    The angle brackets around ids, and around URLs by some versions of wget, are removed.

    Examples
    --------
    >>> headers = StatusAndHeaders("", [("WARC-Target-URI", "<http://a.example/>"), ("WARC-Date", "2026")])
    >>> field(headers, "Target-URI"), field(headers, "Date"), field(headers, "Type")
    ('http://a.example/', '2026', '')
    """
    value = ("" if headers is None else headers.get_header(f"WARC-{name}") or "").strip(" \t")
    return value[1:-1] if value.startswith("<") and value.endswith(">") else value


def _contradicts(digest: str, block: bytes) -> bool:
    """Return whether a digest such as ``sha-1:2Z6X…`` is wrong for a block; False for digests of an unknown kind.

    Crawlers write digests in hex, base32 or base64, with padding or without.
    """
    name, _, value = digest.partition(":")
    make, value = _DIGESTS.get(name.strip().lower().replace("-", "").replace("_", "")), value.strip().rstrip("=")
    if make is None or not value:
        return False
    own = make(block).digest()
    base32, *base64s = (
        encode(own).decode().rstrip("=") for encode in (base64.b32encode, base64.b64encode, base64.urlsafe_b64encode)
    )
    return value.lower() not in (own.hex(), base32.lower()) and value not in base64s


def head_bytes(block: bytes) -> int:
    """Return the length in bytes of an HTTP response's head: status line, headers and the blank line after them."""
    end = _HEAD_END.search(block)
    return end.end() if end else len(block)


def warc_records(pieces: Iterable[CrawlPiece], max_bytes: int) -> Iterator[WarcRecord | Broken]:
    """Yield the records of a WARC or WET file, undamaged or broken, from its decompressed `pieces`.

    A record of more than `max_bytes` comes with its beginning only. warcio and FastWARC read the same records, but both
    stop at the first damage, or return damaged records as whole.
    """
    return _RecordSplitter(_Window(pieces), max_bytes).records()


class _RecordSplitter:
    """Takes one WARC record after another from the beginning of a buffer, and finds the next one after damage."""

    def __init__(self, window: _Window, max_bytes: int) -> None:
        self._window = window
        self._max_bytes = max_bytes
        self._number = 0
        self._headers: StatusAndHeaders | None = None
        self._damage: _Damaged | None = None

    def records(self) -> Iterator[WarcRecord | Broken]:
        window = self._window
        while True:
            self._number += 1
            self._headers = None
            record: WarcRecord | Broken
            try:
                if self._damage is not None:
                    damage, self._damage = self._damage, None
                    raise damage
                while window.has(1) and window.bytes[0] in b"\r\n":
                    window.drop(1)
                if not window.bytes:
                    return
                record = self.record()
            except _Damaged as error:
                record = self.broken(error)
            yield record

    def broken(self, damage: _Damaged) -> Broken:
        """Return the damaged record at the beginning of the buffer, as far as it is known, and move to the next record.

        It has its headers and its first 64 KB.
        """
        raw = bytes(self._window.bytes[:_KEPT_BYTES])
        headers = self._headers
        if headers is None and raw.startswith(_WARC):
            # The head breaks off; its whole lines are still valid.
            headers = head_of(raw[: raw.rfind(b"\n") + 1] or _WARC)
        if damage.start is None:
            self._window.clear()
        cause = self.find_start(damage.start or 0)
        return Broken(self._number, str(damage) if cause is None else f"{damage}; {cause}", headers, raw)

    def record(self) -> WarcRecord:
        window = self._window
        head = self.head()
        headers = self._headers = head_of(bytes(window.bytes[:head]))
        end = head + self.length(headers, head)
        if end - head > self._max_bytes:
            return self.long(head, end)
        self.check_block(head, end)
        stop = self.stop(end, head)
        block = bytes(window.bytes[head:end])
        if _contradicts(headers.get_header("WARC-Block-Digest") or "", block):
            raise _Damaged("its digest is not that of its block", stop)
        if stop - end < len(_BLANK_LINES):
            # Another record can follow it.
            raw = bytes(window.bytes[:end]) + _BLANK_LINES
        else:
            raw = window.member(stop) or bytes(window.bytes[:stop])
        window.drop(stop)
        return WarcRecord(self._number, headers, block, raw)

    def head(self) -> int:
        window = self._window
        if not window.has(len(_WARC)) or not window.bytes.startswith(_WARC):
            raise _Damaged("no WARC record begins here", 1)
        while (end := _HEAD_END.search(window.bytes, 0, _MAX_HEAD_BYTES)) is None:
            if len(window.bytes) >= _MAX_HEAD_BYTES or not window.pull():
                raise _Damaged("its head does not end", 1)
        if _CONTROL.search(window.bytes, 0, end.end()):
            raise _Damaged("its head has control characters", end.end())
        return end.end()

    def length(self, headers: StatusAndHeaders, head: int) -> int:
        length = headers.get_header("Content-Length") or ""
        if not (length.isascii() and length.isdigit()):
            raise _Damaged("it does not say how long it is", head)
        length = length.lstrip("0") or "0"
        if len(length) > _LENGTH_DIGITS:
            raise _Damaged(f"its length has {len(length):,} digits", head)
        return int(length)

    def check_block(self, head: int, end: int) -> None:
        window = self._window
        while True:
            if any(0 < place < end and window.bytes.startswith(_WARC, place) for place in window.members):
                raise _Damaged("another record begins inside of it", head)
            if len(window.bytes) >= end:
                return
            if not window.pull():
                raise _Damaged(f"the file ends inside of it, {end - len(window.bytes)} bytes too early", head)

    def stop(self, end: int, head: int) -> int:
        """Return where the blank lines after a record end; `head` and `end` are where its content begins and ends.

        Raises `_Damaged` if fewer than two blank lines follow, unless another record or the end comes next.
        """
        window = self._window
        stop = end
        while window.goes_on(stop) and window.bytes[stop] in b"\r\n":
            stop += 1
        if stop - end >= len(_BLANK_LINES) or not window.goes_on(stop):
            # A record that has lost bytes may end by chance at the blank line within the next one.
            behind = bytes(window.bytes[stop : stop + len(_WARC)]) if window.goes_on(stop) else b""
            if not _WARC.startswith(behind) and _START.search(window.bytes, 1, end):
                raise _Damaged("another record begins inside of it", head)
            return stop
        if window.has(stop + len(_WARC)) and not window.bytes.startswith(_WARC, stop):
            raise _Damaged("its length is wrong, no record follows it", head)
        return stop

    def long(self, head: int, end: int) -> WarcRecord:
        """Skip a record that is too long to be held in memory, and return its beginning.

        `head` and `end` are where its content begins and ends. Raises `_Damaged` if another record begins inside of it.
        """
        window = self._window
        window.has(min(head + _KEPT_BYTES, end))
        beginning = bytes(window.bytes[: min(head + _KEPT_BYTES, end)])
        while (found := _START.search(window.bytes, 1, end)) is None and len(window.bytes) < end:
            passed = max(len(window.bytes) - _START_BYTES, 0)
            window.drop(passed)
            end -= passed
            if not window.pull():
                raise _Damaged("the file ends inside of it", len(window.bytes))
        if found is not None:
            raise _Damaged("another record begins inside of it", found.start())
        stop = self.stop(end, end)
        window.drop(stop)
        return WarcRecord(self._number, self._headers, beginning[head:], beginning, is_long=True)

    def find_start(self, start: int) -> str | None:
        """Move to the next beginning of a record, or to the end of the file, skipping the bytes before it.

        Return the reason if bytes are missing in between, else None. `start` is the position in the buffer at which the
        search begins.
        """
        window = self._window
        window.members = [place for place in window.members if place >= start]
        cause = None
        while True:
            found = _START.search(window.bytes, start)
            places = [found.start()] if found else []
            places += [place for place in window.members if window.bytes.startswith(_WARC, place)]
            if places:
                window.drop(min(places))
                return cause
            passed = max(len(window.bytes) - _START_BYTES, 0)
            window.drop(passed)
            start = max(start - passed, 0)
            try:
                if not window.pull():
                    window.clear()
                    return cause
            except _Damaged as lost:
                if window.members:
                    self._damage = lost
                    return cause
                cause = str(lost)
                window.clear()
