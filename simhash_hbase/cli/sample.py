"""``--learn-from``: a sample of the user's own documents, for the idf table."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import click

from simhash_hbase.cli.output import Output
from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs import Document, InputOptions, Progress, read, total_bytes

__all__ = ["sample_options", "sample_texts", "texts_of"]

F = TypeVar("F", bound=Callable[..., Any])


def sample_options(function: F) -> F:
    """Add ``--learn-from`` and how its files are read."""
    for decorator in (
        click.option("--text-field", default="text", show_default=True, help="Field of the sample's texts."),
        click.option("--encoding", default="utf-8", show_default=True, help="Of the sample."),
        click.option("--input-format", type=click.Choice(["jsonl", "csv", "tsv", "text", "folder"])),
        click.option("--learn-from", multiple=True, metavar="FILE…", help="Documents of yours to learn the idf from;"
                     " 600 already help."),
    ):  # fmt: skip
        function = decorator(function)
    return function


def sample_texts(options: dict[str, Any], output: Output) -> Iterator[str] | None:
    """Read the texts of ``--learn-from``; None without it."""
    sources = options["learn_from"]
    if not sources:
        return None
    settings = InputOptions(
        format=options["input_format"], encoding=options["encoding"], text_field=options["text_field"]
    )
    return texts_of(sources, settings, output)


def texts_of(sources: Sequence[str], settings: InputOptions, output: Output) -> Iterator[str]:
    """Read texts for learning; what cannot be read is counted and told.

    Raises
    ------
    InvalidInput
        At the end, when there was none.
    """
    found = refused = 0
    consumed = Progress()
    with output.meter("learn the idf", total_bytes(sources)) as meter:
        for record in read(sources, settings, consumed):
            if isinstance(record, Document):
                found += 1
                yield record.text or ""
            else:
                refused += 1
            meter.show(found, consumed.bytes_read)
    if refused:
        output.warn(f"{refused:,} records of the sample were refused")
    if not found:
        raise InvalidInput("there is no document to learn the idf from")
