"""Very long blocks of Han and ASCII, cut into pieces, so that the cost of a text grows only with its length.

jieba keeps a table of a whole block, which is text without blanks and punctuation; crawls have blocks of
megabytes. All segmenters cut a text into the same pieces, so they still agree.
"""

import re
from collections.abc import Iterator
from functools import cache

from simhash_hbase.words.runs import ASCII, HAN, run_of

MAX_BLOCK = 1 << 12  # Characters of a block that jieba sees at once: three times the longest of 33,000 real documents.

_HALF = MAX_BLOCK // 2
_blocks = re.compile(run_of(HAN + ASCII)).finditer
_split_long_runs = re.compile(f"([{ASCII}]{{{MAX_BLOCK + 1},}}+)").split


@cache
def _half_a_block() -> re.Pattern[str]:
    return re.compile(f"[{HAN}{ASCII}]{{{_HALF}}}")


def pieces(text: str) -> list[str]:
    """Cut a text within its overlong blocks.

    Examples
    --------
    >>> [len(piece) for piece in pieces("是" * 5000 + "，1" + "a" * 5000)]
    [4096, 904, 1, 5001]
    """
    if not _has_long_block(text):
        return [text]
    found: list[str] = []
    start = 0
    for block in _blocks(text):
        if block.end() - block.start() > MAX_BLOCK:
            found.append(text[start : block.start()])
            found.extend(_within(block.group()))
            start = block.end()
    found.append(text[start:])
    return list(filter(None, found))


def _has_long_block(text: str) -> bool:
    # A block longer than this covers one of these places and the half a block after it, wherever it begins.
    return any(_half_a_block().match(text, place) for place in range(0, len(text) - _HALF + 1, _HALF)) and any(
        block.end() - block.start() > MAX_BLOCK for block in _blocks(text)
    )


def _within(block: str) -> Iterator[str]:
    for number, part in enumerate(_split_long_runs(block)):
        if number % 2:
            yield part
        else:
            for start in range(0, len(part), MAX_BLOCK):
                yield part[start : start + MAX_BLOCK]
