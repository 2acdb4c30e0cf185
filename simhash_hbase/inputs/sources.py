"""The sources that the caller names: checked, patterns expanded, and listed once."""

import glob
import os
import pickle
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from weakref import finalize

from simhash_hbase.errors import InvalidInput
from simhash_hbase.files.local import open_temporary
from simhash_hbase.files.remote import is_folder, is_remote
from simhash_hbase.inputs.folders import STDIN, UNKNOWN, Source, files

_IN_MEMORY = 1_000
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class Sources(tuple[str, ...]):
    """The names that the caller gave, with the files that they lead to.

    Folders are walked once, at the beginning, however often the files are read. The list of a large tree is kept in a
    temporary file, so that memory does not grow with it.
    """

    def __init__(self, named: Sequence[str]) -> None:
        paths = expand(named)
        self.folders = [path for path in paths if os.path.isdir(path) or is_folder(path)]
        """All below these is read, except what is hidden."""
        found = (source for path in paths for source in files(path))
        self._first = list(islice(found, _IN_MEMORY))
        self._spool = _Spool(found)

    def files(self, stdin: str | None = None) -> Iterator[Source]:
        """Yield every file; `stdin` names a copy of standard input, to be read in its place."""
        for source in chain(self._first, self._spool.read()):
            yield source if source.name != STDIN or stdin is None else replace(source, path=stdin)


class _Spool:
    """Sources in a temporary file; without any there is none."""

    def __init__(self, found: Iterator[Source]) -> None:
        self._starts: list[int] = []
        while some := list(islice(found, _IN_MEMORY)):
            if not self._starts:
                self._file = open_temporary()
                finalize(self, self._file.close)
            self._starts.append(self._file.tell())
            pickle.dump(some, self._file)

    def read(self) -> Iterator[Source]:
        for start in self._starts:
            # Two readers may be on their way at once: each seeks its own part.
            self._file.seek(start)
            yield from pickle.load(self._file)


def listed(named: Sequence[str]) -> Sources:
    """List what was named, unless that was done."""
    return named if isinstance(named, Sources) else Sources(named)


def expand(named: Sequence[str]) -> list[str]:
    """Check that every source is there and expand patterns; nothing is opened."""
    if isinstance(named, str):
        raise InvalidInput("sources is a sequence of names, not one string")
    if list(named).count(STDIN) > 1:
        raise InvalidInput("standard input can be read only once")
    return [path for name in named for path in _matches(name)]


def _matches(name: str) -> list[str]:
    if name == STDIN or is_remote(name):
        return [name]
    if os.path.exists(name):
        if not os.access(name, os.R_OK):
            raise InvalidInput(f"{name} cannot be read: permission denied")
        return [name]
    if os.path.islink(name):
        raise InvalidInput(f"{name} is a symbolic link that leads nowhere")
    if scheme := _SCHEME.match(name):
        raise InvalidInput(f"{scheme[0]} is not read: wanted a file, s3://, gs://, hf://, http:// or https://")
    if not glob.has_magic(name):
        raise InvalidInput(f"{name} does not exist")
    found = sorted(glob.glob(name, recursive=True))
    if not found:
        raise InvalidInput(f"no file matches the pattern {name}")
    return found


def total_bytes(named: Sequence[str]) -> int | None:
    """Return how many bytes the sources have before decompression, for a progress bar."""
    total = 0
    for source in listed(named).files():
        if source.path is None or source.size == UNKNOWN:
            return None
        if not is_remote(source.path) and (source.mode and not stat.S_ISREG(source.mode) and source.fault is None):
            return None
        total += source.size
    return total
