"""The kept documents of a corpus, in the input's own form."""

import gzip
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.inputs import InputOptions, headers

__all__ = ["KeptFile", "common_header", "open_kept"]


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


def common_header(files: Sequence[str], settings: InputOptions) -> bytes | None:
    """Find the header that a file of kept documents begins with.

    Parameters
    ----------
    files : sequence of str
        FILE arguments.
    settings : InputOptions
        How they are read.

    Returns
    -------
    bytes or None
        The header row of the input's CSV; None for lines that need none.

    Raises
    ------
    InvalidArgument
        When documents are whole files, or headers differ: such documents cannot be told apart in one file.
    """
    first: tuple[str, bytes | None] | None = None
    for name, form, header in headers(files, settings):
        if form == "folder":
            raise InvalidArgument(f"--output keeps documents a line each, and {name} as a whole is one: leave it out")
        first = first or (name, header)
        if header != first[1]:
            raise InvalidArgument(f"--output keeps rows below one header, and those of {first[0]} and {name} differ")
    return first[1] if first else None


@contextmanager
def open_kept(path: str | None, *, keep: int = 0, header: bytes | None = None) -> Iterator[KeptFile | None]:
    """Open the file for kept documents, compressed where its name ends in ``.gz``; without a path there is none.

    Parameters
    ----------
    path : str or None
        Created, or cut.
    keep : int
        Bytes to keep of what is there.
    header : bytes, optional
        First line of a file that is begun.

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
        if header is not None and not keep:
            kept.write(header)
        yield kept
        kept.commit()
