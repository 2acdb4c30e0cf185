"""The report of the command `passages`: texts with passages coloured by how many other documents contain them.

A passage is a span of a text that stands in other documents, too.
"""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate, pairwise
from typing import BinaryIO, NamedTuple

from simhash_hbase.index.answers import Passage, PassagesAnswer
from simhash_hbase.report.page import HistogramBar, Section, histogram, make_page, shortened, tile, tiles
from simhash_hbase.report.write import ReportRun

MOST_TEXTS = 100
"""Most texts in a page: those with the most characters in passages."""
TEXT_CHARACTERS = 20_000
"""Most characters of a text that a page shows."""
PAGE_BYTES = 10_000_000
"""Most bytes of the texts of a page, unless it is a single text."""
GAP_CHARACTERS = 600
"""Of a longer stretch between two passages only the ends are shown."""
END_CHARACTERS = 200
MOST_ROWS = 200
"""Most passages that the table of a text lists."""
ID_CHARACTERS = 200
BOUNDS = (1, 2, 10, 100, 1_000)
"""The least number of documents of each bar of the histogram; a passage has the colour of its bar."""


class ReportedText(NamedTuple):
    """A text that the page shows, sorted by how many of its characters are in passages."""

    covered: int
    number: int  # The text's number in the input, negated: of texts with equal `covered` the first is shown.
    html: str


class PassagesReport:
    """Collects the texts with the most passages, and writes the HTML page that shows them.

    In memory are 100 texts at most, of 20,000 characters each.
    """

    def __init__(self) -> None:
        self.texts = 0
        self.with_passages = 0
        self.characters = 0
        self.covered = 0
        self.truncated = 0
        self._counts: Counter[int] = Counter()
        self._shown: list[ReportedText] = []

    def add(self, document_id: str, text: str, answer: PassagesAnswer) -> None:
        """Add the next text of the input to the counts, and keep it if it is among those with the most in passages."""
        covered = sum(passage.stop - passage.start for passage in answer.passages)
        self.texts += 1
        self.with_passages += bool(covered)
        self.characters += len(text)
        self.covered += covered
        self.truncated += answer.truncated
        self._counts.update(level_of(passage) for passage in answer.passages)
        has_room = len(self._shown) < MOST_TEXTS
        if covered and (has_room or (covered, -self.texts) > self._shown[0][:2]):
            push = heapq.heappush if has_room else heapq.heappushpop
            push(self._shown, ReportedText(covered, -self.texts, _entry(document_id, text, answer)))

    def write(self, stream: BinaryIO, *, names: str, run: ReportRun, refused: int) -> None:
        """Write the HTML page to a stream.

        `names` are those of the input files, and `refused` is the number of refused records.
        """
        of_all = f"{self.covered:,} of {self.characters:,} characters"
        of_texts = f"{_percent(self.with_passages, self.texts)} of the texts"
        rejects = f"{refused:,} more were refused" if refused else "none was refused"
        figures = [
            tile("texts", "texts read", f"{self.texts:,}", rejects),
            tile("with-passages", "with passages", f"{self.with_passages:,}", of_texts),
            tile("passages", "passages", f"{self._counts.total():,}", "spans that stand in other documents"),
            tile("covered", "in passages", _percent(self.covered, self.characters), of_all),
        ]
        page = make_page(
            heading=f"Passages of {names}",
            lead=f"{names} against {run.index}, {run.time:%-d %B %Y, %H:%M} UTC."
            " Coloured is what stands in other documents.",
            sections=[
                Section(tiles(figures), [("figures", "Figures")]),
                Section(self._notices()),
                Section(self._chart(), [("documents", "Documents of a passage")]),
                Section(self._list(), [("texts-shown", "Texts")]),
            ],
        )
        stream.write(page)

    def _notices(self) -> str:
        said = []
        if not self.with_passages:
            said.append("No text has a passage that stands in another document.")
        if self.truncated:
            said.append(f"Of {_texts(self.truncated)} a limit kept something from being read: there may be more.")
        return "".join(f'<p class="notice">{sentence}</p>' for sentence in said)

    def _chart(self) -> str:
        if not self._counts:
            return ""
        labels = _labels()
        bars = [HistogramBar(label, label, self._counts[at], at) for at, label in enumerate(labels)]
        keys = "".join(f'<li><mark class="held-{at}">{label}</mark></li>' for at, label in enumerate(labels))
        drawn = histogram("held", "Passages by their number of other documents", "documents", bars, counted="passages")
        return (
            '<section id="documents"><h2>Documents of a passage</h2>'
            f'<div class="charts">{drawn}</div><ul class="keys">{keys}</ul></section>'
        )

    def _list(self) -> str:
        if not self._shown:
            return ""
        shown = [each.html for each in sorted(self._shown, reverse=True)]
        sizes = accumulate(len(html.encode(errors="backslashreplace")) for html in shown)
        shown = shown[: max(1, sum(size <= PAGE_BYTES for size in sizes))]
        which = "In this page are all of them."
        if len(shown) < self.with_passages:
            of_all = f"{len(shown):,} of {self.with_passages:,}"
            which = f"In this page are {of_all}: those with the most characters in passages."
        entries = "".join(f"<details{' open' * (not at)}>{html}</details>" for at, html in enumerate(shown))
        return f'<section id="texts-shown"><h2>Texts</h2>{_note(which)}<div class="list">{entries}</div></section>'


