"""Words of the scripts that jieba does not know, by Unicode's rules (UAX #29); the rest of a text is left to jieba.

A word is a run of letters, digits and marks as UAX #29 cuts them, with apostrophes, colons and full stops between
letters, that holds at least one character outside ASCII: so the ASCII letters of ``président`` belong to it, and pure
ASCII is jieba's. Scripts that put no blanks between words (kana, Thai, Lao, Burmese, Khmer and their neighbours) become
pairs of characters that overlap, each a letter with its marks. Everything here takes linear time: the expressions never
go back (possessive quantifiers).
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from simhash_hbase.digests import blake2b
from simhash_hbase.words.classes import (
    DIGITS,
    FORMATS,
    HIRAGANA,
    KATAKANA,
    LETTERS,
    MARKS,
    UNSPACED,
    UNSPACED_MARKS,
    VOICED,
    is_in,
)
from simhash_hbase.words.marks import joins, normal_form

HAN = "\u4e00-\u9fd5"  # The Han that jieba knows, for a class of a regular expression.

MAX_WORD = 1 << 10  # Most characters of a word; a longer one is replaced by its beginning and a digest of the whole.
_KEPT = 48
_DIGEST_BYTES = 8

# Characters that in no normal form belong to a word of this module or to one of jieba's blocks.
_USUAL = (
    f"{HAN}\xa0\xa7\xa9\xab\xac\xae\xb0\xb1\xb6·\xbb×÷\u2010-\u2016\u2018-\u2023\u2190-\u222b"
    "\u2500-\u2775\u2794-\u27bf\u3000-\u3003\u3008-\u3020\u2027！＄（），／：；＜＝＞？＠［＼］＾｀｛｜｝～"
)
_PUNCTUATION = r"\x00-/:-@\[-\^`{-\x7f"
_UNUSUAL = f"[^\x00-\x7f{_USUAL}]"

_find_format = re.compile(f"[{FORMATS}]").search
_JOINER = "\u034f"  # Bounds long runs of marks in a normal form; it is a format itself.

_ALL_LETTERS = f"a-zA-Z{LETTERS}"
_ALL_DIGITS = f"0-9{DIGITS}"
_FOREIGN = f"{LETTERS}{DIGITS}{MARKS}"
_ASCII = "a-zA-Z0-9_"
_MID_BOTH = ".'\u2018\u2019\u2024\ufe52\uff07\uff0e"
_MID_LETTER = f":·\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a{_MID_BOTH}"
_MID_NUMBER = f",;\u037e\u0589\u060c\u060d\u066b\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b{_MID_BOTH}"
_HEBREW = "\u05d0-\u05f2\ufb1d-\ufb4f"


# A large class takes a thousandth of a second or two to compile. So before and behind punctuation inside a word small
# classes say which parts of words may not be there: both characters are parts of words in any case.
_PARTS = f"[{_ASCII}{_FOREIGN}]"
_MIDDLE = f'[{_MID_LETTER}{_MID_NUMBER}"]'
# The first look-ahead is there for speed: most words end before something else.
_BETWEEN = (
    f"(?={_MIDDLE}[^{_PUNCTUATION}])"
    f"(?:(?<![_{_ALL_DIGITS}])[{_MID_LETTER}](?![_{_ALL_DIGITS}{MARKS}])"
    f"|(?<=[{_ALL_DIGITS}{MARKS}])[{_MID_NUMBER}](?=[{_ALL_DIGITS}])"
    f'|(?<=[{_HEBREW}{MARKS}])"(?=[{_HEBREW}]))'
)
_WORD = f"{_PARTS}++(?:{_BETWEEN}{_PARTS}++)*+"
# A run of ASCII that ends where no word with other letters can go on. The few others are found as words, and left out.
_PLAIN_WORD = (
    f"[{_ASCII}]++(?:(?:(?<=[a-zA-Z])[{_MID_LETTER}](?=[a-zA-Z])|(?<=[0-9])[{_MID_NUMBER}](?=[0-9]))[{_ASCII}]++)*+"
    f"(?!{_MIDDLE}?{_UNUSUAL})"
)
_is_plain = re.compile(f"[{_ASCII}{_MID_LETTER}{_MID_NUMBER}]++").fullmatch
_PAIRED = f"[{HIRAGANA}{VOICED}]++|[{KATAKANA}{VOICED}]++|[{UNSPACED}]++"
_STARTS = f"{_ASCII}{LETTERS}{DIGITS}{HIRAGANA}{KATAKANA}{UNSPACED}"
# Usual characters come first: they are found faster than those outside a class. The end of the text always matches.
_SKIPPED = f"[{_PUNCTUATION}{_USUAL}]++|{_PLAIN_WORD}|[^{_STARTS}]++"

_COMMON = 50  # With an unusual character among so many it is not worth while to find the blanks beside each.

_unusual = re.compile(_UNUSUAL)


@cache
def _formats() -> re.Pattern[str]:
    return re.compile(f"[{FORMATS}]+")


_unusual_runs = re.compile(f"{_UNUSUAL}++").finditer


@cache
def _characters() -> re.Pattern[str]:
    return re.compile(f".[{UNSPACED_MARKS}{VOICED}]*+", re.DOTALL)


@cache
def _expression() -> re.Pattern[str]:
    """Compile on first use: it takes some hundredths of a second, and many texts need none of it."""
    return re.compile(f"(?:{_SKIPPED})*+(?:(?P<word>{_WORD})|(?P<paired>{_PAIRED})|\\Z)")


class Stretch(NamedTuple):
    """A part of a text, and the words after it."""

    before: str  # The part for jieba.
    words: list[str]  # The words that follow it.


def unusual_ones(text: str) -> list[str]:
    """Return the unusual characters of a text, each once."""
    # Searches in large classes are slow.
    return _unusual.findall("".join(set(text)))


def canonical(text: str, *, folded: bool) -> str:
    r"""Bring a text into the form that is cut into words.

    Examples
    --------
    >>> canonical("ＴＨＥ Ver\xadmögen", folded=True)
    'the vermögen'
    """
    if _find_format("".join(unusual_ones(text))):
        text = _formats().sub("", text)
    if folded:
        # Usual characters stay as they are: this changes no word, and NFKC mostly changes full stops and commas.
        return "".join(_compatible(text)).replace(_JOINER, "").lower()
    return normal_form("NFC", text).replace(_JOINER, "")


def _compatible(text: str) -> Iterator[str]:
    """Yield the parts of a text, unusual characters in NFKC, each with the character before, which a mark may join."""
    end = 0
    for match in _unusual_runs(text):
        start = max(end, match.start() - 1)
        yield text[end:start]
        end = match.end()
        yield normal_form("NFKC", text[start:end])
    yield text[end:]


def folded_character(character: str) -> str | None:
    """Return what a character becomes by itself in the folded form of a text.

    None where it may belong to a word of this module, or where its neighbours matter.
    """
    if not _unusual.match(character):
        return character.lower()
    if _find_format(character):
        return ""
    composed = unicodedata.normalize("NFKC", character).replace(_JOINER, "")
    folded = composed.lower()
    if "Σ" in composed or any(map(joins, composed + folded)) or any(map(is_in_words(), folded)):
        return None
    return folded


def unusual_characters(characters: str) -> str:
    """Return those that may belong to a word of this module in some form."""
    return re.sub(f"[\x00-\x7f{_USUAL}]+", "", characters)


def foreign_characters(characters: str) -> str:
    """Return those that belong to words of this module."""
    return re.sub(f"[^{_FOREIGN}{HIRAGANA}{KATAKANA}{UNSPACED}]+", "", characters)


def format_characters(characters: str) -> str:
    """Return those that control how text is shown, and are no part of a word."""
    return re.sub(f"[^{FORMATS}]+", "", characters)


@cache
def is_in_words() -> Callable[[str], bool]:
    """Return a function that tells whether a character belongs to a word that is not jieba's."""
    return is_in(_FOREIGN, HIRAGANA, KATAKANA, UNSPACED)


def stretches(text: str) -> Iterator[Stretch]:
    """Find the words of a text that are not jieba's.

    Examples
    --------
    >>> [tuple(stretch) for stretch in stretches("用TF-IDF找L'été，かな")]
    [('用TF-IDF找', ["L'été"]), ('，', ['かな'])]
    """
    unusual = unusual_ones(text)
    if not any(map(is_in_words(), unusual)):
        if text:
            yield Stretch(text, [])
        return
    end = 0
    for first, last in _places(text, sum(map(text.count, unusual))):
        for match in _expression().finditer(text, first, last):
            if match.lastgroup:
                start, stop = match.span(match.lastgroup)
                if text[start].isascii() and _is_plain(text, start, stop):
                    continue
                yield Stretch(text[end:start], _words(match))
                end = stop
    if end < len(text):
        yield Stretch(text[end:], [])


def _places(text: str, unusual: int) -> Iterator[tuple[int, int]]:
    """Find where words can be: everywhere, or between the blanks beside unusual characters where these are few."""
    if _COMMON * unusual > len(text):
        yield 0, len(text)
        return
    end = 0
    for match in _unusual.finditer(text):
        if match.start() >= end:
            start = max(end, text.rfind(" ", end, match.start()))
            end = text.find(" ", match.start())
            if end < 0:
                end = len(text)
            yield start, end


def _words(match: re.Match[str]) -> list[str]:
    word, run = match.group("word"), match.group("paired")
    if word:
        return [bounded_word(word.replace("\u2019", "'").replace("\u2018", "'"))]
    return _pairs(run) if run else []


def _pairs(run: str) -> list[str]:
    characters = [bounded_word(character) for character in _characters().findall(run)]
    return [first + second for first, second in pairwise(characters)] or characters


def bounded_word(word: str) -> str:
    """Return a word; one longer than `MAX_WORD` is replaced by its beginning and a digest."""
    if len(word) <= MAX_WORD:
        return word
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
    return f"{word[:_KEPT]}…{digest}"
