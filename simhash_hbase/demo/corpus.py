"""The demonstration corpus: the unedited texts, then edited copies of some of them."""

import random
from collections.abc import Iterator, Sequence

from simhash_hbase.demo.edits import EDITS, Chance
from simhash_hbase.demo.texts import Text, chinese, docstrings, topics

SEED = 7
COPIED_EN = 0.15
COPIED_ZH = 0.6
# Of a shorter English text an edit would be a large part.
LEAST_EDITED = 600


def documents() -> Iterator[Text]:
    """Make the corpus; the same one for one version of Python.

    `random.Random.random` is the one method whose sequence Python promises to keep for a seed.
    """
    chance = random.Random(SEED).random
    english = [*topics(), *docstrings()]
    zh = chinese()
    yield from zh
    yield from english
    yield from edited_copies(zh, COPIED_ZH, chance)
    yield from edited_copies([text for text in english if len(text.text) >= LEAST_EDITED], COPIED_EN, chance)


def edited_copies(texts: Sequence[Text], share: float, chance: Chance) -> Iterator[Text]:
    """Edit about a share of the texts, the kinds of edits in turn."""
    chosen = [text for text in texts if chance() < share]
    for at, text in enumerate(chosen):
        kind = list(EDITS)[at % len(EDITS)]
        edited = EDITS[kind](text.text, text.lang, chance)
        yield Text(f"{text.id}#{kind}", text.lang, edited)
