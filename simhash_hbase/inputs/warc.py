"""Reader of crawlers' WARC and WET files, with HTTP's codings undone, and writer of records for dropped duplicates."""

import hashlib
import re
import zlib
from base64 import b32encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from uuid import NAMESPACE_URL, uuid5

from simhash_hbase.errors import InvalidInput, missing_extra
from simhash_hbase.inputs.compression import gunzip, take_all, unzstd
from simhash_hbase.inputs.encodings import is_text
from simhash_hbase.inputs.options import PAGE_BYTES, InputOptions
from simhash_hbase.inputs.records import Page, Place, Reject, id_in_file
from simhash_hbase.inputs.streams import PAGE_START, ReadRequest, open_bytes
from simhash_hbase.inputs.warcsplit import Broken, WarcRecord, field, head_bytes, head_of, pieces, warc_records

try:
    import brotli
    from warcio.warcwriter import WARCWriter
except ImportError as error:
    raise missing_extra("WARC files need warcio and brotli", "warc") from error

# A missing extra is reported before anything is read, that of crawls first: it has both.
import simhash_hbase.inputs.html  # noqa: F401

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_PLAIN = frozenset({"text/plain"})
_HOLDS_CONTENT = frozenset({"response", "resource", "conversion"})
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})\b")
_HTTP_HEAD_BYTES = 64 << 10
_CODING_HEADERS = ("content-encoding", "transfer-encoding")  # In the order in which a server codes.


def read_warc(request: ReadRequest) -> Iterator[Page | Reject]:
    """Yield the pages in a crawler's file, a WARC of web pages or a WET of texts, compressed or not.

    It may be gzip, by record or whole, or Zstandard. A URL that was captured twice comes twice with one id, and is
    treated as any repeated id: `dedup` and `load` refuse the later captures, `add` and the index keep the last one,
    `claim` gives it the first one's decision if the text is the same.
    """
    source, options = request.source, request.options
    stream = open_bytes(request, decompress=False)
    limit = min(PAGE_BYTES + _HTTP_HEAD_BYTES, options.record_bytes)
    crawl = pieces(stream.blocks, options.block_bytes, named_gzip=source.compression == "gz")
    record = None
    for record in warc_records(crawl, limit):
        place = Place(source.name, record.number)
        if isinstance(record, Broken):
            yield Reject(
                place,
                f"the record is damaged: {record.reason}",
                record.raw,
                field(record.headers, "Target-URI") or None,
            )
            continue
        page = _page(record, place, options)
        if isinstance(page, str):
            request.progress.skipped[page] += 1
        else:
            if reason := field(record.headers, "Truncated"):
                request.progress.truncated[reason] += 1
            yield page
    fault = stream.fault
    if fault is None and record is None and source.compression is not None:
        fault = "the file is empty: was it fetched whole?"
    if fault is not None:
        yield Reject(Place(source.name, 0), fault, b"", source.id)


_Body = tuple[bytes, str, tuple[str, ...]]  # The content, the content type and the codings of a record's page.


def _page(record: WarcRecord, place: Place, options: InputOptions) -> Page | Reject | str:
    """Return the page in a WARC record, or its refusal.

    For a record without a page return a string that names the kind of the record, to be counted.
    """
    kind = (record.headers.get_header("WARC-Type") or "without a type").lower()
    content_type = record.headers.get_header("Content-Type") or ""
    body: _Body | str | None = f"{kind} record"
    if kind == "response" and content_type.lower().startswith("application/http"):
        body = _answer(record.block)
    elif kind in _HOLDS_CONTENT:
        body = record.block, content_type, ()
    if body is None:
        return Reject(
            place, "the record is not an HTTP response", record.raw, field(record.headers, "Target-URI") or None
        )
    if isinstance(body, str):
        return body
    content, content_type, codings = body
    identified = record.headers.get_header("WARC-Identified-Payload-Type") or content_type
    # Some servers name it twice, or in quotes.
    media = re.split("[;,]", identified, maxsplit=1)[0].strip(" \t\"'").lower()
    is_html = media in _HTML or (not media and PAGE_START.match(content) is not None)
    if not is_html and media not in _PLAIN:
        return f"content of type {media}" if media else "content without a type"
    address = field(record.headers, "Target-URI")
    url = id_in_file(address, place, options.id_prefix) if address else str(place)
    fault = f"the page is longer than {PAGE_BYTES:,} bytes" if record.is_long else None
    if record.headers.get_header("WARC-Segment-Number"):
        fault = "the record is cut into segments, which are not put together"
    if fault is not None:
        return Reject(place, fault, record.raw, url)
    try:
        # Here, not in the workers: a chunk would hold a thousand small pages, each of which may unpack to megabytes.
        content = undo(content, codings)
    except InvalidInput as error:
        return Reject(place, str(error), record.raw, url)
    return Page(
        id=url,
        content=content,
        options=options,
        place=place,
        raw=record.raw if options.keep_raw else None,
        html=is_html,
        content_type=content_type,
        metadata={"time": record.headers.get_header("WARC-Date") or ""},
    )


