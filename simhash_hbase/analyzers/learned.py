"""All words, weighted by an idf learned from documents like those of the index."""

from dataclasses import dataclass, field

from simhash_hbase.analyzers.protocols import check_segmenter, check_top, weigh_tokens
from simhash_hbase.analyzers.words import has_word_character
from simhash_hbase.idf import Idf, IdfTable
from simhash_hbase.segment import Bag, bag, segmenter

__all__ = ["LearnedAnalyzer"]


@dataclass(frozen=True, kw_only=True)
class LearnedAnalyzer:
    """Every word, lower-cased, weighted by TF-IDF with a table learned from the user's documents.

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

    idf: IdfTable | Idf = field(repr=False)
    """Weights of words."""
    top: int | None = None
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
        return bag(text, name=self.segmenter, letters=True)

    def word(self, token: str) -> str | None:
        """Give the token lower-cased if it holds a word character, else None."""
        return token.lower() if has_word_character(token) else None

    def word_weight(self, word: str) -> float:
        """Give a word's weight in the learned table."""
        return self.idf.weight(word)
