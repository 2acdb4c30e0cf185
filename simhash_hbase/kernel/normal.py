"""Unicode's normal forms in linear time: long runs of combining marks are interrupted, long texts done in pieces.

Normalisation sorts each run of combining marks, in time that grows with the square of its length, and Python holds its
lock meanwhile. Unicode's stream-safe text format (UAX #15, section 13) bounds the runs at 30: a combining grapheme
joiner (U+034F) goes after each 30 marks that others follow. No language needs more than a handful.
"""

import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import chain, compress
from typing import Literal

JOINER = "\u034f"
MAX_MARKS = 30  # Combining marks of one run that stay together.

PIECE = 1 << 16
"""Characters that are normalised at a time: enough to hide the cost a call, few enough for a small bound on memory."""
_HALF = MAX_MARKS // 2
_SEARCHED = 1 << 12  # Characters that are looked through for a place to cut.

_UNCOMBINING_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"  # No marks by themselves; some normal form of them is.
_HANGUL_VOWELS_AND_FINALS = frozenset(map(chr, [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]))


def is_mark(character: str) -> bool:
    """Return whether a character is a combining mark, or has a normal form that consists of such marks alone."""
    return unicodedata.combining(character) > 0 or character in _UNCOMBINING_MARKS


def varying() -> list[str]:
    """Return all characters, below U+20000, that a Unicode normal form might change.

    Left out are the blocks of ideographs, Hangul syllables, surrogates and private characters, which stay as they are.
    """
    parts = range(0x3400), range(0xA000, 0xAC00), range(0xF900, 0x17000), range(0x1B000, 0x20000)
    return list(map(chr, chain.from_iterable(parts)))


@cache
def joining() -> frozenset[str]:
    """Return the characters that a Unicode normal form may combine with the character before them, or reorder."""
    characters = varying()
    parts = [decomposition.split() for decomposition in filter(None, map(unicodedata.decomposition, characters))]
    seconds = (chr(int(pair[1], 16)) for pair in parts if len(pair) == 2 and pair[0][0] != "<")  # noqa: PLR2004
    marks = compress(characters, map(unicodedata.combining, characters))
    return _HANGUL_VOWELS_AND_FINALS.union(seconds, marks, _UNCOMBINING_MARKS)


def bounded_marks(text: str) -> str:
    r"""Return a text in Unicode's stream-safe format: with a joiner after each 30 of consecutive combining marks.

    Examples
    --------
    >>> len(bounded_marks("e" + 61 * "\u0301"))
    64
    """
    # A run that is too long fills one of these parts: a look at the first character of each is mostly enough.
    places = (place for place in range(0, len(text) - _HALF + 1, _HALF) if is_mark(text[place]))
    if not any(all(map(is_mark, text[place : place + _HALF])) for place in places):
        return text
    bounded, run = [], 0
    for character in text:
        run = run + 1 if is_mark(character) else 0
        if run > MAX_MARKS:
            bounded.append(JOINER)
            run = 1
        bounded.append(character)
    return "".join(bounded)


def normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return a Unicode normal form of a text, in time and memory linear in its length."""
    return "".join(unicodedata.normalize(form, bounded_marks(piece)) for piece in pieces(text))


def pieces(text: str) -> Iterator[str]:
    """Cut a long text into pieces that can be normalised and lower-cased one by one, with the same result as the whole.

    A cut is made before a character that joins no other, and after one that does not change the lower case of a capital
    sigma. A run of more than 4,096 characters without such a place, which no language writes, is cut at a fixed place
    of the text.
    """
    start = 0
    while len(text) - start > PIECE:
        first = start + PIECE
        places = [place for place in range(first, min(first + _SEARCHED, len(text))) if text[place] not in joining()]
        # A capital sigma before such a character ends its word, whatever follows.
        ends = (place for place in places if ("aΣ" + text[place - 1] + "a").lower()[1] == "ς")
        stop = next(ends, places[0] if places else first if first + _SEARCHED < len(text) else len(text))
        yield text[start:stop]
        start = stop
    yield text[start:]