def _answer(block: bytes) -> _Body | str | None:
    """Return the body of an HTTP response with its content type and codings.

    For a status that is no success return ``status`` with its number, and None where the block is no HTTP response.
    """
    status = _STATUS.match(block)
    if status is None:
        return None
    if not status[1].startswith(b"2"):
        return f"status {status[1].decode()}"
    start = head_bytes(block)
    http = head_of(block[:start])
    values = (value for header in _CODING_HEADERS for name, value in http.headers if name.lower() == header)
    # Without parameters, such as those of ``gzip;q=1.0``, and quotes.
    names = (name.partition(";")[0].strip(" \t\"'").lower() for name in ",".join(values).split(","))
    return block[start:], http.get_header("Content-Type") or "", tuple(filter(None, names))


_BLOCK_BYTES = 1 << 16


def _inflate(content: bytes) -> Iterator[bytes]:
    """Yield the decompressed content of a page in HTTP's coding ``deflate``, with zlib's header or without."""
    inflate = zlib.decompressobj()
    try:
        try:
            page = inflate.decompress(content, PAGE_BYTES + 1)
        except zlib.error:
            inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            page = inflate.decompress(content, PAGE_BYTES + 1)
    except zlib.error as error:
        raise InvalidInput("the page's deflate data is damaged") from error
    yield page
    if not inflate.eof:
        raise InvalidInput("the page's deflate data is cut off")


def _unbrotli(content: bytes) -> Iterator[bytes]:
    decompressor = brotli.Decompressor()
    try:
        block = decompressor.process(content, output_buffer_limit=_BLOCK_BYTES)
        while block:
            yield block
            block = decompressor.process(b"", output_buffer_limit=_BLOCK_BYTES)
    except brotli.error as error:
        raise InvalidInput("the page's brotli data is damaged") from error
    if not decompressor.is_finished():
        raise InvalidInput("the page's brotli data is cut off")


_CHUNK = re.compile(rb"(?:\r?\n)?([0-9a-fA-F]{1,16})[ \t]*(?:;[^\r\n]*)?\r?\n")


def _unchunk(content: bytes) -> Iterator[bytes]:
    """Yield the content of a body in HTTP's chunked coding; a body that is not in chunks is yielded as it is."""
    place = 0
    while chunk := _CHUNK.match(content, place):
        start, size = chunk.end(), int(chunk[1], 16)
        stop = start + size
        if size == 0:
            return
        if place == 0 and content[stop : stop + 1] not in (b"", b"\r", b"\n"):
            break
        yield content[start:stop]
        place = stop
    if place:
        raise InvalidInput("the page's chunks are damaged or cut off")
    yield content


_Decode = Callable[[bytes], Iterable[bytes]]
_BY_FIRST_BYTES: dict[bytes, _Decode] = {
    b"\x1f\x8b": lambda content: gunzip((content,), _BLOCK_BYTES),
    b"\x28\xb5\x2f\xfd": lambda content: unzstd((content,)),
}
_BY_NAME: dict[str, _Decode] = {"deflate": _inflate, "br": _unbrotli}
_OTHER_CODINGS = frozenset({"gzip", "x-gzip", "zstd", "identity"})
_NOT_ASCII = bytes(range(0x80, 0x100))


