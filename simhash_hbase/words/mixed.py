"""Blocks in which Han and ASCII meet as in a dictionary word, cut as jieba does without jieba.

Few texts have such a block, and to import jieba takes a hundredth of a second, a tenth where setuptools is installed.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from math import log

from simhash_hbase.words.ascii import split_numbers
from simhash_hbase.words.dictionary import dictionary, total
from simhash_hbase.words.model import WordModel
from simhash_hbase.words.runs import HAN, run_of


@cache
def _han_runs() -> re.Pattern[str]:
    return re.compile(f"({run_of(HAN)})")


def split_han(text: str) -> list[str]:
    """Split a text into what stands between runs of Han, and these: every second part."""
    return _han_runs().split(text)


def cut_block(block: str, model: WordModel) -> list[str]:
    """Cut a block into the tokens of ``jieba.lcut``.

    Examples
    --------
    >>> cut_block("买T恤唱卡拉OK", WordModel())
    ['买', 'T恤', '唱', '卡拉', 'OK']
    """
    frequencies = {word: int(number) for word, number in dictionary().words_in(block).items()}
    tokens: list[str] = []
    singles = ""
    for part in _likeliest(block, frequencies):
        if len(part) == 1:
            singles += part
        else:
            tokens += [*_cut_singles(singles, frequencies, model), part]
            singles = ""
    return [*tokens, *_cut_singles(singles, frequencies, model)]


def _likeliest(block: str, frequencies: Mapping[str, int]) -> Iterator[str]:
    """Give the parts of the likeliest path; of two equal sums, added in jieba's order, the longer part wins."""
    longest = max(map(len, frequencies), default=1)
    everything = log(total())
    chances, stops = [0.0] * (len(block) + 1), [0] * len(block)
    for start in reversed(range(len(block))):
        after = range(start + 1, min(start + longest, len(block)) + 1)
        words = [stop for stop in after if frequencies.get(block[start:stop])] or [start + 1]
        chances[start], stops[start] = max(
            (log(frequencies.get(block[start:stop]) or 1) - everything + chances[stop], stop) for stop in words
        )
    start = 0
    while start < len(block):
        yield block[start : stops[start]]
        start = stops[start]


def _cut_singles(run: str, frequencies: Mapping[str, int], model: WordModel) -> Iterator[str]:
    """Cut characters of which each is a part by itself: by the model, unless they are a word together."""
    if len(run) == 1 or frequencies.get(run):
        yield from run
        return
    for number, part in enumerate(split_han(run)):
        yield from model.cut(part) if number % 2 else filter(None, split_numbers(part))
