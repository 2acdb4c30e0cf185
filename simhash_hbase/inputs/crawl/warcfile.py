"""WARC and WET as crawlers write them: a document for each answer that is a page."""

import re
from collections.abc import Iterator
from typing import NamedTuple

# Imported here so that a missing package is reported before anything is read, that of crawls first: its extra has both.
import simhash_hbase.inputs.crawl.codings
import simhash_hbase.inputs.page.charset
import simhash_hbase.inputs.page.maintext  # noqa: F401
from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.crawl.codings import undo
from simhash_hbase.inputs.crawl.members import pieces
from simhash_hbase.inputs.crawl.warcrecords import (
    Broken,
    StatusAndHeaders,
    WarcRecord,
    bare,
    head_bytes,
    head_of,
    warc_records,
)
from simhash_hbase.inputs.folders import Source
from simhash_hbase.inputs.options import InputOptions
from simhash_hbase.inputs.page.extract import PAGE_BYTES
from simhash_hbase.inputs.records import Page, Place, Reject
from simhash_hbase.inputs.stream.streams import Progress, open_chunks

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
