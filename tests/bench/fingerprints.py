"""Part ``fingerprints``: texts to fingerprints on one core, against the plain recipe and PyPI simhash."""

from collections.abc import Sequence
from time import process_time
from typing import Any

import mmh3
import numpy as np
from numpy.typing import NDArray

from bench.documents import are_shared, spread
from bench.measuring import Table, count, fixed, in_turns, peer, quiet, rate, times
from bench.sizes import Sizes
from simhash_hbase.errors import SimhashError
from simhash_hbase.features.analyzers import JiebaAnalyzer
from simhash_hbase.features.fingerprints import Fingerprinter
from simhash_hbase.kernel.texts import batches

TOP = 200
SCALE = 65536
"""Integer units of a weight of 1, as this package counts."""
SPEEDS = ("ours", "ours, with sketch", "jieba + loop", "jieba + PyPI simhash")
RATIOS = ("equal fingerprints", "than jieba + loop", "from the first document", "with sketch", "than PyPI simhash")


def measure_fingerprints(sizes: Sizes) -> list[Table]:
    """Compare on every set."""
    names = [name for name in sizes.sets if are_shared(name)] or ["lctt"]
    notes = [f"{count(sizes.texts)} documents, spread over each set, after {count(sizes.warm_texts)} others of it."]
    if not are_shared(names[0]):
        notes.append("The evaluation documents are absent: the texts are random words of jieba's dictionary.")
    speeds, ratios = zip(*(_rows(name, sizes) for name in names), strict=True)
    return [
        Table(title="Fingerprints, documents per second", columns=["set", "characters each", *SPEEDS], rows=speeds),
        Table(title="Ours is faster", columns=["set", *RATIOS], rows=ratios, notes=notes),
    ]


class _Set:
    """One set and those who fingerprint it."""

    def __init__(self, name: str, sizes: Sizes) -> None:
        # The warm ones lie between the measured ones, which they do not repeat.
        both = spread(name, sizes.texts + sizes.warm_texts)
        places = np.linspace(0, len(both) - 1, num=sizes.texts, dtype=np.int64)
        self.texts = [both[at] for at in places]
        self._plain = PlainRecipe(top=TOP)
        self._warm = Fingerprinter(JiebaAnalyzer(top=TOP))
        self._warm.fingerprint_many([both[at] for at in sorted({*range(len(both))} - {*places.tolist()})])
        self._simhash = peer("simhash").Simhash

    def ours(self) -> NDArray[np.uint64]:
        return self._warm.fingerprint_many(self.texts)[0]

    def ours_cold(self) -> NDArray[np.uint64]:
        return Fingerprinter(JiebaAnalyzer(top=TOP)).fingerprint_many(self.texts)[0]

    def ours_sketched(self) -> NDArray[np.uint64]:
        for batch in batches(self.texts):
            batch.sketch()
        return self.ours()

    def features(self) -> list[list[tuple[str, int]]]:
        return [self._plain.features(text) for text in self.texts]

    def loop(self, documents: Sequence[Sequence[tuple[str, int]]]) -> list[int]:
        return [plain_simhash(features) for features in documents]

    def pypi(self, documents: Sequence[Sequence[tuple[str, int]]]) -> list[int]:
        return [self._pypi(features) for features in documents]

    def _pypi(self, features: Sequence[tuple[str, int]]) -> int:
        # As floats: its arrays of bytes do not take integers above 255 as factors.
        weighted = [(word, float(weight)) for word, weight in features]
        value: Any = self._simhash(weighted, hashfunc=_murmur3).value if weighted else 0
        return int(value)

    def take_aside(self) -> float:
        aside, self._plain.aside = self._plain.aside, 0.0
        return aside


def _murmur3(data: bytes) -> int:
    return mmh3.hash64(data, signed=False)[0]


def _rows(name: str, sizes: Sizes) -> tuple[list[str], list[str]]:
    documents = _Set(name, sizes)
    fast, cold, sketched = in_turns(
        [documents.ours, documents.ours_cold, documents.ours_sketched], repeats=sizes.repeats
    )
    # The slow ones once: they are steady to a few per cent, and take most of the time.
    [tags] = in_turns([documents.features], repeats=1)
    loop, pypi = in_turns([lambda: documents.loop(tags.result), lambda: documents.pypi(tags.result)], repeats=1)
    tags_seconds = tags.best - documents.take_aside()
    loop_seconds, pypi_seconds = tags_seconds + loop.best, tags_seconds + pypi.best
    n, ours = len(documents.texts), fast.result.tolist()
    if loop.result != pypi.result:
        raise SimhashError("PyPI simhash and the loop differ over the same features")
    speeds = [rate(n, seconds) for seconds in (fast.best, sketched.best, loop_seconds, pypi_seconds)]
    ratios = [times(seconds, loop_seconds) for seconds in (fast.best, cold.best, sketched.best)]
    return (
        [name, count(sum(map(len, documents.texts)) / n), *speeds],
        [name, _share(ours, loop.result), *ratios, times(fast.best, pypi_seconds)],
    )


def _share(ours: Sequence[int], theirs: Sequence[int]) -> str:
    return fixed(100 * float(np.mean([a == b for a, b in zip(ours, theirs, strict=True)])), " %")


def plain_simhash(features: Sequence[tuple[str, int]]) -> int:
    """Sum weights with the sign of each bit of a feature's hash, in plain Python.

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
