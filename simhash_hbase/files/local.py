"""Files on this machine: opened, replaced as a whole, and safe from links that other users have made.

Their errors name the file: the system's own error says that a disk is full, but not which file was written.
"""

import errno
import io
import os
import re
import select
import stat
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO, Self, cast

from simhash_hbase.errors import InvalidArgument

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_NEW_MODE = 0o666  # The user's mask takes away from this.
_MOST_LINKS = 40  # As many as the system follows.
_KNOWN_BY = 48  # Characters of a name, of four bytes at most.
_DESCRIPTORS = re.compile(r"/proc/(self|thread-self|\d+)/fd")


@contextmanager
def placed(place: str | os.PathLike[str]) -> Iterator[None]:
    """Add a path to an `OSError` of the block that names no file.

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
    """Turn an error of SQLite in the block, such as a full disk, into an `OSError` that names the database's folder."""
    import sqlite3  # noqa: PLC0415 - few runs have a database

    try:
        yield
    except sqlite3.OperationalError as error:
        number = errno.ENOSPC if error.sqlite_errorcode == sqlite3.SQLITE_FULL else errno.EIO
        reason = os.strerror(number) if number == errno.ENOSPC else str(error)
        raise OSError(number, reason, os.fspath(folder)) from error


class _Placed(io.FileIO):
    """A file whose errors of writing name `place`: its path, or its folder if it has no name."""

    def __init__(self, file: str | int, mode: str, place: str) -> None:
        # A link that somebody puts there meanwhile is not followed.
        super().__init__(file, mode, opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW, _NEW_MODE))
        self.name = place

    def write(self, data: "ReadableBuffer", /) -> int:
        with placed(self.name):
            return super().write(data)


class _Grown(_Placed):
    """The raw file of a `GrowingFile`: it remembers a failed write, and how many bytes then stay."""

    failed = False
    kept = 0  # Its first bytes, whole records, which stay.

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.failed = True
            if self.kept:
                error.strerror = f"{error.strerror}; it ends with its last whole record"
            raise


class GrowingFile(io.BufferedRandom):
    """A file to which records are appended; after a failed write it is cut to its length at the last flush."""

    def __init__(self, raw: _Grown, size: int = 0) -> None:
        super().__init__(raw)
        self._file = raw
        raw.kept = size

    def flush(self) -> None:
        """Hand buffered bytes to the system, and note the length; to be called after whole records only."""
        super().flush()
        self._file.kept = self.tell()

    def close(self) -> None:
        """Close the file; after a failed write cut it to its length at the last flush: no part of a record stays."""
        if self._file.failed and not self.closed:
            self._file.truncate(self._file.kept)
            self._file.close()  # The buffer's bytes must not follow.
        super().close()


def open_new(path: str | os.PathLike[str]) -> BinaryIO:
    """Create a file and open it for writing; it is an error if it exists. Errors name the file."""
    name = os.fspath(path)
    return cast("BinaryIO", io.BufferedWriter(_Placed(name, "x", name)))


def open_growing(path: str | os.PathLike[str], size: int = 0, *, follow: bool = True) -> BinaryIO:
    """Open a file for appending, and cut it to its first `size` bytes; with 0 a new file takes the place of an old one.

    A device or a pipe is just opened. With `follow`, for paths that the user has named, a link is followed if it is the
    user's own; else the path itself must be the file.
    """
    name = os.fspath(path)
    target = target_of(name) if follow else name
    if follow and not is_regular(target):
        return open_device(target)
    if not size:
        with suppress(FileNotFoundError):
            os.unlink(target)
        return cast("BinaryIO", GrowingFile(_Grown(target, "x+", name)))
    if os.path.islink(target) or not os.path.isfile(target):
        raise InvalidArgument(f"{name} is no file of an earlier run: remove `results=FILE` to start anew")
    file = GrowingFile(_Grown(target, "r+", name), size)
    if file.seek(0, io.SEEK_END) < size:
        file.close()
        raise InvalidArgument(f"{name} is shorter than the checkpoint says: remove `results=FILE` to start anew")
    # Cutting moves no position, and how long the file is will be asked before the next byte is written.
    file.truncate(size)
    file.seek(size)
    return cast("BinaryIO", file)


_UNREAD = "{} is a pipe that nobody reads: start its reader first, or name a file"


