"""What every analyzer does, and how words are weighed."""

from collections import Counter
from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from simhash_hbase.errors import InvalidProfile
from simhash_hbase.words.fast import Bag
from simhash_hbase.words.segment import SEGMENTERS, WORDS


@runtime_checkable
class Analyzer(Protocol):
    """Gives the features of a text."""

    def features(self, text: str) -> list[tuple[str, float]]:
        """List features and weights, the heaviest first, ties by the feature."""


@runtime_checkable
class CountingAnalyzer(Analyzer, Protocol):
    """An analyzer whose weights are counts times a constant of the word: it can be vectorised."""

    @property
    def top(self) -> int | None:
        """Features to keep, the heaviest; None for all."""

    def bag(self, text: str) -> Bag:
        """Give the tokens of a text in any order, and the blocks that are yet to be cut."""

    def word(self, token: str) -> str | None:
        """Give the feature that a token counts for, None if for none."""

    def word_weight(self, word: str) -> float:
        """Give the weight of one occurrence of a feature."""


def weigh_tokens(analyzer: CountingAnalyzer, tokens: Iterable[str]) -> list[tuple[str, float]]:
    """Weigh the words of a token list as an analyzer does."""
    words = Counter(map(analyzer.word, tokens))
    weights = [(word, count * analyzer.word_weight(word)) for word, count in words.items() if word]
    weights.sort(key=lambda pair: (-pair[1], pair[0]))
    return weights[: analyzer.top]


def check_segmenter(name: str) -> None:
    """Refuse what is no segmenter."""
    if name not in SEGMENTERS:
        raise InvalidProfile(f"segmenter {name!r}: wanted one of {', '.join(SEGMENTERS)}")


def check_words(words: str | None) -> None:
    """Refuse a version of words that this release does not know."""
    if words not in (None, WORDS):
        raise InvalidProfile(f"words {words!r}: this version knows {WORDS}")


def check_top(top: int | None) -> None:
    """Refuse to keep no feature."""
    if top is not None and top < 1:
        raise InvalidProfile(f"top {top}: wanted at least 1")
