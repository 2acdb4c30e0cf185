"""Analyzers: turn a text into features, such as words, with their weights."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from simhash_hbase.errors import InvalidArgument, InvalidProfile
from simhash_hbase.features.idf import IdfTable, jieba_idf
from simhash_hbase.kernel.texts import Batch, CountedWords, Weights
from simhash_hbase.profile.defaults import FOLD, TEXT_FORM, FoldName, TextForm


@runtime_checkable
class Analyzer(Protocol):
    """Turns a text into weighted features, such as its words, from which a fingerprint is made."""

    def features(self, text: str) -> list[tuple[str, float]]:
        """Return the features of a text with their weights, the heaviest first, equal ones in the order of features."""


class CountingAnalyzer(ABC):
    """An analyzer whose features weigh their count in the text times a constant of the feature.

    The fingerprints of such an analyzer are computed by the compiled code in `simhash_hbase.kernel`.
    """

    top: int | None = None
    """Features to keep, the heaviest; None for all."""
    text_form: int = TEXT_FORM
    """Version of the form of texts, as in `Profile`."""
    fold: FoldName | None = None
    """Characters that count as one, as in `Profile`."""

    @property
    def form(self) -> TextForm:
        """The normal form into which a text is brought before its features are counted."""
        return TextForm(self.text_form, self.fold)

    @property
    def few(self) -> int:
        """Most different words of a text so short that it may be one feature as a whole; 0: no text is."""
        return 0

    def __post_init__(self) -> None:
        if self.top is not None and self.top < 1:
            raise InvalidProfile(f"top is {self.top}: wanted at least 1")

    @abstractmethod
    def count(self, batch: Batch, *, seed: int) -> CountedWords:
        """Return the features of each text of a batch, hashed with `seed`, and how often each occurs."""

    @abstractmethod
    def weights(self, *, seed: int) -> Weights:
        """Return the table of constants of features, by their hashes with `seed`; 0 for features that do not count."""

    def features(self, text: str) -> list[tuple[str, float]]:
        """Return the features of a text with their weights, the heaviest first, equal ones in the order of features."""
        counted = self.count(Batch([text], self.form), seed=0)
        words = zip(counted.words(), counted.counts.tolist(), strict=True)
        table = self.weights(seed=0)
        weighed = [(word, count * weight) for word, count in words if (weight := table.weight(word))]
        weighed.sort(key=lambda pair: (-pair[1], pair[0]))
        return weighed[: self.top]


@dataclass(frozen=True, kw_only=True)
class JiebaAnalyzer(CountingAnalyzer):
    """The analyzer ``jieba``: Chinese words as jieba cuts them, weighted by TF-IDF with jieba's own table.

    As in ``jieba.analyse.extract_tags``, words of one character and stop words are dropped and words outside the table
    get its median; term frequencies are raw counts. Case and width count, so a copy in upper case has other features.

    Examples
    --------
    >>> [word for word, weight in JiebaAnalyzer(top=2).features("我喜欢看电影，不喜欢看电视")]
    ['喜欢', '看电视']
    """

    top: int | None = 200
    text_form: int = TEXT_FORM

    def count(self, batch: Batch, *, seed: int) -> CountedWords:
        return batch.count(folded=False, seed=seed)

    def weights(self, *, seed: int) -> Weights:
        return jieba_idf(seed)


@dataclass(frozen=True, kw_only=True)
class LearnedAnalyzer(CountingAnalyzer):
    """The analyzer ``learned``: all words, lower-cased, weighted by TF-IDF with a table learned from users' documents.

    Copies that differ only in case, in width or in another compatible form of characters have the same features: the
    text is brought to NFKC and lower case before it is cut. So have copies with blanks between Chinese characters, and
    most copies in traditional Chinese.

    Examples
    --------
    >>> table = IdfTable(documents=2, frequencies={"我": 2})
    >>> LearnedAnalyzer(idf=table).features("我爱")
    [('爱', 1.0986122886681098), ('我', 0.6931471805599453)]
    """

    top: int | None = None
    text_form: int = TEXT_FORM
    fold: FoldName | None = FOLD
    idf: IdfTable = field(repr=False)
    """The table from which words get their weights."""
    whole: int = 0
    """Texts whose normal forms have at most so many characters are one feature, that form: copies with other blanks in
    them have no sketch rows to meet in."""

    @property
    def few(self) -> int:
        """Most different words of a text so short that it may be one feature as a whole: 4 for each of its characters.

        Words of underscores alone add to the words of the normal form, by whose characters a text is short.
        """
        return 4 * self.whole

    def count(self, batch: Batch, *, seed: int) -> CountedWords:
        counted = batch.count(folded=True, seed=seed)
        words = np.diff(counted.offsets)
        few = np.flatnonzero((words > 0) & (words <= self.few)).tolist()
        normals = batch.normal_forms() if few else []
        whole = {at: normals[at] for at in few if 0 < len(normals[at]) <= self.whole}
        return counted.with_whole_texts(whole, seed=seed) if whole else counted

    def weights(self, *, seed: int) -> Weights:
        return self.idf.weights(seed)


@dataclass(frozen=True, kw_only=True)
class ShingleAnalyzer(CountingAnalyzer):
    """The analyzer ``shingle``: all runs of `size` characters of the normalised text; needs no dictionary.

    Examples
    --------
    >>> ShingleAnalyzer(size=4).features("I'm sexy")
    [('imse', 1.0), ('msex', 1.0), ('sexy', 1.0)]
    """

    size: int = 4
    """Characters of a shingle; a shorter text is one shingle."""
    binary: bool = False
    """Weigh every shingle 1, however often it occurs."""
    text_form: int = TEXT_FORM
    fold: FoldName | None = FOLD

    def __post_init__(self) -> None:
        if not 1 <= self.size <= 64:  # noqa: PLR2004
            raise InvalidProfile(f"shingle is {self.size}: wanted 1 to 64 characters")

    def count(self, batch: Batch, *, seed: int) -> CountedWords:
        counted = batch.shingles(self.size, seed=seed)
        if self.binary:
            counted.counts[:] = 1
        return counted

    def weights(self, *, seed: int) -> Weights:
        return Weights.of_words([], [], other=1.0, seed=seed)


@dataclass(frozen=True, kw_only=True)
class WeightedAnalyzer:
    """The analyzer ``weighted``, of an index whose callers give features and weights themselves; it takes no texts."""

    def features(self, text: str) -> list[tuple[str, float]]:
        """Raise `InvalidArgument`, since an index with this analyzer takes features, not texts."""
        raise InvalidArgument(f"an index of weighted features takes features, not text ({text[:20]!r})")
