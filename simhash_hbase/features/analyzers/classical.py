"""The classical recipe: jieba's keywords."""

from dataclasses import dataclass
from typing import ClassVar

from simhash_hbase.features.analyzers.worded import WordedAnalyzer
from simhash_hbase.features.idf import jieba_idf
from simhash_hbase.words.unicode import bounded_word

STOP_WORDS = frozenset(
    [
        "all",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "can",
        "for",
        "from",
        "has",
        "have",
        "if",
        "in",
        "is",
        "it",
        "not",
        "of",
        "on",
        "one",
        "or",
        "that",
        "the",
        "then",
        "this",
        "to",
        "we",
        "which",
        "with",
        "you",
    ]
)
"""The words that jieba.analyse drops (``KeywordExtractor.STOP_WORDS`` of jieba 0.42.1)."""


@dataclass(frozen=True, kw_only=True)
class JiebaAnalyzer(WordedAnalyzer):
    """The classical recipe: jieba's words, weighted by TF-IDF with jieba's own table.

    As ``jieba.analyse.extract_tags`` does, words of one character and stop words are dropped and
    words outside the table get its median; term frequencies are raw counts. Words of the scripts that jieba does not
    know are outside the table. Case and width count as in jieba, so a copy in upper case has other features.

    Raises
    ------
    InvalidProfile
        A field is out of range.

    Examples
    --------
    >>> [word for word, weight in JiebaAnalyzer(top=2).features("我喜欢看电影，不喜欢看电视")]
    ['喜欢', '看电视']
    """

    letters: ClassVar[bool] = False
    folded: ClassVar[bool] = False

    top: int | None = 200
    """Features to keep, the heaviest; None for all."""

    def word(self, token: str) -> str | None:
        """Give the token if it counts, else None."""
        if len(token) < 2 or len(token.strip()) < 2 or token.lower() in STOP_WORDS:  # noqa: PLR2004
            return None
        return token if self.words is None else bounded_word(token)

    def word_weight(self, word: str) -> float:
        """Give a word's weight in jieba's table."""
        return jieba_idf().weight(word)
