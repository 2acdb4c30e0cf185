"""How many passages with one small edit are found, by their length, and how many others come with them.

Run by ``scripts/evaluate --passages``. Passages are cut out of one of the shared sets, at least half of them Han
characters; length is counted without blanks and punctuation. Some are edited: a character replaced, three removed, a
tail or a head of a few added, taken from other passages. An index whose idf is learned from the passages holds them
all, and is asked for the edited ones. A second table, of passages of all sets, has what an index calls short.
"""

import random
import re
import sys
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from evaluate import LEARNED, SAMPLE, TEN_ROWS, Recipe

from simhash_hbase.index.answers import Answer
from simhash_hbase.opening import create_index
from support.labelled import folder, read_corpus
from support.sketching import jaccard

NAME = "lctt_zh_edit"
LENGTHS = (20, 40, 60, 100, 150, 200, 300, 500)
# Whether at least half of a passage must be Han characters.
SHORT_SETS = {"lctt_zh_edit": True, "laws_tw_versions": True, "laws_tw_en_versions": False, "graph_zh_v1_beta": True}
SHORT_LENGTHS = (20, 30, 40, 50, 60, 70, 80, 100, 120, 150)
PASSAGES, EDITED = 6_000, 1_000
REQUIRED = {60: 0.85, 100: 0.98, 200: 0.995}
FALSE_BELOW = 0.7
HAN = re.compile(r"[\u4e00-\u9fff]")
HEAD = (
    "| characters | mean J | distance <= 3 | ten rows | with bands | called short | other pairs | J < .7 |\n"
    "|---|---|---|---|---|---|---|---|"
)
SHORT_HEAD = "\n| set | passages | called short | of them found | of the others found |\n|---|---|---|---|---|"
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
    short: float
    """Share of the edited copies that the index calls short."""
    others: int
    """Pairs of an edited copy and a passage that it was not made of."""
    false: int
    """Of these, pairs with J below `FALSE_BELOW`."""


def cut(texts: Sequence[str], length: int, seed: int = 1, *, chinese: bool = True) -> Passages:
    """Cut passages that do not overlap, and edit some."""
    chosen = random.Random(seed)
    pieces = dict.fromkeys(piece for text in texts for piece in pieces_of(text, length))
    fit = [piece for piece in pieces if not chinese or 2 * len(HAN.findall(piece)) >= length]
    some = chosen.sample(fit, min(PASSAGES, len(fit)))
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


def find(passages: Passages, recipe: Recipe) -> Found:
    """Say what an index of passages answers to the edited ones."""
    answers = ask(passages, recipe)
    ids = [{match.id for match in answer.matches} if answer else set() for answer in answers]
    others = [(at, int(name)) for at, found in enumerate(ids) for name in found - {str(at)}]
    similar = [jaccard(passages.edited[at], passages.texts[other]) for at, other in others]
    share = float(np.mean([str(at) in found for at, found in enumerate(ids)]))
    short = float(np.mean([answer is not None and answer.short for answer in answers]))
    return Found(share, short, len(others), sum(value < FALSE_BELOW for value in similar))


def ask(passages: Passages, recipe: Recipe) -> list[Answer | None]:
    """Add passages to an index and ask it for the edited ones; None is for those without features."""
    with (
        tempfile.TemporaryDirectory(prefix="simhash-hbase-") as scratch,
        create_index(f"file:{scratch}/index", learn_from=passages.texts[EDITED:][:SAMPLE], **recipe) as index,
    ):
        for _ in index.add_many((str(at), text) for at, text in enumerate(passages.texts)):
            pass
        asked = ((f"edited {at}", text) for at, text in enumerate(passages.edited))
        return [answer for _, answer in index.query_many(asked)]


def short_row(name: str) -> str:
    """Say of the passages of a set how many are called short, and how many of these and of the others are found."""
    texts = read_corpus(name, folder()).texts
    told = []
    for length in SHORT_LENGTHS:
        answers = ask(cut(texts, length, chinese=SHORT_SETS[name]), LEARNED)
        found = [answer and str(at) in {match.id for match in answer.matches} for at, answer in enumerate(answers)]
        told += [(answer.short, hit) for answer, hit in zip(answers, found, strict=True) if answer]
    short, hits = np.array(told, dtype=bool).T
    return f"| {name} | {len(told)} | {short.mean():.3f} | {hits[short].mean():.3f} | {hits[~short].mean():.3f} |"


def main(arguments: Sequence[str]) -> int:
    """Print the table; the arguments are other lengths."""
    texts = read_corpus(NAME, folder()).texts
    print(HEAD)
    problems = []
    for length in [int(argument) for argument in arguments] or LENGTHS:
        passages = cut(texts, length)
        done = {name: find(passages, recipe) for name, recipe in RECIPES.items()}
        alike = np.mean([jaccard(a, b) for a, b in zip(passages.texts, passages.edited, strict=False)])
        banded = done["bands"]
        shares = [f"{share:.3f}" for share in (*(found.share for found in done.values()), banded.short)]
        print(
            f"| {' | '.join([str(length), f'{alike:.2f}', *shares, str(banded.others), str(banded.false)])} |",
            flush=True,
        )
        if banded.share < REQUIRED.get(length, 0):
            problems.append(f"passages of {length}: {banded.share:.4f} are found, required is {REQUIRED[length]}")
    if not arguments:
        print(SHORT_HEAD)
        for name in SHORT_SETS:
            print(short_row(name), flush=True)
    for problem in problems:
        print(f"evaluate: {problem}", file=sys.stderr)
    return int(bool(problems))