def undo(content: bytes, codings: Sequence[str]) -> bytes:
    r"""Return a page with HTTP's content and transfer codings, such as gzip and chunks, undone.

    Servers name codings in which the page is not, and words that are no codings, such as ``utf-8``. So the page's bytes
    decide: gzip and Zstandard are undone under the name of any coding, and text is returned as it is.

    Raises
    ------
    InvalidInput
        When a coding is damaged, or the bytes are neither in a known coding nor text.

    Examples
    --------
    >>> undo(b"5\r\nhello\r\n0\r\n\r\n", ["chunked"]), undo(b"<p>", ["gzip"]), undo(b"<p>", ["utf-8"])
    (b'hello', b'<p>', b'<p>')
    """
    damage = unknown = ""
    for coding in reversed(codings):
        by_bytes = (decode for beginning, decode in _BY_FIRST_BYTES.items() if content.startswith(beginning))
        decode = _unchunk if coding == "chunked" else next(by_bytes, _BY_NAME.get(coding))
        if decode is None:
            cause = "which it is not" if coding in _OTHER_CODINGS else "which is unknown"
            unknown = unknown or f"the header says that the page is coded as {coding}, {cause}"
            continue
        try:
            decoded, is_whole = take_all(decode(content), PAGE_BYTES)
        except InvalidInput as error:
            if coding == "chunked":
                raise
            damage = damage or str(error)
            continue
        if not is_whole:
            raise InvalidInput(f"the page is longer than {PAGE_BYTES:,} bytes")
        content = decoded
    # A text without any ASCII is rarer than damage.
    is_plain = is_text(content) and (not damage or bool(content.strip(_NOT_ASCII)))
    if not is_plain and (damage or unknown):
        raise InvalidInput(damage or unknown)
    return content


class Captures:
    """Makes the WARC records that replace dropped captures of pages, and remembers the kept captures to refer to.

    A capture is the record of one fetched page. Each kept one takes about 300 bytes of memory.
    """

    def __init__(self) -> None:
        self._kept: dict[bytes, tuple[str, str, str]] = {}  # Digest, URL and date of the capture to refer to.

    def keep(self, raw: bytes) -> None:
        """Remember the body (payload) of a record that is kept, so that `reference` can refer to it."""
        record, payload = _capture(raw)
        if payload is not None:
            # The crawler's own digest, by which tools find the capture; else one of the same form.
            own = f"sha1:{b32encode(hashlib.sha1(payload).digest()).decode()}"
            digest = field(record.headers, "Payload-Digest") or own
            kept = digest, field(record.headers, "Target-URI"), field(record.headers, "Date")
            self._kept.setdefault(hashlib.sha256(payload).digest(), kept)

    def reference(self, raw: bytes, fields: Mapping[str, object]) -> bytes:
        """Return the bytes of a WARC record that replaces a dropped one.

        It is a revisit record if a record with the same body was kept, else a metadata record with these `fields`.
        """
        record, payload = _capture(raw)
        kept = None if payload is None else self._kept.get(hashlib.sha256(payload).digest())
        # The same input makes the same bytes, so the id is made of the record's own.
        url, known = field(record.headers, "Target-URI"), field(record.headers, "Record-ID")
        headers = {
            "WARC-Record-ID": f"<urn:uuid:{uuid5(NAMESPACE_URL, f'{known} {url}')}>",
            "WARC-Date": field(record.headers, "Date"),
        }
        file = BytesIO()
        writer = WARCWriter(file, gzip=False, warc_version="1.1")
        if kept is not None:
            http = head_of(record.block[: head_bytes(record.block)])
            reference = writer.create_revisit_record(url, *kept, http_headers=http, warc_headers_dict=headers)
        else:
            # A value, such as an id of an index, does not end its field; as in addresses.
            values = {
                name: str(value).replace("\r", "%0D").replace("\n", "%0A")
                for name, value in fields.items()
                if value is not None
            }
            lines = "".join(f"{name}: {value}\r\n" for name, value in values.items()).encode()
            reference = writer.create_warc_record(
                url,
                "metadata",
                payload=BytesIO(lines),
                length=len(lines),
                warc_content_type="application/warc-fields",
                warc_headers_dict=headers | ({"WARC-Refers-To": f"<{known}>"} if known else {}),
            )
        writer.write_record(reference)
        return file.getvalue()


def _capture(raw: bytes) -> tuple[WarcRecord, bytes | None]:
    """Return the WARC record in some bytes, and the body of its HTTP response as sent; None if it has no response."""
    record = next(warc_records(pieces((raw,), 1 << 20, named_gzip=False), len(raw) << 10))
    if not isinstance(record, WarcRecord):
        raise InvalidInput(f"a record that was read before is damaged now: {record.reason}")
    media = record.headers.get_header("Content-Type", "").lower()
    if field(record.headers, "Type") != "response" or not media.startswith("application/http"):
        return record, None
    return record, record.block[head_bytes(record.block) :]
