"""``simhash-hbase create``."""

from typing import Any

import click
import msgspec

from simhash_hbase.cli.corpus.sample import sample_texts
from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import (
    index_options,
    output_options,
    profile_fields,
    profile_options,
    sample_options,
    store_fields,
    url_argument,
)
from simhash_hbase.cli.screen.output import Output
from simhash_hbase.cli.screen.shortfalls import warn_of_shortfalls, warnings_as_lines
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.opening import create_index


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
@option("--if-not-exists", is_flag=True, help="Do nothing when there is one with the same profile.")
@sample_options
@profile_options
@index_options
@output_options
def command(url: str, files: tuple[str, ...], if_not_exists: bool, **options: Any) -> None:  # noqa: ANN401
    """Make an index; its profile is frozen from now on, and printed."""
    if files and not options["learn_from"]:
        raise InvalidArgument(f"{files[0]}: to learn from files, write --learn-from before them")
    # A pattern that the shell expanded leaves all but the first behind the option.
    options["learn_from"] = (*options["learn_from"], *files)
    output = Output.of(options)
    texts = sample_texts(options, output)
    fields = {**profile_fields(options), **store_fields(options)}
    with warnings_as_lines(output):
        made = create_index(url, learn_from=texts, if_not_exists=if_not_exists, **fields)
    with made as index:
        output.record(msgspec.to_builtins(index.profile))
        warn_of_shortfalls(index.store, output)
    output.close()
