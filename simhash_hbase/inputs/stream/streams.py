"""A source's bytes as a stream: opened, counted, decompressed, its encoding known."""

import codecs
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

from simhash_hbase.errors import InvalidInput
from simhash_hbase.files.remote import chunks, is_remote
from simhash_hbase.inputs.encodings import AUTO, MARK_BYTES, UTF8, WIDE, byte_order_mark, checked_codec
from simhash_hbase.inputs.folders import Source
from simhash_hbase.inputs.options import InputOptions
from simhash_hbase.inputs.stream.decompress import gunzip, unzstd
from simhash_hbase.inputs.stream.detect import detect
from simhash_hbase.inputs.stream.wide import from_utf8, to_utf8

SAMPLE_BYTES = 64 << 10
_BINARY_BYTES = 512
_NUL_SHARE = 0.05
_BINARY = "the file looks binary: it has NUL bytes at its beginning"
_DECOMPRESSORS = {"gz": gunzip, "zst": unzstd}


class Progress:
    """The progress of reading; for a bar against `total_bytes`."""

    def __init__(self) -> None:
        self.bytes_read = 0
        self.file = ""
        self.skipped: Counter[str] = Counter()


@dataclass(slots=True)
class Bytes:
    """Decompressed bytes of a source."""

    blocks: Iterator[bytes]  # A fault ends them early.
    fault: str | None = None  # Why the blocks end before the file does; known after the last one.


@dataclass(slots=True)
class Stream(Bytes):
    """Decompressed bytes whose lines end at the byte 0x0A; wide codecs are recoded to UTF-8."""

    codec: str = UTF8
    encoding: str = UTF8
    mark: bytes = b""  # The byte order mark before the blocks.

    def original(self, piece: bytes) -> bytes:
        """Return a piece of ``blocks`` as it is in the file."""
        return from_utf8(piece, self.encoding) if self.encoding in WIDE else piece


def take_all(blocks: Iterable[bytes], limit: int) -> tuple[bytes, bool]:
    """Join the blocks; return their first ``limit`` bytes, and whether that is all."""
    pieces, held = [], 0
    for block in blocks:
        pieces.append(block)
        held += len(block)
        if held > limit:
            return b"".join(pieces)[:limit], False
    return b"".join(pieces), True


def open_bytes(source: Source, options: InputOptions, progress: Progress) -> Bytes:
    """Open a source as it is, decompressed but not decoded; parameters as of `open_stream`."""
    found = Bytes(iter(()))
    found.blocks = _until_fault(_blocks(source, options, progress), found)
    return found


def open_chunks(source: Source, options: InputOptions, progress: Progress) -> Bytes:
    """Open a source as it is, not even decompressed; parameters as of `open_stream`."""
    found = Bytes(iter(()))
    found.blocks = _until_fault(_chunks(source, options, progress), found)
    return found


def open_stream(source: Source, options: InputOptions, progress: Progress) -> Stream | str:
    """Open a source."""
    stream = Stream(iter(()))
    blocks = _until_fault(_blocks(source, options, progress), stream)
    wanted = SAMPLE_BYTES if options.encoding == AUTO else MARK_BYTES
    head = _take(blocks, wanted)
    if not head and stream.fault is not None:
        return stream.fault
    mark = byte_order_mark(head)
    stream.encoding, skip = mark or (_codec(options, head), 0)
    if stream.encoding not in WIDE and _looks_binary(head[:_BINARY_BYTES], stream.encoding):
        return _BINARY + _wide_without_mark(head[:_BINARY_BYTES])
    stream.mark = head[:skip]
    stream.blocks = chain((head[skip:],), blocks)
    stream.codec = stream.encoding
    if stream.encoding in WIDE:
        stream.blocks = _until_fault(to_utf8(stream.blocks, stream.encoding), stream)
        stream.codec = UTF8
    return stream


def _codec(options: InputOptions, head: bytes) -> str:
    return detect(head[:SAMPLE_BYTES]) if options.encoding == AUTO else checked_codec(options.encoding)


def _looks_binary(head: bytes, codec: str) -> bool:
    """Tell a binary file from text with a stray NUL, which costs only its own line."""
    nuls = head.count(0)
    if nuls > _NUL_SHARE * len(head):
        return True
    try:
        codecs.getincrementaldecoder(codec)().decode(head)
    except UnicodeDecodeError:
        return nuls > 0
    return False


def _wide_without_mark(head: bytes) -> str:
    """Name the option for a file that is half zeros, as ASCII is in UTF-16."""
    for codec, zeros, others in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if zeros.count(0) > len(zeros) // 2 and not others.count(0):
            return f"; if it is {codec} without a byte order mark, give --encoding {codec}"
    return ""


def _take(blocks: Iterator[bytes], wanted: int) -> bytes:
    head = b""
    for block in blocks:
        head += block
        if len(head) >= wanted:
            break
    return head


def _until_fault(blocks: Iterable[bytes], stream: Bytes) -> Iterator[bytes]:
    try:
        yield from blocks
    except InvalidInput as error:
        stream.fault = str(error)
    except OSError as error:
        stream.fault = f"reading stopped: {error.strerror or error}"


def _blocks(source: Source, options: InputOptions, progress: Progress) -> Iterator[bytes]:
    chunks = _chunks(source, options, progress)
    if source.compression is None:
        return chunks
    return _DECOMPRESSORS[source.compression](chunks, options.block_bytes)


def _chunks(source: Source, options: InputOptions, progress: Progress) -> Iterator[bytes]:
    progress.file = source.name
    if source.path is None:
        yield from _read(sys.stdin.buffer, options.block_bytes, progress)
        return
    if is_remote(source.path):
        for chunk in chunks(source.path, options.block_bytes):
            progress.bytes_read += len(chunk)
            yield chunk
        return
    with open(source.path, "rb", buffering=0) as file:
        yield from _read(file, options.block_bytes, progress)


def _read(file: BinaryIO, size: int, progress: Progress) -> Iterator[bytes]:
    # read1 returns what a pipe has, so that documents of a slow producer are not held back.
    read = getattr(file, "read1", file.read)
    while chunk := read(size):
        progress.bytes_read += len(chunk)
        yield chunk
