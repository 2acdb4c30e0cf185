"""The kept documents of a corpus, in the input's own form."""

import gzip
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import BinaryIO, Protocol

from simhash_hbase.cli.keptfolder import KeptFolder
from simhash_hbase.cli.keptplace import opened
from simhash_hbase.cli.keptrows import KeptRows, rows_path, same_columns
from simhash_hbase.cli.output import Output
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.inputs import InputOptions, Place, headers

__all__ = ["NOTHING", "Kept", "KeptForm", "kept_form", "open_kept"]

LINES, FILES, RECORDS, ROWS = "lines", "files", "records of a crawl", "rows of Parquet"
_KINDS = {"folder": FILES, "html": FILES, "warc": RECORDS, "wet": RECORDS, "parquet": ROWS}
_GZIP = b"\x1f\x8b"


class Kept(Protocol):
    """Takes the kept documents in input order."""

    def write(self, raw: bytes, name: str, place: Place) -> None:
        """Take one: the input's own bytes where they are wanted, its id, and where it is in the input."""

    def commit(self) -> int:
        """Bring what was taken to the disk; return how much it is in all."""


@dataclass(frozen=True)
class KeptForm:
    """In which form documents came."""

    kind: str = LINES
    header: bytes | None = None
    """The header row of CSV."""
    files: tuple[str, ...] = ()
    """Of rows: the files in the order of the input."""
    takes_bytes: bool = True
    """Whether what is kept is written from the input's own bytes; rows are read again."""

    @property
    def loss(self) -> str | None:
        """One sentence on what cannot be kept."""
        if self.kind == RECORDS:
            return "--output keeps whole records of originals; warcinfo, requests and other records are left out"
        if self.kind == ROWS:
            return (
                "--output keeps rows, schema, codecs and row groups, written when all is decided; pages, encodings and"
                " indexes inside the file are made anew"
            )
        return None


NOTHING = KeptForm(takes_bytes=False)
"""Nothing is kept."""


def _form_of(name: str, header: bytes | None) -> KeptForm:
    kind = _KINDS.get(name, LINES)
    return KeptForm(kind=kind, header=header, takes_bytes=kind != ROWS)


class NotKept:
    """Keeps nothing."""

    def write(self, raw: bytes, name: str, place: Place) -> None:
        """Do nothing."""

    def commit(self) -> int:
        """Do nothing."""
        return 0


class KeptFile:
    """Writes records as they came, one behind the other.

    Parameters
    ----------
    stream : BinaryIO
        Where to.
    entry : callable
        Makes of the input's own bytes of a record what is written.
    batch : callable
        Makes of what is between two commits what is written, so that a file can be cut behind any of them.
    """

    def __init__(self, stream: BinaryIO, entry: Callable[[bytes], bytes], batch: Callable[[bytes], bytes]) -> None:
        self._stream = stream
        self._entry = entry
        self._batch = batch
        self._waiting = bytearray()

    def write(self, raw: bytes, name: str, place: Place) -> None:
        """Take one record."""
        self._waiting += self._entry(raw)

    def commit(self) -> int:
        """Bring what was taken to the disk; return the file's length."""
        if self._waiting:
            self._stream.write(self._batch(bytes(self._waiting)))
            self._waiting.clear()
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return self._stream.tell()


def kept_form(files: Sequence[str], settings: InputOptions, output: Output) -> KeptForm:
    """Find out in which form the kept documents of an input can be written, and say what of it is lost.

    Parameters
    ----------
    files : sequence of str
        FILE arguments.
    settings : InputOptions
        How they are read.
    output : Output
        For one sentence on what cannot be kept.

    Returns
    -------
    KeptForm

    Raises
    ------
    InvalidArgument
        When kinds or headers differ, or the columns of Parquet: they cannot go into one place.
    """
    first: tuple[str, KeptForm] | None = None
    rows: list[str] = []
    for name, form, header in headers(files, settings):
        here = _form_of(form, header)
        first = first or (name, here)
        if here.kind != first[1].kind:
            raise InvalidArgument(
                f"--output keeps {LINES}, {FILES}, {RECORDS} or {ROWS}, and {first[0]} and {name} are not alike"
            )
        if header != first[1].header:
            raise InvalidArgument(f"--output keeps rows below one header, and those of {first[0]} and {name} differ")
        rows += [name] if here.kind == ROWS else []
    found = replace(first[1], files=same_columns(rows)) if first else KeptForm()
    if found.loss is not None:
        output.note(found.loss)
    return found


@contextmanager
def open_kept(
    path: str | None, files: Sequence[str], form: KeptForm, output: Output, *, keep: int | None, resume: bool
) -> Iterator[Kept]:
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
    output : Output
        Shows how far it is with what is written at the end.
    keep : int or None
        What the last `Kept.commit` of an earlier run returned; 0 at the beginning, None where no other run will go on.
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
    elif form.kind == FILES:
        yield KeptFolder(path, files, resume=resume)
    elif form.kind == ROWS:
        with opened(rows_path(path) if keep is not None else None, keep or 0) as file:
            kept = KeptRows(path, form.files, file)
            yield kept
            kept.finish(output)
    else:
        with opened(path, keep or 0) as file:
            yield from _in_file(file, path, form, keep or 0)


def _in_file(file: BinaryIO, path: str, form: KeptForm, keep: int) -> Iterator[Kept]:
    packed = path.endswith(".gz")
    if form.kind == RECORDS:
        kept = KeptFile(file, _member if packed else _unpacked, bytes)
    else:
        kept = KeptFile(file, _line, _packed if packed else bytes)
    if form.header is not None and not keep:
        kept.write(form.header, "", Place(path, 0))
    yield kept
    kept.commit()


def _line(raw: bytes) -> bytes:
    return raw + b"\n"


def _packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _member(record: bytes) -> bytes:
    """Return a record as a gzip member; one that came as a member stays as it is."""
    return record if record.startswith(_GZIP) else _packed(record)


def _unpacked(record: bytes) -> bytes:
    return gzip.decompress(record) if record.startswith(_GZIP) else record
