"""Texts to measure with: the shared evaluation documents where they are at hand, else made from jieba's dictionary."""

import gzip
import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from simhash_hbase.kernel.tables import jieba_file

__all__ = ["SETS", "are_shared", "corpus", "spread"]

SETS = {
    "laws-zh": "laws_tw_versions",
    "laws-en": "laws_tw_en_versions",
    "lctt": "lctt_zh_edit",
    "graph": "graph_zh_v1_beta",
}
"""The sets by their names in README.md of this folder, and their files."""

FOLDER = Path(os.environ.get("SIMHASH_HBASE_DATA", Path(__file__).parents[3] / "shared" / "data"))
WORDS_A_SENTENCE = 12
SENTENCES_A_TEXT = 25
MADE_TEXTS = 4_000


def are_shared(name: str) -> bool:
    """Tell whether the documents of a set are at hand."""
    return _path(name).exists()


def corpus(name: str) -> Iterator[str]:
    """Read the texts of a set in their order.

    Parameters
    ----------
    name : str
        A key of `SETS`; where its file is absent, made texts, always the same.

    Yields
    ------
    str
    """
    if not are_shared(name):
        yield from _made_texts()
        return
    with gzip.open(_path(name), "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def spread(name: str, wanted: int) -> list[str]:
    """Take texts at equal distances from all of a set."""
    texts = list(corpus(name))
    places = np.linspace(0, len(texts) - 1, num=min(wanted, len(texts)), dtype=np.int64)
    return [texts[at] for at in places]


def _path(name: str) -> Path:
    return FOLDER / f"docs.{SETS[name]}.jsonl.gz"


@cache
def _dictionary() -> tuple[list[str], np.ndarray]:
    lines = [line.split(" ") for line in jieba_file("dict.txt").read_text(encoding="utf-8").splitlines()]
    return [line[0] for line in lines], np.cumsum([float(line[1]) for line in lines])


def _made_texts() -> Iterator[str]:
    """Draw words by their frequency."""
    rng = np.random.default_rng(1)
    words, chances = _dictionary()
    for _ in range(MADE_TEXTS):
        drawn = rng.random((SENTENCES_A_TEXT, WORDS_A_SENTENCE)) * chances[-1]
        yield "\n".join("".join(words[at] for at in row) + "。" for row in np.searchsorted(chances, drawn))
