"""From features to 64-bit SimHash fingerprints (Charikar 2002; Manku, Jain, Das Sarma 2007).

A hash takes the UTF-8 bytes of a feature and gives the same 64 bits on every platform. A weight counts as the integer
rint(weight x 65536), so that no sum depends on the order of the features. Bit i is 1 when the features whose hash has
bit i outweigh the others; a tie gives 0. Where no bit is decided, there is no fingerprint: the weights are 0, round to
it, or cancel each other.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from math import isfinite, sqrt
from typing import get_args

import mmh3
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import EmptyDocument, InvalidArgument, InvalidProfile, no_words
from simhash_hbase.features.analyzers import Analyzer, CountingAnalyzer, WeightedAnalyzer
from simhash_hbase.features.idf import Sample, text_key
from simhash_hbase.kernel.texts import Batch, batches
from simhash_hbase.profile.choices import HashName

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
    """Split features from their weights, and these in units of 1/65,536."""
    names: list[str | int] = []
    weights: list[int] = []
    for feature in features:
        name, weight = feature if isinstance(feature, tuple) else (feature, 1)
        if not isfinite(weight) or abs(weight) > MAX_WEIGHT:
            raise InvalidArgument(f"weight {weight}: wanted a finite number of at most {MAX_WEIGHT:.0e}")
        names.append(name)
        weights.append(round(weight * SCALE))
    return names, weights


def count_features(features: Iterable[GivenFeature]) -> int:
    """Count the distinct features whose weights, added up, are not 0.

    Examples
    --------
    >>> count_features([("x", 3), ("x", -3), ("y", 1), ("y", 2), ("z", 1e-6)])
    1
    """
    return sum(weight != 0 for weight in _summed(features).values())


def cosine(a: Iterable[GivenFeature], b: Iterable[GivenFeature]) -> float:
    """Return the cosine of two documents' weights: 0 where nothing is shared or a side weighs nothing.

    Plain features weigh 1; repeated ones add up.

    Examples
    --------
    >>> round(cosine("我 喜欢 看 电视".split(), "我 喜欢 看 电影".split()), 3)
    0.75
    """
    first, second = _summed(a), _summed(b)
    dot = sum(weight * second.get(name, 0) for name, weight in first.items())
    norms = sum(w * w for w in first.values()) * sum(w * w for w in second.values())
    return dot / sqrt(norms) if norms else 0.0


def _summed(features: Iterable[GivenFeature]) -> dict[str | int, int]:
    sums: dict[str | int, int] = {}
    for name, weight in zip(*integer_weights(features), strict=True):
        sums[name] = sums.get(name, 0) + weight
    return sums


def hash_signs(features: Sequence[str | int], *, hash: str, seed: int) -> NDArray[np.int64]:
    """Return for each bit of each feature's hash whether its weight is added or subtracted there."""
    octets = hash_features(features, hash=hash, seed=seed).astype(">u8").view(np.uint8)
    return 2 * np.unpackbits(octets.reshape(len(features), -1), axis=1).astype(np.int64) - 1


def fingerprint(features: Iterable[GivenFeature], *, hash: str = "murmur3", seed: int = 0) -> int:
    """Compute the SimHash of features.

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
    """Fingerprints texts by one analyzer and one hash.

    Parameters
    ----------
    hash, seed
        See `HASHES`.
    sample : Sample, optional
        What taught the analyzer, with the same seed: its texts are not cut again.

    Raises
    ------
    InvalidProfile
        Hash, seed and analyzer do not go together.

    Notes
    -----
    Threads may share one. Hash ``murmur3`` is the kernel's; with another one each word is hashed by itself, which takes
    many times as long. It pickles small: weights are computed anew, and the fingerprints of the sample go along.

    Examples
    --------
    >>> from simhash_hbase.features.analyzers import ShingleAnalyzer
    >>> fingerprinter = Fingerprinter(ShingleAnalyzer())
    >>> fingerprinter.fingerprint("Pyt-hon") == fingerprint(["pyth", "ytho", "thon"])
    True
    """

    def __init__(
        self, analyzer: Analyzer, *, hash: str = "murmur3", seed: int = 0, sample: Sample | None = None
    ) -> None:
        check_hash(hash, seed)
        if hash == "none" and not isinstance(analyzer, WeightedAnalyzer):
            raise InvalidProfile("hash none is for features that are integers, not for words")
        self.analyzer = analyzer
        self.hash = hash
        self.seed = seed
        self._known: dict[bytes, tuple[int, int]] = {}
        # Which features are the heaviest takes more than the counts of a sample's words.
        if sample is not None and hash == "murmur3" and isinstance(analyzer, CountingAnalyzer) and analyzer.top is None:
            self._known = sample.fingerprints(analyzer.weights(seed=seed))

    def fingerprint(self, text: str) -> int:
        """Fingerprint one text.

        Raises
        ------
        EmptyDocument
            The text has no usable words.
        """
        simhashes, counts = self.fingerprint_many([text])
        if not counts[0]:
            raise EmptyDocument(no_words())
        return int(simhashes[0])

    def fingerprint_many(self, texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Return the fingerprint of each text, and how many features it has: 0 where it has no fingerprint."""
        simhashes, features = zip(*map(self.fingerprint_batch, batches(texts)), strict=True)
        return np.concatenate(simhashes), np.concatenate(features)

    def fingerprint_batch(self, batch: Batch) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Fingerprint the texts of a batch, as `fingerprint_many` does."""
        analyzer = self.analyzer
        if self.hash != "murmur3" or not isinstance(analyzer, CountingAnalyzer):
            return self.fingerprint_features_many([analyzer.features(text) for text in batch.texts])
        known = [self._known.get(text_key(text)) for text in batch.texts] if self._known else [None] * len(batch.texts)
        others = [at for at, pair in enumerate(known) if pair is None]
        rest = Batch([batch.texts[at] for at in others]) if len(others) < len(known) else batch
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
        """Fingerprint documents whose features the caller knows, as `fingerprint_many` does with texts."""
        simhashes = np.zeros(len(documents), np.uint64)
        counts = np.zeros(len(documents), np.int32)
        for number, features in enumerate(documents):
            with suppress(EmptyDocument):
                simhashes[number] = fingerprint(features, hash=self.hash, seed=self.seed)
                counts[number] = count_features(features)
        return simhashes, counts


def _murmur3(data: bytes, seed: int) -> int:
    return int(mmh3.hash64(data, seed=seed, x64arch=True, signed=False)[0])


def _times33(data: bytes, _seed: int) -> int:
    value = 5381
    for byte in data:
        value = (value * 33 + byte) & _MASK64
    return value


def _md5(data: bytes, _seed: int) -> int:
    # It loads OpenSSL, and the hash is seldom asked for.
    from hashlib import md5  # noqa: PLC0415

    return int.from_bytes(md5(data, usedforsecurity=False).digest()[:8], "big")


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK32


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    """Mix three words reversibly, as lookup3's ``mix`` does."""
    for bits in (4, 6, 8, 16, 19, 4):
        a = ((a - c) & _MASK32) ^ _rotate(c, bits)
        c = (c + b) & _MASK32
        a, b, c = b, c, a
    return a, b, c


