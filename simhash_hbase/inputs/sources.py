"""What the caller named, as files: folders walked, patterns expanded, formats known by name."""

import glob
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simhash_hbase.errors import InvalidInput

STDIN = "-"
_COMPRESSIONS = {".gz": "gz", ".zst": "zst"}


@dataclass(frozen=True, slots=True)
class Source:
    """One file, or standard input."""

    name: str
    """As named, or found below the folder that was."""
    path: str | None
    """Where to open it; None is standard input itself."""
    id: str
    """The id of a file that is one document."""
    in_folder: bool = False
    """Whether a folder was named, not the file."""

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


def expand(named: Sequence[str]) -> list[str]:
    """Check that every source is there and expand patterns; nothing is opened.

    Parameters
    ----------
    named : sequence of str
        Files, folders, patterns, ``"-"`` once.

    Returns
    -------
    list of str
        Files, folders and ``"-"`` in the order given, matches of a pattern sorted.

    Raises
    ------
    InvalidInput
        When a source does not exist, is neither file nor folder, or a pattern matches nothing.
    """
    if isinstance(named, str):
        raise InvalidInput("sources is a sequence of names, not one string")
    if list(named).count(STDIN) > 1:
        raise InvalidInput("standard input can be read only once")
    return [path for name in named for path in _matches(name)]


def _matches(name: str) -> list[str]:
    if name == STDIN:
        return [name]
    if os.path.exists(name):
        if not os.access(name, os.R_OK):
            raise InvalidInput(f"{name} cannot be read: permission denied")
        return [name]
    if not glob.has_magic(name):
        raise InvalidInput(f"{name} does not exist")
    found = sorted(glob.glob(name, recursive=True))
    if not found:
        raise InvalidInput(f"no file matches the pattern {name}")
    return found


def files(path: str, stdin: str | None = None) -> Iterator[Source]:
    """Yield the file, or the files below the folder, sorted, hidden ones left out.

    Parameters
    ----------
    path : str
        One of what `expand` returns.
    stdin : str, optional
        A copy of standard input to open instead.

    Yields
    ------
    Source
        Links to folders are not followed, so a walk ends.
    """
    if path == STDIN:
        yield Source(STDIN, stdin, STDIN)
    elif os.path.isdir(path):
        yield from _below(path, "")
    else:
        yield Source(path, path, path)


def _below(folder: str, relative: str) -> Iterator[Source]:
    with os.scandir(folder) as entries:
        found = sorted((e for e in entries if not e.name.startswith(".")), key=lambda e: e.name)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path, f"{relative}{entry.name}/")
        elif entry.is_file():
            yield Source(entry.path, entry.path, relative + entry.name, in_folder=True)


def source_folders(named: Sequence[str]) -> list[str]:
    """Return the folders among the sources; all below them is read, except what is hidden.

    Parameters
    ----------
    named : sequence of str
        As for `read`.

    Returns
    -------
    list of str

    Raises
    ------
    InvalidInput
        As `read` does for a missing source.
    """
    return [path for path in expand(named) if os.path.isdir(path)]


def source_files(named: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """List the files of the sources, so that a change between two runs is seen.

    Parameters
    ----------
    named : sequence of str
        As for `read`, without standard input.

    Yields
    ------
    (path, size, time of change)
        In the order of reading; bytes, and nanoseconds since 1970. Paths are as the system names them, which need
        not be UTF-8.

    Raises
    ------
    InvalidInput
        As `read` does for a missing source.
    """
    for path in expand(named):
        for source in files(path):
            if source.path is not None:
                status = os.stat(source.path)
                yield source.path, status.st_size, status.st_mtime_ns


def total_bytes(named: Sequence[str]) -> int | None:
    """Return how many bytes the sources have before decompression, for a progress bar.

    Parameters
    ----------
    named : sequence of str
        As for `read`.

    Returns
    -------
    int or None
        None when one of them is a pipe, whose length nobody knows.

    Raises
    ------
    InvalidInput
        As `read` does for a missing source.
    """
    total = 0
    for path in expand(named):
        for source in files(path):
            if source.path is None:
                return None
            status = os.stat(source.path)
            if not stat.S_ISREG(status.st_mode):
                return None
            total += status.st_size
    return total
