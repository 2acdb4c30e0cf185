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

_TABLE_SIZE = 0x20000
_SLOW = 0xFFFFFFFF  # Marks a code point whose form depends on its neighbours, or is more than one character.
_UNSEEN = _SLOW - 1  # Marks one that no text had yet: to look at all of them takes a tenth of a second.
_CAPITAL_SIGMA = "Σ"
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


def _slowly(piece: str) -> NDArray[np.uint32]:
    points = _decode(unicodedata.normalize("NFKC", bounded_marks(piece)).lower())
    states = _states()
    found = states[points]
    if points.size and int(found.max()) == _UNKNOWN:
        # Threads that fill in the same place write the same there.
        for number in set(points[found == _UNKNOWN].tolist()):
            states[number] = is_kept(chr(number))
        found = states[points]
    kept: NDArray[np.uint32] = points[found != 0]
    return kept


@cache
def _table() -> NDArray[np.uint32]:
    """Map each code point to its normalised one, to 0 for nothing, to `_SLOW` or to `_UNSEEN`."""
    return np.full(_TABLE_SIZE, _UNSEEN, np.uint32)


def normal_character(character: str) -> str | None:
    """Return what a character becomes by itself; None where its neighbours matter."""
    composed = unicodedata.normalize("NFKC", character)
    if any(map(joins, composed)) or _CAPITAL_SIGMA in composed:
        return None
    return "".join(filter(is_kept, composed.lower()))


def _normalised(character: str) -> int:
    result = normal_character(character)
    if result is None or len(result) > 1:
        return _SLOW
    return ord(result) if result else 0


def _looked_at(points: NDArray[np.uint32], mapped: NDArray[np.uint32]) -> NDArray[np.uint32]:
    table = _table()
    # Threads that fill in the same place write the same there.
    for number in set(points[mapped == _UNSEEN].tolist()):
        table[number] = _normalised(chr(number))
    return table[points]


def point_pieces(text: str) -> Iterator[NDArray[np.uint32]]:
    """Yield the code points of the normalised text in pieces, so that a long text is never held whole as numbers."""
    return map(_piece_points, pieces(text))


def _piece_points(piece: str) -> NDArray[np.uint32]:
    points = _decode(piece)
    # Most texts are one look-up a character; the others cost about ten times as much.
    if points.size and int(points.max()) < _TABLE_SIZE:
        mapped = _table()[points]
        if int(mapped.max()) >= _UNSEEN:
            mapped = _looked_at(points, mapped)
            if int(mapped.max()) == _SLOW:
                return _slowly(piece)
        kept: NDArray[np.uint32] = mapped[mapped != 0]
        return kept
    return _slowly(piece)


def _decode(text: str) -> NDArray[np.uint32]:
    encoded = text.encode("utf-32-le", "surrogatepass")
    return np.frombuffer(encoded, "<u4").astype(np.uint32, copy=False)


def normalize(text: str) -> str:
    """Normalise a text: NFKC, lower case, without blanks, punctuation and symbols.

    Examples
    --------
    >>> normalize("Ｐython is “sexy”！")
    'pythonissexy'
    """
    return "".join(map(to_text, point_pieces(text)))


def to_text(points: NDArray[np.uint32]) -> str:
    """Join code points to a string."""
    return points.astype("<u4", copy=False).tobytes().decode("utf-32-le")
