"""Probes that were passed here, so that a process need not pass them again: they take some hundredths of a second.

A probe counts as long as all that it goes through is the same: this package's code, the libraries and their data by
size, inode and times, Python's version and the machine.
"""

import os
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import msgspec

from simhash_hbase.features import keeping
from simhash_hbase.words.installed import digest_of

_MOST = 64  # Probes that are remembered: one an index, two for indexes into which corpora are written.
_NAME = "passed.json"
_LIBRARIES = ("jieba", "mmh3", "msgspec", "numpy", "rjieba")
_LIBRARY_FILES = ("*.so", "*.pyd", "dict.txt", "analyse/idf.txt", "finalseg/*.py")


def key_of(profile: bytes, *, whole: bool) -> str:
    """Name a probe of a profile: by few words of the dictionary, or by the whole one."""
    return digest_of(msgspec.json.encode((profile.decode(), whole, _machine())))


def is_passed(key: str) -> bool:
    """Return whether a probe was passed on this machine."""
    return key in _read()


def note_passed(key: str) -> None:
    """Remember that a probe was passed, once each; of two processes that do so at once one may not be heard."""
    place = keeping.folder()
    if place is not None:
        with suppress(OSError):
            others = [other for other in _read() if other != key]
            keeping.write(place / _NAME, msgspec.json.encode([*others, key][-_MOST:]))


def _read() -> list[str]:
    place = keeping.folder()
    with suppress(OSError, ValueError):
        if place is not None and (content := keeping.own_bytes(place / _NAME)) is not None:
            return msgspec.json.decode(content, type=list[str])
    return []


@cache
def _machine() -> list[object]:
    """List all that a fingerprint goes through."""
    files = sorted({*_own_files(), *_library_files()})
    return [
        sys.version,
        unicodedata.unidata_version,
        *os.uname(),
        [[str(file), *keeping.identity(file)] for file in files],
    ]


def _own_files() -> Iterator[Path]:
    package = Path(__file__).parents[1]
    yield package / "digests.py"
    for folder in ("words", "features", "profile", "rows"):
        for end in ("*.py", "*.txt"):
            yield from (package / folder).rglob(end)


def _library_files() -> Iterator[Path]:
    for name in _LIBRARIES:
        found = find_spec(name)
        if found is not None and found.origin is not None:
            yield Path(found.origin)
            for files in _LIBRARY_FILES:
                yield from Path(found.origin).parent.glob(files)
