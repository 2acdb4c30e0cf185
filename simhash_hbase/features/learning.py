"""Learning an idf table from a sample of texts, which leaves more than the table.

The words of the sample are counted for the table, and their counts are what fingerprints are made of: a text of the
sample that comes again in the corpus is not cut again.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.features.analyzers import LearnedAnalyzer
from simhash_hbase.features.idf import IdfTable, Reservoir
from simhash_hbase.features.wordrows import CountedTexts, Counts, Rows, WordRows, text_key
from simhash_hbase.words.segment import WORDS

LEARN_FROM = 3_000
"""Documents of a sample: 600 already help, more than some thousand change little (see README.md of this folder)."""

_NO_IDF = IdfTable(documents=1, frequencies={})
_FIRST_ROWS = 1 << 12


class Learned(NamedTuple):
    """What a sample teaches."""

    idf: IdfTable
    counted: CountedTexts  # The texts of the sample.


def learn_idf(
    texts: Iterable[str], *, segmenter: str = "fast", words: str | None = WORDS, limit: int = LEARN_FROM
) -> IdfTable:
    """Count document frequencies over a sample of a stream of texts.

    Keeps the sampled texts in memory.
    """
    return learn(texts, segmenter=segmenter, words=words, limit=limit).idf


def learn(texts: Iterable[str], *, segmenter: str, words: str | None, limit: int = LEARN_FROM) -> Learned:
    """Do what `learn_idf` does, and keep the counts of the words of each text, too."""
    sample: Reservoir[str] = Reservoir(limit=limit)
    for text in texts:
        sample.add(text)
    rows = WordRows(LearnedAnalyzer(idf=_NO_IDF, segmenter=segmenter, words=words))
    frequencies = _Frequencies(rows)
    counted: dict[bytes, tuple[Rows, Counts]] = {}
    for text in sample.items:
        if rows.make_room():
            frequencies.start_anew()
            counted.clear()
        counted[text_key(text)] = found = rows.counted(text)
        frequencies.add(found[0])
    return Learned(IdfTable.of_counts(len(sample.items), frequencies.by_word()), CountedTexts(rows, counted))


class _Frequencies:
    """Counts in how many documents each word occurs."""

    def __init__(self, rows: WordRows) -> None:
        self._words = rows.words
        self._rows = rows
        self._counts: NDArray[np.int64] = np.zeros(_FIRST_ROWS, np.int64)
        self._before: Counter[str] = Counter()

    def add(self, rows: Rows) -> None:
        """Count the distinct words of one document."""
        if len(self._words) > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros(2 * len(self._words) - len(self._counts), np.int64)])
        self._counts[rows] += 1

    def start_anew(self) -> None:
        """Take what is counted from rows that say nothing now."""
        self._before = self.by_word()
        self._words = self._rows.words
        self._counts = np.zeros(_FIRST_ROWS, np.int64)

    def by_word(self) -> Counter[str]:
        """Give the counts by words."""
        self._before.update(dict(zip(self._words, self._counts[: len(self._words)].tolist(), strict=True)))
        return self._before
