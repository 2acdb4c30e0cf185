"""The indexes that are compared; a text is known by its position.

``add`` takes texts, until they are found. ``ask_all`` asks for each of them, ``ask`` for one; ``size`` counts the bytes
of the index, on disk or in memory; ``close`` removes its files. An index that can estimate similarities has a second
set of answers: those whose estimate is `ESTIMATE` or more, as ours judges by default.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.measuring import anonymous_bytes, peer
from evaluate import LEARNED, SEEDS, TEN_ROWS, Recipe, add_texts, returned_pairs, sample
from support.labelled import Pair

from simhash_hbase.api import create_index
from simhash_hbase.kernel.texts import Batch, batches

EXTRAS = "dev,peers"
PERMUTATIONS = 128
SHINGLE = 5
BANDS = 16
DISTANCE = 3
LARGEST_BYTE = 255
MOST = 1_000
ESTIMATE = 0.77
JUDGED = f", its estimate ≥ {ESTIMATE}"

Answers = dict[str, set[Pair]]
"""The pairs that come back, by what is made of the answers; mostly nothing."""


Near = list[tuple[int, float]]
"""Positions that come back for a text, each with its estimated similarity."""


def _pairs(at: int, found: Any) -> set[Pair]:
    return {(min(at, other), max(at, other)) for other in map(int, found) if other != at}


def judged(ask: Callable[[str], Near], texts: Sequence[str]) -> Answers:
    """Return all pairs that come back, and those with an estimated similarity of `ESTIMATE` or more."""
    found: Answers = {"": set(), JUDGED: set()}
    for at, text in enumerate(texts):
        near = ask(text)
        for least, pairs in zip((0.0, ESTIMATE), found.values(), strict=True):
            pairs.update(_pairs(at, [row for row, similarity in near if similarity >= least]))
    return found


class _InFolder:
    """An index in a folder of its own."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._folder = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))

    def close(self) -> None:
        self._open.close()


class Ours(_InFolder):
    """This package, in a folder; the learned idf is there before the clock starts."""

    def __init__(self, recipe: Recipe, texts: Sequence[str]) -> None:
        super().__init__()
        learn_from = [texts[row] for row in sample(range(len(texts)), SEEDS[0])]
        made = create_index(f"file:{self._folder / 'index'}", learn_from=learn_from, **recipe)
        self._index = self._open.enter_context(made)

    def add(self, texts: Sequence[str]) -> None:
        self._chunks = add_texts(self._index, texts, range(len(texts)))

    def ask_all(self, texts: Sequence[str]) -> Answers:
        return {"": returned_pairs(self._index, self._chunks)[0]}

    def ask(self, text: str) -> Any:
        return self._index.query(text)

    def size(self) -> int:
        self._index.backup(str(self._folder / "copy"))
        return (self._folder / "copy" / "data.mdb").stat().st_size


class _InMemory:
    """An index in this process, whose size is what the process grows by while it is filled."""

    def __init__(self) -> None:
        self._before = anonymous_bytes()

    def ask_all(self, texts: Sequence[str]) -> Answers:
        return {"": set().union(*(_pairs(at, self.ask(text)) for at, text in enumerate(texts)))}

    def size(self) -> int:
        return anonymous_bytes() - self._before

    def close(self) -> None:
        """Leave it to the process."""


class _MinHash(_InMemory):
    """An index of MinHash signatures, which are kept beside it, since they give the estimate."""

    def add(self, texts: Sequence[str]) -> None:
        self._signatures = list(map(self._signature, texts))
        for at, signature in enumerate(self._signatures):
            self._lsh.insert(at, signature)

    def ask(self, text: str) -> Near:
        own = self._signature(text)
        return [(at, own.jaccard(self._signatures[at])) for at in self._lsh.query(own)]

    def ask_all(self, texts: Sequence[str]) -> Answers:
        return judged(self.ask, texts)


def _shingles(text: str) -> list[str]:
    [normal] = Batch([text]).normal_forms()
    return [normal[at : at + SHINGLE] for at in range(max(1, len(normal) - SHINGLE + 1))]


