"""Files whose errors name them: the system says that a disk is full, not which."""

import errno
import io
import os
import stat
import time
from array import array
from collections.abc import Callable, Iterator, Mapping
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

    def __init__(self, file: str | int, mode: str, place: str, opener: Callable[[str, int], int] | None = None) -> None:
        super().__init__(file, mode, opener=opener)
        self._place = place

    def write(self, data: "ReadableBuffer", /) -> int:
        with placed(self._place):
            return super().write(data)


class _WholeWrites(_Placed):
    """A file in which each write is there whole or, after an error, not at all; a pipe or a device may have a part."""

    def write(self, data: "ReadableBuffer", /) -> int:
        left = memoryview(data).cast("B")
        size, start = len(left), self.tell() if self.seekable() else None
        try:
            while left:
                left = left[super().write(left) :]
        except OSError:
            if start is not None:
                with suppress(OSError):
                    self.truncate(start)
                    self.seek(start)
            raise
        return size


def open_placed(path: str | os.PathLike[str], mode: str) -> BinaryIO:
    """Open a file for writing, whose errors name it.

    Raises
    ------
    OSError
        When the path is a link that another user has put there, or a pipe that nobody reads for `READER_S`.
    """
    name = os.fspath(path)
    raw = _Placed(name, mode.replace("b", ""), name, _open_trusted)
    if "+" in mode:
        return cast("BinaryIO", io.BufferedRandom(raw))
    return cast("BinaryIO", io.BufferedWriter(raw))


def open_whole(path: str | os.PathLike[str], mode: str) -> BinaryIO:
    """Open a file for writing as `open_placed` does, without a buffer: each write is there whole, or not at all."""
    name = os.fspath(path)
    return cast("BinaryIO", _WholeWrites(name, mode.replace("b", ""), name, _open_trusted))


def open_new(path: str | os.PathLike[str]) -> BinaryIO:
    """Create a file, whose errors name it; raise `FileExistsError` for whatever is there, a link too."""
    name = os.fspath(path)
    return cast("BinaryIO", io.BufferedWriter(_Placed(name, "w", name, _create)))


READER_S = 30.0
"""Seconds for which the reader of a pipe may be late."""


def check_link(path: str | os.PathLike[str]) -> None:
    """Raise `OSError` for a link that neither this user nor root has made: it may lead to a file of this user."""
    try:
        status = os.lstat(path)
    except OSError:
        return
    if stat.S_ISLNK(status.st_mode) and status.st_uid not in {os.geteuid(), 0}:
        reason = "it is a link that another user has made, and is not followed"
        raise PermissionError(errno.EPERM, reason, os.fspath(path))


def _open_trusted(path: str, flags: int) -> int:
    check_link(path)
    flags |= os.O_CLOEXEC
    try:
        is_pipe = stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        is_pipe = False
    until = time.monotonic() + READER_S
    while is_pipe:
        try:
            # Without a reader an open that waits does so for ever.
            number = os.open(path, flags | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > until:
                raise OSError(errno.ENXIO, "it is a pipe that nobody reads", path) from error
            time.sleep(0.05)
        else:
            os.set_blocking(number, True)
            return number
    return os.open(path, flags, 0o666)


def _create(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


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

    A link of this user stays a link, and a device or a pipe is written to as it is.

    Raises
    ------
    OSError
        When something that is no file of this user has the name of the partial file.
    """
    check_replaceable(path)
    target, partial = os.path.realpath(path), partial_of(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open_placed(target, "wb") as device:
            yield device
        return
    try:
        with open_new(partial) as file:
            yield file
            to_disk(file, partial)
        os.replace(partial, target)
    except OSError as error:
        if error.filename == partial and not isinstance(error, FileExistsError):
            error.filename = os.fspath(path)
        raise
    finally:
        _remove_own(partial)


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise `OSError` where `replacing` would follow a link of another user, or write over what is no partial file."""
    check_link(path)
    partial = partial_of(path)
    _remove_own(partial)
    if os.path.lexists(partial):
        raise FileExistsError(errno.EEXIST, "it is in the way of a partial file: remove it", partial)


def _remove_own(path: str) -> None:
    """Remove a file that a run of this user left behind; links and files of others stay."""
    with suppress(OSError):
        status = os.lstat(path)
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
            os.unlink(path)


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
