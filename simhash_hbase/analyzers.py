"""Analyzers: from a text to its features and their weights."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from simhash_hbase.errors import InvalidArgument, InvalidProfile
from simhash_hbase.idf import Idf, IdfTable, jieba_idf
from simhash_hbase.segment import SEGMENTERS, Bag, bag, cut_run, segmenter
from simhash_hbase.text import normalize

__all__ = [
    "Analyzer",
    "CountingAnalyzer",
    "JiebaAnalyzer",
    "LearnedAnalyzer",
    "ShingleAnalyzer",
    "WeightedAnalyzer",
    "weigh_tokens",
    "word_set",
    "word_tokens",
]

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

_has_word_character = re.compile(r"\w").search


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
        """Give the tokens of a text in any order, and the ASCII runs that are yet to be cut."""

    def word(self, token: str) -> str | None:
        """Give the feature that a token counts for, None if for none."""

    def word_weight(self, word: str) -> float:
        """Give the weight of one occurrence of a feature."""


def weigh_tokens(analyzer: CountingAnalyzer, tokens: Iterable[str]) -> list[tuple[str, float]]:
    """Weigh the words of a token list as an analyzer does.

    Parameters
    ----------
    analyzer : CountingAnalyzer
        Says which tokens count, for which word, and its weight.
    tokens : iterable of str
        Tokens of one document.

    Returns
    -------
    list of (str, float)
        The heaviest first, ties by the word.
    """
    words = Counter(map(analyzer.word, tokens))
    weights = [(word, count * analyzer.word_weight(word)) for word, count in words.items() if word]
    weights.sort(key=lambda pair: (-pair[1], pair[0]))
    return weights[: analyzer.top]


def _check_segmenter(name: str) -> None:
    if name not in SEGMENTERS:
        raise InvalidProfile(f"Unknown segmenter {name!r}: choose one of {', '.join(SEGMENTERS)}.")


def _check_top(top: int | None) -> None:
    if top is not None and top < 1:
        raise InvalidProfile(f"At least one feature has to be kept, not {top}.")


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
        _check_top(self.top)
        _check_segmenter(self.segmenter)

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


def word_tokens(text: str, *, segmenter: str = "fast") -> list[str]:
    """List the tokens of a text that `LearnedAnalyzer` counts: what its idf table is learned from.

    Parameters
    ----------
    text : str
        Any text.
    segmenter : str
        ``fast`` or ``jieba``.

    Returns
    -------
    list of str
        Every token that holds a word character, lower-cased, in order.

    Examples
    --------
    >>> word_tokens("我爱 HBase！")
    ['我', '爱', 'hbase']
    """
    tokens = _cutter(segmenter)(text)
    return [token.lower() for token in tokens if _has_word_character(token)]


_cutter = segmenter


def word_set(text: str, *, segmenter: str = "fast") -> set[str]:
    """Collect the different words of `word_tokens`, without their order: several times faster.

    Parameters
    ----------
    text : str
        Any text.
    segmenter : str
        ``fast`` or ``jieba``.

    Returns
    -------
    set of str

    Examples
    --------
    >>> sorted(word_set("我爱 HBase，我爱 hbase！"))
    ['hbase', '我', '爱']
    """
    _check_segmenter(segmenter)
    tokens, runs = bag(text, name=segmenter, letters=True)
    found = set(tokens).union(*(cut_run(run.decode("ascii")) for run in set(runs)))
    return {token.lower() for token in found if _has_word_character(token)}


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
        _check_top(self.top)
        _check_segmenter(self.segmenter)

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
        return token.lower() if _has_word_character(token) else None

    def word_weight(self, word: str) -> float:
        """Give a word's weight in the learned table."""
        return self.idf.weight(word)


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

    size: int = 4
    """Characters of a shingle; a shorter text is one shingle."""
    binary: bool = False
    """Weigh every shingle 1, however often it occurs."""

    def __post_init__(self) -> None:
        if not 1 <= self.size <= 64:  # noqa: PLR2004
            raise InvalidProfile(f"A shingle has from 1 to 64 characters, not {self.size}.")

    @property
    def top(self) -> int | None:
        """None: all shingles count."""
        return None

    def features(self, text: str) -> list[tuple[str, float]]:
        """List the shingles of a text and their weights.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of (str, float)
            The heaviest first, ties by the shingle.
        """
        return weigh_tokens(self, self._shingles(text))

    def bag(self, text: str) -> Bag:
        """Give the shingles of a text; no ASCII run is left over."""
        return Bag(list(self._shingles(text)), [])

    def word(self, token: str) -> str | None:
        """Give the shingle itself."""
        return token

    def word_weight(self, word: str) -> float:
        """Give 1."""
        return 1.0

    def _shingles(self, text: str) -> Sequence[str]:
        plain = normalize(text)
        if not plain:
            return []
        starts = range(max(1, len(plain) - self.size + 1))
        shingles = [plain[start : start + self.size] for start in starts]
        # dict.fromkeys, not set: the order must not depend on the process.
        return list(dict.fromkeys(shingles)) if self.binary else shingles


@dataclass(frozen=True, kw_only=True)
class WeightedAnalyzer:
    """The caller brings features and weights; a text has none here."""

    def features(self, text: str) -> list[tuple[str, float]]:
        """Refuse a text.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of (str, float)
            Never.

        Raises
        ------
        InvalidArgument
            Always: pass features instead of text.
        """
        raise InvalidArgument(f"An index of weighted features takes features, not text ({text[:20]!r}).")