class Datasketch(_MinHash):
    """datasketch's MinHash LSH."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._module = peer("datasketch", EXTRAS)
        self._lsh = self._module.MinHashLSH(num_perm=PERMUTATIONS, params=(BANDS, PERMUTATIONS // BANDS))
        super().__init__()

    def _signature(self, text: str) -> Any:
        made = self._module.MinHash(PERMUTATIONS)
        made.update_batch({shingle.encode() for shingle in _shingles(text)})
        return made


class Rensa(_MinHash):
    """rensa's MinHash LSH of the same shingles."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._module = peer("rensa", EXTRAS)
        self._lsh = self._module.RMinHashLSH(threshold=ESTIMATE, num_perm=PERMUTATIONS, num_bands=BANDS)
        super().__init__()

    def _signature(self, text: str) -> Any:
        made = self._module.RMinHash(num_perm=PERMUTATIONS, seed=42)
        made.update(_shingles(text))
        return made


class PyPI(_InMemory):
    """PyPI simhash: its own features and hash, its index within three bits."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._module = peer("simhash", EXTRAS)
        self._bare, self._index = self._module.Simhash(0), self._module.SimhashIndex([], k=DISTANCE)
        super().__init__()

    def add(self, texts: Sequence[str]) -> None:
        for at, text in enumerate(texts):
            self._index.add(str(at), self._simhash(text))

    def ask(self, text: str) -> Any:
        return self._index.get_near_dups(self._simhash(text))

    def _simhash(self, text: str) -> Any:
        # What it does itself with a text, which fails beside numpy 2 on counts above 255: its arrays hold bytes.
        counts = Counter(self._bare._tokenize(text))
        return self._module.Simhash({word: float(n) if n > LARGEST_BYTE else n for word, n in counts.items()})


class Lance(_InFolder):
    """Lance's MINHASHLSH index, over normalised texts: its n-grams of five characters are then the same shingles."""

    def __init__(self, _: Sequence[str]) -> None:
        super().__init__()
        self._lance, self._arrow = peer("lance", EXTRAS), peer("pyarrow", EXTRAS)
        self._query, self._config = peer("lance.query", EXTRAS).MinHashQuery, peer("lance.indices", EXTRAS).IndexConfig

    def add(self, texts: Sequence[str]) -> None:
        normal = [form for batch in batches(texts) for form in batch.normal_forms()]
        table = self._arrow.table({"id": range(len(texts)), "text": normal})
        own = {"stem": False, "remove_stop_words": False, "lower_case": False, "ascii_folding": False}
        words = {"base_tokenizer": "ngram", "min_ngram_length": SHINGLE, "max_ngram_length": SHINGLE, **own}
        numbers = {"num_hashes": PERMUTATIONS, "num_bands": BANDS, "shingle_size": 1}
        config = self._config("minhashlsh", {**numbers, "tokenizer": {**words, "max_token_length": None}})
        self._lance.write_dataset(table, str(self._folder), mode="overwrite").create_scalar_index("text", config)
        self._set = self._lance.dataset(str(self._folder))

    def ask_all(self, texts: Sequence[str]) -> Answers:
        return judged(self.ask, texts)

    def ask(self, text: str) -> Near:
        nearest = self._query(Batch([text]).normal_forms()[0], "text")
        found = self._set.to_table(columns=["id", "_distance"], nearest=nearest, limit=MOST).to_pydict()
        return [(row, 1 - distance) for row, distance in zip(found["id"], found["_distance"], strict=True)]

    def size(self) -> int:
        return sum(index.total_size_bytes for index in self._set.describe_indices())


ENTRANTS: dict[str, Callable[[Sequence[str]], Any]] = {
    "ours, `distance`, 3 bits": lambda texts: Ours({**LEARNED, "match": "distance"}, texts),
    "ours, `verified`, ten rows": lambda texts: Ours(TEN_ROWS, texts),
    "**ours, `verified`, with sketch rows**": lambda texts: Ours(LEARNED, texts),
    "datasketch `MinHashLSH`": Datasketch,
    "Lance `MINHASHLSH`": Lance,
    "rensa `RMinHashLSH`": Rensa,
    "PyPI simhash, 3 bits": PyPI,
}
