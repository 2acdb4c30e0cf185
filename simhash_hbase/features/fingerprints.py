"""SimHash fingerprints of 64 bits, made of features (Charikar 2002; Manku, Jain, Das Sarma 2007).

A hash takes the UTF-8 bytes of a feature and gives the same 64 bits on every platform. A weight counts as the integer
rint(weight x 65536), so that no sum depends on the order of the features. Bit i is 1 when the features whose hash has
bit i outweigh the others; a tie gives 0. Where no bit is decided, there is no fingerprint: the weights are 0, round to
it, or cancel each other.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import reduce
from math import isfinite
from typing import get_args

import mmh3
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import EmptyDocument, InvalidArgument, InvalidProfile, no_words
from simhash_hbase.features.analyzers import Analyzer, CountingAnalyzer, WeightedAnalyzer
from simhash_hbase.features.idf import CutTexts, outline, text_key
from simhash_hbase.kernel.texts import Batch, batches
from simhash_hbase.profile.defaults import FORM, HashName
from simhash_hbase.rows.names import exact

SCALE = 65536  # Integer units of a weight of 1.
MAX_WEIGHT = 1e9  # No feature weighs more: a larger weight is a mistake.
MAX_TOTAL = 1 << 62  # All weights of a document together stay below it, in integer units.

GivenFeature = str | int | tuple[str | int, float]  # A feature, which weighs 1, or a pair of feature and weight.

NO_WEIGHT = (
    "the weights of the features are 0, cancel each other or are below 1/131,072, so the document has no fingerprint"
)
TOO_MUCH_WEIGHT = "the weights of one document add up to more than 64 bits hold"

_MASK32 = 0xFFFFFFFF
_MASK64 = 0xFFFFFFFFFFFFFFFF
_BLOCK = 12  # Bytes that lookup3 takes in at a time.


def integer_weights(features: Iterable[GivenFeature]) -> tuple[list[str | int], list[int]]:
    """Return a list of the features and a list of their weights, as integers in units of 1/65,536."""
    names: list[str | int] = []
    weights: list[int] = []
    for feature in features:
        name, weight = feature if isinstance(feature, tuple) else (feature, 1)
        try:
            is_weight = isfinite(weight) and abs(weight) <= MAX_WEIGHT
        except (TypeError, OverflowError):
            is_weight = False
        if not is_weight:
            raise InvalidArgument(f"weight {weight!r}: wanted a finite number of at most {MAX_WEIGHT:.0e}")
        names.append(exact(name) if isinstance(name, str) else name)
        weights.append(round(weight * SCALE))
    return names, weights


def count_features(features: Iterable[GivenFeature]) -> int:
    """Return the number of distinct features whose weights, added up, are not 0."""
    return sum(weight != 0 for weight in summed_weights(features).values())


def summed_weights(features: Iterable[GivenFeature]) -> dict[str | int, int]:
    """Return for each distinct feature the sum of its weights, in units of 1/65,536."""
    sums: dict[str | int, int] = {}
    for name, weight in zip(*integer_weights(features), strict=True):
        sums[name] = sums.get(name, 0) + weight
    return sums


def hash_signs(features: Sequence[str | int], *, hash: str, seed: int) -> NDArray[np.int64]:
    """Return 1 or -1 for each bit of each feature's hash, shape (n, 64): whether its weight is added or subtracted."""
    octets = hash_features(features, hash=hash, seed=seed).astype(">u8").view(np.uint8)
    return 2 * np.unpackbits(octets.reshape(len(features), -1), axis=1).astype(np.int64) - 1


def fingerprint(features: Iterable[GivenFeature], *, hash: str = "murmur3", seed: int = 0) -> int:
    """Return the 64-bit SimHash of features.

    Parameters
    ----------
    features : iterable of str, int or (feature, weight)
        Plain features weigh 1; repeated ones add up; weights may be 0 or negative, their unit is 1/65,536.
    hash, seed
        See `HASHES`.

    Raises
    ------
    EmptyDocument
        There is no feature, or the weights are 0, round to 0 or cancel each other.
    InvalidArgument
        A weight is not finite or absurdly large, or a feature does not suit the hash.
    InvalidProfile
        The hash is unknown, or takes no seed.

    Examples
    --------
    >>> bin(fingerprint([(0b100101, 4), (0b101011, 5)], hash="none"))
    '0b101011'
    >>> hex(fingerprint([0xABCD, 0xBCDE, 0xCDEF], hash="none"))
    '0xadcf'
    """
    names, weights = integer_weights(features)
    if not names:
        check_hash(hash, seed)
        raise EmptyDocument(no_words())
    if sum(map(abs, weights)) >= MAX_TOTAL:
        raise InvalidArgument(TOO_MUCH_WEIGHT)
    sums = np.array(weights, np.int64) @ hash_signs(names, hash=hash, seed=seed)
    if not sums.any():
        raise EmptyDocument(NO_WEIGHT)
    return int.from_bytes(np.packbits(sums > 0).tobytes(), "big")


