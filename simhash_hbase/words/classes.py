"""Classes of characters that words are made of, frozen: Unicode 14, whichever version this Python knows.

Each is what a class of a regular expression holds. Code points that Unicode 14 left free between two letters of a
class belong to it, and so do most letters that later versions added. No class has ASCII or Han (see `runs`).
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from pathlib import Path


def _class(ranges: str) -> str:
    """Write hexadecimal ranges as the inside of a class of characters."""
    return "".join("-".join(chr(int(end, 16)) for end in part.split("-")) for part in ranges.split())


_blocks = Path(__file__).with_suffix(".txt").read_text("ascii").split("\n\n")[1:]
_CLASSES = {name: _class(ranges) for name, _, ranges in (block.partition("\n") for block in _blocks)}

LETTERS = _CLASSES["LETTERS"]
"""Letters of the scripts that put blanks between words, and their numerals that are letters."""
DIGITS = _CLASSES["DIGITS"]  # Decimal digits of these scripts.
MARKS = _CLASSES["MARKS"]  # Combining marks of these scripts.
UNSPACED = _CLASSES["UNSPACED"]
"""Letters, digits and marks of the scripts of South East Asia that put no blanks between words."""
UNSPACED_MARKS = _CLASSES["UNSPACED_MARKS"]  # The marks among them.
HIRAGANA = _CLASSES["HIRAGANA"]  # Hiragana, and the mark of a long vowel.
KATAKANA = _CLASSES["KATAKANA"]  # Katakana, half-width ones among them, and the mark of a long vowel.
VOICED = _CLASSES["VOICED"]  # The marks that follow kana.
FORMATS = _CLASSES["FORMATS"]
"""Characters that control how text is shown, and are no part of a word: soft hyphens, joiners, directions, variation
selectors. U+200B is not one of them: it stands where a word ends."""


@cache
def is_in(*classes: str) -> Callable[[str], bool]:
    """Return a function that tells whether a character is in one of these classes: sooner made than an expression.

    Examples
    --------
    >>> list(map(is_in(HIRAGANA, KATAKANA), "かカ々"))
    [True, True, False]
    """
    ranges = sorted((first, last or first) for first, last in re.findall("(.)(?:-(.))?", "".join(classes), re.DOTALL))
    firsts = [first for first, _ in ranges]

    def is_member(character: str) -> bool:
        place = bisect_right(firsts, character)
        return place > 0 and character <= ranges[place - 1][1]

    return is_member
