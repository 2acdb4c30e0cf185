"""``simhash-hbase stats``."""

from dataclasses import asdict
from typing import Any

import click

from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import output_options, url_argument
from simhash_hbase.cli.screen.output import Output
from simhash_hbase.opening import open_index


@click.command("stats", cls=Command, examples=["simhash-hbase stats file:news.index --exact --format table"])
@url_argument
@option("--exact", is_flag=True, help="Read everything; else a sample, where the index is large.")
@output_options
def command(url: str, exact: bool, **options: Any) -> None:  # noqa: ANN401
    """Count documents, rows and bytes; show how crowded the prefixes are."""
    output = Output.of(options)
    with open_index(url, readonly=True) as index, output.walk("stats") as watch:
        figures = index.stats(exact=exact, watch=watch)
    output.record(asdict(figures))
    output.close()
