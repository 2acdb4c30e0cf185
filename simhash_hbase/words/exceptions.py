"""Words of jieba's dictionary about which it decides otherwise than its likeliest path says."""

import math
import re
from itertools import pairwise
from typing import NamedTuple

_UNLIKELY_LENGTHS = (2, 3)


class Exceptions(NamedTuple):
    """Words that need a rule of their own, found once a dictionary: that takes a third of a second."""

    borders: list[str]  # The borders of script inside words.
    ascii: list[str]  # Words that are ASCII runs.
    unlikely: list[str]  # Han words that jieba may cut into their characters.


def exceptions_in(frequencies: dict[str, int], total: int) -> Exceptions:
    """Find the words of a dictionary that need a rule of their own."""
    borders, ascii_words = mixed_words(frequencies)
    return Exceptions(sorted(borders), sorted(ascii_words), sorted(unlikely_words(frequencies, total)))


def mixed_words(frequencies: dict[str, int]) -> tuple[set[str], tuple[str, ...]]:
    """Find the borders of script inside dictionary words, and the words that are ASCII runs."""
    from simhash_hbase.words.runs import ASCII, ASCII_RUN  # noqa: PLC0415 - as below

    borders: set[str] = set()
    ascii_words: list[str] = []
    holding_ascii = re.compile(f"^.*[{ASCII}].*$", re.MULTILINE)
    for word in holding_ascii.findall("\n".join(frequencies)):
        if len(word) == 1 or not frequencies[word]:
            continue
        if ASCII_RUN.fullmatch(word):
            ascii_words.append(word)
        for first, second in pairwise(word):
            if bool(ASCII_RUN.match(first)) != bool(ASCII_RUN.match(second)):
                borders.add(first + second)
    return borders, tuple(ascii_words)


def unlikely_words(frequencies: dict[str, int], total: int) -> set[str]:
    """Find the Han words that jieba may cut into their characters.

    A longer word never is: its characters one by one are less likely in the default dictionary.
    """
    # Its expressions take longer to compile than an index to be opened.
    from simhash_hbase.words.runs import HAN_RUN  # noqa: PLC0415

    get = frequencies.get

    def chance(word: str) -> int:
        return math.prod([get(character) or 1 for character in word])

    # One part in a million more than exact, since jieba compares sums of logarithms.
    margins = {length: total ** (length - 1) * (1 - 1e-6) for length in _UNLIKELY_LENGTHS}
    return {
        word
        for word, frequency in frequencies.items()
        if frequency
        and len(word) in margins
        and frequency * margins[len(word)] <= chance(word)
        and HAN_RUN.fullmatch(word)
    }
