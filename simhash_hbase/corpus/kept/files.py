"""A file of kept documents, which a resumed run continues, and what compresses it."""

import gzip
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import zstandard

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.files.local import open_placed, open_temporary, to_disk
from simhash_hbase.files.remote import created, is_remote
from simhash_hbase.inputs import Place


class KeptFile:
    """Writes records as they came, one after the other."""

    def __init__(
        self, stream: BinaryIO, start: bytes, entry: Callable[[bytes], bytes], batch: Callable[[bytes], bytes]
    ) -> None:
        self._stream = stream
        self._entry = entry
        self._batch = batch
        self._waiting = bytearray(start)

    def write(self, raw: bytes, name: str, place: Place) -> None:
        """Take one record."""
        self._waiting += self._entry(raw)

    def commit(self) -> int:
        """Bring what was taken to the disk; return the file's length."""
        if self._waiting:
            self._stream.write(self._batch(bytes(self._waiting)))
            self._waiting.clear()
        to_disk(self._stream, self._stream.name)
        return self._stream.tell()


@contextmanager
def opened(path: str | None, keep: int) -> Iterator[BinaryIO]:
    """Open a file to be continued after so many bytes, or a temporary one."""
    if path is None:
        with open_temporary() as unnamed:
            yield unnamed
        return
    if is_remote(path):
        with created(path) as remote:
            yield remote
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with open_placed(path, "wb") as device:
            yield device
        return
    with open_placed(path, "a+b") as file:
        if file.seek(0, 2) < keep:
            raise InvalidArgument(f"{path} is shorter than the checkpoint says: remove --results FILE to start anew")
        file.truncate(keep)
        # Cutting moves no position, and how long the file is will be asked before the next byte is written.
        file.seek(0, 2)
        yield file


def _gzip(data: bytes) -> bytes:
    # Without a time, so that the same documents make the same bytes.
    return gzip.compress(data, mtime=0)


_PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": _gzip, ".zst": zstandard.compress}


def packer(suffix: str) -> Callable[[bytes], bytes]:
    """Return what compresses for a suffix such as ``.gz``, in capitals too; for others what changes nothing."""
    return _PACKERS.get(suffix.lower(), bytes)
