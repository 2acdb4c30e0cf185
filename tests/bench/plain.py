"""The fingerprint as the classical recipe is usually written down: jieba.analyse and a loop over 64 bits."""

from collections.abc import Sequence
from time import process_time

import mmh3

from bench.peers import peer, quiet

__all__ = ["PlainRecipe", "plain_simhash"]

SCALE = 65536
"""Integer units of a weight of 1, as this package counts."""


def plain_simhash(features: Sequence[tuple[str, int]]) -> int:
    """Sum weights with the sign of each bit of a feature's hash, in plain Python.

    Examples
    --------
    >>> plain_simhash([("a", 1)]) == mmh3.hash64("a", signed=False)[0]
    True
    """
    sums = [0] * 64
    for word, weight in features:
        value = mmh3.hash64(word, signed=False)[0]
        for bit in range(64):
            if value >> bit & 1:
                sums[bit] += weight
            else:
                sums[bit] -= weight
    return sum(1 << bit for bit in range(64) if sums[bit] > 0)


class PlainRecipe:
    """``extract_tags`` with weights turned back into what they were before it divided them.

    Parameters
    ----------
    top : int
        Features kept.

    Notes
    -----
    ``extract_tags`` divides by the number of tokens and cuts ties by the order of words in the text. For the
    same result as this package the weights have to be multiplied again and ties be cut by the word; the time
    for counting the tokens, which nobody else would need, is kept apart in `aside`.
    """

    def __init__(self, *, top: int) -> None:
        with quiet():
            self._tokens = _Tokens()
            extractor = peer("jieba.analyse").TFIDF()
        extractor.tokenizer = self._tokens
        self._extract = extractor.extract_tags
        self._top = top
        self.aside = 0.0
        """Processor seconds that went into counting tokens."""

    def features(self, text: str) -> list[tuple[str, int]]:
        """List the heaviest words and their weights in integers."""
        tags = self._extract(text, topK=None, withWeight=True)
        start = process_time()
        total = self._tokens.count({word for word, _ in tags})
        self.aside += process_time() - start
        tags.sort(key=lambda tag: (-tag[1], tag[0]))
        return [(word, round(weight * total * SCALE)) for word, weight in tags[: self._top]]


class _Tokens:
    """jieba's tokenizer, which remembers what it cut last."""

    def __init__(self) -> None:
        self._jieba = peer("jieba")
        self._jieba.initialize()
        self._last: list[str] = []

    def cut(self, text: str) -> list[str]:
        self._last = list(self._jieba.cut(text))
        return self._last

    def count(self, words: set[str]) -> int:
        return sum(token in words for token in self._last)
