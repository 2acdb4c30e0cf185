"""WARC and WET as crawlers write them: their records, and a document for each answer that is a page."""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import NamedTuple

# Imported here so that a missing package is reported before anything is read, that of crawls first: its extra has both.
import simhash_hbase.inputs.codings

# isort: split
import simhash_hbase.inputs.html  # noqa: F401
from simhash_hbase.errors import InvalidInput, missing_extra
from simhash_hbase.inputs.codings import undo
from simhash_hbase.inputs.members import CrawlPiece, Lost, Window, pieces
from simhash_hbase.inputs.options import InputOptions
from simhash_hbase.inputs.pages import PAGE_BYTES
from simhash_hbase.inputs.records import Page, Place, Reject
from simhash_hbase.inputs.sources import Source
from simhash_hbase.inputs.streams import Progress, open_chunks

try:
    from warcio.statusandheaders import StatusAndHeaders, StatusAndHeadersParser
except ImportError as error:
    raise missing_extra("WARC files need warcio", "warc") from error

__all__ = ["Broken", "StatusAndHeaders", "WarcRecord", "head_bytes", "head_of", "warc_records"]

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
_DIGESTS = {"sha1": hashlib.sha1, "sha256": hashlib.sha256, "md5": hashlib.md5}


class WarcRecord(NamedTuple):
    """A record that is whole."""

    number: int  # From 1, of all in the file.
    headers: StatusAndHeaders  # The WARC headers.
    block: bytes  # The content; of a long record its first 64 KB.
    raw: bytes
    """The whole record to its last blank line, as a gzip member where it is exactly one; of a long record as much as of
    the block."""
    is_long: bool = False  # Whether the block is longer than the limit.


class Broken(NamedTuple):
    """A damaged record, or bytes that are not a record."""

    number: int
    reason: str
    headers: StatusAndHeaders | None  # The WARC headers, if they are left.
    raw: bytes  # Its first 64 KB, as far as they are known.


def head_of(head: bytes) -> StatusAndHeaders:
    """Read the first line and the headers of a record, or of an answer by HTTP."""
    return _PARSER.parse(BytesIO(head))


def bare(value: str) -> str:
    """Return the value of a header without the brackets that ids have, and addresses by some versions of wget.

    Examples
    --------
    >>> bare("<http://a.example/>"), bare("http://a.example/<b>")
    ('http://a.example/', 'http://a.example/<b>')
    """
    value = value.strip(" \t")
    return value[1:-1] if value.startswith("<") and value.endswith(">") else value


def head_bytes(block: bytes) -> int:
    """Return how long the head of an answer by HTTP is."""
    end = _HEAD_END.search(block)
    return end.end() if end else len(block)


def warc_records(pieces: Iterable[CrawlPiece], max_bytes: int) -> Iterator[WarcRecord | Broken]:
    """Split a crawler's file into records.

    warcio and FastWARC read the same records, but both stop at the first damage, or return damaged records as whole.
    """
    splitter = _RecordSplitter(Window(pieces), max_bytes)
    while (found := splitter.next()) is not None:
        yield found


class _Wrong(Exception):
    """The bytes are not a record."""

    def __init__(self, reason: str, start: int) -> None:
        super().__init__(reason)
        self.start = start


