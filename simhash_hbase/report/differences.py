"""Word-by-word differences of two texts, for people: aligned, and arranged in rows of two columns."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, groupby, pairwise
from typing import Literal, NamedTuple

import msgspec

from simhash_hbase.kernel.texts import cut

TABLE_CELLS = 1 << 28
"""Most pairs of items, 16,000 x 16,000, of two stretches that are compared whole: 36 MB, a tenth of a second."""
_LEVELS = 20


class Difference(NamedTuple):
    """A difference of two sequences: a range of `a`, and the range of `b` in its place.

    The ranges are half-open, and one of them may be empty.
    """

    start_a: int
    stop_a: int
    start_b: int
    stop_b: int


def align(a: Sequence[str], b: Sequence[str], *, cells: int = TABLE_CELLS) -> list[Difference]:
    """Return the ranges in which two sequences of words differ, in order.

    `cells` is the number of pairs of words up to which two ranges are compared whole; longer ones are compared part by
    part, and may differ more than needed.

    Examples
    --------
    >>> align("the cat sat".split(), "the dog sat down".split())
    [Difference(start_a=1, stop_a=2, start_b=1, stop_b=2), Difference(start_a=3, stop_a=3, start_b=3, stop_b=4)]
    """
    pairs = [*_pairs(a, b, cells), (len(a), len(b))]
    changes = []
    next_a = next_b = 0
    for at_a, at_b in pairs:
        if (at_a, at_b) != (next_a, next_b):
            changes.append(Difference(next_a, at_a, next_b, at_b))
        next_a, next_b = at_a + 1, at_b + 1
    return changes


def _pairs(a: Sequence[str], b: Sequence[str], cells: int, levels: int = _LEVELS) -> Iterator[tuple[int, int]]:
    """Yield the positions in `a` and `b` of the items that are aligned with an equal one, in order.

    Ranges of more than `cells` pairs are cut into parts first, at most `levels` times.
    """
    head = _common(zip(a, b, strict=False))
    tail = _common(zip(reversed(a[head:]), reversed(b[head:]), strict=False))
    stop_a, stop_b = len(a) - tail, len(b) - tail
    middle_a, middle_b = a[head:stop_a], b[head:stop_b]
    yield from zip(range(head), range(head), strict=True)
    if len(middle_a) * len(middle_b) <= max(cells, 1):
        yield from ((head + at_a, head + at_b) for at_a, at_b in _longest(middle_a, middle_b))
    else:
        # Too long a stretch is cut at its anchors, which begin the next part, or else in the middle.
        cuts = (_anchors(middle_a, middle_b) if levels else []) or [(len(middle_a) // 2, len(middle_b) // 2)]
        for (from_a, from_b), (to_a, to_b) in pairwise([(0, 0), *cuts, (len(middle_a), len(middle_b))]):
            for at_a, at_b in _pairs(middle_a[from_a:to_a], middle_b[from_b:to_b], cells, max(levels - 1, 0)):
                yield head + from_a + at_a, head + from_b + at_b
    yield from zip(range(stop_a, len(a)), range(stop_b, len(b)), strict=True)


def _common(pairs: Iterator[tuple[str, str]]) -> int:
    length = 0
    for item_a, item_b in pairs:
        if item_a != item_b:
            break
        length += 1
    return length


def _longest(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions in `a` and `b` of the items that make up a longest common subsequence."""
    places = dict.fromkeys(a, 0)
    for at, item in enumerate(b):
        if item in places:
            places[item] |= 1 << at
    full = (1 << len(b)) - 1
    row = full
    # In row i bit j is 0 where the subsequence of a[:i] and b[:j + 1] is one longer than that of a[:i] and b[:j].
    rows = [row]
    for item in a:
        equal = row & places[item]
        row = (row + equal | row - equal) & full
        rows.append(row)
    pairs = []
    at_a, at_b = len(a), len(b)
    while at_a and at_b:
        if rows[at_a] >> at_b - 1 & 1:
            at_b -= 1
        elif rows[at_a - 1] >> at_b - 1 & 1:
            at_a, at_b = at_a - 1, at_b - 1
            pairs.append((at_a, at_b))
        else:
            at_a -= 1
    return pairs[::-1]


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions in `a` and `b` of items that occur once in each and come in the same order in both.

    There are as many of them as possible. Long texts are cut there.
    """
    single = {item for item, times in Counter(b).items() if times == 1}
    place = {item: at for at, item in enumerate(b) if item in single}
    once = {item for item, times in Counter(a).items() if times == 1}
    shared = [(at, place[item]) for at, item in enumerate(a) if item in once and item in place]
    # The least end of an increasing sequence of each length, its place, and the item before each item.
    ends: list[int] = []
    last: list[int] = []
    before: list[int | None] = []
    for number, (_, at_b) in enumerate(shared):
        length = bisect_left(ends, at_b)
        before.append(last[length - 1] if length else None)
        ends[length : length + 1] = [at_b]
        last[length : length + 1] = [number]
    chosen = []
    step = last[-1] if last else None
    while step is not None:
        chosen.append(shared[step])
        step = before[step]
    return chosen[::-1]


Kind = Literal["same", "changed", "left", "right"]


class TextPiece(NamedTuple):
    """A piece of the left text with the piece of the right text that is aligned with it, and how they differ."""

    kind: Kind
    """``same``: the words are equal, though the blanks between them need not be; ``changed``: other words stand in
    their place; ``left`` and ``right``: only this text has words here."""
    left: str
    right: str


# Scripts that put no blanks between words: Han, kana, Thai, Lao, Tibetan, Burmese, Khmer. Han is cut by the segmenter;
# of the others each letter counts as a word.
_UNSPACED = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3005-\u3007"
    "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]"
)
_JOINER = "\u200d"
_SENTENCE_ENDS = frozenset("。！？；…”」』.!?;")
_CHAFF = 3


def word_differences(a: str, b: str) -> list[TextPiece]:
    r"""Return the pieces of two texts, from beginning to end, aligned word by word.

    Words are compared as they are written; Chinese is cut into words by jieba. Blanks belong to the word before them
    and are not compared, so that a text that was only wrapped anew has no differences. As few words as possible are
    marked, but for the reader's sake a short run of equal words is marked with the changes around it, if both are at
    least three times as long. Nothing is left out of long texts: with more than 2 ** 28 pairs of words between common
    beginning and common end (16,000 words each) they are compared part by part (see `align`), and then more words than
    needed may be marked. Time grows with the product of the lengths up to there, a tenth of a second, and about
    linearly beyond.

    Examples
    --------
    >>> for piece in word_differences("如果雨停了，我们就出发。", "倘若雨停了，我们\n就马上出发。"):
    ...     print(piece)
    TextPiece(kind='changed', left='如果', right='倘若')
    TextPiece(kind='same', left='雨停了，我们就', right='雨停了，我们\n就')
    TextPiece(kind='right', left='', right='马上')
    TextPiece(kind='same', left='出发。', right='出发。')
    """
    left, right = words(a), words(b)
    plain_left, plain_right = [word for word, _ in left], [word for word, _ in right]
    shifted: list[Difference] = []
    # The empty word at the beginning stays where it is.
    floor_a = floor_b = 1
    for start_a, stop_a, start_b, stop_b in align(plain_left, plain_right):
        # Words that only one text has move to the start of a sentence, where the result is as correct.
        steps = 0
        if start_b == stop_b:
            steps = _steps(left, start_a, stop_a, floor_a)
        elif start_a == stop_a:
            steps = _steps(right, start_b, stop_b, floor_b)
        shifted.append(Difference(start_a - steps, stop_a - steps, start_b - steps, stop_b - steps))
        floor_a, floor_b = stop_a - steps, stop_b - steps
    changes = _without_chaff(shifted, plain_left, plain_right)
    pieces: list[TextPiece] = []
    next_a = next_b = 0
    for start_a, stop_a, start_b, stop_b in [*changes, Difference(len(left), len(left), len(right), len(right))]:
        pieces.append(TextPiece("same", _text(left[next_a:start_a]), _text(right[next_b:start_b])))
        kind: Kind = "changed" if start_a != stop_a and start_b != stop_b else "left" if start_a != stop_a else "right"
        pieces.append(TextPiece(kind, _text(left[start_a:stop_a]), _text(right[start_b:stop_b])))
        next_a, next_b = stop_a, stop_b
    return [piece for piece in pieces if piece.left or piece.right]


def words(text: str) -> list[tuple[str, str]]:
    """Return the words and punctuation marks of a text, each with the white space after it.

    Examples
    --------
    >>> words(" 用für  T恤,")
    [('', ' '), ('用', ''), ('für', '  '), ('T恤', ''), (',', '')]
    """
    parts = []
    word = blanks = ""
    for token in cut(text):
        if token.isspace():
            blanks += token
        elif word and not blanks and _belongs(word[-1], token[0]):
            word += token
        else:
            parts.append((word, blanks))
            word, blanks = token, ""
    return [*parts, (word, blanks)]


@lru_cache(maxsize=1 << 16)  # A comparison takes a quarter to a third less time by it.
def _belongs(before: str, after: str) -> bool:
    """Return whether two neighbouring characters belong to one word although jieba has cut between them.

    jieba cuts letters that it does not know one by one.
    """
    if _JOINER in (before, after) or unicodedata.category(after)[0] == "M":
        return True
    are_letters = all(each.isalnum() or unicodedata.category(each)[0] == "M" for each in (before, after))
    return are_letters and not (_UNSPACED.match(before) or _UNSPACED.match(after))


Words = Sequence[tuple[str, str]]


def _steps(text: Words, start: int, stop: int, floor: int) -> int:
    """Return by how many words to move a range of inserted words back, so that it begins with a sentence.

    The comparison is as correct after the move. The range must not begin before the word `floor`. 0 means that it
    cannot be moved so.
    """
    for steps in range(min(stop - start, start - floor + 1)):
        word, blanks = text[start - steps - 1]
        if not word or word[-1] in _SENTENCE_ENDS or "\n" in blanks:
            return steps
        if word != text[stop - steps - 1][0]:
            break
    return 0


def _without_chaff(changes: Sequence[Difference], left: Sequence[str], right: Sequence[str]) -> list[Difference]:
    """Join neighbouring changes that have so little equal text between them that it is equal by chance; return them."""
    # The characters before each word, blanks left out.
    sizes_left, sizes_right = (list(accumulate(map(len, side), initial=0)) for side in (left, right))

    def size(change: Difference) -> int:
        start_a, stop_a, start_b, stop_b = change
        return max(sizes_left[stop_a] - sizes_left[start_a], sizes_right[stop_b] - sizes_right[start_b])

    joined: list[Difference] = []
    for change in changes:
        last = change
        while joined:
            before = joined[-1]
            between = sizes_left[last.start_a] - sizes_left[before.stop_a]
            if between * _CHAFF > min(size(before), size(last)):
                break
            joined.pop()
            last = Difference(before.start_a, last.stop_a, before.start_b, last.stop_b)
        joined.append(last)
    return joined


def _text(some: Words) -> str:
    return "".join(word + blanks for word, blanks in some)


Segment = str | list[str | int]
"""A part of a row: a text that both have; ``[left, right]``, other words; or ``[left, right, 0]``, the same words with
other blanks."""


class Gap(msgspec.Struct, frozen=True):
    """The numbers of characters of both texts that a page leaves out between two rows.

    `equal` says whether these parts of the texts are the same.
    """

    left: int
    right: int
    equal: bool


TextRow = list[Segment] | Gap

KEPT_AROUND = 1_000  # Kept at both ends of a long equal passage.
SHOWN_CHARACTERS = 20_000  # Shown of both texts together; the rest is omitted.
CHANGE_CHARACTERS = 4_000  # Shown of one change on each side.
_PARAGRAPH = 120
_SENTENCES = 240
_CHUNK = re.compile(r".{1,200}?(?:\n\s*|[。！？；…]+[”」』]?\s*|[.!?;]\s+|\Z)|.{200}", re.DOTALL)


def pair_rows(pieces: Iterable[TextPiece]) -> list[TextRow]:
    """Return the rows of a page that shows two texts side by side, with a `Gap` where text is left out."""
    rows: list[TextRow] = []
    room = SHOWN_CHARACTERS
    left = right = 0
    for equal, group in groupby(
        _rows(pieces), key=lambda row: not isinstance(row, Gap) and all(isinstance(part, str) for part in row)
    ):
        run = list(group)
        lengths = [_sizes(row)[0] for row in run]
        first, last = (bisect_right(list(accumulate(side)), KEPT_AROUND) for side in (lengths, lengths[::-1]))
        if equal and first + last < len(run):
            left_out = sum(lengths[first : len(run) - last])
            run[first : len(run) - last] = [Gap(left_out, left_out, equal=True)]
        for row in run:
            sizes = _sizes(row)
            room -= 0 if isinstance(row, Gap) else sum(sizes)
            if room >= 0:
                rows.append(row)
            else:
                left, right = left + sizes[0], right + sizes[1]
    return [*rows, Gap(left, right, equal=False)] if left or right else rows


def _rows(pieces: Iterable[TextPiece]) -> Iterator[TextRow]:
    row: list[Segment] = []
    length = 0
    for kind, left, right in pieces:
        if kind == "same":
            for here, there in _chunks(left, right):
                if here != there:
                    row.append([here, there, 0])
                elif row and isinstance(row[-1], str):
                    row[-1] += here
                else:
                    row.append(here)
                length += len(here)
                lines = here.count("\n")
                if length >= _SENTENCES or lines > 1 or (lines == 1 and length >= _PARAGRAPH):
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


def _chunks(left: str, right: str) -> Iterator[tuple[str, str]]:
    """Yield the chunks of two texts that differ in white space only, cut at ends of lines and of sentences."""
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


def _sizes(row: TextRow) -> tuple[int, int]:
    if isinstance(row, Gap):
        return row.left, row.right
    left = right = 0
    for segment in row:
        here, there = (segment, segment) if isinstance(segment, str) else segment[:2]
        left, right = left + len(str(here)), right + len(str(there))
    return left, right
