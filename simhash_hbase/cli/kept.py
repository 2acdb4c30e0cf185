"""The kept documents of a corpus, in the input's own form."""

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from simhash_hbase.errors import InvalidArgument

__all__ = ["KeptFile", "open_kept"]


class KeptFile:
    """Writes records as they came, a line each.

    Parameters
    ----------
    stream : BinaryIO
        Where to.
    compressed : bool
        Write gzip: each commit one member, so that a file can be cut behind any of them.
    """

    def __init__(self, stream: BinaryIO, *, compressed: bool) -> None:
        self._stream = stream
        self._compressed = compressed
        self._waiting = bytearray()

    def write(self, raw: bytes) -> None:
        """Take one record."""
        self._waiting += raw + b"\n"

    def commit(self) -> int:
        """Bring what was taken to the disk; return the file's length."""
        if self._waiting:
            self._stream.write(gzip.compress(self._waiting, mtime=0) if self._compressed else self._waiting)
            self._waiting.clear()
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return self._stream.tell()


@contextmanager
def open_kept(path: str | None, *, keep: int = 0) -> Iterator[KeptFile | None]:
    """Open the file for kept documents, compressed where its name ends in ``.gz``; without a path there is none.

    Parameters
    ----------
    path : str or None
        Created, or cut.
    keep : int
        Bytes to keep of what is there.

    Yields
    ------
    KeptFile or None

    Raises
    ------
    InvalidArgument
        When less than that is there.
    """
    if path is None:
        yield None
        return
    with Path(path).open("ab") as file:
        if file.tell() < keep:
            raise InvalidArgument(f"{path} is shorter than the checkpoint says: remove --results FILE to start anew")
        file.truncate(keep)
        kept = KeptFile(file, compressed=path.endswith(".gz"))
        yield kept
        kept.commit()
