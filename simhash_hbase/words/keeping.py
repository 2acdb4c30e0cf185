"""Lexicons in the user's cache: made from jieba's files on the first run, read by all later ones.

A file is taken only if this user alone can have written it, and if it was made from the very file that it is asked for:
of the same size, inode and times. Another content has another time of change (``ctime``), which no program can set; so
the digest that is kept beside these is as good as a new one. Whatever is wrong with the cache, the words are made anew,
and held in memory where they cannot be written.
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from simhash_hbase.errors import CorruptIndex
from simhash_hbase.words.lexicon import HeldWords, Lexicon, Words, encoded

MAKING = 1
"""To be raised with any change in what is made of the same file: then old files are not taken."""
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_DIGEST_BYTES = 16

_opened: dict[tuple[int, int, int], Lexicon] = {}

Made = tuple[Mapping[str, str], Mapping[str, object]]
"""Words with their values, and facts about all of them."""


def digest(content: bytes) -> str:
    """Digest the content of a file."""
    return blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


def kept_digest(source: Path) -> str:
    """Digest a file, which takes a hundredth of a second, or give the digest that its lexicon holds."""
    kept = _read(_place(source), identity(source))
    return digest(source.read_bytes()) if kept is None else str(kept.facts["digest"])


def lexicon_of(source: Path, make: Callable[[bytes], Made]) -> Words:
    """Give the lexicon of a file, and keep it for later processes."""
    # Before the file is read: if it changes meanwhile, what was made of it is not taken later.
    now = identity(source)
    place = _place(source)
    kept = _read(place, now)
    if kept is not None:
        return kept
    content = source.read_bytes()
    words, facts = make(content)
    facts = {**facts, "digest": digest(content), "identity": now}
    if place is None or not _is_writable(place.parent):
        return HeldWords(words, facts)
    data = encoded(words, facts)
    with suppress(OSError):
        write(place, data)
    return Lexicon(data)


def identity(source: Path) -> list[int]:
    """List what changes with the content of a file."""
    found = source.stat()
    return [MAKING, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def folder() -> Path | None:
    """Name the folder of kept files; None without a home folder, or where it is relative."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    # A relative path would be another folder in each working directory.
    return cache / "simhash-hbase" / "words" if cache.is_absolute() else None


def _place(source: Path) -> Path | None:
    kept = folder()
    return kept and kept / f"{source.stem}-{digest(os.fsencode(source))}.words"


def own_bytes(place: Path) -> bytes | None:
    """Read a kept file; None if it may be another user's."""
    with _open_own(place) as file:
        return None if file is None else file.read()


@contextmanager
def _open_own(place: Path) -> Iterator[BinaryIO | None]:
    # The folder first: what others put into theirs may be a pipe, on which opening waits.
    if not _is_own(place.parent):
        yield None
        return
    with place.open("rb") as file:
        yield file if _is_mine(os.fstat(file.fileno())) else None


def _read(place: Path | None, now: list[int]) -> Lexicon | None:
    if place is None:
        return None
    with suppress(OSError, ValueError, CorruptIndex), _open_own(place) as file:
        if file is not None:
            # Once a process: it is asked for the digest, and later for words.
            found = os.fstat(file.fileno())
            file_now = (found.st_dev, found.st_ino, found.st_ctime_ns)
            # Read, not mapped: a mapped file that somebody cuts off would end this process.
            kept = _opened.get(file_now) or Lexicon(file.read())
            _opened[file_now] = kept
            return kept if kept.facts["identity"] == now else None
    return None


def write(place: Path, data: bytes) -> None:
    """Put a file in its place at once: other processes see all of it or nothing."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_own(place.parent):
        return
    # It takes longer to import than to find a file that is there.
    from tempfile import mkstemp  # noqa: PLC0415

    number, name = mkstemp(prefix=f"{place.stem}-", dir=place.parent)
    try:
        with open(number, "wb") as file:
            file.write(data)
        os.replace(name, place)
    except BaseException:
        os.unlink(name)
        raise


def _is_writable(folder: Path) -> bool:
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _is_own(folder) and os.access(folder, os.W_OK)


def _is_own(folder: Path) -> bool:
    with suppress(OSError):
        return _is_mine(folder.stat())
    return False


def _is_mine(found: os.stat_result) -> bool:
    """Return whether nobody but this user can have written it."""
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE
