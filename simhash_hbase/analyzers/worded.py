"""What analyzers of words share: the segmenter, and how its tokens are weighed."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from simhash_hbase.analyzers.protocols import check_segmenter, check_top, weigh_tokens
from simhash_hbase.segment import Bag, bag, segmenter

__all__ = ["WordedAnalyzer"]


@dataclass(frozen=True, kw_only=True)
class WordedAnalyzer(ABC):
    """A `CountingAnalyzer` of a segmenter's tokens; what counts, and for how much, is its subclass's.

    Raises
    ------
    InvalidProfile
        A field is out of range.
    """

    letters: ClassVar[bool]
    """Whether letters and numbers that jieba takes into no block count."""

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
        return bag(text, name=self.segmenter, letters=self.letters)

    @abstractmethod
    def word(self, token: str) -> str | None:
        """Give the word that a token counts for, or None."""

    @abstractmethod
    def word_weight(self, word: str) -> float:
        """Give a word's weight."""
