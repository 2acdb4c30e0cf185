"""The words of a text that an idf table counts."""

import re
from collections.abc import Callable
from functools import cached_property

from simhash_hbase.features.analyzers.protocols import check_segmenter
from simhash_hbase.words.segment import WORDS, Wording, bag, block_cutter, tokens
from simhash_hbase.words.unicode import bounded_word

MAX_BLOCKS = 1 << 17
"""Blocks whose words are remembered: one takes some 250 bytes, so 30 MB in all."""

has_word_character = re.compile(r"\w").search


def learned_word(token: str, words: str | None) -> str | None:
    """Give the word that a token counts for in a learned table, or None: in lower case, and bounded."""
    if not has_word_character(token):
        return None
    return token.lower() if words is None else bounded_word(token.lower())


def word_tokens(text: str, *, segmenter: str = "fast", words: str | None = WORDS) -> list[str]:
    """List the tokens of a text that `LearnedAnalyzer` counts: what its idf table is learned from.

    Examples
    --------
    >>> word_tokens("我爱 HBase！")
    ['我', '爱', 'hbase']
    """
    wording = Wording(segmenter, words, folded=True)
    return [word for token in tokens(text, wording) if (word := learned_word(token, words))]


class WordSets:
    """Collects the different words of texts, those of `word_tokens` without their order: several times faster.

    Examples
    --------
    >>> sorted(WordSets().words("我爱 HBase，我爱 hbase！"))
    ['hbase', '我', '爱']
    """

    def __init__(self, *, segmenter: str = "fast", words: str | None = WORDS) -> None:
        check_segmenter(segmenter)
        self._wording = Wording(segmenter, words, folded=True)
        self._words = _Words(words)
        self._blocks = _BlockWords(self._words)

    def words(self, text: str) -> set[str]:
        """Give the words of one text."""
        if len(self._blocks) > MAX_BLOCKS:
            self._words.clear()
            self._blocks.clear()
        tokens, blocks = bag(text, self._wording, letters=True)
        found = set(map(self._words.__getitem__, tokens)).union(*map(self._blocks.__getitem__, blocks))
        return set(filter(None, found))


class _Words(dict[str, str | None]):
    """What tokens count for: one string for all tokens of a word."""

    def __init__(self, version: str | None) -> None:
        super().__init__()
        self._version = version

    def __missing__(self, token: str) -> str | None:
        word = learned_word(token, self._version)
        self[token] = word
        return word if word is None else self.setdefault(word, word)


class _BlockWords(dict[str, list[str | None]]):
    """The words of a block."""

    def __init__(self, words: _Words) -> None:
        super().__init__()
        self._word = words.__getitem__

    @cached_property
    def _cut(self) -> Callable[[str], list[str]]:
        return block_cutter()

    def __missing__(self, block: str) -> list[str | None]:
        self[block] = found = list(map(self._word, self._cut(block)))
        return found
