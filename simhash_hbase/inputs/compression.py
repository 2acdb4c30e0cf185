"""Decompression of Gzip and Zstandard in bounded memory, as far as damaged data allow."""

import re
import struct
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import zstandard

from simhash_hbase.errors import InvalidInput

if TYPE_CHECKING:
    from zlib import _Decompress


def take_all(blocks: Iterable[bytes], limit: int) -> tuple[bytes, bool]:
    """Join the blocks of a stream; return their first `limit` bytes, and whether nothing had to be cut off."""
    pieces, held = [], 0
    for block in blocks:
        pieces.append(block)
        held += len(block)
        if held > limit:
            return b"".join(pieces)[:limit], False
    return b"".join(pieces), True


GZIP_WBITS = 31
GZIP_MAGIC = b"\x1f\x8b"
_GZIP_HEADER = struct.Struct("<2sBB6x")  # Magic, method and flags.
_GZIP_HEADER_BYTES = 128 << 10  # No file has a name that is nearly as long.
_GZIP_END = struct.Struct("<II")  # Checksum and length.
_HAS_CHECKSUM, _HAS_EXTRA, _HAS_NAME, _HAS_COMMENT, _UNKNOWN_FLAGS = 2, 4, 8, 16, 0xE0
_NAMED_MEMBERS = 3  # How many with a wrong checksum a message names.


def inflated_before_damage(inflate: "_Decompress", data: bytes) -> Iterator[bytes]:
    """Yield the content of damaged deflate data up to the damage; the result does not depend on how the data are cut.

    zlib returns nothing of a call that meets damage. So the steps are halved until they end at the damaged byte. It may
    hold whole symbols before the damage: their content is taken one byte a call, and only the last byte of it is lost.

    Parameters
    ----------
    inflate
        A copy of the decompressor from before the call that failed.
    data
        The data of that call.
    """
    # The first step takes what was decompressed before and had no room in its block.
    for size in (0, *(1 << bit for bit in reversed(range(len(data).bit_length())))):
        ahead = inflate.copy()
        with suppress(zlib.error):
            block = ahead.decompress(data[:size])
            inflate, data = ahead, data[size:]
            if block:
                yield block
    data = data[:1]
    with suppress(zlib.error):
        while block := inflate.decompress(data, 1):
            yield block
            data = inflate.unconsumed_tail


