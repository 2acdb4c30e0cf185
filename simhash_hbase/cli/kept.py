"""The kept documents of a corpus, in the input's own form."""

import gzip
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from simhash_hbase.cli.keptfolder import KeptFolder
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.inputs import InputOptions, headers

__all__ = ["Kept", "kept_form", "open_kept"]

WHOLE = frozenset({"folder", "html"})


class Kept(Protocol):
    """Takes the kept documents in input order."""

    def write(self, raw: bytes, name: str) -> None:
        """Take one: the input's own bytes, and its id."""

    def commit(self) -> int:
        """Bring what was taken to the disk; return how much it is in all."""


@dataclass(frozen=True)
class KeptForm:
    """In which form documents came."""

    whole: bool = False
    """Each is a file."""
    header: bytes | None = None
    """The header row of CSV."""


class NotKept:
    """Keeps nothing."""

    def write(self, raw: bytes, name: str) -> None:
        """Do nothing."""

    def commit(self) -> int:
        """Do nothing."""
        return 0


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

    def write(self, raw: bytes, name: str) -> None:
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


def kept_form(files: Sequence[str], settings: InputOptions) -> KeptForm:
    """Find out in which form the kept documents of an input can be written.

    Parameters
    ----------
    files : sequence of str
        FILE arguments.
    settings : InputOptions
        How they are read.

    Returns
    -------
    KeptForm

    Raises
    ------
    InvalidArgument
        When there are lines and whole files in it, or headers differ: they cannot go into one place.
    """
    first: tuple[str, KeptForm] | None = None
    for name, form, header in headers(files, settings):
        here = KeptForm(whole=form in WHOLE, header=header)
        first = first or (name, here)
        if here.whole != first[1].whole:
            raise InvalidArgument(f"--output keeps lines or whole files, and {first[0]} and {name} are not alike")
        if header != first[1].header:
            raise InvalidArgument(f"--output keeps rows below one header, and those of {first[0]} and {name} differ")
    return first[1] if first else KeptForm()


@contextmanager
def open_kept(path: str | None, files: Sequence[str], form: KeptForm, *, keep: int, resume: bool) -> Iterator[Kept]:
    """Open the place for kept documents.

    Parameters
    ----------
    path : str or None
        A file, created or cut, and compressed where its name ends in ``.gz``; for whole files a folder. None: they are
        not kept.
    files : sequence of str
        FILE arguments.
    form : KeptForm
        Of the input.
    keep : int
        What the last `Kept.commit` of an earlier run returned; 0 at the beginning.
    resume : bool
        There may have been such a run.

    Yields
    ------
    Kept

    Raises
    ------
    InvalidArgument
        When less than that is there, or something of others.
    """
    if path is None:
        yield NotKept()
    elif form.whole:
        yield KeptFolder(path, files, resume=resume)
    else:
        with Path(path).open("ab") as file:
            if file.tell() < keep:
                raise InvalidArgument(
                    f"{path} is shorter than the checkpoint says: remove --results FILE to start anew"
                )
            file.truncate(keep)
            kept = KeptFile(file, compressed=path.endswith(".gz"))
            if form.header is not None and not keep:
                kept.write(form.header, "")
            yield kept
            kept.commit()
