"""Show some of the duplicates that ``dedup`` found, for people.

``python examples/show.py DECISIONS DOCUMENTS EXAMPLE`` prints pairs from the decisions, with the words around
the first difference, and writes the text of one duplicate to the file EXAMPLE, to query with.
"""

import sys
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

import msgspec

from simhash_hbase.inputs import Document, read

SHOWN = 6
BEFORE = 12
WIDTH = 64


class Duplicate(msgspec.Struct):
    """A line that ``dedup`` printed; other fields are left out."""

    id: str
    status: str
    of: str | None = None
    distance: int | None = None
    similarity: float | None = None


def choose(duplicates: Sequence[Duplicate], count: int = SHOWN) -> list[Duplicate]:
    """Choose pairs evenly from the most to the least similar; at least two.

    Examples
    --------
    >>> pairs = [Duplicate(str(i), "duplicate", "x", i, 1 - i / 10) for i in range(4)]
    >>> [pair.id for pair in choose(pairs, 2)]
    ['0', '3']
    """
    ordered = sorted(duplicates, key=lambda pair: (-(pair.similarity or 0.0), pair.distance or 0))
    if len(ordered) <= count:
        return ordered
    return [ordered[i * (len(ordered) - 1) // (count - 1)] for i in range(count)]


def choose_of_both(duplicates: Sequence[Duplicate], count: int = SHOWN) -> list[Duplicate]:
    """Choose half of the pairs, the first ones, among ids in another script than Latin, where there are such."""
    latin = [pair for pair in duplicates if pair.id.isascii()]
    other = [pair for pair in duplicates if not pair.id.isascii()]
    if not latin or not other:
        return choose(duplicates, count)
    return [*choose(other, count // 2), *choose(latin, count - count // 2)]


def first_difference(a: str, b: str) -> tuple[str, str]:
    """Cut two texts to the words around their first difference.

    Examples
    --------
    >>> first_difference("the cat sat", "the dog sat")
    ('the cat sat', 'the dog sat')
    """
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
    start = 0 if a == b else max(0, same - BEFORE)
    return _cut(a, start), _cut(b, start)


def _cut(text: str, start: int) -> str:
    shown = " ".join(text[start : start + WIDTH].split())
    return ("…" if start else "") + shown + ("…" if start + WIDTH < len(text) else "")


def texts_of(path: str, ids: set[str]) -> dict[str, str]:
    """Read the texts of some documents."""
    records = (record for record in read([path]) if isinstance(record, Document) and record.id in ids)
    return {record.id: record.text or "" for record in records}


def lines(pairs: Iterable[Duplicate], texts: dict[str, str]) -> Iterable[str]:
    """Write pairs as text."""
    for pair in pairs:
        similarity = "unknown" if pair.similarity is None else f"{pair.similarity:.2f}"
        original = pair.of or ""
        before, after = first_difference(texts.get(original, ""), texts.get(pair.id, ""))
        same = before == after and texts.get(original) == texts.get(pair.id)
        yield f"distance {pair.distance}, similarity {similarity}" + (", the same text" if same else "")
        yield f"    {original}:  {before}"
        yield f"    {pair.id}:  {after}"


def main(arguments: Sequence[str]) -> None:
    """Print pairs and keep one text to query with."""
    decisions, documents, example = arguments
    decoder = msgspec.json.Decoder(Duplicate)
    duplicates = [d for d in map(decoder.decode, Path(decisions).read_bytes().splitlines()) if d.status == "duplicate"]
    if not duplicates:
        print("There are no duplicates in it.")
        return
    chosen = choose_of_both(duplicates)
    texts = texts_of(documents, {name for pair in chosen for name in (pair.id, pair.of or "")})
    print("\n".join(lines(chosen, texts)))
    asked = [pair for pair in chosen if not pair.id.isascii()] or chosen
    record = {"id": "my document", "text": texts[asked[-1].id]}
    Path(example).write_bytes(msgspec.json.encode(record) + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
