"""A file to read, and the files below a folder, including unreadable ones."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from simhash_hbase.files.remote import found, is_folder, is_remote

STDIN = "-"
UNKNOWN = -1  # The size of a file of which the server does not say it.
_COMPRESSIONS = {".gz": "gz", ".zst": "zst"}


@dataclass(frozen=True, slots=True)
class Source:
    """One file, or standard input."""

    name: str  # As named, or found below the folder that was.
    path: str | None  # Where to open it; None is standard input itself.
    id: str
    in_folder: bool = False  # Whether a folder was named, not the file.
    fault: str | None = None  # Why it cannot be read, if that is known before it is opened.
    size: int = 0  # Bytes when it was listed; so are the next two, which are 0 where the system said nothing.
    changed_ns: int = 0
    mode: int = 0

    @property
    def has_name(self) -> bool:
        """Whether the name can be part of an id and of a message: on the disk it may be any bytes."""
        return self.name == shown(self.name)

    @property
    def compression(self) -> str | None:
        """``"gz"``, ``"zst"`` or None, by the name."""
        return _COMPRESSIONS.get(os.path.splitext(self.name)[1].lower())

    @property
    def suffix(self) -> str:
        """Lower-case suffix of the name before compression, with its dot, or empty."""
        base = os.path.splitext(self.name)[0] if self.compression else self.name
        return os.path.splitext(base)[1].lower()


def shown(path: str) -> str:
    r"""Write a path so that it can be printed: bytes that are not UTF-8 as ``\xff``."""
    return os.fsencode(path).decode(errors="backslashreplace")


def files(path: str) -> Iterator[Source]:
    """Yield the file, or the files below the folder, sorted, hidden ones left out."""
    if path == STDIN:
        yield Source(STDIN, None, STDIN)
    elif is_remote(path):
        yield from _remote(path)
    elif os.path.isdir(path):
        yield from _below(path)
    else:
        yield _source(path, path)


def _remote(url: str) -> Iterator[Source]:
    for file in found(url):
        name = file.url if is_folder(url) else file.name
        size = UNKNOWN if file.size is None else file.size
        yield Source(name, file.url, file.name, is_folder(url), None, size, file.version)


def _below(folder: str) -> Iterator[Source]:
    # A stack, as folders may be nested more deeply than Python calls.
    waiting = [_entries(folder, "")]
    while waiting:
        found = next(waiting[-1], None)
        if found is None:
            waiting.pop()
        elif isinstance(found, Source):
            yield found
        else:
            waiting.append(_entries(*found))


def _entries(folder: str, relative: str) -> Iterator[Source | tuple[str, str]]:
    """Yield the files of a folder, and the folders in it with their names relative to the first one, sorted."""
    try:
        with os.scandir(folder) as entries:
            found = sorted((e for e in entries if not e.name.startswith(".")), key=lambda e: e.name)
    except OSError as error:
        yield Source(folder, folder, relative, in_folder=True, fault=f"the folder cannot be read: {_said(error)}")
        return
    for entry in found:
        name = relative + entry.name
        try:
            if entry.is_dir(follow_symlinks=False):
                yield entry.path, f"{name}/"
            elif entry.is_file():
                # A file without a status is opened all the same: the error of that says more.
                yield replace(_source(entry.path, name, in_folder=True), fault=None)
            elif entry.is_symlink() and (broken := _source(entry.path, name, in_folder=True)).fault:
                yield broken
        except OSError:
            yield _source(entry.path, name, in_folder=True)


def _source(path: str, name: str, *, in_folder: bool = False) -> Source:
    """Describe a file; one that cannot be read with the reason."""
    try:
        status = os.stat(path)
    except OSError as error:
        what = "the symbolic link leads nowhere" if os.path.islink(path) else "it cannot be read"
        return Source(path, path, name, in_folder, f"{what}: {_said(error)}")
    return Source(path, path, name, in_folder, None, status.st_size, status.st_mtime_ns, status.st_mode)


def _said(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
