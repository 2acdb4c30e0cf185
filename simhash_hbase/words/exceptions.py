"""Words of jieba's dictionary about which it decides otherwise than its likeliest path says."""

import re
from functools import reduce
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.words.lexicon import Lexicon, pieces
from simhash_hbase.words.runs import ASCII, ASCII_RUN, is_han

_HAN_BYTES = 3
_FIRST_HAN, _LAST_HAN = (int.from_bytes(character.encode()) for character in "\u4e00\u9fd5")
_BLANK, _LINE_END = b" \n"
_UNLIKELY_LENGTHS = (2, 3)
_NO_ASCII = 0x80  # Bytes from here on are none.


class Mixed(NamedTuple):
    """Borders and ASCII runs among the words that hold ASCII characters."""

    borders: frozenset[str]  # The borders of script inside words.
    ascii: tuple[str, ...]  # Words that are ASCII runs, sorted.


def mixed_words(words: Lexicon) -> Mixed:
    """Find the words of a dictionary that hold ASCII characters."""
    holds_ascii = re.compile(f"[{ASCII}]").search
    held = words.lines(_lines_with_ascii(words)).items()
    some = [word for word, frequency in held if len(word) > 1 and int(frequency) and holds_ascii(word)]
    borders = {
        first + second
        for word in some
        for first, second in pairwise(word)
        if bool(ASCII_RUN.match(first)) != bool(ASCII_RUN.match(second))
    }
    return Mixed(frozenset(borders), tuple(sorted(filter(ASCII_RUN.fullmatch, some))))


def _lines_with_ascii(words: Lexicon) -> NDArray[np.intp]:
    """Find the words that begin with ASCII, or in which it follows something else."""
    beginnings = words.bytes_at(words.starts)
    lines = np.flatnonzero((beginnings < _NO_ASCII) & (beginnings != _BLANK) & (beginnings != _LINE_END))
    # As signed numbers those of ASCII are not negative.
    found = (_behind_others(piece) + start for start, piece in pieces(words.bytes.view(np.int8), overlap=1))
    places = np.concatenate(list(found))
    places = places[words.bytes[places] != _LINE_END]
    others = np.searchsorted(words.starts, places, "right") - 1
    # Numpy's sets import all of its masked arrays.
    return np.array(sorted({*lines.tolist(), *others.tolist()}), np.intp)


def _behind_others(signed: NDArray[np.int8]) -> NDArray[np.intp]:
    """Find ASCII but for blanks behind something else."""
    return np.flatnonzero((signed[:-1] < 0) & (signed[1:] >= 0) & (signed[1:] != _BLANK)) + 1


def is_unlikely(words: Lexicon, total: int, word: str) -> bool:
    """Return whether jieba may cut a word into its characters.

    A longer word never is: its characters one by one are less likely in the default dictionary.
    """
    if len(word) not in _UNLIKELY_LENGTHS or not is_han(word):
        return False
    frequency = int(words.get(word) or 0)
    chance = prod([int(words.get(character) or 0) or 1 for character in word])
    return frequency > 0 and frequency * _margin(total, len(word)) <= chance


def _margin(total: int, length: int) -> float:
    # One part in a million more than exact, since jieba compares sums of logarithms.
    return float(total ** (length - 1) * (1 - 1e-6))


def unlikely_words(words: Lexicon, total: int) -> frozenset[str]:
    """Find all words for which `is_unlikely` holds, in a dictionary with one line a word."""
    singles = np.ones(_LAST_HAN - _FIRST_HAN + 1)
    _, [characters], frequencies = _han(words, 1)
    singles[characters] = np.maximum(frequencies, 1)
    found: list[str] = []
    for length in _UNLIKELY_LENGTHS:
        lines, columns, frequencies = _han(words, length)
        chance = reduce(np.multiply, [singles[column] for column in columns])
        rare = (frequencies > 0) & (frequencies * _margin(total, length) <= chance)
        found += words.lines(lines[rare])
    return frozenset(found)


def _han(words: Lexicon, length: int) -> tuple[NDArray[np.intp], list[NDArray[np.int64]], NDArray[np.int64]]:
    """Find the words of so many Han characters: their lines, their characters as numbers, and their frequencies."""
    blanks = words.starts + _HAN_BYTES * length
    lines = np.flatnonzero(words.bytes_at(blanks) == _BLANK)
    columns = [_character(words, words.starts[lines] + _HAN_BYTES * at) for at in range(length)]
    is_han = np.logical_and.reduce([(column >= 0) & (column <= _LAST_HAN - _FIRST_HAN) for column in columns])
    lines = lines[is_han]
    return lines, [column[is_han] for column in columns], words.numbers_at(blanks[lines] + 1)


def _character(words: Lexicon, places: NDArray[np.integer]) -> NDArray[np.int64]:
    """Read three bytes; those of a Han character in UTF-8 are in the order of the characters."""
    first, second, third = (words.bytes[places + at].astype(np.int64) for at in range(_HAN_BYTES))
    found: NDArray[np.int64] = (first << 16 | second << 8 | third) - _FIRST_HAN
    return found
