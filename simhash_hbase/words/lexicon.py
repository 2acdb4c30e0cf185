"""Words with a value each, in a form that is asked for the words of a text and never read whole.

A process that cuts a few sentences needs some hundred of jieba's 349,045 words, and a table of all of them takes half a
second to make. Here words stand sorted, in groups of one beginning (their first two characters): a text can
hold only words with the beginnings that it has itself.
"""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import accumulate, pairwise
from operator import add
from struct import Struct
from typing import Protocol
from zlib import crc32

import msgspec

from simhash_hbase.errors import CorruptIndex

# Numbers are written as this machine holds them.
_FORM = f"words 1 {sys.byteorder:>7}\n".encode()
_HEAD = Struct("=16sIIIQ")  # Form, checksum of all that follows, bytes of the facts, beginnings, bytes of the words.
_WORD_BYTES = 8
_BEGINNING = 2  # Characters.


class Words(Protocol):
    """Words with a value each, and facts about all of them."""

    is_whole: bool
    """Whether all words are in memory anyway, so that nothing is saved by asking for few."""

    @property
    def facts(self) -> Mapping[str, object]:
        """What is to be known of all words."""

    def words(self, beginnings: Iterable[str]) -> dict[str, str]:
        """Give the words with these beginnings, and their values."""

    def get(self, word: str) -> str | None:
        """Give the value of a word, or None."""

    def all(self) -> Mapping[str, str]:
        """Give all words and their values."""


class Lexicon:
    """Reads what `encoded` made.

    Raises
    ------
    CorruptIndex
        The bytes are damaged, or of another form.
    """

    is_whole = False

    def __init__(self, data: bytes) -> None:
        view = memoryview(data)
        if len(view) < _HEAD.size:
            raise CorruptIndex("a lexicon is cut off")
        form, checksum, facts, count, characters = _HEAD.unpack_from(view)
        # All of it takes two thousandths of a second, and saves a check a word.
        if form != _FORM or checksum != crc32(view[len(_FORM) + 4 :]):
            raise CorruptIndex("a lexicon is damaged, or of another form")
        beginnings = _HEAD.size
        places = beginnings + _WORD_BYTES * count
        words = places + _WORD_BYTES * (count + 1)
        self._beginnings = view[beginnings:places].cast("Q")
        self._places = view[places:words].cast("Q")
        self._words = view[words : words + characters]
        self.facts: dict[str, object] = msgspec.json.decode(view[words + characters : words + characters + facts])

    def words(self, beginnings: Iterable[str]) -> dict[str, str]:
        """Give the words with these beginnings, and their values."""
        found: list[bytes] = []
        known, places = self._beginnings, self._places
        for beginning in beginnings:
            number = _number(beginning)
            at = bisect_left(known, number)
            if at < len(known) and known[at] == number:
                found.append(bytes(self._words[places[at] : places[at + 1]]))
        return _pairs(b"".join(found))

    def get(self, word: str) -> str | None:
        """Give the value of a word, or None."""
        return self.words([word[:_BEGINNING]]).get(word) if word else None

    def all(self) -> dict[str, str]:
        """Give all words and their values."""
        return _pairs(bytes(self._words))


class HeldWords:
    """Words in memory, where no file can keep them; they are put in order when the words of a text are asked for."""

    is_whole = True

    def __init__(self, values: Mapping[str, str], facts: Mapping[str, object]) -> None:
        self.facts = facts
        self._values = values

    @cached_property
    def _ordered(self) -> Lexicon:
        return Lexicon(encoded(self._values, {}))

    def words(self, beginnings: Iterable[str]) -> dict[str, str]:
        """Give the words with these beginnings, and their values."""
        return self._ordered.words(beginnings)

    def get(self, word: str) -> str | None:
        """Give the value of a word, or None."""
        return self._values.get(word)

    def all(self) -> Mapping[str, str]:
        """Give all words and their values."""
        return self._values


def beginnings_in(text: str) -> set[str]:
    """Find the beginnings of all words that a text can hold, and those of one character.

    Examples
    --------
    >>> sorted(beginnings_in("天天好"))
    ['天', '天天', '天好', '好']
    """
    return {*text, *map(add, text, text[1:])}


def encoded(values: Mapping[str, str], facts: Mapping[str, object]) -> bytes:
    """Write words and their values, and facts about all of them, for `Lexicon`.

    Examples
    --------
    >>> Lexicon(encoded({"天": "1", "天上": "2", "天上人间": "3"}, {})).words(["天上", "人间"])
    {'天上': '2', '天上人间': '3'}
    """
    ordered = sorted(values)
    lines = [f"{word}\n{values[word]}\n".encode() for word in ordered]
    beginnings = [word[:_BEGINNING] for word in ordered]
    firsts = [at for at, (before, own) in enumerate(pairwise(["", *beginnings])) if before != own]
    starts = list(accumulate(map(len, lines), initial=0))
    numbers = array("Q", [_number(beginnings[at]) for at in firsts])
    places = array("Q", [*(starts[at] for at in firsts), starts[-1]])
    told = msgspec.json.encode(facts)
    counts = _HEAD.pack(_FORM, 0, len(told), len(firsts), starts[-1])[len(_FORM) + 4 :]
    rest = b"".join([counts, numbers, places, *lines, told])
    return b"".join([_FORM, crc32(rest).to_bytes(4, sys.byteorder), rest])


def _pairs(words: bytes) -> dict[str, str]:
    lines = words.decode().split("\n")
    return dict(zip(lines[::2], lines[1::2], strict=False))


def _number(beginning: str) -> int:
    return ord(beginning[0]) << 32 | (ord(beginning[1]) if len(beginning) > 1 else 0)