def open_device(path: str) -> BinaryIO:
    """Open a device, a named pipe or a path such as ``/dev/fd/3`` for writing; a pipe that nobody reads is an error."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise InvalidArgument(_UNREAD.format(path)) from error
    os.set_blocking(number, True)
    raw = _Placed(number, "w", path)
    return cast("BinaryIO", io.BufferedWriter(raw))


class WatchedPipes:
    """Holds open the named pipes among `paths` until they are written, so that their readers see no end.

    Raises
    ------
    InvalidArgument
        When nobody reads one of them; `check` raises it when a reader has gone since.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._poll = select.poll()
        self._pipes: dict[int, BinaryIO] = {}
        try:
            for path in map(followed, paths):
                if is_named_pipe(path):
                    pipe = open_device(path)
                    self._pipes[pipe.fileno()] = pipe
                    self._poll.register(pipe, 0)
        except BaseException:
            self.close()
            raise

    def check(self) -> None:
        """Raise InvalidArgument if the reader of one of the pipes has closed it."""
        for number, _ in self._poll.poll(0):
            raise InvalidArgument(_UNREAD.format(self._pipes[number].name))

    def close(self) -> None:
        """Close the pipes here; a reader sees the end when the file that writes to its pipe is closed, too."""
        for pipe in self._pipes.values():
            pipe.close()


def check_links(path: str | os.PathLike[str]) -> None:
    """Raise an error if a folder of a path, or its end, is a symbolic link that another user may have made as a trap.

    A link of root or of this user is followed anywhere, a link of another user only in a folder that not everybody may
    write to.

    Raises
    ------
    InvalidArgument
        When another user has made a link in a folder that everybody may write to, such as ``/tmp``.
    """
    name = os.fsdecode(path)
    whole = name if os.path.isabs(name) else os.path.join(os.getcwd(), name)
    rest = _steps(whole)
    folder, links = os.sep, 0
    while rest and links < _MOST_LINKS:
        part = rest.pop()
        place = os.path.join(folder, part) if part != os.pardir else os.path.dirname(folder)
        try:
            status = os.lstat(place)
            if not stat.S_ISLNK(status.st_mode) or is_descriptor(place):
                folder = place
                continue
            is_shared = os.stat(folder).st_mode & stat.S_IWOTH
            target = os.readlink(place)
        except (OSError, ValueError):
            return  # Nothing is there, or nothing to be seen: the path leads no further.
        if is_shared and status.st_uid not in (0, os.geteuid()):
            raise InvalidArgument(
                f"{name} leads through {place}, a link that another user has made in a folder that everybody may write "
                "to: remove the link, or name another place"
            )
        links += 1
        folder = os.sep if os.path.isabs(target) else folder
        rest += _steps(target)


def _steps(path: str) -> list[str]:
    """Return the names in a path, the last one first, without empty ones and ``.``."""
    return [part for part in reversed(path.split(os.sep)) if part not in {"", os.curdir}]


def followed(path: str | os.PathLike[str]) -> str:
    """Return the path to which a symbolic link leads, if the link is the user's or root's; other paths are returned.

    Raises
    ------
    InvalidArgument
        When the name is a link of another user, or leads through such a link in a shared folder.
    """
    check_links(path)
    name = target = os.fspath(path)
    for _ in range(_MOST_LINKS):
        if is_descriptor(target) or not os.path.islink(target):
            return target
        if os.lstat(target).st_uid not in (0, os.geteuid()):
            raise InvalidArgument(f"{name} is a link that another user has made: remove it, or name another place")
        target = os.path.join(os.path.dirname(target), os.readlink(target))
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)


def target_of(path: str | os.PathLike[str]) -> str:
    """Return the path of the file to write when a user names `path`: links are followed, as `followed` does.

    Raises
    ------
    InvalidArgument
        When it is a link of another user, a socket or a disk.
    IsADirectoryError
        When it is a folder.
    """
    name, target = os.fspath(path), followed(path)
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if stat.S_ISSOCK(mode) or stat.S_ISBLK(mode):
        raise InvalidArgument(f"{name} is a {'socket' if stat.S_ISSOCK(mode) else 'disk'}: name a file")
    return target


def is_regular(target: str) -> bool:
    """Return whether a path is that of a regular file or a link, or does not exist; False for devices and pipes."""
    if is_descriptor(target):
        return False
    return not os.path.lexists(target) or os.path.islink(target) or os.path.isfile(target)


def is_named_pipe(path: str) -> bool:
    """Return whether a path is that of a named pipe (FIFO), not one such as ``/dev/fd/3`` of an open file."""
    return not is_descriptor(path) and os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode)


def is_descriptor(path: str) -> bool:
    """Return whether a path, such as ``/dev/fd/3``, stands for an open file of this process."""
    folder = os.path.dirname(path)
    return path in ("/dev/stdout", "/dev/stderr") or folder == "/dev/fd" or _DESCRIPTORS.fullmatch(folder) is not None


def open_temporary() -> BinaryIO:
    """Open a temporary file without a name, whose errors name the folder that it is in."""
    from tempfile import TemporaryFile, gettempdir  # noqa: PLC0415 - few runs have a temporary file

    with TemporaryFile() as made:
        raw = _Placed(os.dup(made.fileno()), "r+", gettempdir())
    return cast("BinaryIO", io.BufferedRandom(raw))


