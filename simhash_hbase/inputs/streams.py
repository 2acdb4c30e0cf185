"""Streams: the bytes of a source, decompressed and decoded, and their lines."""

import codecs
import re
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidInput
from simhash_hbase.files.remote import chunks, is_remote
from simhash_hbase.inputs.compression import GZIP_MAGIC, ZSTD_FRAME, gunzip, unzstd
from simhash_hbase.inputs.encodings import AUTO, MARK_BYTES, UTF8, WIDE, byte_order_mark, checked_codec, detect
from simhash_hbase.inputs.options import RAISE, InputOptions
from simhash_hbase.inputs.records import Place
from simhash_hbase.inputs.sources import FileChanged, Part, Source, is_open_file

# Lone surrogates pass in both directions: they are refused with their line, not with the file,
# and the line's own bytes come back exactly.
_ERRORS = "surrogatepass"


def to_utf8(blocks: Iterable[bytes], codec: str) -> Iterator[bytes]:
    """Yield blocks of text converted from a codec to UTF-8; a block may end inside a character."""
    decoder = codecs.getincrementaldecoder(codec)(_ERRORS)
    try:
        for block in blocks:
            if text := decoder.decode(block).encode("utf-8", _ERRORS):
                yield text
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the bytes stop being {codec}") from error
    if decoder.getstate()[0]:
        raise InvalidInput(f"the file ends inside a character of {codec}")


SAMPLE_BYTES = 64 << 10
BINARY_BYTES = 512
NUL_SHARE = 0.05  # More of them are no text.
_BINARY = "the file looks binary: it has NUL bytes at its beginning"


class Progress:
    """Counts that readers keep, such as the bytes read, for a progress bar; and the first record without an id."""

    def __init__(self) -> None:
        self.bytes_read = 0
        self.skipped: Counter[str] = Counter()  # Records of crawls that are no pages, by their kind.
        self.truncated: Counter[str] = Counter()  # Pages of which a crawler has only the beginning, by its reason.
        self.unnamed: Place | None = None  # First document whose id is its file and line, with `lasting` ids alone.
        self.unnamed_has_fields = True  # Whether its format has fields, of which one may be the id.
        self.line_ends: list[NDArray[np.int64]] = []  # Where the line ends of a part are in its file.

    def taken(self) -> "Progress":
        """Return the counts since the last call of this method, and set them to zero."""
        new = Progress()
        new.add(self)
        self.bytes_read, self.unnamed = 0, None
        self.skipped.clear()
        self.truncated.clear()
        self.line_ends.clear()
        return new

    def add(self, later: "Progress") -> None:
        """Add the counts of another reader, which has read a later part of the input."""
        self.bytes_read += later.bytes_read
        self.skipped += later.skipped
        self.truncated += later.truncated
        if self.unnamed is None:
            self.unnamed, self.unnamed_has_fields = later.unnamed, later.unnamed_has_fields


@dataclass(frozen=True)
class ReadRequest:
    """The arguments of a reader: one source (or a part of it), the options, and the progress counter to update."""

    source: Source
    options: InputOptions
    progress: Progress = field(default_factory=Progress)
    part: Part | None = None  # The stretch of the source that is read; None: all.

    def chunks(self) -> Generator[bytes, None, None]:
        """Yield the bytes of the source as stored, not decompressed, and count them in `progress`."""
        path, block_bytes = self.source.path, self.options.block_bytes
        with ExitStack() as stack:
            if self.part is not None:
                arriving = self._range(self.part)
            elif path is not None and is_remote(path):
                arriving = chunks(path, block_bytes)
            else:
                file = sys.stdin.buffer if path is None else stack.enter_context(open(path, "rb", buffering=0))
                # read1 returns what a pipe has, so that documents of a slow producer are not held back.
                read = getattr(file, "read1", file.read)
                arriving = iter(lambda: read(block_bytes) or b"", b"")
            for chunk in arriving:
                self.progress.bytes_read += len(chunk)
                yield chunk

    def _range(self, part: Part) -> Iterator[bytes]:
        """Yield the bytes of a part of a file; if raw records are kept, note where its lines end in `progress`."""
        at, stop = part.start, part.stop or part.start
        if part.line == 1:
            self.progress.bytes_read += at  # The byte order mark, which the division has read.
        with part.opened() as file:
            file.seek(at)
            while at < stop:
                if not (block := file.read(min(self.options.block_bytes, stop - at))):
                    raise FileChanged.of(self.source.name)
                if self.options.keep_raw:
                    self.progress.line_ends.append(np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + at)
                at += len(block)
                yield block

    def blocks(self) -> Generator[bytes, None, None]:
        """Yield the bytes of the source, decompressed if the suffix of its name says that it is compressed."""
        match self.source.compression:
            case "gz":
                return gunzip(self.chunks(), self.options.block_bytes)
            case "zst":
                return unzstd(self.chunks())
        return self.chunks()


