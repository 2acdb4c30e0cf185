"""HTTP's content and transfer codings, undone."""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO

from simhash_hbase.errors import InvalidInput, missing_extra
from simhash_hbase.inputs.streams import gunzip, unzstd

try:
    import brotli
    from warcio.bufferedreaders import ChunkedDataException, ChunkedDataReader
except ImportError as error:
    raise missing_extra("WARC files need warcio and brotli", "warc") from error


_FIRST_CHUNK = re.compile(rb"[0-9a-fA-F]{1,16}[ \t]*(;[^\r\n]*)?\r\n")
_BLOCK_BYTES = 1 << 16
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


def undo(content: bytes, codings: Sequence[str], limit: int) -> bytes:
    r"""Return a page as it was before HTTP's codings.

    Examples
    --------
    >>> undo(b"5\r\nhello\r\n0\r\n\r\n", ["chunked"], 100), undo(b"<p>", ["gzip"], 100)
    (b'hello', b'<p>')
    """
    for coding in reversed(codings):
        if coding in ("identity", ""):
            continue
        if coding not in _UNDO:
            raise InvalidInput(f"the page is coded as {coding}, which is unknown")
        content = _UNDO[coding](content, limit)
    return content


def _unchunked(content: bytes, limit: int) -> bytes:
    if not _FIRST_CHUNK.match(content):
        return content
    try:
        found: bytes = ChunkedDataReader(BytesIO(content), raise_exceptions=True).read()
    except (ChunkedDataException, AssertionError) as error:
        raise InvalidInput("the page's chunks are damaged or cut off") from error
    return found


def _of_gzip(content: bytes, limit: int) -> bytes:
    return _joined(gunzip((content,), _BLOCK_BYTES), limit) if content.startswith(_GZIP) else content


def _of_zstd(content: bytes, limit: int) -> bytes:
    return _joined(unzstd((content,), _BLOCK_BYTES), limit) if content.startswith(_ZSTD) else content


def _of_deflate(content: bytes, limit: int) -> bytes:
    # The name stands for zlib's form; some servers send the bare one.
    for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        inflate = zlib.decompressobj(wbits)
        try:
            found = inflate.decompress(content, limit + 1)
        except zlib.error:
            continue
        if not inflate.eof and len(found) <= limit:
            raise InvalidInput("the page's deflate data is cut off")
        return _joined((found,), limit)
    return _unless_text(content, "deflate")


def _of_brotli(content: bytes, limit: int) -> bytes:
    decompressor = brotli.Decompressor()
    try:
        found = _joined(_brotli_blocks(decompressor, content), limit)
    except brotli.error:
        return _unless_text(content, "brotli")
    if not decompressor.is_finished():
        raise InvalidInput("the page's brotli data is cut off")
    return found


def _brotli_blocks(decompressor: brotli.Decompressor, content: bytes) -> Iterator[bytes]:
    block = decompressor.process(content, output_buffer_limit=_BLOCK_BYTES)
    while block:
        yield block
        block = decompressor.process(b"", output_buffer_limit=_BLOCK_BYTES)


def _unless_text(content: bytes, coding: str) -> bytes:
    """Return a page that is not coded although its header says so."""
    if content.lstrip()[:1] == b"<":
        return content
    raise InvalidInput(f"the page's {coding} data is damaged")


def _joined(blocks: Iterable[bytes], limit: int) -> bytes:
    pieces, held = [], 0
    for block in blocks:
        pieces.append(block)
        held += len(block)
        if held > limit:
            raise InvalidInput(f"the page is longer than {limit:,} bytes")
    return b"".join(pieces)


_UNDO: dict[str, Callable[[bytes, int], bytes]] = {
    "chunked": _unchunked,
    "gzip": _of_gzip,
    "x-gzip": _of_gzip,
    "deflate": _of_deflate,
    "br": _of_brotli,
    "zstd": _of_zstd,
}
