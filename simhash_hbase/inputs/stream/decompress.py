"""Bytes of a file, decompressed on the fly, in blocks of bounded size.

Not by `gzip.open` and `zstandard.stream_reader`: these pull from a file, where the input may be standard input or a
part of a record; they cannot tell a file that is cut off from one that is damaged; and the first loses the bytes before
the damage.
"""

import zlib
from collections.abc import Iterable, Iterator

import zstandard

from simhash_hbase.errors import InvalidInput

# 1 KiB of zstd holds at most 256 runs of 128 KiB, so a bomb costs at most 32 MiB at a time.
_ZSTD_STEP = 1 << 10
_GZIP_WBITS = 31


def gunzip(chunks: Iterable[bytes], block_bytes: int) -> Iterator[bytes]:
    """Decompress gzip of any number of members."""
    member = None
    finished = 0
    for chunk in chunks:
        data = chunk
        while data:
            if member is None:
                # Tapes and some tools pad the last member with zeros.
                data = data.lstrip(b"\0") if finished else data
                if not data:
                    break
                member = zlib.decompressobj(wbits=_GZIP_WBITS)
            try:
                block = member.decompress(data, block_bytes)
            except zlib.error as error:
                raise InvalidInput(_gzip_fault(finished, error)) from error
            if block:
                yield block
            data = member.unused_data if member.eof else member.unconsumed_tail
            if member.eof:
                member, finished = None, finished + 1
    if member is not None:
        yield from _rest(member, block_bytes)
    elif not finished:
        raise InvalidInput("the file is empty, not gzip data: was it fetched whole?")


def _rest(member: "zlib._Decompress", block_bytes: int) -> Iterator[bytes]:
    """Yield the rest of a member after its last compressed byte; it must end there."""
    while not member.eof:
        try:
            block = member.decompress(member.unconsumed_tail, block_bytes)
        except zlib.error as error:
            raise InvalidInput(_gzip_fault(0, error)) from error
        if not block:
            break
        yield block
    if not member.eof:
        raise InvalidInput("the gzip data is cut off")


def _gzip_fault(finished: int, error: zlib.error) -> str:
    if "incorrect header check" not in str(error):
        return "the gzip data is damaged"
    return "other data follows the gzip data" if finished else "the file is not gzip data"


def unzstd(chunks: Iterable[bytes], block_bytes: int) -> Iterator[bytes]:
    """Decompress Zstandard of any number of frames."""
    del block_bytes
    decompressor = zstandard.ZstdDecompressor()
    frame, is_empty = None, True
    for chunk in chunks:
        is_empty = False
        for start in range(0, len(chunk), _ZSTD_STEP):
            data = chunk[start : start + _ZSTD_STEP]
            while data:
                frame = frame or decompressor.decompressobj()
                try:
                    block = frame.decompress(data)
                except zstandard.ZstdError as error:
                    raise InvalidInput(_zstd_fault(error)) from error
                if block:
                    yield block
                data = frame.unused_data if frame.eof else b""
                if frame.eof:
                    frame = None
    if frame is not None:
        raise InvalidInput("the zstd data is cut off")
    if is_empty:
        raise InvalidInput("the file is empty, not zstd data: was it fetched whole?")


def _zstd_fault(error: zstandard.ZstdError) -> str:
    text = str(error)
    if "Unknown frame descriptor" in text:
        return "the file is not zstd data, or something else follows it"
    if "memory" in text:
        return "the zstd data needs a window above 128 MiB"
    return "the zstd data is damaged"
