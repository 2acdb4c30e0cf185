"""From features to 64-bit SimHash fingerprints (Charikar 2002; Manku, Jain, Das Sarma 2007).

A weight counts as the integer rint(weight x 65536), so that no sum depends on the order of the
features: the unit of a weight is 1/65,536. Bit i is 1 when the features whose hash has bit i outweigh the others; a tie
gives 0. Where no bit is decided, there is no fingerprint: the weights are 0, round to it, or cancel each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from simhash_hbase.errors import EmptyDocument, InvalidArgument, InvalidProfile, no_words
from simhash_hbase.features.analyzers import Analyzer, CountingAnalyzer, WeightedAnalyzer
from simhash_hbase.features.hashes import check_hash, hash_features
from simhash_hbase.features.weights import MAX_TOTAL, Feature, count_features, integer_weights
from simhash_hbase.features.wordrows import CountedTexts
from simhash_hbase.features.wordsums import Summed, WordSums

NO_WEIGHT = (
    "the weights of the features are 0, cancel each other or are below 1/131,072, so the document has no fingerprint"
)


def bit_sums(features: Iterable[Feature], *, hash: str = "murmur3", seed: int = 0) -> NDArray[np.int64]:
    """Sum the weights of features with the sign of each bit of their hashes.

    Examples
    --------
    >>> from simhash_hbase.features.weights import SCALE
    >>> (bit_sums([(0b01, 2), (0b11, 1)], hash="none")[-2:] // SCALE).tolist()
    [-1, 3]
    """
    names, weights = integer_weights(features)
    if not names:
        check_hash(hash, seed)
        raise EmptyDocument(no_words())
    if sum(map(abs, weights)) >= MAX_TOTAL:
        raise InvalidArgument("the weights of one document add up to more than 64 bits hold")
    sums: NDArray[np.int64] = np.array(weights, np.int64) @ hash_signs(names, hash=hash, seed=seed)
    if not sums.any():
        raise EmptyDocument(NO_WEIGHT)
    return sums


def hash_signs(features: Sequence[str | int], *, hash: str, seed: int) -> NDArray[np.int64]:
    """Return for each bit of each feature's hash whether its weight is added or subtracted there."""
    octets = hash_features(features, hash=hash, seed=seed).astype(">u8").view(np.uint8)
    return 2 * np.unpackbits(octets.reshape(len(features), -1), axis=1).astype(np.int64) - 1


def fingerprint(features: Iterable[Feature], *, hash: str = "murmur3", seed: int = 0) -> int:
    """Compute the SimHash of features.

    Parameters
    ----------
    features : iterable of str, int or (feature, weight)
        Plain features weigh 1; repeated ones add up; weights may be 0 or negative, their unit is 1/65,536.
    hash : str
        One of `simhash_hbase.features.hashes.HASHES`; with ``none`` the features are 64-bit integers.
    seed : int
        Seed of ``murmur3``.

    Returns
    -------
    int
        64 bits.

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
    bits = np.packbits(bit_sums(features, hash=hash, seed=seed) > 0)
    return int.from_bytes(bits.tobytes(), "big")


class Fingerprinter:
    """Fingerprints texts by one analyzer and one hash.

    Parameters
    ----------
    analyzer : Analyzer
        Gives the features of a text.
    hash : str
        One of `simhash_hbase.features.hashes.HASHES`.
    seed : int
        Seed of ``murmur3``.

    Raises
    ------
    InvalidProfile
        Hash, seed and analyzer do not go together.

    Notes
    -----
    Threads may share one; they take turns. It pickles small: its tables of words stay behind and
    fill again, and the fingerprints of known texts go along.

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
        self.hash = hash
        self.seed = seed
        self._sums = WordSums(analyzer, hash=hash, seed=seed) if isinstance(analyzer, CountingAnalyzer) else None

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (self.analyzer, self.hash, self.seed, self._sums.known if self._sums else {})

    def take(self, counted: CountedTexts) -> None:
        """Fingerprint texts whose words were counted by an analyzer with the same words; they are not cut again.

        Parameters
        ----------
        counted : CountedTexts
            Given away: this fingerprinter goes on with its table of words.
        """
        if self._sums is not None:
            self._sums.take(counted)

    def fingerprint(self, text: str) -> int:
        """Fingerprint one text.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        int
            64 bits.

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
        """Fingerprint texts.

        Parameters
        ----------
        texts : sequence of str
            Any texts.

        Returns
        -------
        simhashes : ndarray of uint64
            One a text; 0 for a text without features.
        features : ndarray of int32
            How many features each text has; 0 means that it has no fingerprint.
        """
        if self._sums is not None:
            return self._sums.fingerprint_many(texts)
        return self.fingerprint_features_many([self.analyzer.features(text) for text in texts])

    def fingerprint_features_many(
        self, documents: Sequence[Sequence[Feature]]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Fingerprint documents whose features the caller knows.

        Parameters
        ----------
        documents : sequence of sequences of str, int or (feature, weight)
            Features of each document.

        Returns
        -------
        simhashes : ndarray of uint64
            One a document; 0 for one without features.
        features : ndarray of int32
            How many features of each document count; 0 means that it has no fingerprint.

        Raises
        ------
        InvalidArgument
            A weight is not finite or absurdly large, or a feature does not suit the hash.
        """
        simhashes = np.zeros(len(documents), np.uint64)
        counts = np.zeros(len(documents), np.int32)
        for number, features in enumerate(documents):
            with suppress(EmptyDocument):
                simhashes[number] = fingerprint(features, hash=self.hash, seed=self.seed)
                counts[number] = count_features(features)
        return simhashes, counts


def _rebuilt(analyzer: Analyzer, hash: str, seed: int, known: Mapping[bytes, Summed]) -> Fingerprinter:
    made = Fingerprinter(analyzer, hash=hash, seed=seed)
    if made._sums is not None:
        made._sums.known.update(known)
    return made