class ShownPiece(NamedTuple):
    """A piece of a text on the page: a passage, text between passages, or a gap where text is left out."""

    start: int
    stop: int
    passage: Passage | None = None
    is_gap: bool = False


def shown_pieces(text: str, passages: Sequence[Passage]) -> Iterator[ShownPiece]:
    """Yield the pieces of a text for the page, in order: passages, plain text, and gaps, which the page leaves out.

    The middle of a long plain stretch is a gap. The pieces end after `TEXT_CHARACTERS` shown characters, and the last
    one may be cut: the caller says how much of the text is left.

    Examples
    --------
    >>> [tuple(piece)[:2] for piece in shown_pieces("x" * 50, [Passage(10, 20, 1, False, "a", "a")])]
    [(0, 10), (10, 20), (20, 50)]
    """
    room, at = TEXT_CHARACTERS, 0
    for passage in [*passages, None]:
        start = len(text) if passage is None else passage.start
        plain = [ShownPiece(at, start)] if start > at else []
        if start - at > GAP_CHARACTERS:
            head, tail = at + END_CHARACTERS, start - END_CHARACTERS
            plain = [ShownPiece(at, head), ShownPiece(head, tail, is_gap=True), ShownPiece(tail, start)]
        for piece in [*plain, *([] if passage is None else [ShownPiece(start, passage.stop, passage)])]:
            if not piece.is_gap:
                room -= piece.stop - piece.start
            if room < 0:
                # A passage longer than the room is cut, so that each text shows some of its first one.
                yield piece._replace(stop=piece.stop + room)
                return
            yield piece
        at = start if passage is None else passage.stop


def level_of(passage: Passage) -> int:
    """Return the histogram bar, numbered from 0, in which a passage is counted by how many documents contain it."""
    return sum(passage.documents >= bound for bound in BOUNDS) - 1


def _labels() -> list[str]:
    spans = [(start, stop - 1) for start, stop in pairwise(BOUNDS)]
    return [
        *(f"{first:,}" if first == last else f"{first:,}–{last:,}" for first, last in spans),
        f"{BOUNDS[-1]:,} or more",
    ]


def _entry(name: str, text: str, answer: PassagesAnswer) -> str:
    """Return the HTML that shows a text: the text with its passages coloured, then a table of the passages."""
    drawn, last = "", 0
    for start, stop, passage, is_gap in shown_pieces(text, answer.passages):
        last = stop
        if is_gap:
            drawn += f'</bdi>{_gap(stop - start)}<bdi class="passaged">'
        elif passage is None:
            drawn += escape(text[start:stop])
        else:
            held = f"{passage.documents:,}{'+' * passage.at_least}"
            drawn += f'<mark class="held-{level_of(passage)}" data-held="{held}">{escape(text[start:stop])}</mark>'
    rows = "".join(
        f'<tr><td class="n">{each.start:,}–{each.stop:,}</td>'
        f'<td class="n">{"≥ " * each.at_least}{each.documents:,}</td>'
        f"<td>{_id(each.first)}</td><td>{_id(each.most)}</td></tr>"
        for each in answer.passages[:MOST_ROWS]
    )
    more = len(answer.passages) - MOST_ROWS
    numbers = "".join(f'<th scope="col" class="n">{head}</th>' for head in ("characters", "documents"))
    heads = numbers + "".join(f'<th scope="col">{head}</th>' for head in ("added first", "holds most"))
    return (
        f'<summary><span class="title">{_id(name)}</span>'
        f'<span class="figure">{answer.share:.1%} in passages</span></summary><div class="body">'
        f'<bdi class="passaged">{drawn}</bdi>{_gap(len(text) - last) if last < len(text) else ""}'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        f"{_note(f'and {more:,} more passages') if more > 0 else ''}</div>"
    )


def _gap(characters: int) -> str:
    return f'<p class="gap">{characters:,} characters left out</p>'


def _note(sentence: str) -> str:
    return f'<p class="note">{sentence}</p>'


def _id(name: str) -> str:
    return f'<bdi class="id">{escape(shortened(name, ID_CHARACTERS))}</bdi>'


def _texts(count: int) -> str:
    return "1 text" if count == 1 else f"{count:,} texts"


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "0.0%"
