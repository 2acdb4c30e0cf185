"""Hashes of features: from a string, or from a ready-made integer, to 64 bits.

Every hash takes the UTF-8 bytes of a string and gives the same number on every platform.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import get_args

import mmh3
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import InvalidArgument, InvalidProfile
from simhash_hbase.profile.choices import HashName

_MASK32 = 0xFFFFFFFF
_MASK64 = 0xFFFFFFFFFFFFFFFF
_BLOCK = 12  # Bytes that lookup3 takes in at a time.


def _murmur3(data: bytes, seed: int) -> int:
    return int(mmh3.hash64(data, seed=seed, x64arch=True, signed=False)[0])


def _times33(data: bytes, _seed: int) -> int:
    value = 5381
    for byte in data:
        value = (value * 33 + byte) & _MASK64
    return value


def _md5(data: bytes, _seed: int) -> int:
    # It loads OpenSSL, and the hash is seldom asked for.
    from hashlib import md5  # noqa: PLC0415

    return int.from_bytes(md5(data, usedforsecurity=False).digest()[:8], "big")


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK32


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    """Mix three words reversibly, as lookup3's ``mix`` does."""
    for bits in (4, 6, 8, 16, 19, 4):
        a = ((a - c) & _MASK32) ^ _rotate(c, bits)
        c = (c + b) & _MASK32
        a, b, c = b, c, a
    return a, b, c


def _final(a: int, b: int, c: int) -> tuple[int, int, int]:
    """Mix the last three words, as lookup3's ``final`` does."""
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - _rotate(b, bits)) & _MASK32
        a, b, c = b, c, a
    return c, a, b


def _jenkins(data: bytes, _seed: int) -> int:
    a = b = c = (0xDEADBEEF + len(data)) & _MASK32
    for start in range(0, len(data), _BLOCK):
        block = data[start : start + _BLOCK]
        a = (a + int.from_bytes(block[:4], "little")) & _MASK32
        b = (b + int.from_bytes(block[4:8], "little")) & _MASK32
        c = (c + int.from_bytes(block[8:], "little")) & _MASK32
        a, b, c = (_mix if start + _BLOCK < len(data) else _final)(a, b, c)
    return (c << 32) | b


_BYTE_HASHES: dict[str, Callable[[bytes, int], int]] = {
    "jenkins": _jenkins,
    "md5": _md5,
    "murmur3": _murmur3,
    "times33": _times33,
}

HASHES: tuple[HashName, ...] = get_args(HashName)
"""The names that `hash_features` knows.

``murmur3``
    The first (``h1``) of the two 64-bit words of MurmurHash3 x64 128, the only one with a seed.
``times33``
    Bernstein's: from 5381, times 33 plus the byte, modulo 2**64. Words of a few bytes hardly reach its upper bits (see
    README.md of this folder), so `WeakHashWarning` is issued where an index is made with it.
``jenkins``
    Bob Jenkins' lookup3 ``hashlittle2`` with both seeds 0, ``pc`` the upper and ``pb`` the lower
    half: equal to yanyiwu/simhash's.
``md5``
    The first eight bytes of the MD5 digest, big-endian: equal to seomoz/simhash-py's.
``none``
    The features are the hashes: integers from 0 to 2**64 - 1.
"""


class WeakHashWarning(UserWarning):
    """An index is made with a hash that leaves bits of a fingerprint constant."""


def warn_of_weak_hash(hash: str) -> None:
    """Issue a `WeakHashWarning` where a hash is chosen that is there for compatibility only."""
    if hash == "times33":
        warnings.warn(
            "hash times33 leaves about 30 of 64 bits constant on ordinary words: unrelated documents come near each "
            "other, and searches read many rows; murmur3 does not",
            WeakHashWarning,
            stacklevel=3,
        )


def check_hash(hash: str, seed: int) -> None:
    """Refuse a hash and a seed that do not go together."""
    if hash not in HASHES:
        raise InvalidProfile(f"hash {hash!r}: wanted one of {', '.join(HASHES)}")
    if not 0 <= seed <= _MASK32:
        raise InvalidProfile(f"seed {seed}: wanted 0 to {_MASK32}")
    if seed and hash != "murmur3":
        raise InvalidProfile(f"hash {hash} takes no seed; only murmur3 does")


def hash_features(features: Sequence[str | int], *, hash: str, seed: int = 0) -> NDArray[np.uint64]:
    """Hash features to 64 bits each.

    Examples
    --------
    >>> [hex(value) for value in hash_features(["我", "喜欢"], hash="md5").tolist()]
    ['0x16815254531798dc', '0x3d6c396cf4dea3ba']
    >>> hash_features([7], hash="none").tolist()
    [7]
    """
    check_hash(hash, seed)
    if hash == "none":
        return np.array([_ready_made(feature) for feature in features], np.uint64)
    function = _BYTE_HASHES[hash]
    return np.array([function(_utf8(feature), seed) for feature in features], np.uint64)


def _ready_made(feature: str | int) -> int:
    if isinstance(feature, str) or not 0 <= feature <= _MASK64:
        raise InvalidArgument(f"feature {feature!r}: wanted an integer of 64 bits, with hash none")
    return int(feature)


def _utf8(feature: str | int) -> bytes:
    if not isinstance(feature, str):
        raise InvalidArgument(f"feature {feature!r}: wanted a string; integers go with hash none")
    # A lone surrogate has no UTF-8 form; Python's own extension of it is as good as any.
    return feature.encode("utf-8", "surrogatepass")
