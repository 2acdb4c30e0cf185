"""The share of copies with one edit that is found, language by language, among passages written for this project.

``python -m support.languages`` prints the table. The passages of a language make an index of their own,
whose idf is learned from them. It is asked for copies of each passage: a word replaced, deleted or inserted, two
neighbours swapped, a letter mistyped. Some languages are asked in another form of the same characters, too.
"""

import json
import random
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from simhash_hbase.api import create_index
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.kernel.texts import normalize

PASSAGES = Path(__file__).with_name("languages.jsonl")
COPIES = 4
"""Copies of a passage by each kind of edit."""
SEED = 12

_PAIRED = "\u3040-\u30ff\u4e00-\u9fff"
_THAI = "\u0e00-\u0e7f"
_WORDS = re.compile(
    # Scripts without blanks: two characters, or three Thai letters with their vowels and tones, are about a word.
    f"[{_PAIRED}]{{1,2}}|(?:[\u0e40-\u0e44]?[\u0e01-\u0e2e][\u0e2f-\u0e3a\u0e45-\u0e4e]*){{1,3}}"
    f"|[^\\s{_PAIRED}{_THAI}]+"
)

Form = Callable[[str], str]


class Row(NamedTuple):
    """The figures of one language."""

    language: str
    passages: int
    letters: int  # Letters of a passage, in the mean, without blanks and punctuation.
    copies: int
    recall: float
    others: int  # Passages that came with a copy that was not made of them.


def read_passages() -> dict[str, list[str]]:
    by_language: dict[str, list[str]] = {}
    for line in PASSAGES.read_text("utf-8").splitlines():
        record = json.loads(line)
        by_language.setdefault(record["lang"], []).append(record["text"])
    return by_language


def full_width(text: str) -> str:
    """Write ASCII by the wide forms of its characters."""
    wide = {number: number + 0xFEE0 for number in range(0x21, 0x7F)}
    return text.translate({**wide, ord(" "): "\u3000"})


decomposed: Form = partial(unicodedata.normalize, "NFD")

FORMS: dict[str, tuple[str, Form]] = {
    **{f"{language}, full-width": (language, full_width) for language in ("en", "zh-mixed")},
    **{f"{language}, decomposed": (language, decomposed) for language in ("vi", "ko", "ru", "hi")},
}
"""Languages whose copies come in another form: the language, and what makes the form."""


def words(text: str) -> list[tuple[int, int]]:
    """Find the words of a text, roughly: what has a letter or a digit in it."""
    return [match.span() for match in _WORDS.finditer(text) if any(map(str.isalnum, match.group()))]


def replaced(text: str, other: str, chosen: random.Random) -> str:
    """Put a word of another text in the place of one."""
    start, stop = chosen.choice(words(text))
    return text[:start] + _word(other, chosen) + text[stop:]


def deleted(text: str, other: str, chosen: random.Random) -> str:
    start, stop = chosen.choice(words(text))
    return text[:start] + text[stop:]


def inserted(text: str, other: str, chosen: random.Random) -> str:
    start, _ = chosen.choice(words(text))
    blank = " " if text[start - 1 : start].isspace() else ""
    return text[:start] + _word(other, chosen) + blank + text[start:]


def swapped(text: str, other: str, chosen: random.Random) -> str:
    found = words(text)
    at = chosen.randrange(len(found) - 1)
    (start, stop), (after, end) = found[at : at + 2]
    return text[:start] + text[after:end] + text[stop:after] + text[start:stop] + text[end:]


def mistyped(text: str, other: str, chosen: random.Random) -> str:
    """Put another character of the text in the place of one, or leave it out."""
    start, stop = chosen.choice(words(text))
    at = chosen.randrange(start, stop)
    return text[:at] + chosen.choice(["", chosen.choice(text).strip()]) + text[at + 1 :]


EDITS = (replaced, deleted, inserted, swapped, mistyped)


def _word(text: str, chosen: random.Random) -> str:
    start, stop = chosen.choice(words(text))
    return text[start:stop]


def copies(texts: Sequence[str], at: int) -> list[str]:
    """Make the copies of one passage; each differs from it in its letters."""
    text, others = texts[at], [*texts[:at], *texts[at + 1 :]]
    chosen = random.Random(f"{SEED} {text}")
    made = []
    for edit in EDITS * COPIES:
        copy = text
        while normalize(copy) == normalize(text):
            copy = edit(text, chosen.choice(others), chosen)
        made.append(copy)
    return made


def make_index(texts: Sequence[str]) -> LocalIndex:
    index = create_index("memory:", learn_from=texts)
    for at, text in enumerate(texts):
        index.add(str(at), text)
    return index


def measure(language: str, texts: Sequence[str], form: Form = str) -> Row:
    """Ask an index of the passages for their copies in a form."""
    index = make_index(texts)
    found = others = asked = 0
    for at in range(len(texts)):
        for copy in copies(texts, at):
            ids = {match.id for match in index.query(form(copy)).matches}
            asked += 1
            found += str(at) in ids
            others += len(ids - {str(at)})
    letters = round(sum(map(len, map(normalize, texts))) / len(texts))
    return Row(language, len(texts), letters, asked, found / asked, others)


if __name__ == "__main__":
    print("| language | passages | letters | copies | recall |\n|---|---|---|---|---|")
    passages = read_passages()
    for name, (language, form) in ({each: (each, str) for each in passages} | FORMS).items():
        row = measure(name, passages[language], form)
        print(f"| {row.language} | {row.passages} | {row.letters} | {row.copies} | {row.recall:.3f} |")
