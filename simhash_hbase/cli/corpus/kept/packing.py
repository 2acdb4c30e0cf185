"""Compressing what is kept, by the name that it gets."""

import gzip
from collections.abc import Callable

import zstandard


def _gzip(data: bytes) -> bytes:
    # Without a time, so that the same documents make the same bytes.
    return gzip.compress(data, mtime=0)


_PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": _gzip, ".zst": zstandard.compress}


def packer(suffix: str) -> Callable[[bytes], bytes]:
    """Return what compresses for a suffix such as ``.gz``, in capitals too; for others what changes nothing."""
    return _PACKERS.get(suffix.lower(), bytes)
