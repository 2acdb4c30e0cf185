"""What analyzers of words share: the segmenter, and how its tokens are weighed."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from simhash_hbase.features.analyzers.protocols import check_segmenter, check_top, check_words, weigh_tokens
from simhash_hbase.words.fast import Bag
from simhash_hbase.words.segment import WORDS, Wording, bag, tokens


@dataclass(frozen=True, kw_only=True)
class WordedAnalyzer(ABC):
    """A `CountingAnalyzer` of a segmenter's tokens; what counts, and for how much, is its subclass's."""

    letters: ClassVar[bool]  # Whether single letters and numbers that belong to no word count.
    folded: ClassVar[bool]  # Whether NFKC and lower case come before the words of `WORDS`.

    top: int | None = None  # Features to keep, the heaviest; None for all.
    segmenter: str = "fast"  # ``fast``, or ``jieba`` for jieba itself: the same tokens, slower.
    words: str | None = WORDS
    """Version of the words of scripts that jieba does not know; None: each letter is one, as in the first release."""

    def __post_init__(self) -> None:
        check_top(self.top)
        check_segmenter(self.segmenter)
        check_words(self.words)

    def features(self, text: str) -> list[tuple[str, float]]:
        """List the words of a text and their weights."""
        return weigh_tokens(self, tokens(text, self._wording))

    def bag(self, text: str) -> Bag:
        """Give the tokens of a text in any order, and the blocks that are yet to be cut."""
        return bag(text, self._wording, letters=self.letters)

    @cached_property
    def _wording(self) -> Wording:
        return Wording(self.segmenter, self.words, self.folded)

    @abstractmethod
    def word(self, token: str) -> str | None:
        """Give the word that a token counts for, or None."""

    @abstractmethod
    def word_weight(self, word: str) -> float:
        """Give a word's weight."""
