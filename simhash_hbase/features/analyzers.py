"""Analyzers: from a text to its features and their weights."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

from simhash_hbase.errors import InvalidArgument, InvalidProfile
from simhash_hbase.features.idf import LEARNED_WORDING, IdfTable, jieba_idf
from simhash_hbase.kernel.segment import WORDS
from simhash_hbase.kernel.texts import Batch, CountedWords, Weights, Wording, bounded_word, tokens

STOP_WORDS = (
    *("all", "an", "and", "are", "as", "at", "be", "by", "can", "for", "from", "has", "have", "if", "in", "is", "it"),
    *("not", "of", "on", "one", "or", "that", "the", "then", "this", "to", "we", "which", "with", "you"),
)
"""The words that jieba.analyse drops (``KeywordExtractor.STOP_WORDS`` of jieba 0.42.1)."""

CLASSICAL_WORDING = Wording(folded=False, dropped=STOP_WORDS)


@runtime_checkable
class Analyzer(Protocol):
    """Gives the features of a text."""

    def features(self, text: str) -> list[tuple[str, float]]:
        """List features and weights, the heaviest first, ties by the feature."""


@runtime_checkable
class CountingAnalyzer(Analyzer, Protocol):
    """An analyzer whose weights are counts times a constant of the word: the kernel computes its fingerprints."""

    @property
    def top(self) -> int | None:
        """Features to keep, the heaviest; None for all."""

    def count(self, batch: Batch, *, seed: int) -> CountedWords:
        """Count the features of texts."""

    def weights(self, *, seed: int) -> Weights:
        """Return the weights of features."""


def _weighed(analyzer: CountingAnalyzer, text: str, weight: Callable[[str], float]) -> list[tuple[str, float]]:
    counted = analyzer.count(Batch([text]), seed=0)
    words = zip(map(counted.word, range(len(counted.counts))), counted.counts.tolist(), strict=True)
    weighed = [(word, count * weight(word)) for word, count in words]
    weighed.sort(key=lambda pair: (-pair[1], pair[0]))
    return weighed[: analyzer.top]


class _Words:
    """Words as features."""

    wording: ClassVar[Wording]
    top: int | None

    def __post_init__(self) -> None:
        if self.top is not None and self.top < 1:
            raise InvalidProfile(f"top {self.top}: wanted at least 1")

    def count(self, batch: Batch, *, seed: int) -> CountedWords:
        """Count the words of texts."""
        return batch.count(self.wording, seed=seed)


@dataclass(frozen=True, kw_only=True)
class JiebaAnalyzer(_Words):
    """The classical recipe: jieba's words, weighted by TF-IDF with jieba's own table.

    As in ``jieba.analyse.extract_tags``, words of one character and stop words are dropped and words outside the table
    get its median; term frequencies are raw counts. Case and width count, so a copy in upper case has other features.

    Raises
    ------
    InvalidProfile
        A field is out of range.

    Examples
    --------
    >>> [word for word, weight in JiebaAnalyzer(top=2).features("我喜欢看电影，不喜欢看电视")]
    ['喜欢', '看电视']
    """

    wording: ClassVar[Wording] = CLASSICAL_WORDING

    top: int | None = 200
    """Features to keep, the heaviest; None for all."""

    def features(self, text: str) -> list[tuple[str, float]]:
        """List the words of a text and their weights, the heaviest first, ties by the word."""
        return _weighed(self, text, jieba_idf().weight)

    def weights(self, *, seed: int) -> Weights:
        """Return jieba's table."""
        return jieba_idf(seed)


@dataclass(frozen=True, kw_only=True)
class LearnedAnalyzer(_Words):
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

    wording: ClassVar[Wording] = LEARNED_WORDING

    top: int | None = None
    """Features to keep, the heaviest; None for all."""
    idf: IdfTable = field(repr=False)
    """Weights of words."""

    def features(self, text: str) -> list[tuple[str, float]]:
        """List the words of a text and their weights, the heaviest first, ties by the word."""
        return _weighed(self, text, self.idf.weight)

    def weights(self, *, seed: int) -> Weights:
        """Return the learned table."""
        return self.idf.weights(seed)


def word_tokens(text: str) -> list[str]:
    """List the tokens of a text that `LearnedAnalyzer` counts: what its idf table is learned from.

    Examples
    --------
    >>> word_tokens("我爱 HBase！")
    ['我', '爱', 'hbase']
    """
    return [bounded_word(word) for word in tokens(text, folded=True, kind=WORDS)]


@dataclass(frozen=True, kw_only=True)
class ShingleAnalyzer:
    """Runs of characters of the normalised text; needs no dictionary.

    Raises
    ------
    InvalidProfile
        The size is out of range.

    Examples
    --------
    >>> ShingleAnalyzer(size=4).features("I'm sexy")
    [('imse', 1.0), ('msex', 1.0), ('sexy', 1.0)]
    """

    top: ClassVar[int | None] = None

    size: int = 4
    """Characters of a shingle; a shorter text is one shingle."""
    binary: bool = False
    """Weigh every shingle 1, however often it occurs."""

    def __post_init__(self) -> None:
        if not 1 <= self.size <= 64:  # noqa: PLR2004
            raise InvalidProfile(f"shingle {self.size}: wanted 1 to 64 characters")

    def features(self, text: str) -> list[tuple[str, float]]:
        """List the shingles of a text and their weights, the heaviest first, ties by the shingle."""
        return _weighed(self, text, lambda _: 1.0)

    def count(self, batch: Batch, *, seed: int) -> CountedWords:
        """Count the shingles of texts."""
        counted = batch.shingles(self.size, seed=seed)
        if self.binary:
            counted.counts[:] = 1
        return counted

    def weights(self, *, seed: int) -> Weights:
        """Return a table in which everything weighs 1."""
        return Weights.of_words({}, other=1.0, seed=seed)


@dataclass(frozen=True, kw_only=True)
class WeightedAnalyzer:
    """The caller brings features and weights; a text has none here."""

    def features(self, text: str) -> list[tuple[str, float]]:
        """Refuse a text: pass features instead.

        Raises
        ------
        InvalidArgument
            Always.
        """
        raise InvalidArgument(f"an index of weighted features takes features, not text ({text[:20]!r})")
