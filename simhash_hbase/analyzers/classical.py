"""The classical recipe: jieba's keywords."""

from dataclasses import dataclass

from simhash_hbase.analyzers.protocols import check_segmenter, check_top, weigh_tokens
from simhash_hbase.idf import jieba_idf
from simhash_hbase.segment import Bag, bag, segmenter

__all__ = ["JiebaAnalyzer"]

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
class JiebaAnalyzer:
    """The classical recipe: jieba's words, weighted by TF-IDF with jieba's own table.

    As ``jieba.analyse.extract_tags`` does, words of one character and stop words are dropped and
    words outside the table get its median; term frequencies are raw counts.

    Raises
    ------
    InvalidProfile
        A field is out of range.

    Examples
    --------
    >>> [word for word, weight in JiebaAnalyzer(top=2).features("我喜欢看电影，不喜欢看电视")]
    ['喜欢', '看电视']
    """

    top: int | None = 200
    """Features to keep, the heaviest; None for all."""
    segmenter: str = "fast"
    """``fast``, or ``jieba`` for jieba itself: the same tokens, slower."""

    def __post_init__(self) -> None:
        check_top(self.top)
        check_segmenter(self.segmenter)

    def features(self, text: str) -> list[tuple[str, float]]:
        """List the words of a text and their weights.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of (str, float)
            The heaviest first, ties by the word.
        """
        return weigh_tokens(self, segmenter(self.segmenter)(text))

    def bag(self, text: str) -> Bag:
        """Give the tokens of a text in any order, and the ASCII runs that are yet to be cut."""
        return bag(text, name=self.segmenter, letters=False)

    def word(self, token: str) -> str | None:
        """Give the token if it counts, else None."""
        if len(token) < 2 or len(token.strip()) < 2 or token.lower() in STOP_WORDS:  # noqa: PLR2004
            return None
        return token

    def word_weight(self, word: str) -> float:
        """Give a word's weight in jieba's table."""
        return jieba_idf().weight(word)
