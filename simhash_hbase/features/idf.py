"""Inverse document frequencies: jieba's own table, one learned from a sample of documents, and one that is shipped."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from math import log
from pathlib import Path
from random import Random
from typing import Generic, NamedTuple, TypeVar

import mmh3
import msgspec
import numpy as np

from simhash_hbase.errors import CorruptIndex, InvalidArgument
from simhash_hbase.kernel import texts as kernel, votes
from simhash_hbase.kernel.tables import VERSION, Tables, cached_tables, jieba_file, words_of
from simhash_hbase.profile.defaults import FORM, TextForm
from simhash_hbase.rows.digests import digest_of
from simhash_hbase.rows.names import exact

STOP_WORDS = (
    *("all", "an", "and", "are", "as", "at", "be", "by", "can", "for", "from", "has", "have", "if", "in", "is", "it"),
    *("not", "of", "on", "one", "or", "that", "the", "then", "this", "to", "we", "which", "with", "you"),
)
"""The words that jieba.analyse drops (``KeywordExtractor.STOP_WORDS`` of jieba 0.42.1), in upper case, too."""
LEARN_FROM = 3_000
"""Documents of a sample: 600 already help, more than some thousand change little (see README.md of this folder)."""
GENERAL = "general-2"
"""The shipped table, for indexes without a sample; other counts get another name. Its sources are in README.md."""
_FORMAT = 1
T = TypeVar("T")


class _Encoded(msgspec.Struct, array_like=True, frozen=True):
    format: int
    documents: int
    words: list[str]
    counts: list[int]


@dataclass(frozen=True, kw_only=True)
class IdfTable:
    """In how many documents of a sample each word occurs; a word in df of N documents has the weight ln(1 + N / df)."""

    documents: int
    """Documents of the sample, N."""
    frequencies: Mapping[str, int] = field(repr=False)
    """Documents that hold a word, df, for words that two or more hold; any other counts as 1."""
    _weights: dict[int, kernel.Weights] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_weights": {}}

    def __post_init__(self) -> None:
        if self.documents < 1:
            raise InvalidArgument("an idf table is learned from at least one document")
        if not all(1 < count <= self.documents for count in self.frequencies.values()):
            raise InvalidArgument(f"a document frequency is from 2 to the {self.documents} documents of the sample")

    def weight(self, word: str) -> float:
        """Return the weight of one occurrence of a word."""
        return log(1 + self.documents / self.frequencies.get(word, 1))

    def weights(self, seed: int) -> kernel.Weights:
        """Return the weights of words by their hashes with a seed, as SimHash needs them; computed once a seed."""
        if seed not in self._weights:
            # Few frequencies, many words. Logarithms are Python's, as in `weight`.
            logarithms = {count: log(1 + self.documents / count) for count in {1, *self.frequencies.values()}}
            weights = [logarithms[count] for count in self.frequencies.values()]
            words = list(self.frequencies)
            self._weights[seed] = kernel.Weights.of_words(words, weights, other=logarithms[1], seed=seed)
        return self._weights[seed]

    def encode(self) -> bytes:
        """Return the table as compressed bytes, which `decode` reads."""
        return zlib.compress(self._canonical, 9)

    @classmethod
    def decode(cls, data: bytes) -> "IdfTable":
        """Read a table from the bytes of `encode`; raise `CorruptIndex` for anything else."""
        try:
            encoded = msgspec.msgpack.decode(zlib.decompress(data), type=_Encoded)
            pairs = zip(encoded.words, encoded.counts, strict=True)
            table = cls(documents=encoded.documents, frequencies=dict(pairs))
        except (zlib.error, ValueError) as error:
            raise CorruptIndex(f"the idf table does not decode: {error}") from error
        if encoded.format != _FORMAT:
            raise CorruptIndex(f"the idf table has format {encoded.format}; this version reads format {_FORMAT}")
        return table

    def digest(self) -> str:
        """Return the digest of the table's content, 32 hexadecimal digits; it does not depend on the compression."""
        return digest_of(self._canonical)

    @cached_property
    def _canonical(self) -> bytes:
        words = sorted(self.frequencies)
        counts = [self.frequencies[word] for word in words]
        return msgspec.msgpack.encode(_Encoded(_FORMAT, self.documents, words, counts))


@cache
def general_idf() -> IdfTable:
    """Return the idf table that is shipped with this package, for indexes that learn none from their own documents."""
    return IdfTable.decode(Path(__file__).with_name(f"{GENERAL}.idf").read_bytes())


@cache
def jieba_idf(seed: int = 0) -> kernel.Weights:
    """Return the weights of words in jieba's idf table; a word that it lacks has the median weight, a stop word 0."""
    arrays = cached_tables(f"idf-{VERSION}-{jieba_idf_digest()}-{seed}", lambda: _jieba_tables(seed))
    return kernel.Weights(arrays["keys"], arrays["values"], other=float(arrays["median"][0]), seed=seed)


