"""The files that a run writes: each can be made, none is where documents are read, and no two are the same."""

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from errno import ENOENT
from pathlib import Path

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.files.remote import is_remote, shown
from simhash_hbase.inputs import Sources

_Identity = tuple[int, int] | str


def check_destinations(sources: Sources, written: Mapping[str, str | None]) -> None:
    """Refuse to write over the input, or where nothing can be; called before any file is opened for writing.

    Places go by what messages call them: a parameter in backticks, or what is written beside such a file.
    """
    places = {name: path for name, path in written.items() if path is not None}
    read: set[_Identity | None] = set()
    if places:
        read = {_identity(source.path) for source in sources.files() if source.path is not None}
        read |= set(_standard_input()) if "-" in sources else set()
    taken: dict[_Identity, str] = {}
    for name, path in places.items():
        if (identity := _identity(path)) is None:
            continue
        if identity in read:
            raise InvalidArgument(f"{name} {shown(path)} is a file of the input: name another one")
        for folder in sources.folders:
            if _is_read_with(folder, path):
                raise InvalidArgument(
                    f"{name} {shown(path)} is in {shown(folder)}, which is read: name a place outside of it"
                )
        if identity in taken:
            raise InvalidArgument(f"{taken[identity]} and {name} both name {shown(path)}")
        taken[identity] = name
    _check_remote(places)
    for name, path in places.items():
        # At the beginning, not after hours. What is no parameter is beside a file that was named, or makes its folders.
        if name.startswith("`") and not is_remote(path) and not (parent := Path(path).parent).is_dir():
            raise FileNotFoundError(ENOENT, f"there is no folder {parent}: make it first", f"{name} {path}")


def _check_remote(places: Mapping[str, str]) -> None:
    remote = {name: path for name, path in places.items() if is_remote(path) and name.startswith("`")}
    for name, path in remote.items():
        if name != "`output`":
            raise InvalidArgument(f"{name} {shown(path)}: only `output` can be written to an object store")
        if "`results`" in places:
            raise InvalidArgument(
                f"`output` {shown(path)} cannot be continued: leave out `results`, or name a local file"
            )


def _standard_input() -> Iterator[_Identity]:
    """Yield the file that the shell opened as standard input, if it is one."""
    try:
        status = os.fstat(sys.stdin.fileno())
    except (OSError, AttributeError):
        return
    if stat.S_ISREG(status.st_mode):
        yield status.st_dev, status.st_ino


def _is_read_with(folder: str, path: str) -> bool:
    if is_remote(folder) or is_remote(path):
        return path.startswith(folder)
    place, top = Path(path).resolve(), Path(folder).resolve()
    return place.is_relative_to(top) and not any(part.startswith(".") for part in place.relative_to(top).parts)


def _identity(path: str) -> _Identity | None:
    """Tell files apart as the system does, by their paths as long as they are not there; devices lose nothing."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) else None
