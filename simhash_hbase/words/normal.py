"""Normalised text, the input of sketches, shingles and text digests.

A text is normalised by Unicode's NFKC, then lower-cased, then stripped of everything that is no
letter, number or mark (``str.isalnum``, or a category that begins with M; the variation selectors
U+FE00-U+FE0F count as nothing). So blanks, punctuation, symbols and control characters go.
"""

import sys
import unicodedata
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.words.marks import bounded_marks, joins, pieces

_UNKNOWN = 2


def is_kept(character: str) -> bool:
    """Return whether a character is part of a normal form: a letter, a number or a mark."""
    if character.isalnum():
        return True
    return unicodedata.category(character)[0] == "M" and not "\ufe00" <= character <= "\ufe0f"


@cache
def _states() -> NDArray[np.uint8]:
    """Hold for each code point whether it is kept, once that was asked for."""
    return np.full(sys.maxunicode + 1, _UNKNOWN, np.uint8)


def normal_character(character: str) -> str | None:
    """Return what a character becomes by itself; None where its neighbours matter."""
    composed = unicodedata.normalize("NFKC", character)
    if any(map(joins, composed)) or "Σ" in composed:
        return None
    return "".join(filter(is_kept, composed.lower()))


def point_pieces(text: str) -> Iterator[NDArray[np.uint32]]:
    """Yield the code points of the normalised text in pieces, so that a long text is never held whole as numbers."""
    states = _states()
    for piece in pieces(text):
        encoded = unicodedata.normalize("NFKC", bounded_marks(piece)).lower().encode("utf-32-le", "surrogatepass")
        points = np.frombuffer(encoded, "<u4").astype(np.uint32, copy=False)
        # Threads that fill in the same place write the same there.
        for number in set(points[states[points] == _UNKNOWN].tolist()):
            states[number] = is_kept(chr(number))
        yield points[states[points] != 0]


def normalize(text: str) -> str:
    """Normalise a text: NFKC, lower case, without blanks, punctuation and symbols.

    Examples
    --------
    >>> normalize("Ｐython is “sexy”！")
    'pythonissexy'
    """
    return "".join(points.astype("<u4", copy=False).tobytes().decode("utf-32-le") for points in point_pieces(text))
