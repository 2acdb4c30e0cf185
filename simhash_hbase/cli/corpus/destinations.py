"""The files that a command writes: none of them may be where it reads, and no two the same."""

import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.inputs import source_files, source_folders

_Identity = tuple[int, int] | str


def check_destinations(sources: Sequence[str], written: Mapping[str, str | None]) -> None:
    """Refuse to write over the input; called before any file is opened for writing."""
    read = set(_inputs(sources)) if any(written.values()) else set()
    folders = source_folders(sources) if any(written.values()) else []
    taken: dict[_Identity, str] = {}
    for option, path in written.items():
        if path is None or (identity := _identity(path)) is None:
            continue
        if identity in read:
            raise InvalidArgument(f"{option} {path} is a file of the input: name another one")
        for folder in folders:
            if _is_read_with(folder, path):
                raise InvalidArgument(f"{option} {path} is in {folder}, which is read: name a place outside of it")
        if identity in taken:
            raise InvalidArgument(f"{option} {path} is the file of {taken[identity]}, too: name another one")
        taken[identity] = option


def _inputs(sources: Sequence[str]) -> Iterator[_Identity]:
    for path, _, _ in source_files(sources):
        if (identity := _identity(path)) is not None:
            yield identity
    if "-" in sources:
        yield from _standard_input()


def _standard_input() -> Iterator[_Identity]:
    """Yield the file that the shell opened as standard input, if it is one."""
    try:
        status = os.fstat(sys.stdin.fileno())
    except (OSError, AttributeError):
        return
    if stat.S_ISREG(status.st_mode):
        yield status.st_dev, status.st_ino


def _is_read_with(folder: str, path: str) -> bool:
    place, top = Path(path).resolve(), Path(folder).resolve()
    return place.is_relative_to(top) and not any(part.startswith(".") for part in place.relative_to(top).parts)


def _identity(path: str) -> _Identity | None:
    """Tell files apart as the system does, by their paths as long as they are not there; devices lose nothing."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) else None
