"""Part ``fingerprints``: texts to fingerprints on one core, against the plain recipe and PyPI simhash."""

from collections.abc import Sequence
from time import process_time

import mmh3
import numpy as np
from support.plain_jieba import jieba

from bench.documents import are_shared, spread
from bench.measuring import Table, count, fixed, in_turns, peer, rate, times
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
    names = [name for name in sizes.sets if are_shared(name)] or ["lctt"]
    notes = [f"{count(sizes.texts)} documents, spread over each set, after {count(sizes.warm_texts)} others of it."]
    if not are_shared(names[0]):
        notes.append("The evaluation documents are absent: the texts are random words of jieba's dictionary.")
    speeds, ratios = zip(*(_rows(name, sizes) for name in names), strict=True)
    return [
        Table(title="Fingerprints, documents per second", columns=["set", "characters each", *SPEEDS], rows=speeds),
        Table(title="Ours is faster", columns=["set", *RATIOS], rows=ratios, notes=notes),
    ]


def _rows(name: str, sizes: Sizes) -> tuple[list[str], list[str]]:
    # The warm ones lie between the measured ones, which they do not repeat.
    both = spread(name, sizes.texts + sizes.warm_texts)
    places = np.linspace(0, len(both) - 1, num=sizes.texts, dtype=np.int64).tolist()
    texts = [both[at] for at in places]
    warm, plain, simhash = Fingerprinter(JiebaAnalyzer(top=TOP)), PlainRecipe(), peer("simhash").Simhash
    warm.fingerprint_many([both[at] for at in sorted({*range(len(both))} - {*places})])

    def ours_sketched() -> None:
        for batch in batches(texts):
            batch.sketch()
        warm.fingerprint_many(texts)

    def pypi(features: Sequence[tuple[str, int]]) -> int:
        # As floats: its arrays of bytes do not take integers above 255 as factors.
        weighted = [(word, float(weight)) for word, weight in features]
        return int(simhash(weighted, hashfunc=_murmur3).value) if weighted else 0

    fast, cold, sketched = in_turns(
        [
            lambda: warm.fingerprint_many(texts)[0],
            lambda: Fingerprinter(JiebaAnalyzer(top=TOP)).fingerprint_many(texts)[0],
            ours_sketched,
        ],
        repeats=sizes.repeats,
    )
    # The slow ones once: they are steady to a few per cent, and take most of the time.
    [tags] = in_turns([lambda: list(map(plain.features, texts))], repeats=1)
    loop, theirs = in_turns(
        [lambda: list(map(plain_simhash, tags.result)), lambda: list(map(pypi, tags.result))], repeats=1
    )
    if loop.result != theirs.result:
        raise SimhashError("PyPI simhash and the loop differ over the same features")
    loop_seconds, pypi_seconds = (tags.best - plain.aside + each.best for each in (loop, theirs))
    equal = np.mean([a == b for a, b in zip(fast.result.tolist(), loop.result, strict=True)])
    speeds = [rate(len(texts), seconds) for seconds in (fast.best, sketched.best, loop_seconds, pypi_seconds)]
    ratios = [times(seconds, loop_seconds) for seconds in (fast.best, cold.best, sketched.best)]
    ratios.append(times(fast.best, pypi_seconds))
    return [name, count(sum(map(len, texts)) / len(texts)), *speeds], [name, fixed(100 * equal, " %"), *ratios]


def _murmur3(data: str | bytes) -> int:
    return mmh3.hash64(data, signed=False)[0]


def plain_simhash(features: Sequence[tuple[str, int]]) -> int:
    """Sum weights with the sign of each bit of a feature's hash, in plain Python."""
    sums = [0] * 64
    for word, weight in features:
        value = _murmur3(word)
        for bit in range(64):
            sums[bit] += weight if value >> bit & 1 else -weight
    return sum(1 << bit for bit in range(64) if sums[bit] > 0)


class PlainRecipe:
    """``extract_tags``, which divides weights by the number of tokens, and cuts ties by the order of words in the text.

    For the same result as this package the weights are multiplied again and ties cut by the word; the time for counting
    the tokens, which nobody else would need, is kept apart in `aside`.
    """

    def __init__(self) -> None:
        jieba.initialize()
        extractor = jieba.analyse.TFIDF()
        # The extractor asks its tokenizer to cut; the last cut is remembered.
        extractor.tokenizer = self
        self._extract = extractor.extract_tags
        self._last: list[str] = []
        self.aside = 0.0
        """Processor seconds that went into counting tokens."""

    def cut(self, text: str) -> list[str]:
        self._last = list(jieba.cut(text))
        return self._last

    def features(self, text: str) -> list[tuple[str, int]]:
        tags = self._extract(text, topK=None, withWeight=True)
        start, words = process_time(), {word for word, _ in tags}
        total = sum(token in words for token in self._last)
        self.aside += process_time() - start
        tags.sort(key=lambda tag: (-tag[1], tag[0]))
        return [(word, round(weight * total * SCALE)) for word, weight in tags[:TOP]]
