"""Ranges of keys that the words of a text can have: a key is the first eight bytes of a line, as a number."""

import numpy as np
from numpy.typing import NDArray

KEY_BYTES = 8  # Two characters, or one and the blank behind it.

_BLANK = np.uint64(ord(" "))
_ONE = np.uint64(1)
_BITS = np.uint64(8 * KEY_BYTES)
_BITS_A_BYTE = np.uint64(8)
_LONGER = 3  # Characters of a word that no blank follows within a key.

Keys = NDArray[np.uint64]


def key_ranges(text: str) -> tuple[Keys, Keys]:
    """Give the least and the greatest keys of words that a text may hold, each range once.

    They are those of its characters and pairs of characters, with a blank behind, and of each three characters.
    """
    # A lone surrogate is in no word.
    encoded = text.encode(errors="surrogatepass")
    octets = np.frombuffer(encoded, np.uint8)
    starts = np.flatnonzero((octets & 0xC0) != 0x80)  # noqa: PLR2004 - bytes of UTF-8 that go on
    ends = np.append(starts, len(encoded))
    keys = np.ndarray((len(encoded),), ">u8", encoded + bytes(KEY_BYTES), strides=(1,))[starts].astype(np.uint64)
    ranges = [_range(keys, ends, characters) for characters in range(1, _LONGER + 1)]
    least, greatest = (np.concatenate(bounds) for bounds in zip(*ranges, strict=True))
    order = np.argsort(least)
    least, greatest = least[order], greatest[order]
    first = np.ones(len(least), np.bool_)
    first[1:] = (least[1:] != least[:-1]) | (greatest[1:] != greatest[:-1])
    return least[first], greatest[first]


def _range(keys: Keys, ends: NDArray[np.intp], characters: int) -> tuple[Keys, Keys]:
    """Give the range of keys that begin with so many characters from each place on."""
    lengths = ends[characters:] - ends[:-characters]
    free = _BITS - _BITS_A_BYTE * np.minimum(lengths, KEY_BYTES).astype(np.uint64)  # Bits behind the characters.
    least = keys[: len(free)] & ~_below(free)
    if characters < _LONGER:
        has_room = free > 0
        free[has_room] -= _BITS_A_BYTE
        least[has_room] |= _BLANK << free[has_room]
    return least, least | _below(free)


def _below(bits: Keys) -> Keys:
    """Give the greatest number of so many bits, of which there are fewer than 64."""
    return (_ONE << bits) - _ONE
