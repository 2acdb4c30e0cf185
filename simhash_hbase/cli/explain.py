"""``simhash-hbase explain``."""

from pathlib import Path
from typing import Any

import click

from simhash_hbase.analysis import Analysis
from simhash_hbase.cli.comparison import comparison
from simhash_hbase.cli.documents import take_input
from simhash_hbase.cli.fingerprint import analysis_for
from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import input_options, learn_option, output_options, profile_options
from simhash_hbase.cli.output import Output
from simhash_hbase.cli.tables import print_wide
from simhash_hbase.config import open_index
from simhash_hbase.errors import InvalidArgument, InvalidInput
from simhash_hbase.explain import Side, compare
from simhash_hbase.index import Index
from simhash_hbase.inputs import InputOptions, Reject, read
from simhash_hbase.inputs.formats import format_of
from simhash_hbase.inputs.sources import Source

SHOWN_CHARACTERS = 200
ADDRESSES = ("file:", "memory:", "hbase://", "redis://")


@click.command(
    "explain",
    cls=Command,
    examples=["simhash-hbase explain file:news.index a.txt b.txt --format table", "simhash-hbase explain a.txt b.txt"],
)
@click.argument("words", nargs=-1, required=True, metavar="[URL] A B")
@learn_option
@option("--scheme", metavar="BxC", default="5x2", show_default=True, help="Without URL: the blocks to show.")
@profile_options
@input_options
@output_options
def command(words: tuple[str, ...], scheme: str, **options: Any) -> None:  # noqa: ANN401
    """Show why two documents are near or not: bits, blocks, tables, features.

    A and B are each the name of a file (of a web page the main text counts), the id of a stored document (with URL),
    or else a text.
    """
    given = take_input(options)
    output = Output.of(options)
    if words[0].startswith(ADDRESSES):
        with open_index(words[0], readonly=True) as index:
            profile = index.profile
            a, b = (_side(word, index.analysis, given["encoding"], index, output) for word in _pair(words[1:]))
    else:
        options["profile_of"] = None
        analysis = analysis_for(options, given, output)
        profile = analysis.profile.replace(scheme=scheme)
        a, b = (_side(word, analysis, given["encoding"], None, output) for word in _pair(words))
    record = compare(a, b, profile)
    if output.format == "table":
        print_wide(lambda width: comparison(a, b, record, profile, width))
    else:
        output.line(record)
    output.close()


def _pair(words: tuple[str, ...]) -> tuple[str, str]:
    if len(words) != 2:  # noqa: PLR2004
        raise InvalidArgument("two documents are compared: simhash-hbase explain [URL] A B")
    return words[0], words[1]


def _side(word: str, analysis: Analysis, encoding: str, index: Index | None, output: Output) -> Side:
    text = _file_text(word, encoding)
    if text is None and index is not None:
        stored = index.entries_of(word)
        if stored is not None:
            return Side.of_entries(word, stored)
        output.note(f"{word[:SHOWN_CHARACTERS]}: neither a file nor a stored id, so it is taken as a text")
    name = "text" if text is None else word
    return Side.of_text(name, word if text is None else text, analysis)


def _file_text(word: str, encoding: str) -> str | None:
    if not _is_file(Path(word)):
        return None
    # Of a page its main text, as where it is added; of anything else all that the file holds.
    kind = format_of(Source(word, word, word, in_folder=True), InputOptions())
    options = InputOptions(format="html" if kind == "html" else "folder", encoding=encoding)
    [record] = read([word], options)
    if isinstance(record, Reject):
        raise InvalidInput(f"{record.place}: {record.reason}")
    return record.text


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        # Too long for a name, or with a NUL: a text.
        return False
