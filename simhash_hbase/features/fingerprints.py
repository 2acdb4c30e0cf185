"""From features to 64-bit SimHash fingerprints (Charikar 2002; Manku, Jain, Das Sarma 2007).

A weight counts as the integer rint(weight x 65536), so that no sum depends on the order of the
features: the unit of a weight is 1/65,536. Bit i is 1 when the features whose hash has bit i outweigh the others; a tie
gives 0. Where no bit is decided, there is no fingerprint: the weights are 0, round to it, or cancel each other.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from math import isfinite, sqrt

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import EmptyDocument, InvalidArgument, InvalidProfile, no_words
from simhash_hbase.features.analyzers import Analyzer, CountingAnalyzer, WeightedAnalyzer
from simhash_hbase.features.hashes import check_hash, hash_features
from simhash_hbase.features.idf import Sample, text_key
from simhash_hbase.kernel.texts import Batch, Weights, batches

SCALE = 65536  # Integer units of a weight of 1.
MAX_WEIGHT = 1e9  # No feature weighs more: a larger weight is a mistake.
MAX_TOTAL = 1 << 62  # All weights of a document together stay below it, in integer units.

GivenFeature = str | int | tuple[str | int, float]  # A feature, which weighs 1, or a pair of feature and weight.

NO_WEIGHT = (
    "the weights of the features are 0, cancel each other or are below 1/131,072, so the document has no fingerprint"
)
TOO_MUCH_WEIGHT = "the weights of one document add up to more than 64 bits hold"


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
        See `simhash_hbase.features.hashes.HASHES`.

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
        See `simhash_hbase.features.hashes.HASHES`.
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
            self._known = sample.fingerprints(self._weights)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_weights"}

    @cached_property
    def _weights(self) -> Weights:
        if not isinstance(self.analyzer, CountingAnalyzer):
            raise TypeError(f"{self.analyzer} counts no words")
        return self.analyzer.weights(seed=self.seed)

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
        simhashes[others], features[others] = analyzer.count(rest, seed=self.seed).vote(self._weights, top=analyzer.top)
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