@dataclass(slots=True)
class Ending:
    """The end of a stream's blocks: `fault` is the reason why it comes before the end of the file, else None.

    The generator of the blocks knows this alone, not the `Stream`. So a stream that is dropped closes its file at once;
    in a cycle of references it would stay open until Python's garbage collector runs.
    """

    fault: str | None = None


@dataclass(slots=True)
class Stream:
    """The decompressed bytes of a source, in blocks.

    UTF-16 and UTF-32 are converted to UTF-8, so that every line ends at the byte 0x0A.
    """

    blocks: Iterator[bytes]  # A fault ends them early.
    ending: Ending = field(default_factory=Ending)
    encoding: str = UTF8  # Encoding of the file.
    mark: bytes = b""  # The byte order mark before the blocks.

    @property
    def fault(self) -> str | None:
        """The reason why the blocks end before the file does; known after the last one."""
        return self.ending.fault

    @property
    def codec(self) -> str:
        """The codec in which the blocks are: UTF-8 where the file is in UTF-16 or UTF-32."""
        return codec_of(self.encoding)


def codec_of(encoding: str) -> str:
    """Return the codec in which a stream yields its blocks: UTF-8 for files in UTF-16 or UTF-32, else `encoding`."""
    return UTF8 if encoding in WIDE else encoding


def original(piece: bytes, encoding: str) -> bytes:
    """Return a piece of a stream as its bytes were in the file, which has this encoding.

    A stream converts UTF-16 and UTF-32 to UTF-8; this converts back. A character that is cut at the end is left out.
    """
    if encoding not in WIDE:
        return piece
    decoder = codecs.getincrementaldecoder("utf-8")(_ERRORS)
    return decoder.decode(piece).encode(encoding, _ERRORS)


def open_bytes(request: ReadRequest, *, decompress: bool = True) -> Stream:
    """Return a stream of a source's bytes without decoding of characters; `decompress` False leaves them compressed."""
    opened = Stream(iter(()))
    opened.blocks = _until_fault(request.blocks() if decompress else request.chunks(), opened.ending)
    return opened


def open_stream(request: ReadRequest, opened: Iterator[bytes] | None = None) -> Stream | str:
    """Return a stream of a source's text, or the reason (a string) to refuse it, if its beginning shows one.

    A caller that reads only the beginning passes as `opened` the blocks of the request, and closes them itself.
    """
    stream, encoding = Stream(iter(())), request.options.encoding
    if request.part is not None:
        stream.encoding, stream.blocks = request.part.encoding, _until_fault(request.chunks(), stream.ending)
        return stream
    blocks = _until_fault(request.blocks() if opened is None else opened, stream.ending)
    head = b""
    for block in blocks:
        head += block
        if len(head) >= (SAMPLE_BYTES if encoding == AUTO else MARK_BYTES):
            break
    if not head and stream.fault is not None:
        return stream.fault
    mark = byte_order_mark(head)
    named = detect(head[:SAMPLE_BYTES]) if encoding == AUTO else checked_codec(encoding)
    stream.encoding, skip = mark or (named, 0)
    sniffed, name = head[:BINARY_BYTES], request.source.name
    if stream.encoding not in WIDE and (fault := _binary_fault(sniffed, stream.encoding, name)):
        return fault
    stream.mark = head[:skip]
    stream.blocks = chain((head[skip:],), blocks)
    if stream.encoding in WIDE:
        stream.blocks = _until_fault(to_utf8(stream.blocks, stream.encoding), stream.ending)
    return stream


_MAGIC = {GZIP_MAGIC: "gzip", b"\xfd7zXZ\0": "xz", b"BZh": "bzip2", b"PK\3\4": "zip"}
_NAMES = {"gzip": ".gz", "zstd": ".zst"}
_COMMANDS = {"gzip": "gzip -dc", "zstd": "zstd -dc", "bzip2": "bzip2 -dc", "xz": "xz -dc"}


PAGE_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:(?><!--.*?-->)\s*+|<\?xml\b[^>]*+>\s*+)*+<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
"""The beginning of a web page that says so; what has matched is not tried again, so that comments take linear time."""


