"""``simhash-hbase stats``."""

from dataclasses import asdict

import click

from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import output_options, url_argument
from simhash_hbase.cli.screen.output import Output
from simhash_hbase.opening import open_index


@click.command("stats", cls=Command, examples=["simhash-hbase stats file:news.index --exact --format table"])
@url_argument
@option("--exact", is_flag=True, help="Read everything, not a sample of a large index.")
@output_options
def command(url: str, exact: bool, output: Output) -> None:
    """Count documents, rows and bytes; show how crowded the prefixes are."""
    with output, open_index(url, readonly=True) as index, output.walk("stats") as watch:
        figures = index.stats(exact=exact, watch=watch)
        output.record(asdict(figures))