class RecordFile:
    """Byte strings in a temporary file, which are read again by their numbers, from 0; each needs 8 bytes of memory."""

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
        """Write a record at the end; its number is the number of records before it."""
        if not self._is_at_end:
            self._file.seek(self._ends[-1])
            self._is_at_end = True
        self._file.write(record)
        self._ends.append(self._ends[-1] + len(record))

    def size(self, number: int) -> int:
        """Return how many bytes the record with a number has."""
        return self._ends[number + 1] - self._ends[number]

    def read(self, number: int) -> bytes:
        """Return the record with a number."""
        self._is_at_end = False
        self._file.seek(self._ends[number])
        return self._file.read(self.size(number))

    def close(self) -> None:
        """Close the file; the records are gone."""
        self._file.close()


@contextmanager
def replacing(path: str | os.PathLike[str], *, follow: bool = True) -> Iterator[BinaryIO]:
    """Yield a new file that takes the place of `path` after the block; after an error the old file is still there.

    So even a crash leaves the old file or the new one, whole. With `follow`, for paths that the user has named, a link
    is followed if it is the user's own, and a device or a pipe is written to directly. Without `follow` the new file
    takes the place of the link or the pipe itself.
    """
    name = os.fspath(path)
    target = target_of(name) if follow else name
    if follow and not is_regular(target):
        with open_device(target) as device:
            yield device
        return
    # Others know neither the name, nor do two runs take the same one; of a long name not all fits into another one.
    folder, last = os.path.split(target)
    partial = os.path.join(folder, f"{last[:_KNOWN_BY]}.partial-{os.urandom(4).hex()}")
    try:
        with open_new(partial) as file:
            if os.path.isfile(target) and not os.path.islink(target):
                os.fchmod(file.fileno(), stat.S_IMODE(os.stat(target).st_mode))
            yield file
            to_disk(file, partial)
        os.replace(partial, target)
    except OSError as error:
        if error.filename == partial:
            error.filename, error.filename2 = name, None
        raise
    finally:
        with suppress(OSError):
            os.unlink(partial)


def write_below(folder: str | os.PathLike[str], name: str, data: bytes, *, completes: bool = False) -> None:
    """Write a new file below a folder, following no link; `name` is its relative path, whose folders are made.

    It is an error if the file exists. With `completes` a file that holds only a first part of `data`, or all, is
    replaced: a crash of an earlier run has left it. After an error in writing there is no file.
    """
    *above, last = PurePath(name).parts
    with _folder_below(folder, above) as parent, placed(os.path.join(folder, name)):
        if completes and _begins(last, parent, data):
            os.unlink(last, dir_fd=parent)
        try:
            number = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _NEW_MODE, dir_fd=parent)
        except FileExistsError as error:
            raise InvalidArgument(f"{os.path.join(folder, name)} is there already: remove it first") from error
        try:
            with open(number, "wb") as file:
                file.write(data)
        except BaseException:
            os.unlink(last, dir_fd=parent)
            raise


@contextmanager
def _folder_below(folder: str | os.PathLike[str], names: Iterable[str]) -> Iterator[int]:
    """Yield the descriptor of a folder below another one, by the names on the way; missing folders are made.

    No link is followed.
    """
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    path = os.fspath(folder)
    try:
        for name in names:
            path = os.path.join(path, name)
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=number)
            try:
                below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=number)
            except OSError as error:
                if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                    raise
                raise InvalidArgument(f"{path} is there already and is no folder: remove it first") from error
            os.close(number)
            number = below
        yield number
    finally:
        os.close(number)


def _begins(name: str, parent: int, data: bytes) -> bool:
    """Return whether a file exists whose whole content is the beginning of `data`, or all of it.

    `parent` is the descriptor of the file's folder.
    """
    try:
        number = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
    except OSError:  # Nothing, or a link.
        return False
    with open(number, "rb") as file:
        return stat.S_ISREG(os.fstat(number).st_mode) and data.startswith(file.read(len(data) + 1))


def to_disk(file: BinaryIO, path: str | os.PathLike[str]) -> None:
    """Flush a file and sync it to the disk; an error names `path`."""
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
    """Return a setting from environment variables: the value of `name`, or else the content of a file.

    The variable ``NAME_FILE`` has the path of that file. Without either the setting is an empty string.
    """
    if value := variables.get(name, ""):
        return value.strip()
    path = variables.get(f"{name}_FILE", "")
    try:
        return Path(path).read_text("utf-8").strip() if path else ""
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidArgument(f"{name}_FILE: {path} cannot be read: {why}") from error
