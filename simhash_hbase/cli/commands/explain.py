"""``simhash-hbase explain``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from simhash_hbase.cli.commands.fingerprint import analysis_for
from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import (
    FingerprintChoice,
    OwnFields,
    Sample,
    collected,
    collection_choice,
    fingerprint_options,
    output_options,
    own_options,
    profile_fields,
    sample_options,
)
from simhash_hbase.corpus.destinations import check_destinations
from simhash_hbase.errors import InvalidArgument, InvalidInput
from simhash_hbase.files.local import replacing
from simhash_hbase.inputs import InputOptions
from simhash_hbase.profile import choices

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output
    from simhash_hbase.compare.explain import Side
    from simhash_hbase.features.analysis import Analysis
    from simhash_hbase.index.index import Index
    from simhash_hbase.inputs import Document
    from simhash_hbase.profile import Profile

SHOWN_CHARACTERS = 200
# What a slip in the name of a file looks like: one word with a suffix or a folder.
LIKE_A_FILE = re.compile(r"\S{0,250}(\.[A-Za-z][A-Za-z0-9]{0,7}|[/\\]\S{1,250})")


@dataclass(frozen=True)
class Choice:
    """Options of this command alone."""

    text: bool
    scheme: str | None
    html: str | None
    collection: str | None


class _Asked(NamedTuple):
    """How A and B are to be taken."""

    text: bool
    sample: Sample
    own: OwnFields


class _Named(NamedTuple):
    """One of the two documents."""

    side: Side
    text: str | None


class _Sides:
    """Finds the documents that A and B name."""

    def __init__(self, analysis: Analysis, index: Index | None, asked: _Asked, output: Output) -> None:
        self._analysis = analysis
        self._index = index
        # The format and the text field are those of the sample to learn from.
        self._settings = replace(asked.sample.settings, format=None, text_field="text")
        self._own = asdict(asked.own)
        self._as_text = asked.text
        self._output = output

    def find(self, word: str) -> _Named:
        """Take a word for a file, else for an id, else for a text."""
        from simhash_hbase.compare.explain import Side

        if self._as_text:
            return self._of_text("text", word)
        if _is_file(Path(word)):
            return self._of_file(word)
        stored = self._index.entries_of(word) if self._index is not None else None
        if stored is not None:
            return _Named(Side.of_entries(word, stored), None)
        kinds = "neither a file nor a stored id" if self._index is not None else "no file"
        if any(self._own.values()):
            raise InvalidInput(
                f"{word[:SHOWN_CHARACTERS]} is {kinds}: your own fingerprints and features have to be in files"
            )
        if LIKE_A_FILE.fullmatch(word):
            raise InvalidInput(f"{word} is {kinds}: add --text to compare A and B as texts")
        if self._index is not None:
            self._output.note(f"{word[:SHOWN_CHARACTERS]}: {kinds}, so it is taken as a text")
        return self._of_text("text", word)

    def _of_text(self, name: str, text: str) -> _Named:
        from simhash_hbase.compare.explain import Side

        return _Named(Side.of_text(name, text, self._analysis), text)

    def _of_file(self, path: str) -> _Named:
        from simhash_hbase.inputs.reading import format_of
        from simhash_hbase.inputs.sources import Source

        if any(self._own.values()):
            return _Named(self._of_record(path, _only_document(path, self._record_options(path))), None)
        # Of a page its main text, as where it is added; of anything else all that the file holds.
        kind = format_of(Source(path, path, path, in_folder=True), InputOptions())
        options = replace(self._settings, format="html" if kind == "html" else "folder")
        return self._of_text(path, _only_document(path, options).text or "")

    def _record_options(self, path: str) -> InputOptions:
        from simhash_hbase.inputs.reading import format_of
        from simhash_hbase.inputs.sources import Source

        kind = format_of(Source(path, path, path, in_folder=True), InputOptions())
        is_text = kind in ("text", "folder", "html")
        return replace(self._settings, format="jsonl" if is_text else None, **self._own)

    def _of_record(self, path: str, document: Document) -> Side:
        from simhash_hbase.compare.explain import Side

        if document.simhash is not None:
            return Side.of_entries(path, self._analysis.fingerprints([path], [document.simhash]).entries)
        return Side.of_features(path, document.features or [], self._analysis)


@click.command(
    "explain",
    cls=Command,
    examples=[
        "simhash-hbase explain file:news.index a.txt b.txt --format table",
        "simhash-hbase explain '我 喜欢 看 电视，不 喜欢 看 电影' '我 不 喜欢 看 电视，也 不 喜欢 看 电影'",
    ],
)
@click.argument("words", nargs=-1, required=True, metavar="[URL] A B")
@collected(
    "chosen",
    Choice,
    option("--text", is_flag=True, help="A and B are texts, even if they look like names of files or ids."),
    option("--scheme", metavar="BxC", show_default=choices.SCHEME, help="Without URL: the blocks to show."),
    option(
        "--html",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write a page for people to FILE: both texts side by side, and the features that pull them apart.",
    ),
    collection_choice,
)
@sample_options
@fingerprint_options
@own_options
@output_options
def command(
    words: tuple[str, ...], chosen: Choice, sample: Sample, prints: FingerprintChoice, own: OwnFields, output: Output
) -> None:
    """Show why two documents are near or not: bits, blocks, tables, features.

    A and B are each the name of a file (of a web page the main text counts), the id of a stored document (with URL),
    or else a text. With --simhash-field or --features-field a file holds one record with your own. --input-format and
    --text-field are for the documents of --learn-from.
    """
    from simhash_hbase.inputs import Sources
    from simhash_hbase.opening import is_address, open_index

    check_destinations(Sources([word for word in words if _is_file(Path(word))]), {"--html": chosen.html})
    asked = _Asked(chosen.text, sample, own)
    if is_address(words[0]):
        if profile_fields(prints) or sample.learn_from or chosen.scheme:
            raise InvalidArgument("the index has its own profile: leave out the options that make another one, or URL")
        a, b = _pair(words[1:])
        with open_index(words[0], collection=chosen.collection, readonly=True) as index:
            _show(_Sides(index.analysis, index, asked, output), (a, b), index.profile, output, html=chosen.html)
        return
    if chosen.collection is not None:
        raise InvalidArgument("a collection is part of an index: name the index by URL, or leave out --collection")
    a, b = _pair(words)
    settings = replace(sample.settings, features_field=own.features_field)
    analysis = analysis_for(prints, replace(sample, settings=settings), output)
    profile = analysis.profile.replace(scheme=chosen.scheme or choices.SCHEME)
    _show(_Sides(analysis, None, asked, output), (a, b), profile, output, html=chosen.html)


def _show(sides: _Sides, words: Sequence[str], profile: Profile, output: Output, *, html: str | None) -> None:
    from simhash_hbase.cli.screen.comparison import comparison
    from simhash_hbase.cli.screen.tables import print_wide
    from simhash_hbase.compare.explain import compare, word_cosine
    from simhash_hbase.profile.profile import SEGMENTING
    from simhash_hbase.report.page import comparison_page

    a, b = (sides.find(word) for word in words)
    record = compare(a.side, b.side, profile)
    if a.text is not None and b.text is not None and profile.analyzer in SEGMENTING:
        record["word_cosine"] = word_cosine(a.text, b.text)
    if html is not None:
        if a.text is None or b.text is None:
            raise InvalidArgument("--html shows texts, which an index does not keep: name two files or texts")
        with replacing(html) as file:
            file.write(comparison_page((a.text, b.text), record))
    if output.format == "table":
        print_wide(lambda width: comparison(a.side, b.side, record, profile, width))
    else:
        output.line(record)
    output.close()


def _pair(words: Sequence[str]) -> tuple[str, str]:
    if len(words) != 2:  # noqa: PLR2004
        raise InvalidArgument("two documents are compared: simhash-hbase explain [URL] A B")
    return words[0], words[1]


def _only_document(path: str, options: InputOptions) -> Document:
    from simhash_hbase.inputs import Reject, read

    records = list(islice(read([path], options), 2))
    if len(records) != 1:
        raise InvalidInput(f"{path} holds {'more than one document' if records else 'no document'}: wanted one")
    [record] = records
    if isinstance(record, Reject):
        raise InvalidInput(f"{record.place}: {record.reason}")
    return record


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        # Too long for a name, or with a NUL: a text.
        return False
