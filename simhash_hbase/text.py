"""Normalised text: what sketches, shingles and text digests see.

A text is normalised by Unicode's NFKC, then lower-cased, then stripped of everything that is no
letter, number or mark (``str.isalnum``, or a category that begins with M; the variation selectors
U+FE00-U+FE0F count as nothing). So blanks, punctuation, symbols and control characters go.
"""

import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["code_points", "normalize", "to_text"]

_TABLE_SIZE = 0x20000
_SLOW = 0xFFFFFFFF
"""Marks a code point whose form depends on its neighbours, or is more than one character."""
_HANGUL_VOWELS_AND_FINALS = frozenset(map(chr, [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]))
_CAPITAL_SIGMA = "Σ"


def _kept(character: str) -> bool:
    if character.isalnum():
        return True
    return unicodedata.category(character)[0] == "M" and not "\ufe00" <= character <= "\ufe0f"


def _slowly(text: str) -> str:
    return "".join(filter(_kept, unicodedata.normalize("NFKC", text).lower()))


@cache
def _joining() -> frozenset[str]:
    """Find the characters that NFKC may join with one before them."""
    seconds = set(_HANGUL_VOWELS_AND_FINALS)
    for number in range(_TABLE_SIZE):
        parts = unicodedata.decomposition(chr(number)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):  # noqa: PLR2004
            seconds.add(chr(int(parts[1], 16)))
    return frozenset(seconds)


@cache
def _table() -> NDArray[np.uint32]:
    """Give for each code point its normalised one, 0 for nothing, or `_SLOW`."""
    seconds = _joining()
    table = np.zeros(_TABLE_SIZE, np.uint32)
    for number in range(_TABLE_SIZE):
        character = chr(number)
        composed = unicodedata.normalize("NFKC", character)
        if any(unicodedata.combining(part) or part in seconds for part in composed):
            table[number] = _SLOW
            continue
        result = "".join(filter(_kept, composed.lower()))
        if len(result) > 1 or _CAPITAL_SIGMA in composed:
            table[number] = _SLOW
        elif result:
            table[number] = ord(result)
    return table


def code_points(text: str) -> NDArray[np.uint32]:
    """Give the code points of the normalised text.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    ndarray of uint32
        One number a character that is left.
    """
    points = _decode(text)
    # Most texts are one look-up a character; the others cost about ten times as much.
    if points.size and int(points.max()) < _TABLE_SIZE:
        mapped = _table()[points]
        if int(mapped.max()) != _SLOW:
            kept: NDArray[np.uint32] = mapped[mapped != 0]
            return kept
    return _decode(_slowly(text))


def _decode(text: str) -> NDArray[np.uint32]:
    encoded = text.encode("utf-32-le", "surrogatepass")
    return np.frombuffer(encoded, "<u4").astype(np.uint32, copy=False)


def normalize(text: str) -> str:
    """Normalise a text: NFKC, lower case, without blanks, punctuation and symbols.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        Its letters, numbers and marks.

    Examples
    --------
    >>> normalize("Ｐython is “sexy”！")
    'pythonissexy'
    """
    return to_text(code_points(text))


def to_text(points: NDArray[np.uint32]) -> str:
    """Join code points to a string.

    Parameters
    ----------
    points : ndarray of uint32
        Code points.

    Returns
    -------
    str
        One character a code point.
    """
    return points.astype("<u4", copy=False).tobytes().decode("utf-32-le")
