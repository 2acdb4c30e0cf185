"""Learning an idf table from a sample of texts, which leaves more than the table.

The words of the sample are counted for the table, and their counts are what fingerprints are made of: a text of the
sample that comes again in the corpus is not cut again.
"""

from collections.abc import Iterable
from typing import NamedTuple

import mmh3
import numpy as np

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.features.analyzers import LEARNED_WORDING
from simhash_hbase.features.idf import IdfTable, Reservoir
from simhash_hbase.kernel.texts import CountedWords, DistinctWords, batches

LEARN_FROM = 3_000
"""Documents of a sample: 600 already help, more than some thousand change little (see README.md of this folder)."""


class CountedSample(NamedTuple):
    """The words of the texts of a sample."""

    keys: list[bytes]  # See `text_key`.
    words: list[CountedWords]  # Of the texts in their order, some texts each.
    seed: int  # Of the hashes.


class Learned(NamedTuple):
    """What a sample teaches."""

    idf: IdfTable
    counted: CountedSample


def learn_idf(texts: Iterable[str], *, limit: int = LEARN_FROM) -> IdfTable:
    """Count document frequencies over a sample of a stream of texts.

    Keeps the sampled texts in memory.
    """
    return learn(texts, limit=limit).idf


def learn(texts: Iterable[str], *, limit: int = LEARN_FROM, seed: int = 0) -> Learned:
    """Do what `learn_idf` does, and keep the counts of the words of each text, too."""
    sample: Reservoir[str] = Reservoir(limit=limit)
    for text in texts:
        sample.add(text)
    if not sample.items:
        raise InvalidArgument("an idf table is learned from at least one document")
    parts: list[DistinctWords] = []
    counted: list[CountedWords] = []
    for batch in batches(sample.items):
        words = batch.count(LEARNED_WORDING, seed=seed)
        parts.append(words.distinct())
        counted.append(words.without_places())
    merged = DistinctWords.merged(parts)
    repeated = np.flatnonzero(merged.documents > 1).tolist()
    counts = {merged.word(number): int(merged.documents[number]) for number in repeated}
    idf = IdfTable.of_counts(len(sample.items), counts)
    return Learned(idf, CountedSample(list(map(text_key, sample.items)), counted, seed))


def text_key(text: str) -> bytes:
    """Digest a text as it is: MurmurHash3 x64 128 of its UTF-8."""
    return mmh3.mmh3_x64_128_digest(text.encode("utf-8", "surrogatepass"))