class _RecordSplitter:
    """Takes records off the beginning of a window."""

    def __init__(self, window: Window, max_bytes: int) -> None:
        self._window = window
        self._max_bytes = max_bytes
        self._number = 0
        self._headers: StatusAndHeaders | None = None
        self._damage: Lost | None = None

    def next(self) -> WarcRecord | Broken | None:
        self._number += 1
        self._headers = None
        try:
            if self._damage is not None:
                damage, self._damage = self._damage, None
                raise damage
            return self._record() if self._skip_blank_lines() else None
        except (Lost, _Wrong) as error:
            broken = self._broken(str(error))
            if isinstance(error, Lost):
                self._window.clear()
            cause = self._find_start(error.start if isinstance(error, _Wrong) else 0)
            return broken if cause is None else broken._replace(reason=f"{broken.reason}; {cause}")

    def _broken(self, reason: str) -> Broken:
        raw = bytes(self._window.bytes[:_KEPT_BYTES])
        headers = self._headers
        if headers is None and raw.startswith(_WARC):
            # The head breaks off; its whole lines are still valid.
            headers = head_of(raw[: raw.rfind(b"\n") + 1] or _WARC)
        return Broken(self._number, reason, headers, raw)

    def _skip_blank_lines(self) -> bool:
        window = self._window
        while window.has(1) and window.bytes[0] in b"\r\n":
            window.drop(1)
        return bool(window.bytes)

    def _record(self) -> WarcRecord:
        window = self._window
        head = self._head()
        headers = self._headers = head_of(bytes(window.bytes[:head]))
        end = head + self._length(headers, head)
        if end - head > self._max_bytes:
            return self._long(head, end)
        self._check_block(head, end)
        stop = self._stop(end, head)
        block = bytes(window.bytes[head:end])
        if not window.is_gzip and _differs(block, headers.get_header("WARC-Block-Digest")):
            raise _Wrong("its digest is not that of its block", stop)
        raw = self._raw(end, stop)
        window.drop(stop)
        return WarcRecord(self._number, headers, block, raw)

    def _raw(self, end: int, stop: int) -> bytes:
        """Return the record in a form that another one can follow."""
        if stop - end < len(_BLANK_LINES):
            return bytes(self._window.bytes[:end]) + _BLANK_LINES
        return self._window.member(stop) or bytes(self._window.bytes[:stop])

    def _head(self) -> int:
        window = self._window
        if not window.has(len(_WARC)) or not window.bytes.startswith(_WARC):
            raise _Wrong("no WARC record begins here", 1)
        found = window.find(_HEAD_END, 0, _MAX_HEAD_BYTES)
        if found is None:
            raise _Wrong("its head does not end", 1)
        if _CONTROL.search(window.bytes, 0, found.end()):
            raise _Wrong("its head has control characters", found.end())
        return found.end()

    def _length(self, headers: StatusAndHeaders, head: int) -> int:
        length = headers.get_header("Content-Length") or ""
        if not (length.isascii() and length.isdigit()):
            raise _Wrong("it does not say how long it is", head)
        length = length.lstrip("0") or "0"
        if len(length) > _LENGTH_DIGITS:
            raise _Wrong(f"its length has {len(length):,} digits", head)
        return int(length)

    def _check_block(self, head: int, end: int) -> None:
        window = self._window
        while len(window.bytes) < end:
            self._check_members(head, end)
            if not window.pull():
                raise _Wrong(f"the file ends inside of it, {end - len(window.bytes)} bytes too early", head)
        self._check_members(head, end)

    def _check_members(self, head: int, end: int) -> None:
        if any(0 < place < end and self._window.bytes.startswith(_WARC, place) for place in self._window.members):
            raise _Wrong("another record begins inside of it", head)

    def _stop(self, end: int, head: int) -> int:
        """Return where the blank lines after the block end: there are two, or a record or nothing follows."""
        window = self._window
        stop = end
        while window.goes_on(stop) and window.bytes[stop] in b"\r\n":
            stop += 1
        if stop - end >= len(_BLANK_LINES) or not window.goes_on(stop):
            return stop
        if window.has(stop + len(_WARC)) and not window.bytes.startswith(_WARC, stop):
            raise _Wrong("its length is wrong, no record follows it", head)
        return stop

    def _long(self, head: int, end: int) -> WarcRecord:
        """Drop a record that is too long to be held; if another one begins inside it, its length is damaged."""
        window = self._window
        window.has(min(head + _KEPT_BYTES, end))
        beginning = bytes(window.bytes[: min(head + _KEPT_BYTES, end)])
        while (found := _START.search(window.bytes, 1, end)) is None and len(window.bytes) < end:
            passed = max(len(window.bytes) - _START_BYTES, 0)
            window.drop(passed)
            end -= passed
            if not window.pull():
                raise _Wrong("the file ends inside of it", len(window.bytes))
        if found is not None:
            raise _Wrong("another record begins inside of it", found.start())
        stop = self._stop(end, end)
        window.drop(stop)
        return WarcRecord(self._number, self._headers, beginning[head:], beginning, is_long=True)

    def _find_start(self, start: int) -> str | None:
        """Move to the next beginning of a record, or to the end; return the damage met before another member."""
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
            except Lost as lost:
                if window.members:
                    self._damage = lost
                    return cause
                cause = str(lost)
                window.clear()


def _differs(block: bytes, digest: str | None) -> bool:
    """Tell whether a digest such as ``sha1:2Z6X…`` contradicts a block; an unknown kind does not."""
    name, _, value = (digest or "").partition(":")
    if name.lower() not in _DIGESTS or not value:
        return False
    found = _DIGESTS[name.lower()](block).digest()
    return value.strip().upper() not in (base64.b32encode(found).decode().rstrip("="), found.hex().upper())


