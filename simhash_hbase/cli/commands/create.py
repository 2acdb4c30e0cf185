"""``simhash-hbase create``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import (
    IndexChoice,
    Sample,
    index_options,
    output_options,
    profile_fields,
    sample_options,
    url_argument,
)
from simhash_hbase.cli.screen.shortfalls import warn_of_shortfalls, warnings_as_lines
from simhash_hbase.errors import InvalidArgument

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output


@click.command(
    "create",
    cls=Command,
    examples=[
        "simhash-hbase create file:laws.index --learn-from last-month.jsonl.gz",
        "simhash-hbase create hbase://127.0.0.1:9091/news --learn-from last-month.jsonl.gz --regions 16",
    ],
)
@url_argument
@click.argument("files", nargs=-1, metavar="")
@option("--if-not-exists", is_flag=True, help="Do nothing if an index with the same profile exists.")
@sample_options
@index_options
@output_options
def command(
    url: str, files: tuple[str, ...], if_not_exists: bool, sample: Sample, asked: IndexChoice, output: Output
) -> None:
    """Make an index and print its profile, which is frozen from now on."""
    import msgspec

    from simhash_hbase.opening import create_index

    if files and not sample.learn_from:
        raise InvalidArgument(f"{files[0]}: to learn from files, write --learn-from before them")
    # A pattern that the shell expanded leaves all but the first to the arguments.
    learn_from = (*sample.learn_from, *files)
    texts = replace(sample, learn_from=learn_from).texts(output.watch) if learn_from else None
    with output:
        if texts is not None:
            output.note("learning the idf …")
        with warnings_as_lines(output):
            made = create_index(
                url,
                learn_from=texts,
                if_not_exists=if_not_exists,
                regions=asked.regions,
                compression=asked.compression,
                **profile_fields(asked),
            )
        with made as index:
            output.record(msgspec.to_builtins(index.profile))
            warn_of_shortfalls(index.store, output)