def packed_fault(head: bytes, name: str) -> str | None:
    """Return the reason to refuse a file that is compressed without a suffix such as ``.gz`` in its name; else None.

    `head` is the beginning of its content.
    """
    packer = "zstd" if ZSTD_FRAME.match(head) else None
    packer = packer or next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    is_text = packer == "bzip2" and not any(byte > 127 or byte == 0 for byte in head)  # noqa: PLR2004 - ASCII
    if packer is None or is_text:
        return None
    if is_open_file(name) and packer in _COMMANDS:
        return f"the content is compressed by {packer}: pass what `{_COMMANDS[packer]}` makes of it"
    advice = f"add {_NAMES[packer]} to its name, or " if packer in _NAMES else ""
    return f"the content is compressed by {packer}: {advice}decompress it first"


def _binary_fault(head: bytes, codec: str, name: str) -> str | None:
    """Return the reason to refuse a file whose beginning, `head`, shows that it is binary; else None.

    A single NUL in a text is no such reason: it costs only its own line.
    """
    if fault := packed_fault(head, name):
        return fault
    nuls = head.count(0)
    is_binary = nuls > NUL_SHARE * len(head)
    if nuls and not is_binary:
        try:
            codecs.getincrementaldecoder(codec)().decode(head)
        except UnicodeDecodeError:
            is_binary = True
    if not is_binary:
        return None
    # A file that is half zeros, as ASCII is in UTF-16.
    for wide, zeros, others in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if zeros.count(0) > len(zeros) // 2 and not others.count(0):
            return f"{_BINARY}; if it is {wide} without a byte order mark, give `encoding={wide}`"
    return _BINARY


def _until_fault(blocks: Iterable[bytes], ending: Ending) -> Iterator[bytes]:
    try:
        yield from blocks
    except FileChanged:
        raise  # Other parts may be of the file as it was before, so this is the end of the run.
    except InvalidInput as error:
        ending.fault = str(error)
    except OSError as error:
        ending.fault = f"reading stopped: {error.strerror or error}"


class LineRun(NamedTuple):
    """Whole lines of a file that follow each other, without their ends; or a single line that is not whole."""

    first: int  # The number of the first line.
    lines: list[bytes]
    fault: str | None = None  # The reason why the line is not whole.


def line_runs(stream: Stream, max_bytes: int, first: int = 1, *, returns: bool = False) -> Iterator[LineRun]:
    r"""Yield the lines of a stream, numbered from `first` on, in runs: mostly all lines of a block.

    Of a line longer than `max_bytes` the beginning is yielded. The line ends ``\n`` and ``\r\n`` are removed, but with
    `returns` the ``\r`` stays. U+2028, U+0085 and a lone ``\r`` end no line.
    """
    number = first
    pieces: list[bytes] = []  # The beginning of a line whose end has not come yet.
    size, skipping = 0, False
    for block in stream.blocks:
        *lines, rest = block.split(b"\n")
        if lines:
            if skipping:
                del lines[0]
                number += 1
            elif pieces:
                lines[0] = b"".join((*pieces, lines[0]))
            yield from _bounded(number, lines, max_bytes, returns=returns)
            number += len(lines)
            pieces, size, skipping = [], 0, False
        if not skipping:
            pieces.append(rest)
            size += len(rest)
        # A byte more may be the \r of a line that just fits.
        if size > max_bytes + 1:
            yield from _bounded(number, [b"".join(pieces)], max_bytes, returns=returns)
            pieces, size, skipping = [], 0, True
    rest = b"".join(pieces)
    if stream.fault is not None:
        yield LineRun(number, [rest], stream.fault)
    elif rest:
        yield from _bounded(number, [rest], max_bytes, returns=returns)


def _bounded(first: int, lines: list[bytes], max_bytes: int, *, returns: bool) -> Iterator[LineRun]:
    """Yield lines that follow each other in one run; or each in its own, where one is longer than `max_bytes`."""
    bare = [line.removesuffix(b"\r") for line in lines]
    shown = lines if returns else bare
    if max(map(len, bare), default=0) <= max_bytes:
        yield LineRun(first, shown)
        return
    fault = f"the line is longer than {max_bytes:,} bytes; {RAISE}; only its beginning is kept"
    for number, (line, short, whole) in enumerate(zip(lines, bare, shown, strict=True), first):
        is_whole = len(short) <= max_bytes
        yield LineRun(number, [whole]) if is_whole else LineRun(number, [line[:max_bytes]], fault)
