"""All words, weighted by an idf learned from documents like those of the index."""

from dataclasses import dataclass, field
from typing import ClassVar

from simhash_hbase.features.analyzers.worded import WordedAnalyzer
from simhash_hbase.features.analyzers.words import learned_word
from simhash_hbase.features.idf import Idf, IdfTable


@dataclass(frozen=True, kw_only=True)
class LearnedAnalyzer(WordedAnalyzer):
    """Every word, lower-cased, weighted by TF-IDF with a table learned from the user's documents.

    Copies that differ only in case, in width or in another compatible form of characters have the same features: the
    text is brought to NFKC and lower case before it is cut.

    Raises
    ------
    InvalidProfile
        A field is out of range.

    Examples
    --------
    >>> table = IdfTable.learn([["我", "爱"], ["我"]])
    >>> LearnedAnalyzer(idf=table).features("我爱")
    [('爱', 1.0986122886681098), ('我', 0.6931471805599453)]
    """

    letters: ClassVar[bool] = True
    folded: ClassVar[bool] = True

    idf: IdfTable | Idf = field(repr=False)
    """Weights of words."""

    def word(self, token: str) -> str | None:
        """Give the token lower-cased if it holds a word character, else None."""
        return learned_word(token, self.words)

    def word_weight(self, word: str) -> float:
        """Give a word's weight in the learned table."""
        return self.idf.weight(word)
