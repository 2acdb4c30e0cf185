"""Inverse document frequencies: jieba's own table, and one learned from a sample of documents."""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import log
from random import Random
from typing import Generic, Protocol, TypeVar

import msgspec

from simhash_hbase.errors import CorruptIndex, InvalidArgument
from simhash_hbase.words.installed import digest_of, jieba_file
from simhash_hbase.words.lexicon import Lexicon

SAMPLE_LIMIT = 100_000  # Documents that a reservoir keeps at most.

_FEW_WORDS = 20_000
"""Words that are looked up one by one, each in some millionths of a second; the whole table takes a fifth of one."""

_MEDIANS = {"42dbdc8331c7a05a2d149837c2d656b8": 11.9547675029}
"""Of a file with this digest, that of jieba 0.42.1: to find it takes a fifth of a second."""

_FORMAT = 1

T = TypeVar("T")


class Idf(Protocol):
    """Weights of words."""

    def weight(self, word: str) -> float:
        """Give the weight of one occurrence of a word."""


class _Encoded(msgspec.Struct, array_like=True, frozen=True):
    format: int
    documents: int
    words: list[str]
    counts: list[int]


@dataclass(frozen=True, kw_only=True)
class IdfTable:
    """Document frequencies learned from a sample; the weight of a word is ln(1 + N / df).

    Raises
    ------
    InvalidArgument
        There is no document, or a frequency is below 2 or above their number.
    """

    documents: int
    """Documents of the sample, N."""
    frequencies: Mapping[str, int] = field(repr=False)
    """Documents that hold a word, df, for words that two or more hold; any other counts as 1."""

    def __post_init__(self) -> None:
        if self.documents < 1:
            raise InvalidArgument("an idf table is learned from at least one document")
        if not all(1 < count <= self.documents for count in self.frequencies.values()):
            raise InvalidArgument(f"a document frequency is from 2 to the {self.documents} documents of the sample")

    @classmethod
    def learn(cls, token_lists: Iterable[Iterable[str]]) -> "IdfTable":
        """Count in how many documents each word occurs.

        Parameters
        ----------
        token_lists : iterable of iterable of str
            The words of each document of the sample, repeated or not.

        Returns
        -------
        IdfTable
            The table; words of one document are left out.

        Raises
        ------
        InvalidArgument
            There is no document.

        Examples
        --------
        >>> table = IdfTable.learn([["我", "看"], ["看", "电影"], ["看"]])
        >>> table.documents, dict(table.frequencies)
        (3, {'看': 3})
        """
        counts: Counter[str] = Counter()
        documents = 0
        for tokens in token_lists:
            counts.update(set(tokens))
            documents += 1
        return cls.of_counts(documents, counts)

    @classmethod
    def of_counts(cls, documents: int, counts: Mapping[str, int]) -> "IdfTable":
        """Take in how many of the documents each word occurs."""
        kept = {word: count for word, count in sorted(counts.items()) if count > 1}
        return cls(documents=documents, frequencies=kept)

    def weight(self, word: str) -> float:
        """Give the weight of one occurrence of a word.

        Parameters
        ----------
        word : str
            Any word.

        Returns
        -------
        float
            ln(1 + N / df).
        """
        return log(1 + self.documents / self.frequencies.get(word, 1))

    def encode(self) -> bytes:
        """Pack the table.

        Returns
        -------
        bytes
            What `decode` reads; compressed.
        """
        return zlib.compress(self._canonical, 9)

    @classmethod
    def decode(cls, data: bytes) -> "IdfTable":
        """Unpack a table.

        Parameters
        ----------
        data : bytes
            What `encode` gave.

        Returns
        -------
        IdfTable
            The same table.

        Raises
        ------
        CorruptIndex
            The bytes are no table, or of another format.
        """
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
        """Digest the table's content, whatever compressed it.

        Returns
        -------
        str
            BLAKE2b, 16 bytes, in hexadecimal digits.
        """
        return digest_of(self._canonical)

    @cached_property
    def _canonical(self) -> bytes:
        words = sorted(self.frequencies)
        counts = [self.frequencies[word] for word in words]
        return msgspec.msgpack.encode(_Encoded(_FORMAT, self.documents, words, counts))


class JiebaIdf:
    """The table that jieba ships; a word that it lacks has the median weight."""

    def __init__(self, words: Lexicon, median: float) -> None:
        self.median = median  # Weight of every other word.
        self._words = words
        self._weights: dict[str, float] = {}  # Those that were asked for.
        self._is_whole = False

    def weight(self, word: str) -> float:
        """Give the weight of one occurrence of a word."""
        found = self._weights.get(word)
        return self._found(word) if found is None else found

    def _found(self, word: str) -> float:
        if self._is_whole:
            return self.median
        if len(self._weights) >= _FEW_WORDS:
            self._weights = {word: float(weight) for word, weight in self._words.all().items()}
            self._is_whole = True
            return self.weight(word)
        found = self._words.get(word)
        self._weights[word] = weight = self.median if found is None else float(found)
        return weight


@cache
def jieba_idf() -> JiebaIdf:
    """Open the table that jieba ships, once a process.

    Examples
    --------
    >>> round(jieba_idf().median, 3)
    11.955
    """
    words = Lexicon(_jieba_idf_bytes())
    return JiebaIdf(words, _MEDIANS.get(jieba_idf_digest()) or _median(words))


def _median(words: Lexicon) -> float:
    weights = sorted(map(float, words.all().values()))
    return weights[len(weights) // 2]


@cache
def jieba_idf_digest() -> str:
    """Digest the table that jieba ships, without reading what is in it."""
    return digest_of(_jieba_idf_bytes())


@cache
def _jieba_idf_bytes() -> bytes:
    """Read the table, once a process: its words are looked up in it."""
    return jieba_file("analyse", "idf.txt").read_bytes()


class Reservoir(Generic[T]):
    """A uniform sample of a stream whose length nobody knows (Vitter's algorithm R).

    Examples
    --------
    >>> sample = Reservoir(limit=2, seed=1)
    >>> for letter in "abcdef":
    ...     _ = sample.add(letter)
    >>> len(sample.items), sample.seen
    (2, 6)
    """

    def __init__(self, *, limit: int = SAMPLE_LIMIT, seed: int = 0) -> None:
        if not 1 <= limit <= SAMPLE_LIMIT:
            raise InvalidArgument(f"limit {limit}: a sample holds 1 to {SAMPLE_LIMIT} items")
        self.items: list[T] = []
        self.seen = 0
        self._limit = limit
        self._random = Random(seed)

    def add(self, item: T) -> int | None:
        """Offer the next item of the stream."""
        self.seen += 1
        if len(self.items) < self._limit:
            self.items.append(item)
            return self.seen - 1
        # random() is the one method whose sequence Python promises to keep for a seed.
        place = int(self._random.random() * self.seen)
        if place >= self._limit:
            return None
        self.items[place] = item
        return place
