"""Small files in the user's cache, read by later processes.

A file is taken only if this user alone can have written it. Whatever is wrong with the cache, what it would have kept
is made anew.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def identity(source: Path) -> list[int]:
    """List what changes with the content of a file: no program can set the time of change (``ctime``)."""
    found = source.stat()
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def folder() -> Path | None:
    """Name the folder of kept files; None without a home folder, or where it is relative."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    # A relative path would be another folder in each working directory.
    return cache / "simhash-hbase" / "probes" if cache.is_absolute() else None


def own_bytes(place: Path) -> bytes | None:
    """Read a kept file; None if it may be another user's."""
    # The folder first: what others put into theirs may be a pipe, on which opening waits.
    if not _is_own(place.parent):
        return None
    with place.open("rb") as file:
        return file.read() if _is_mine(os.fstat(file.fileno())) else None


def write(place: Path, data: bytes) -> None:
    """Put a file in its place at once: other processes see all of it or nothing."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_own(place.parent):
        return
    # As ``tempfile`` does, which takes longer to import than to find a file that is there.
    name = place.with_name(f"{place.stem}-{os.urandom(8).hex()}")
    number = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with open(number, "wb") as file:
            file.write(data)
        os.replace(name, place)
    except BaseException:
        os.unlink(name)
        raise


def _is_own(folder: Path) -> bool:
    with suppress(OSError):
        return _is_mine(folder.stat())
    return False


def _is_mine(found: os.stat_result) -> bool:
    """Return whether nobody but this user can have written it."""
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE
