"""The differences of two texts, word by word, for people."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from simhash_hbase.compare.align import Change, align
from simhash_hbase.kernel.texts import cut

Kind = Literal["same", "changed", "left", "right"]


class Piece(NamedTuple):
    """A stretch of two texts."""

    kind: Kind
    """``same``: the words are equal, though the blanks between them need not be; ``changed``: other words stand in
    their place; ``left`` and ``right``: only this text has words here."""
    left: str
    right: str


# Scripts that put no blanks between words: Han, kana, Thai, Lao, Tibetan, Burmese, Khmer. Han is cut by the segmenter;
# of the others each letter counts as a word.
_UNSPACED = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3005-\u3007"
    "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]"
)
_JOINER = "\u200d"
_SENTENCE_ENDS = frozenset("。！？；…”」』.!?;")
_CHAFF = 3


def word_differences(a: str, b: str) -> list[Piece]:
    r"""Align two texts by their words.

    Words are compared as they are written; Chinese is cut into them by jieba. Blanks belong to the word before them
    and are not compared, so that a text that was only wrapped anew has no differences. As few words as possible are
    marked, but for the reader's sake a short run of equal words is marked with the changes around it, if both are at
    least three times as long. Nothing is left out of long texts: with more than 2 ** 28 pairs of words between common
    beginning and common end (16,000 words each) they are compared part by part (see `align`), and then a few words
    more than needed may be marked. Time grows with the product of the lengths up to there, a tenth of a second, and
    about linearly beyond.

    Examples
    --------
    >>> for piece in word_differences("如果雨停了，我们就出发。", "倘若雨停了，我们\n就马上出发。"):
    ...     print(piece)
    Piece(kind='changed', left='如果', right='倘若')
    Piece(kind='same', left='雨停了，我们就', right='雨停了，我们\n就')
    Piece(kind='right', left='', right='马上')
    Piece(kind='same', left='出发。', right='出发。')
    """
    left, right = words(a), words(b)
    plain_left, plain_right = [word for word, _ in left], [word for word, _ in right]
    changes = _shifted(align(plain_left, plain_right), left, right)
    return _pieces(_without_chaff(changes, plain_left, plain_right), left, right)


def words(text: str) -> list[tuple[str, str]]:
    """Cut a text into its words and marks of punctuation, each with the blanks after it.

    Examples
    --------
    >>> words(" 用für  T恤,")
    [('', ' '), ('用', ''), ('für', '  '), ('T恤', ''), (',', '')]
    """
    found = [("", "")]
    for token in cut(text):
        word, blanks = found[-1]
        if token.isspace():
            found[-1] = word, blanks + token
        elif word and not blanks and _belongs(word[-1], token[0]):
            found[-1] = word + token, ""
        else:
            found.append((token, ""))
    return found


@lru_cache(maxsize=1 << 16)
def _belongs(before: str, after: str) -> bool:
    """Tell whether jieba has cut inside a word: it cuts unknown letters one by one."""
    if _JOINER in (before, after) or unicodedata.category(after)[0] == "M":
        return True
    return _is_spaced(before) and _is_spaced(after)


def _is_spaced(character: str) -> bool:
    letter = character.isalnum() or unicodedata.category(character)[0] == "M"
    return letter and not _UNSPACED.match(character)


Words = Sequence[tuple[str, str]]


def _shifted(changes: Sequence[Change], left: Words, right: Words) -> list[Change]:
    """Move a stretch of words that only one text has to the start of a sentence, where the result is as correct."""
    shifted: list[Change] = []
    # The empty word at the beginning stays where it is.
    floor_a = floor_b = 1
    for start_a, stop_a, start_b, stop_b in changes:
        steps = 0
        if start_b == stop_b:
            steps = _steps(left, start_a, stop_a, floor_a)
        elif start_a == stop_a:
            steps = _steps(right, start_b, stop_b, floor_b)
        shifted.append(Change(start_a - steps, stop_a - steps, start_b - steps, stop_b - steps))
        floor_a, floor_b = stop_a - steps, stop_b - steps
    return shifted


def _steps(text: Words, start: int, stop: int, floor: int) -> int:
    """Count the words that a stretch must move back to begin with a sentence; 0 if it cannot."""
    for steps in range(min(stop - start, start - floor + 1)):
        if _begins(text, start - steps):
            return steps
        if text[start - steps - 1][0] != text[stop - steps - 1][0]:
            break
    return 0


def _begins(text: Words, at: int) -> bool:
    word, blanks = text[at - 1]
    return not word or word[-1] in _SENTENCE_ENDS or "\n" in blanks


def _without_chaff(changes: Sequence[Change], left: Sequence[str], right: Sequence[str]) -> list[Change]:
    """Join changes with so little between them that it is equal by chance."""
    sizes_left, sizes_right = _sums(left), _sums(right)

    def size(change: Change) -> int:
        start_a, stop_a, start_b, stop_b = change
        return max(sizes_left[stop_a] - sizes_left[start_a], sizes_right[stop_b] - sizes_right[start_b])

    joined: list[Change] = []
    for change in changes:
        last = change
        while joined:
            before = joined[-1]
            between = sizes_left[last.start_a] - sizes_left[before.stop_a]
            if between * _CHAFF > min(size(before), size(last)):
                break
            joined.pop()
            last = Change(before.start_a, last.stop_a, before.start_b, last.stop_b)
        joined.append(last)
    return joined


def _sums(plain: Sequence[str]) -> list[int]:
    """Count the characters before each word, blanks left out."""
    sums = [0]
    for word in plain:
        sums.append(sums[-1] + len(word))
    return sums


def _pieces(changes: Sequence[Change], left: Words, right: Words) -> list[Piece]:
    pieces: list[Piece] = []
    next_a = next_b = 0
    for change in [*changes, Change(len(left), len(left), len(right), len(right))]:
        start_a, stop_a, start_b, stop_b = change
        pieces.append(Piece("same", _text(left[next_a:start_a]), _text(right[next_b:start_b])))
        kind: Kind = "changed" if start_a != stop_a and start_b != stop_b else "left" if start_a != stop_a else "right"
        pieces.append(Piece(kind, _text(left[start_a:stop_a]), _text(right[start_b:stop_b])))
        next_a, next_b = stop_a, stop_b
    return [piece for piece in pieces if piece.left or piece.right]


def _text(some: Words) -> str:
    return "".join(word + blanks for word, blanks in some)
