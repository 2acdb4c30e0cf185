"""A pair of texts as rows of two columns: counterparts are level, long equal passages are left out."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from simhash_hbase.compare.differences import Piece

Segment = str | list[str | int]
"""Equal text; ``[left, right]`` of other words; ``[left, right, 0]`` of the same words with other blanks."""


class Gap(msgspec.Struct, frozen=True):
    """Omitted text."""

    left: int
    right: int
    equal: bool


Row = list[Segment] | Gap

KEPT_AROUND = 1_000  # Kept at both ends of a long equal passage.
SHOWN_CHARACTERS = 20_000  # Shown of both texts together; the rest is omitted.
CHANGE_CHARACTERS = 4_000  # Shown of one change on each side.
_PARAGRAPH = 120
_SENTENCES = 240
_CHUNK = re.compile(r".{1,200}?(?:\n\s*|[。！？；…]+[”」』]?\s*|[.!?;]\s+|\Z)|.{200}", re.DOTALL)


def pair_rows(pieces: Iterable[Piece]) -> list[Row]:
    """Arrange the pieces of two texts in rows."""
    return list(_cut(_elided(list(_rows(pieces)))))


def _rows(pieces: Iterable[Piece]) -> Iterator[Row]:
    row: list[Segment] = []
    length = 0
    for kind, left, right in pieces:
        if kind == "same":
            for here, there in _chunks(left, right):
                _append(row, here, there)
                length += len(here)
                if _is_long(here, length):
                    yield row
                    row, length = [], 0
            continue
        row.append([left[:CHANGE_CHARACTERS], right[:CHANGE_CHARACTERS]])
        length += max(len(left), len(right))
        if max(len(left), len(right)) > CHANGE_CHARACTERS:
            yield row
            yield Gap(len(left[CHANGE_CHARACTERS:]), len(right[CHANGE_CHARACTERS:]), equal=False)
            row, length = [], 0
    if row:
        yield row


def _is_long(chunk: str, length: int) -> bool:
    lines = chunk.count("\n")
    return length >= _SENTENCES or lines > 1 or (lines == 1 and length >= _PARAGRAPH)


def _append(row: list[Segment], left: str, right: str) -> None:
    if left != right:
        row.append([left, right, 0])
    elif row and isinstance(row[-1], str):
        row[-1] += left
    else:
        row.append(left)


def _chunks(left: str, right: str) -> Iterator[tuple[str, str]]:
    """Cut two texts that differ in blanks only at the same places, at ends of lines and sentences of the left one."""
    if left == right:
        yield from ((chunk, chunk) for chunk in _CHUNK.findall(left))
        return
    stops = [at for at, character in enumerate(right) if not character.isspace()]
    seen = start = 0
    chunks = _CHUNK.findall(left) or [""]
    for number, chunk in enumerate(chunks, 1):
        seen += sum(not character.isspace() for character in chunk)
        # Up to the next word: the blanks before it belong to this chunk.
        stop = stops[seen] if seen < len(stops) and number < len(chunks) else len(right)
        yield chunk, right[start:stop]
        start = stop


def _sizes(row: Row) -> tuple[int, int]:
    if isinstance(row, Gap):
        return row.left, row.right
    left = right = 0
    for segment in row:
        here, there = (segment, segment) if isinstance(segment, str) else segment[:2]
        left, right = left + len(str(here)), right + len(str(there))
    return left, right


def _is_equal(row: Row) -> bool:
    return not isinstance(row, Gap) and all(isinstance(segment, str) for segment in row)


def _elided(rows: Sequence[Row]) -> Iterator[Row]:
    """Omit the middle of every long run of equal rows."""
    for equal, found in groupby(rows, key=_is_equal):
        run = list(found)
        yield from _shortened(run) if equal else run


def _shortened(run: list[Row]) -> list[Row]:
    lengths = [_sizes(row)[0] for row in run]
    first, last = _fitting(lengths), _fitting(lengths[::-1])
    if first + last >= len(run):
        return run
    left_out = sum(lengths[first : len(run) - last])
    return [*run[:first], Gap(left_out, left_out, equal=True), *run[len(run) - last :]]


def _fitting(lengths: Sequence[int]) -> int:
    held = 0
    for number, length in enumerate(lengths):
        held += length
        if held > KEPT_AROUND:
            return number
    return len(lengths)


def _cut(rows: Iterable[Row]) -> Iterator[Row]:
    """Omit the end of a pair that is still too long."""
    room = SHOWN_CHARACTERS
    left = right = 0
    for row in rows:
        sizes = _sizes(row)
        room -= 0 if isinstance(row, Gap) else sum(sizes)
        if room >= 0:
            yield row
        else:
            left, right = left + sizes[0], right + sizes[1]
    if left or right:
        yield Gap(left, right, equal=False)