class _Ahead:
    """A read buffer over a stream of byte chunks, from which a decompressor takes as many bytes as it needs."""

    def __init__(self, chunks: Iterable[bytes], kind: str) -> None:
        self._chunks = filter(None, chunks)  # An empty chunk is not the end.
        self._kind = kind
        self._read = 0
        self.held = b""
        """The bytes that have been read and not been taken."""

    @property
    def place(self) -> int:
        """The number of bytes taken so far: the position in the compressed data."""
        return self._read - len(self.held)

    def has(self, count: int) -> bool:
        """Read until at least `count` bytes are in the buffer; return False if the data end before."""
        pieces, size = [self.held], len(self.held)
        while size < count and (chunk := next(self._chunks, None)):
            pieces.append(chunk)
            size += len(chunk)
            self._read += len(chunk)
        self.held = b"".join(pieces)
        return size >= count

    def peek(self, count: int) -> bytes:
        """Return the next `count` bytes without taking them; raise InvalidInput if the data end before."""
        if not self.has(count):
            raise InvalidInput(f"the {self._kind} data is cut off")
        return self.held[:count]

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes and remove them from the buffer; raise InvalidInput if the data end before."""
        data = self.peek(count)
        self.held = self.held[count:]
        return data


def gunzip(chunks: Iterable[bytes], block_bytes: int) -> Generator[bytes, None, None]:
    """Yield the content of gzip data, which may have several members, in blocks of at most `block_bytes`.

    A member with a wrong checksum is decompressed, too; after the last member InvalidInput is raised, which names it.
    """
    ahead = _Ahead(chunks, "gzip")
    members, wrong = 0, []
    try:
        while ahead.has(1):
            # Tapes and some tools pad the last member with zeros.
            ahead.held = ahead.held.lstrip(b"\0") if members else ahead.held
            if not ahead.held:
                continue
            members += 1
            start = ahead.place
            _pass_gzip_header(ahead, is_first=members == 1)
            is_right = yield from _gzip_member(ahead, block_bytes)
            if not is_right:
                wrong.append(f"{members} (bytes {start:,} to {ahead.place:,})")
    except InvalidInput as error:
        raise InvalidInput("; ".join((*_wrong_checksums(wrong), str(error)))) from error
    if not members:
        raise InvalidInput("the file is empty, not gzip data: was it fetched whole?")
    if wrong:
        raise InvalidInput(*_wrong_checksums(wrong))


def _wrong_checksums(wrong: Sequence[str]) -> tuple[str, ...]:
    if not wrong:
        return ()
    named = ", ".join(wrong[:_NAMED_MEMBERS]) + (" and others" if len(wrong) > _NAMED_MEMBERS else "")
    return (f"the gzip data is damaged: the checksum is wrong of member {named}, and its content may be wrong",)


def _pass_gzip_header(ahead: _Ahead, *, is_first: bool) -> None:
    """Read the header of a gzip member and remove it from the buffer; raise InvalidInput if it is not valid."""
    ahead.has(_GZIP_HEADER.size)
    if not GZIP_MAGIC.startswith(ahead.held[: len(GZIP_MAGIC)]):
        raise InvalidInput("the file is not gzip data" if is_first else "other data follows the gzip data")
    _, method, flags = _GZIP_HEADER.unpack(ahead.peek(_GZIP_HEADER.size))
    if method != zlib.DEFLATED or flags & _UNKNOWN_FLAGS:
        raise InvalidInput("the gzip data is damaged")
    size = _GZIP_HEADER.size
    if flags & _HAS_EXTRA:
        size += 2 + int.from_bytes(ahead.peek(size + 2)[size:], "little")
    for flag in (_HAS_NAME, _HAS_COMMENT):
        while flags & flag:
            size += 1
            if ahead.peek(size)[-1] == 0:
                break
            if size > _GZIP_HEADER_BYTES:
                raise InvalidInput("the gzip data is damaged")
    ahead.take(size + 2 * bool(flags & _HAS_CHECKSUM))


def _gzip_member(ahead: _Ahead, block_bytes: int) -> Generator[bytes, None, bool]:
    """Yield the content of a gzip member whose header was read; return whether its checksum and length are right."""
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    checksum = length = 0
    while not inflate.eof:
        at_end, before = not ahead.has(1), inflate.copy()
        try:
            block = inflate.decompress(ahead.held, block_bytes)
        except zlib.error as error:
            yield from inflated_before_damage(before, ahead.held)
            raise InvalidInput("the gzip data is damaged") from error
        ahead.held = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
        if block:
            checksum = zlib.crc32(block, checksum)
            length += len(block)
            yield block
        elif at_end and not inflate.eof:
            raise InvalidInput("the gzip data is cut off")
    return _GZIP_END.unpack(ahead.take(_GZIP_END.size)) == (checksum, length % (1 << 32))


_ZSTD_STEP = 1 << 16  # Compressed bytes held at most; taking a block off copies the rest.
_ZSTD_WINDOW = 1 << 31  # The largest one that zstd itself writes, with ``--long=31``.
_ZSTD_FAULTS = (  # By a word of the library's message.
    ("Unknown frame descriptor", "the file is not zstd data, or something else follows it"),
    ("too much memory", "the zstd data needs a window above 2 GiB: write it with `zstd --long=31` at most"),
    ("not enough memory", "there is no memory for the window of the zstd data: write it without `zstd --long`"),
    ("Dictionary mismatch", "the zstd data needs a dictionary that the file does not have: decompress it first, with "
     "`zstd -d -D DICTIONARY`"),
    ("checksum", "the zstd data is damaged: a checksum is wrong"),
    ("", "the zstd data is damaged"),
)  # fmt: skip
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# The first bytes of a frame without data, which may have a dictionary for later frames.
_ZSTD_SKIPPED = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
ZSTD_FRAME = re.compile(re.escape(_ZSTD_MAGIC) + b"|" + _ZSTD_SKIPPED.pattern)
"""The first bytes of zstd's frames."""
_ZSTD_HEADER_BYTES = 5  # The bytes of a frame's header from which its length is known.
_ZSTD_BLOCK_HEADER_BYTES, _ZSTD_CHECKSUM_BYTES = 3, 4
_ZSTD_RUN = 1  # The kind of a block that is one byte, repeated.
_SKIPPED_FRAME = struct.Struct("<4sI")  # Magic and length.
_DICTIONARY_FRAME_MAGIC, _DICTIONARY_MAGIC = b"\x5d\x2a\x4d\x18", b"\x37\xa4\x30\xec"
_DICTIONARY_BYTES = 64 << 20


