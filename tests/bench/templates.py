"""A set of templated pages many times over: the same templates, other content words."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

__all__ = ["Templates"]

RUN = re.compile(r"[A-Za-z]+|[\u4e00-\u9fff]+")
MOST_DOCUMENTS = 20
"""Runs of letters in more documents belong to templates."""
NEIGHBOURS = 64
"""A run is replaced by one of so many of about its length."""


class Templates:
    """Copies of a set in which the runs of letters that few pages have are exchanged for each other.

    Parameters
    ----------
    texts : sequence of str
        The set. Copy 0 is the set itself.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        found = Counter(run for text in texts for run in set(RUN.findall(text)))
        content = [run for run, documents in found.items() if documents <= MOST_DOCUMENTS]
        self.content = sorted(content, key=lambda run: (run.isascii(), len(run), run))
        """Runs that are exchanged: Chinese ones, then others, by length."""

    def copy(self, number: int, rows: Iterable[int] | None = None) -> list[str]:
        """Write texts of one copy, all or those at some positions; the same number gives the same texts."""
        rng, keys = np.random.default_rng(number), np.arange(len(self.content)) // NEIGHBOURS
        order = np.lexsort((rng.random(len(keys)), keys)) if number else np.arange(len(keys))
        others = {run: self.content[at] for run, at in zip(self.content, order.tolist(), strict=True)}
        chosen = self._texts if rows is None else [self._texts[at] for at in rows]
        return [RUN.sub(lambda found: others.get(found[0], found[0]), text) for text in chosen]
