"""The sources that the caller names: checked, patterns expanded, listed."""

import glob
import os
import stat
from collections.abc import Iterator, Sequence

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs.folders import STDIN, files


def expand(named: Sequence[str]) -> list[str]:
    """Check that every source is there and expand patterns; nothing is opened."""
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
    if os.path.islink(name):
        raise InvalidInput(f"{name} is a symbolic link that leads nowhere")
    if not glob.has_magic(name):
        raise InvalidInput(f"{name} does not exist")
    found = sorted(glob.glob(name, recursive=True))
    if not found:
        raise InvalidInput(f"no file matches the pattern {name}")
    return found


def source_folders(named: Sequence[str]) -> list[str]:
    """Return the folders among the sources; all below them is read, except what is hidden."""
    return [path for path in expand(named) if os.path.isdir(path)]


def source_files(named: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """List the files of the sources, so that a change between two runs is seen."""
    for path in expand(named):
        for source in files(path):
            if source.path is not None and (status := _status(source.path)) is not None:
                yield source.path, status.st_size, status.st_mtime_ns


def total_bytes(named: Sequence[str]) -> int | None:
    """Return how many bytes the sources have before decompression, for a progress bar."""
    total = 0
    for path in expand(named):
        for source in files(path):
            if source.path is None:
                return None
            status = _status(source.path)
            if status is not None and not stat.S_ISREG(status.st_mode) and source.fault is None:
                return None
            total += status.st_size if status is not None else 0
    return total


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