class Fingerprinter:
    """Makes the SimHash fingerprints of texts by one analyzer and one hash.

    `InvalidProfile` is raised if these do not go together.

    Parameters
    ----------
    hash, seed
        See `HASHES`.

    Notes
    -----
    Threads may share one. Compiled code computes the hash ``murmur3``; with another one each word is hashed by itself,
    which takes many times as long. Pickled it is small: weights are computed again, and fingerprints that it remembers
    are included.

    Examples
    --------
    >>> from simhash_hbase.features.analyzers import ShingleAnalyzer
    >>> fingerprinter = Fingerprinter(ShingleAnalyzer())
    >>> fingerprinter.fingerprint("Pyt-hon") == fingerprint(["pyth", "ytho", "thon"])
    True
    """

    def __init__(self, analyzer: Analyzer, *, hash: str = "murmur3", seed: int = 0) -> None:
        check_hash(hash, seed)
        if hash == "none" and not isinstance(analyzer, WeightedAnalyzer):
            raise InvalidProfile("hash none is for features that are integers, not for words")
        self.analyzer = analyzer
        self.form = analyzer.form if isinstance(analyzer, CountingAnalyzer) else FORM
        self.hash = hash
        self.seed = seed
        self._known: dict[bytes, tuple[int, int]] = {}
        self._outlines: set[tuple[int, str]] = set()  # The outlines of all known texts.

    def remember(self, texts: Iterable[CutTexts], *, workers: int = 1) -> None:
        """Make the fingerprints of texts whose words are counted already, and keep them for `fingerprint_batch`.

        When the same texts come again there, they need not be cut into words again. `workers` is a number of threads.
        """
        analyzer = self.analyzer
        # Choosing the heaviest features takes the words themselves, not only their counts.
        if self.hash != "murmur3" or not isinstance(analyzer, CountingAnalyzer) or analyzer.top is not None:
            return
        # concurrent.futures imports logging, which takes time.
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        weights = analyzer.weights(seed=self.seed)
        keys, outlines, words = zip(*texts, strict=True)
        self._outlines.update(*outlines)
        with ThreadPoolExecutor(workers) as pool:
            for some, columns in zip(keys, pool.map(lambda counted: counted.vote(weights), words), strict=True):
                pairs = zip(*(column.tolist() for column in columns), strict=True)
                self._known.update((key, pair) for key, pair in zip(some, pairs, strict=True) if pair[1] > analyzer.few)

    def fingerprint(self, text: str) -> int:
        """Return the fingerprint of a text, or raise `EmptyDocument` when it has no usable words."""
        simhashes, counts = self.fingerprint_many([text])
        if not counts[0]:
            raise EmptyDocument(no_words())
        return int(simhashes[0])

    def fingerprint_many(self, texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Return the fingerprint of each text, and how many features it has: 0 where it has no fingerprint."""
        parts = map(self.fingerprint_batch, batches(texts, self.form))
        simhashes, features = zip(*parts, strict=True)
        return np.concatenate(simhashes), np.concatenate(features)

    def fingerprint_batch(self, batch: Batch) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Return the fingerprints and feature counts of the texts of a batch, as `fingerprint_many` does."""
        analyzer = self.analyzer
        if self.hash != "murmur3" or not isinstance(analyzer, CountingAnalyzer):
            return self.fingerprint_features_many([analyzer.features(text) for text in batch.texts])
        known = [self._known.get(text_key(text)) if outline(text) in self._outlines else None for text in batch.texts]
        others = [at for at, pair in enumerate(known) if pair is None]
        rest = Batch([batch.texts[at] for at in others], batch.form) if len(others) < len(known) else batch
        simhashes = np.array([pair[0] if pair else 0 for pair in known], np.uint64)
        features = np.array([pair[1] if pair else 0 for pair in known], np.int32)
        weights = analyzer.weights(seed=self.seed)
        simhashes[others], features[others] = analyzer.count(rest, seed=self.seed).vote(weights, top=analyzer.top)
        if (features < 0).any():
            raise InvalidArgument(TOO_MUCH_WEIGHT)
        return simhashes, features

    def fingerprint_features_many(
        self, documents: Sequence[Sequence[GivenFeature]]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Return fingerprints and numbers of distinct features of documents that are given by their features.

        Both are 0 for a document without a fingerprint, as in `fingerprint_many`.
        """
        simhashes = np.zeros(len(documents), np.uint64)
        counts = np.zeros(len(documents), np.int32)
        for number, features in enumerate(documents):
            with suppress(EmptyDocument):
                simhashes[number] = fingerprint(features, hash=self.hash, seed=self.seed)
                counts[number] = count_features(features)
        return simhashes, counts


def _md5(data: bytes, _seed: int) -> int:
    # hashlib loads OpenSSL, and the hash is seldom asked for.
    from hashlib import md5  # noqa: PLC0415

    return int.from_bytes(md5(data, usedforsecurity=False).digest()[:8], "big")


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK32


def _jenkins(data: bytes, _seed: int) -> int:
    a = b = c = (0xDEADBEEF + len(data)) & _MASK32
    for start in range(0, len(data), _BLOCK):
        block = data[start : start + _BLOCK]
        a = (a + int.from_bytes(block[:4], "little")) & _MASK32
        b = (b + int.from_bytes(block[4:8], "little")) & _MASK32
        c = (c + int.from_bytes(block[8:], "little")) & _MASK32
        if start + _BLOCK < len(data):
            # lookup3's ``mix``, which is reversible.
            for bits in (4, 6, 8, 16, 19, 4):
                a = ((a - c) & _MASK32) ^ _rotate(c, bits)
                a, b, c = b, (c + b) & _MASK32, a
        else:
            # The step ``final`` of the hash.
            for bits in (14, 11, 25, 16, 4, 14, 24):
                a, b, c = b, ((c ^ b) - _rotate(b, bits)) & _MASK32, a
            a, b, c = c, a, b
    return (c << 32) | b


_BYTE_HASHES: dict[str, Callable[[bytes, int], int]] = {
    "jenkins": _jenkins,
    "md5": _md5,
    "murmur3": lambda data, seed: int(mmh3.hash64(data, seed=seed, x64arch=True, signed=False)[0]),
    "times33": lambda data, _: reduce(lambda value, byte: (value * 33 + byte) & _MASK64, data, 5381),
}

HASHES: tuple[HashName, ...] = get_args(HashName)
"""The names that `hash_features` knows.

``murmur3`` is the first (``h1``) of the two 64-bit words of MurmurHash3 x64 128, the only one with a seed. ``jenkins``
is Bob Jenkins' lookup3 ``hashlittle2`` with both seeds 0, ``pc`` the upper and ``pb`` the lower half: equal to
yanyiwu/simhash's. ``md5`` is the first eight bytes of the digest, big-endian: equal to seomoz/simhash-py's. ``times33``
is Bernstein's: from 5381, times 33 plus the byte, modulo 2**64; for comparison only (see README.md of this folder).
With ``none`` the features are the hashes: integers from 0 to 2**64 - 1.
"""


def check_hash(hash: str, seed: int) -> None:
    """Raise `InvalidProfile` if the name of a hash is unknown, or the seed is not one that the hash takes."""
    if hash not in HASHES:
        raise InvalidProfile(f"hash is {hash!r}: wanted one of {', '.join(HASHES)}")
    if not 0 <= seed <= _MASK32:
        raise InvalidProfile(f"seed is {seed}: wanted 0 to {_MASK32}")
    if seed and hash != "murmur3":
        raise InvalidProfile(f"hash {hash} takes no seed; only murmur3 does")


def hash_features(features: Sequence[str | int], *, hash: str, seed: int = 0) -> NDArray[np.uint64]:
    """Return the 64-bit hash of each feature.

    Examples
    --------
    >>> [hex(value) for value in hash_features(["我", "喜欢"], hash="md5").tolist()]
    ['0x16815254531798dc', '0x3d6c396cf4dea3ba']
    """
    check_hash(hash, seed)
    if hash == "none":
        if other := [each for each in features if isinstance(each, str) or not 0 <= each <= _MASK64]:
            raise InvalidArgument(f"feature {other[0]!r}: wanted an integer of 64 bits, with hash none")
        return np.array(features, np.uint64)
    if other := [each for each in features if not isinstance(each, str)]:
        raise InvalidArgument(f"feature {other[0]!r}: wanted a string; integers go with hash none")
    # A lone surrogate has no UTF-8 form; Python's own extension of it is as good as any.
    octets = (exact(each).encode("utf-8", "surrogatepass") for each in features if isinstance(each, str))
    return np.array([_BYTE_HASHES[hash](each, seed) for each in octets], np.uint64)
