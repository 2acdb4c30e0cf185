"""How many passages with one small edit are found, by their length, and how many others come with them.

Run by ``scripts/evaluate --passages``. Passages are cut out of one of the shared sets, at least half of them Han
characters; length is counted without blanks and punctuation. Some are edited: a character replaced, three removed, a
tail or a head of a few added, taken from other passages. An index whose idf is learned from the passages holds them
all, and is asked for the edited ones.
"""

import random
import re
import sys
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from evaluate import LEARNED, SAMPLE, TEN_ROWS, Recipe
from labelled import folder, read_corpus
from sketching import jaccard

from simhash_hbase.opening import create_index

NAME = "lctt_zh_edit"
LENGTHS = (20, 40, 60, 100, 150, 200, 300, 500)
PASSAGES, EDITED = 6_000, 1_000
REQUIRED = {60: 0.85, 100: 0.98, 200: 0.995}
FALSE_BELOW = 0.7
HAN = re.compile(r"[\u4e00-\u9fff]")
HEAD = (
    "| characters | mean J | distance <= 3 | ten rows | with bands | pairs of other passages | J < .7 |\n"
    "|---|---|---|---|---|---|---|"
)
RECIPES: dict[str, Recipe] = {
    "distance": {"analyzer": "learned", "match": "distance"},
    "ten rows": TEN_ROWS,
    "bands": LEARNED,
}


class Passages(NamedTuple):
    """Passages of one length, and edited copies of the first of them."""

    texts: list[str]
    edited: list[str]


class Found(NamedTuple):
    """What an index found."""

    share: float
    others: int
    """Pairs of an edited copy and a passage that it was not made of."""
    false: int
    """Of these, pairs with J below `FALSE_BELOW`."""


def cut(texts: Sequence[str], length: int, seed: int = 1) -> Passages:
    """Cut passages that do not overlap, and edit some."""
    chosen = random.Random(seed)
    pieces = [piece for text in texts for piece in pieces_of(text, length)]
    chinese = [piece for piece in dict.fromkeys(pieces) if 2 * len(HAN.findall(piece)) >= length]
    some = chosen.sample(chinese, PASSAGES)
    return Passages(some, [edit(text, chosen.choice(some), chosen) for text in some[:EDITED]])


def pieces_of(text: str, length: int) -> list[str]:
    """Cut a text where so many letters and digits have passed."""
    places = [at for at, character in enumerate(text) if character.isalnum()]
    return [text[places[at] : places[at + length]] for at in range(0, len(places) - length, length)]


def edit(text: str, other: str, chosen: random.Random) -> str:
    """Make one small edit; what is added comes from another passage."""
    place, start = chosen.randrange(len(text) - 3), chosen.randrange(len(other) - 4)
    added = other[start : start + chosen.randint(2, 4)]
    kind = chosen.randrange(4)
    if kind == 0:
        return text[:place] + added[0] + text[place + 1 :]
    if kind == 1:
        return text[:place] + text[place + 3 :]
    return text + added if kind == 2 else added + text


def find(passages: Passages, recipe: Recipe, sample: Sequence[str]) -> Found:
    """Add passages to an index and ask it for the edited ones."""
    with (
        tempfile.TemporaryDirectory(prefix="simhash-hbase-") as scratch,
        create_index(f"file:{scratch}/index", learn_from=sample, **recipe) as index,
    ):
        for _ in index.add_many((str(at), text) for at, text in enumerate(passages.texts)):
            pass
        asked = ((f"edited {at}", text) for at, text in enumerate(passages.edited))
        answers = [answer for _, answer in index.query_many(asked)]
    ids = [{match.id for match in answer.matches} if answer else set() for answer in answers]
    others = [(at, int(name)) for at, found in enumerate(ids) for name in found - {str(at)}]
    similar = [jaccard(passages.edited[at], passages.texts[other]) for at, other in others]
    share = float(np.mean([str(at) in found for at, found in enumerate(ids)]))
    return Found(share, len(others), sum(value < FALSE_BELOW for value in similar))


def main(arguments: Sequence[str]) -> int:
    """Print the table; the arguments are other lengths."""
    texts = read_corpus(NAME, folder()).texts
    print(HEAD)
    problems = []
    for length in [int(argument) for argument in arguments] or LENGTHS:
        passages = cut(texts, length)
        sample = passages.texts[EDITED : EDITED + SAMPLE]
        done = {name: find(passages, recipe, sample) for name, recipe in RECIPES.items()}
        alike = np.mean([jaccard(a, b) for a, b in zip(passages.texts, passages.edited, strict=False)])
        shares, banded = [f"{found.share:.3f}" for found in done.values()], done["bands"]
        print(
            f"| {' | '.join([str(length), f'{alike:.2f}', *shares, str(banded.others), str(banded.false)])} |",
            flush=True,
        )
        if banded.share < REQUIRED.get(length, 0):
            problems.append(f"passages of {length}: {banded.share:.4f} are found, required is {REQUIRED[length]}")
    for problem in problems:
        print(f"evaluate: {problem}", file=sys.stderr)
    return int(bool(problems))
