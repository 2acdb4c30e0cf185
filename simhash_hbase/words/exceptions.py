"""Words of jieba's dictionary about which it decides otherwise than its likeliest path says."""

import math
import re
from itertools import pairwise

from simhash_hbase.words.runs import ASCII, ASCII_RUN, HAN_RUN

_UNLIKELY_LENGTHS = (2, 3)


def mixed_words(frequencies: dict[str, int]) -> tuple[set[str], tuple[str, ...]]:
    """Find the borders of script inside dictionary words, and the words that are ASCII runs."""
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
