"""Unicode's normal forms in linear time: long runs of combining marks are cut, long texts normalised in pieces.

Normalisation sorts each run of combining marks, in time that grows with the square of its length, and Python holds its
lock meanwhile. Unicode's stream-safe text format (UAX #15, section 13) bounds the runs at 30: a combining grapheme
joiner (U+034F) goes after each 30 marks that others follow. No language needs more than a handful.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Literal

import numpy as np

MAX_MARKS = 30  # Combining marks of one run that stay together.

PIECE = 1 << 16
"""Characters that are normalised at a time: enough to hide the cost a call, few enough for a small bound on memory."""
_HALF = MAX_MARKS // 2
_SEARCHED = 1 << 12  # Characters that are looked through for a place to cut.

_JOINER = "\u034f"
_FIRST_MARK = 0x300
_PLANES_WITH_MARKS = 0x20000
_BLOCK = 0x100
_CJK = range(0x3100, 0xF900)
"""Han, Hangul syllables and others that consist of no two characters, but for Hangul's by rule."""
_HALFWIDTH_MARKS = "\uff9e\uff9f"
"""The only characters that are no mark by themselves and become one by a compatibility form."""
_HANGUL_VOWELS_AND_FINALS = frozenset(map(chr, [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]))


@cache
def marks() -> frozenset[str]:
    """Find the characters of which some normal form consists of combining marks alone."""
    numbers = range(_FIRST_MARK, _PLANES_WITH_MARKS)
    return frozenset(filter(unicodedata.combining, map(chr, numbers))) | _uncombining_marks()


@cache
def _uncombining_marks() -> frozenset[str]:
    return frozenset(_HALFWIDTH_MARKS).union(_composed_marks())


def _composed_marks() -> Iterator[str]:
    # A few Tibetan vowels of two parts have class 0 and are taken apart by every form.
    for character in map(chr, range(0xF00, 0x1000)):
        parts = unicodedata.normalize("NFD", character)
        if all(map(unicodedata.combining, parts)):
            yield character


@cache
def _seconds() -> frozenset[str]:
    """Find the characters that a normal form may join with one before them, but for most marks."""
    seconds = set(_HANGUL_VOWELS_AND_FINALS)
    for start, stop in ((0, _CJK.start), (_CJK.stop, _PLANES_WITH_MARKS)):
        characters = np.arange(start, stop, dtype="<u4").tobytes().decode("utf-32-le")
        for at in range(0, len(characters), _BLOCK):
            block = characters[at : at + _BLOCK]
            # Most blocks have no character that is made of two, which this finds twenty times faster.
            if not unicodedata.is_normalized("NFD", block):
                seconds.update(_second_parts(block))
    return frozenset(seconds)


def _second_parts(characters: str) -> Iterator[str]:
    for character in characters:
        if not unicodedata.is_normalized("NFD", character):
            parts = unicodedata.decomposition(character).split()
            if len(parts) == 2:  # noqa: PLR2004
                yield chr(int(parts[1], 16))


@cache
def joining() -> frozenset[str]:
    """Find the characters that a normal form may join with one before them, or change the order of."""
    return _seconds() | marks()


def joins(character: str) -> bool:
    """Return whether a character is one of `joining`, without a look at all others."""
    if unicodedata.category(character)[0] != "M" and character not in _HANGUL_VOWELS_AND_FINALS:
        # No other character is joined; to find all that are takes a hundredth of a second.
        return character in _HALFWIDTH_MARKS
    return _is_mark(character) or character in _seconds()


@cache
def _too_long() -> re.Pattern[str]:
    """Match the marks after which a run is cut."""
    some = f"[{''.join(sorted(marks()))}]"
    return re.compile(f"{some}{{{MAX_MARKS}}}(?={some})")


def _has_long_run(text: str) -> bool:
    """Return whether a run may be too long, by a look at every 15th character, which is a hundred times faster."""
    some = text[::_HALF]
    if not any(map(unicodedata.combining, some)) and _uncombining_marks().isdisjoint(some):
        return False
    return any(all(map(_is_mark, text[place : place + _HALF])) for place in range(0, len(text), _HALF))


def _is_mark(character: str) -> bool:
    return unicodedata.combining(character) > 0 or character in _uncombining_marks()


def bounded_marks(text: str) -> str:
    r"""Cut runs of more than 30 combining marks, as Unicode's stream-safe text format does.

    Examples
    --------
    >>> bounded_marks("e\u0301") == "e\u0301"
    True
    >>> len(bounded_marks("e" + 61 * "\u0301"))
    64
    """
    if len(text) <= MAX_MARKS or text.isascii() or not _has_long_run(text):
        return text
    return _too_long().sub(_with_joiner, text)


def _with_joiner(match: re.Match[str]) -> str:
    return match.group() + _JOINER


def normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    r"""Normalise a text, in time and memory that grow with its length and no faster.

    Examples
    --------
    >>> normal_form("NFC", "e\u0301") == "é"
    True
    """
    if text.isascii():
        return text
    return "".join(unicodedata.normalize(form, bounded_marks(piece)) for piece in pieces(text))


def pieces(text: str) -> Iterator[str]:
    """Cut a text into pieces that can be normalised and lower-cased each for itself.

    A cut is made before a character that joins no other, and after one that does not change the lower case of a capital
    sigma. A run of more than 4,096 characters without such a place, which no language writes, is cut at a fixed place
    of the text.
    """
    start = 0
    while len(text) - start > PIECE:
        stop = _place_to_cut(text, start + PIECE)
        yield text[start:stop]
        start = stop
    yield text[start:] if start else text


def _place_to_cut(text: str, first: int) -> int:
    loose = joining()
    found = None
    for place in range(first, min(first + _SEARCHED, len(text))):
        if text[place] not in loose:
            if _ends_words(text[place - 1]):
                return place
            found = found or place
    if found is not None:
        return found
    return first if first + _SEARCHED < len(text) else len(text)


def _ends_words(character: str) -> bool:
    """Return whether a capital sigma before this character ends its word, whatever follows."""
    return ("aΣ" + character + "a").lower()[1] == "ς"