_HTML = frozenset({"text/html", "application/xhtml+xml"})
_PLAIN = frozenset({"text/plain"})
_HOLDS_CONTENT = frozenset({"response", "resource", "conversion"})
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})\b")
_LOOKS_LIKE_HTML = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
_HTTP_HEAD_BYTES = 64 << 10


def read_warc(source: Source, options: InputOptions, progress: Progress) -> Iterator[Page | Reject]:
    """Read a crawler's file: WARC of pages, WET of their texts; gzip a record or as a whole, Zstandard, or neither.

    A URL that was captured twice comes twice with one id, and what reads treats it as any repeated id: `dedup` and
    `load` refuse the later captures, `add` and the index keep the last one, `claim` gives it the first one's decision
    if the text is the same.
    """
    stream = open_chunks(source, options, progress)
    limit = min(PAGE_BYTES + _HTTP_HEAD_BYTES, options.record_bytes)
    found = pieces(stream.blocks, options.block_bytes, named_gzip=source.compression == "gz")
    record = None
    for record in warc_records(found, limit):
        place = Place(source.name, record.number)
        if isinstance(record, Broken):
            yield Reject(place, f"the record is damaged: {record.reason}", record.raw, _url(record.headers) or None)
            continue
        page = _page(record, place, options)
        if isinstance(page, str):
            progress.skipped[page] += 1
        else:
            yield page
    fault = stream.fault
    if fault is None and record is None and source.compression is not None:
        fault = "the file is empty: was it fetched whole?"
    if fault is not None:
        yield Reject(Place(source.name, 0), fault, b"", source.id)


def _url(headers: StatusAndHeaders | None) -> str:
    return bare(headers.get_header("WARC-Target-URI") or "") if headers is not None else ""


class _Body(NamedTuple):
    """What a record holds of a page."""

    content: bytes
    content_type: str
    codings: tuple[str, ...] = ()


def _page(record: WarcRecord, place: Place, options: InputOptions) -> Page | Reject | str:
    """Return the page of a record, or the kind of a record without a page."""
    kind = (record.headers.get_header("WARC-Type") or "without a type").lower()
    content_type = record.headers.get_header("Content-Type") or ""
    body: _Body | str | None = f"{kind} record"
    if kind == "response" and content_type.lower().startswith("application/http"):
        body = _answer(record.block)
    elif kind in _HOLDS_CONTENT:
        body = _Body(record.block, content_type)
    if body is None:
        return Reject(place, "the record is not an HTTP response", record.raw, _url(record.headers) or None)
    return body if isinstance(body, str) else _page_of(body, record, place, options)


def _answer(block: bytes) -> _Body | str | None:
    status = _STATUS.match(block)
    if status is None:
        return None
    if not status[1].startswith(b"2"):
        return f"status {status[1].decode()}"
    start = head_bytes(block)
    http = head_of(block[:start])
    codings = ",".join(http.get_header(name) or "" for name in ("Content-Encoding", "Transfer-Encoding"))
    names = tuple(name.strip().lower() for name in codings.split(",") if name.strip())
    return _Body(block[start:], http.get_header("Content-Type") or "", names)


def _page_of(body: _Body, record: WarcRecord, place: Place, options: InputOptions) -> Page | Reject | str:
    identified = record.headers.get_header("WARC-Identified-Payload-Type") or body.content_type
    media = identified.partition(";")[0].strip().lower()
    is_html = media in _HTML or (not media and _LOOKS_LIKE_HTML.match(body.content) is not None)
    if not is_html and media not in _PLAIN:
        return f"content of type {media}" if media else "content without a type"
    url = _url(record.headers) or str(place)
    if record.is_long:
        return Reject(place, f"the page is longer than {PAGE_BYTES:,} bytes", record.raw, url)
    try:
        # Here, not in the workers: a chunk would hold a thousand small pages, each of which may unpack to megabytes.
        content = undo(body.content, body.codings, PAGE_BYTES)
    except InvalidInput as error:
        return Reject(place, str(error), record.raw, url)
    return Page(
        id=url,
        content=content,
        options=options,
        place=place,
        raw=record.raw if options.keep_raw else None,
        html=is_html,
        content_type=body.content_type,
        metadata={"time": record.headers.get_header("WARC-Date") or ""},
    )