def unzstd(chunks: Iterable[bytes]) -> Generator[bytes, None, None]:
    """Yield the content of Zstandard data, which may have several frames.

    The first frame may hold a dictionary for the others, as in crawlers' files.
    """
    ahead = _zstd_ahead(chunks)
    if not ahead.has(1):
        raise InvalidInput("the file is empty, not zstd data: was it fetched whole?")
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    while ahead.has(1):
        ahead.has(_SKIPPED_FRAME.size)
        if not _ZSTD_SKIPPED.match(ahead.held):
            yield from _zstd_frame(ahead, decompressor)
            continue
        magic, size = _SKIPPED_FRAME.unpack(ahead.take(_SKIPPED_FRAME.size))
        if magic == _DICTIONARY_FRAME_MAGIC and size <= _DICTIONARY_BYTES:
            decompressor = _with_dictionary(ahead.take(size)) or decompressor
            continue
        while size:
            size -= len(ahead.take(min(size, _ZSTD_STEP)))


def _zstd_ahead(chunks: Iterable[bytes]) -> _Ahead:
    steps = (chunk[start : start + _ZSTD_STEP] for chunk in chunks for start in range(0, len(chunk), _ZSTD_STEP))
    return _Ahead(steps, "zstd")


def _zstd_frame(ahead: _Ahead, decompressor: zstandard.ZstdDecompressor) -> Iterator[bytes]:
    """Yield the content of one Zstandard frame, block by block.

    The library returns nothing of a call that meets damage, so each call is given one block, of 128 KiB at most.
    """
    frame = decompressor.decompressobj()
    data = ahead.take(zstandard.frame_header_size(ahead.peek(_ZSTD_HEADER_BYTES)))
    is_last = False
    while True:
        try:
            content = frame.decompress(data)
        except zstandard.ZstdError as error:
            cause = next((reason for word, reason in _ZSTD_FAULTS if word in str(error)), "")
            raise InvalidInput(cause) from error
        if content:
            yield content
        if frame.eof:
            return
        if is_last:
            data = ahead.take(_ZSTD_CHECKSUM_BYTES)
        else:
            header = int.from_bytes(ahead.peek(_ZSTD_BLOCK_HEADER_BYTES), "little")
            is_last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
            data = ahead.take(_ZSTD_BLOCK_HEADER_BYTES + (1 if kind == _ZSTD_RUN else size))


def _with_dictionary(content: bytes) -> zstandard.ZstdDecompressor | None:
    """Return a decompressor that uses the dictionary in a Zstandard frame, which may itself be compressed.

    None if the frame holds no dictionary.
    """
    try:
        if content.startswith(_ZSTD_MAGIC):
            frame = _zstd_frame(_zstd_ahead((content,)), zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW))
            content, _ = take_all(frame, _DICTIONARY_BYTES)
        if not content.startswith(_DICTIONARY_MAGIC):
            return None
        dictionary = zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_FULLDICT)
        decompressor = zstandard.ZstdDecompressor(dictionary, max_window_size=_ZSTD_WINDOW)
        decompressor.decompressobj()  # Reads the dictionary.
    except (InvalidInput, zstandard.ZstdError) as error:
        raise InvalidInput("the dictionary at the beginning of the zstd data is damaged") from error
    return decompressor
