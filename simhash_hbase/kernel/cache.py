"""Tables in one file of the user's cache: made once, then mapped, so that all processes share their memory.

A file is taken only if this user alone can have written it and its digest is right. Where no such file can be kept the
tables are in this process's own memory.
"""

import mmap
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import mmh3
import msgspec
import numpy as np
from numpy.typing import NDArray

Tables = dict[str, NDArray[Any]]

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_DIGEST_BYTES = 16  # Of all that follows.
_LENGTH_BYTES = 8  # Of the number that tells the length of the header.
_ALIGNMENT = 64


def tables(name: str, make: Callable[[], Tables]) -> Tables:
    """Return arrays of numbers from the user's cache, and make them where they are not in it.

    The name tells all that they depend on. What this process writes into them stays in it.
    """
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # There is no home folder.
        cache = Path()
    # A relative path would be another folder in each working directory.
    file = cache / "simhash-hbase" / "tables" / name if cache.is_absolute() else None
    arrays = _mapped(file) if file else None
    if arrays is None:
        arrays = make()
        if file:
            with suppress(OSError):
                _write(file, _packed(arrays))
                return _mapped(file) or arrays
    return arrays


def _packed(arrays: Tables) -> list[bytes | memoryview]:
    """Return the content of a file in parts: digest, length of the header, header, arrays."""
    places, end = {}, 0  # Of each array its type, its shape, and where it is.
    for name, array in arrays.items():
        places[name] = (array.dtype.str, array.shape, end)
        end += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    header = msgspec.msgpack.encode(places)
    head = len(header).to_bytes(_LENGTH_BYTES, "little") + header
    parts: list[bytes | memoryview] = [head, bytes(-(_DIGEST_BYTES + len(head)) % _ALIGNMENT)]
    for array in arrays.values():
        parts += [array.data, bytes(-array.nbytes % _ALIGNMENT)]
    digest = mmh3.mmh3_x64_128()
    for part in parts:
        digest.update(part)
    return [digest.digest(), *parts]


def _mapped(file: Path) -> Tables | None:
    """Map the arrays of a file; None if there is none, it is damaged, or another user may have written it."""
    try:
        # The folder first: what others put into theirs may be a pipe, on which opening waits.
        if not _is_own(file.parent.stat()):
            return None
        with file.open("rb") as opened:
            if not _is_own(os.fstat(opened.fileno())):
                return None
            # Pages are shared until they are written, which typed memoryviews ask to be allowed.
            content = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError):  # An empty file cannot be mapped.
        return None
    view = memoryview(content)
    start = _DIGEST_BYTES + _LENGTH_BYTES
    if len(view) < start or mmh3.mmh3_x64_128_digest(view[_DIGEST_BYTES:]) != view[:_DIGEST_BYTES]:
        return None
    stop = start + int.from_bytes(view[_DIGEST_BYTES:start], "little")
    places = msgspec.msgpack.decode(view[start:stop], type=dict[str, tuple[str, tuple[int, ...], int]])
    first = -(-stop // _ALIGNMENT) * _ALIGNMENT
    return {name: np.ndarray(shape, kind, content, first + at) for name, (kind, shape, at) in places.items()}


def _write(file: Path, parts: list[bytes | memoryview]) -> None:
    """Put a file in its place at once: other processes see all of it or nothing."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_own(file.parent.stat()):
        raise PermissionError(file.parent)
    # As ``tempfile`` does, which takes longer to import than to find a file that is there.
    beside = file.with_name(f"{file.name}-{os.urandom(8).hex()}")
    number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with open(number, "wb") as opened:
            opened.writelines(parts)
        os.replace(beside, file)
    except BaseException:
        os.unlink(beside)
        raise


def _is_own(status: os.stat_result) -> bool:
    """Return whether nobody but this user can have written a file or into a folder."""
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE
