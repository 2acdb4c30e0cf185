"""Files whose errors name them: the system says that a disk is full, not which."""

import errno
import io
import os
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self, cast

from simhash_hbase.errors import InvalidArgument

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


@contextmanager
def placed(place: str | os.PathLike[str]) -> Iterator[None]:
    """Name a place in errors of the system that name none.

    Examples
    --------
    >>> with placed("kept.jsonl"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'kept.jsonl'
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(place)
        raise


@contextmanager
def placed_database(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Raise SQLite's errors as errors of the system that name the folder of the database."""
    import sqlite3  # noqa: PLC0415 - few runs have a database

    try:
        yield
    except sqlite3.OperationalError as error:
        number = errno.ENOSPC if error.sqlite_errorcode == sqlite3.SQLITE_FULL else errno.EIO
        reason = os.strerror(number) if number == errno.ENOSPC else str(error)
        raise OSError(number, reason, os.fspath(folder)) from error


class _Placed(io.FileIO):
    """A file that names itself, or its folder, in the errors of writing."""

    def __init__(self, file: str | int, mode: str, place: str) -> None:
        super().__init__(file, mode)
        self._place = place

    def write(self, data: "ReadableBuffer", /) -> int:
        with placed(self._place):
            return super().write(data)


def open_placed(path: str | os.PathLike[str], mode: str) -> BinaryIO:
    """Open a file for writing, whose errors name it."""
    name = os.fspath(path)
    raw = _Placed(name, mode.replace("b", ""), name)
    if "+" in mode:
        return cast("BinaryIO", io.BufferedRandom(raw))
    return cast("BinaryIO", io.BufferedWriter(raw))


def open_temporary() -> BinaryIO:
    """Open a temporary file without a name, whose errors name the folder that it is in."""
    from tempfile import TemporaryFile, gettempdir  # noqa: PLC0415 - few runs have a temporary file

    with TemporaryFile() as made:
        raw = _Placed(os.dup(made.fileno()), "r+", gettempdir())
    return cast("BinaryIO", io.BufferedRandom(raw))


class RecordFile:
    """Records in a temporary file, read again by number; 8 bytes of memory each."""

    def __init__(self) -> None:
        self._file = open_temporary()
        self._ends = array("q", [0])
        self._is_at_end = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, record: bytes) -> None:
        """Write a record, whose number is that of the records before it."""
        if not self._is_at_end:
            self._file.seek(self._ends[-1])
            self._is_at_end = True
        self._file.write(record)
        self._ends.append(self._ends[-1] + len(record))

    def size(self, number: int) -> int:
        """Return the bytes of a record."""
        return self._ends[number + 1] - self._ends[number]

    def read(self, number: int) -> bytes:
        """Return a record."""
        self._is_at_end = False
        self._file.seek(self._ends[number])
        return self._file.read(self.size(number))

    def close(self) -> None:
        """Close the file; the records are gone."""
        self._file.close()


def partial_of(path: str | os.PathLike[str]) -> str:
    """Name the file that `replacing` writes before it takes the place of another."""
    return os.path.realpath(path) + ".partial"


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file anew: after an error or a crash the old one or the new one is there, whole; errors name `path`.

    A link stays a link, and a device or a pipe is written to as it is.
    """
    target, partial = os.path.realpath(path), partial_of(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open_placed(target, "wb") as device:
            yield device
        return
    try:
        with open_placed(partial, "wb") as file:
            yield file
            to_disk(file, partial)
        os.replace(partial, target)
    except OSError as error:
        if error.filename == partial:
            error.filename = os.fspath(path)
        raise
    finally:
        with suppress(OSError):
            os.unlink(partial)


def to_disk(file: BinaryIO, path: str | os.PathLike[str]) -> None:
    """Bring what was written to the disk."""
    file.flush()
    if not isinstance(file, io.RawIOBase | io.BufferedIOBase):
        return  # An upload, which is durable at its end.
    try:
        with placed(path):
            os.fsync(file.fileno())
    except OSError as error:
        # A device or a pipe has no disk.
        if error.errno != errno.EINVAL:
            raise


def read_setting(name: str, variables: Mapping[str, str]) -> str:
    """Return the variable `name`, else the content of the file that ``NAME_FILE`` names, else an empty string."""
    if value := variables.get(name, ""):
        return value.strip()
    path = variables.get(f"{name}_FILE", "")
    try:
        return Path(path).read_text("utf-8").strip() if path else ""
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidArgument(f"{name}_FILE: {path} cannot be read: {why}") from error
