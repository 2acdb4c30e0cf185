"""Any number of documents out of some thousand sentences, every second one a near copy."""

from collections.abc import Sequence
from itertools import islice

import numpy as np

from bench.texts import corpus

__all__ = ["Sentences"]

ARTICLES = 600
MOST_SENTENCES = 2_000
SHORTEST, LONGEST = 30, 90
SENTENCES_A_TEXT = 12


class Sentences:
    """Lines of Chinese articles, and documents made of twelve of them.

    Parameters
    ----------
    number : int
        Documents to draw; document 2 i + 1 is document 2 i without half a sentence, so they share about 23 in 24 of
        their shingles.
    """

    def __init__(self, number: int) -> None:
        lines = (line.strip() for text in islice(corpus("lctt"), ARTICLES) for line in text.splitlines())
        fitting = dict.fromkeys(line for line in lines if SHORTEST <= len(line) <= LONGEST)
        whole = list(islice(fitting, min(number, MOST_SENTENCES)))
        self.characters = SENTENCES_A_TEXT * sum(map(len, whole)) / len(whole)
        """Length of an original, on average."""
        self.pool = [*whole, *(line[: len(line) // 2] for line in whole)]
        """The sentences, and behind them the first half of each."""
        rng = np.random.default_rng(5)
        originals = rng.integers(len(whole), size=((number + 1) // 2, SENTENCES_A_TEXT))
        copies = originals.copy()
        copies[np.arange(len(copies)), rng.integers(SENTENCES_A_TEXT, size=len(copies))] += len(whole)
        self.documents = np.stack([originals, copies], axis=1).reshape(-1, SENTENCES_A_TEXT)[:number]
        """Sentence numbers, shape (number, 12)."""

    def text(self, numbers: Sequence[int]) -> str:
        """Write a document out."""
        return "\n".join(self.pool[at] for at in numbers)
