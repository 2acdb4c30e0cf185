"""The words of a text that an idf table counts."""

import re

from simhash_hbase.words.segment import WORDS, Wording, tokens
from simhash_hbase.words.unicode import bounded_word

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