def _final(a: int, b: int, c: int) -> tuple[int, int, int]:
    """Mix the last three words, as lookup3's ``final`` does."""
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - _rotate(b, bits)) & _MASK32
        a, b, c = b, c, a
    return c, a, b


def _jenkins(data: bytes, _seed: int) -> int:
    a = b = c = (0xDEADBEEF + len(data)) & _MASK32
    for start in range(0, len(data), _BLOCK):
        block = data[start : start + _BLOCK]
        a = (a + int.from_bytes(block[:4], "little")) & _MASK32
        b = (b + int.from_bytes(block[4:8], "little")) & _MASK32
        c = (c + int.from_bytes(block[8:], "little")) & _MASK32
        a, b, c = (_mix if start + _BLOCK < len(data) else _final)(a, b, c)
    return (c << 32) | b


_BYTE_HASHES: dict[str, Callable[[bytes, int], int]] = {
    "jenkins": _jenkins,
    "md5": _md5,
    "murmur3": _murmur3,
    "times33": _times33,
}

HASHES: tuple[HashName, ...] = get_args(HashName)
"""The names that `hash_features` knows.

``murmur3``
    The first (``h1``) of the two 64-bit words of MurmurHash3 x64 128, the only one with a seed.
``times33``
    Bernstein's: from 5381, times 33 plus the byte, modulo 2**64. Words of a few bytes hardly reach its upper bits (see
    README.md of this folder), so `WeakHashWarning` is issued where an index is made with it.
``jenkins``
    Bob Jenkins' lookup3 ``hashlittle2`` with both seeds 0, ``pc`` the upper and ``pb`` the lower
    half: equal to yanyiwu/simhash's.
``md5``
    The first eight bytes of the MD5 digest, big-endian: equal to seomoz/simhash-py's.
``none``
    The features are the hashes: integers from 0 to 2**64 - 1.
"""


class WeakHashWarning(UserWarning):
    """An index is made with a hash that leaves bits of a fingerprint constant."""


def warn_of_weak_hash(hash: str) -> None:
    """Issue a `WeakHashWarning` where a hash is chosen that is there for compatibility only."""
    if hash == "times33":
        warnings.warn(
            "hash times33 leaves about 30 of 64 bits constant on ordinary words: unrelated documents come near each "
            "other, and searches read many rows; murmur3 does not",
            WeakHashWarning,
            stacklevel=3,
        )


def check_hash(hash: str, seed: int) -> None:
    """Refuse a hash and a seed that do not go together."""
    if hash not in HASHES:
        raise InvalidProfile(f"hash {hash!r}: wanted one of {', '.join(HASHES)}")
    if not 0 <= seed <= _MASK32:
        raise InvalidProfile(f"seed {seed}: wanted 0 to {_MASK32}")
    if seed and hash != "murmur3":
        raise InvalidProfile(f"hash {hash} takes no seed; only murmur3 does")


def hash_features(features: Sequence[str | int], *, hash: str, seed: int = 0) -> NDArray[np.uint64]:
    """Hash features to 64 bits each.

    Examples
    --------
    >>> [hex(value) for value in hash_features(["我", "喜欢"], hash="md5").tolist()]
    ['0x16815254531798dc', '0x3d6c396cf4dea3ba']
    >>> hash_features([7], hash="none").tolist()
    [7]
    """
    check_hash(hash, seed)
    if hash == "none":
        return np.array([_ready_made(feature) for feature in features], np.uint64)
    function = _BYTE_HASHES[hash]
    return np.array([function(_utf8(feature), seed) for feature in features], np.uint64)


def _ready_made(feature: str | int) -> int:
    if isinstance(feature, str) or not 0 <= feature <= _MASK64:
        raise InvalidArgument(f"feature {feature!r}: wanted an integer of 64 bits, with hash none")
    return int(feature)


def _utf8(feature: str | int) -> bytes:
    if not isinstance(feature, str):
        raise InvalidArgument(f"feature {feature!r}: wanted a string; integers go with hash none")
    # A lone surrogate has no UTF-8 form; Python's own extension of it is as good as any.
    return feature.encode("utf-8", "surrogatepass")