def _jieba_tables(seed: int) -> Tables:
    points, starts, stops, weights = words_of(jieba_file("analyse", "idf.txt").read_bytes())
    dropped = ["".join(form) for word in STOP_WORDS for form in product(*zip(word, word.upper(), strict=True))]
    size = 1 << (2 * (len(weights) + len(dropped))).bit_length()
    keys, values = np.zeros(size, np.uint64), np.zeros(size)
    votes.insert_weights(keys.data, values.data, kernel.hash_between(points, starts, stops, seed).data, weights.data)
    known, middle = values[keys != 0], np.count_nonzero(keys) // 2
    # The upper one of two in the middle, as jieba has it.
    median = np.partition(known, middle)[middle : middle + 1]
    votes.insert_weights(keys.data, values.data, kernel.word_hashes(dropped, seed).data, np.zeros(len(dropped)).data)
    return {"keys": keys, "values": values, "median": median}


@cache
def jieba_idf_digest() -> str:
    """Return the digest of the idf table that jieba ships."""
    return digest_of(jieba_file("analyse", "idf.txt").read_bytes())


class Reservoir(Generic[T]):
    """A uniform sample of a stream whose length nobody knows (Vitter's algorithm R)."""

    def __init__(self, *, limit: int = LEARN_FROM, seed: int = 0) -> None:
        self.items: list[T] = []
        self.seen = 0
        self._limit = limit
        self._random = Random(seed)

    def add(self, items: Sequence[T]) -> None:
        """Offer the next items of the stream; one that the sample keeps may take the place of an earlier one."""
        for at, place in self.draw(len(items)):
            self.keep(items[at], place)

    def draw(self, count: int) -> Iterator[tuple[int, int]]:
        """Offer the next `count` items of the stream; yield the number of each one to be kept, and its place.

        The caller calls `keep` with it, so that an item need not be made that the sample does not keep.
        """
        start, limit, random = self.seen, self._limit, self._random.random
        self.seen += count
        first = min(max(limit - start, 0), count)
        yield from ((at, start + at) for at in range(first))
        # random() is the one method whose sequence Python promises to keep for a seed.
        for at in range(first, count):
            if (place := int(random() * (start + at + 1))) < limit:
                yield at, place

    def keep(self, item: T, place: int) -> None:
        """Keep an item at a place that `draw` has yielded."""
        self.items[place : place + 1] = [item]


class CutTexts(NamedTuple):
    """The counted words of some texts, with keys by which a text is found again, so that it is not cut twice."""

    keys: list[bytes]  # The `text_key` of each text.
    outlines: list[tuple[int, str]]  # The `outline` of each text.
    words: kernel.CountedWords  # The words of the texts in their order.

    @classmethod
    def of(cls, texts: Sequence[str], words: kernel.CountedWords) -> "CutTexts":
        """Return the keys, outlines and counted words of texts; they do not keep the texts themselves in memory."""
        return cls(list(map(text_key, texts)), list(map(outline, texts)), words.without_texts())


class Sample(NamedTuple):
    """The idf table learned from a sample of texts, and the counted words of the sample."""

    idf: IdfTable
    texts: list[CutTexts]  # All texts in their order, some in each item.


def learn(texts: Iterable[str], *, seed: int = 0, form: TextForm = FORM, workers: int = 1) -> Sample:
    """Learn an idf table: count in how many texts of a random sample of a stream each word occurs.

    The sample is kept in memory and counted by `workers` threads. Its words are hashed with `seed` as for a SimHash, so
    that its texts need not be cut into words again.
    """
    # concurrent.futures imports logging, and few processes learn.
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    sample: Reservoir[str] = Reservoir()
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise InvalidArgument(f"text {number} of the sample is of type {type(text).__name__}: wanted a string")
        sample.add([exact(text)])

    def count(part: Sequence[str]) -> tuple[CutTexts, kernel.CountedWords]:
        words = kernel.Batch(part, form).count(folded=True, seed=seed)
        return CutTexts.of(part, words), words.distinct()

    with ThreadPoolExecutor(workers) as pool:
        # Large parts meet fewer words again.
        parts = kernel.divided(sample.items, 4 * kernel.BATCH)
        texts_of_parts, words_of_parts = zip(*pool.map(count, parts), strict=True)
    table = IdfTable(documents=len(sample.items), frequencies=kernel.document_frequencies(words_of_parts))
    return Sample(table, list(texts_of_parts))


def outline(text: str) -> tuple[int, str]:
    """Return the length and the first 16 characters of a text, a quick key that most texts have alone.

    For 1,000 texts of 3,600 characters it takes 0.3 ms, and `text_key` 1.5 ms (ASCII) to 17 ms (Chinese).
    """
    return len(text), text[:16]


def text_key(text: str) -> bytes:
    """Return a digest of a text as it is: MurmurHash3 x64 128 of its UTF-8."""
    return mmh3.mmh3_x64_128_digest(text.encode("utf-8", "surrogatepass"))
