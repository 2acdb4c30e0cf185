"""``simhash-hbase stats``."""

from typing import Any

import click

from simhash_hbase.cli.options import output_options
from simhash_hbase.cli.output import Output
from simhash_hbase.config import open_index
from simhash_hbase.results import plain


@click.command("stats", epilog="Example: simhash-hbase stats file:news.index --exact --format table")
@click.argument("url")
@click.option("--exact", is_flag=True, help="Read everything; else a sample, where the index is large.")
@output_options
def command(url: str, exact: bool, **options: Any) -> None:  # noqa: ANN401
    """Count documents, rows and bytes; show how crowded the prefixes are."""
    output = Output(format=options["format_"], quiet=options["quiet"])
    with open_index(url, readonly=True) as index:
        figures = plain(index.stats(exact=exact))
    if not isinstance(figures, dict):
        raise TypeError("statistics are named figures")
    if output.format == "table":
        for name, value in figures.items():
            output.line({"figure": name, "value": value})
    else:
        output.line(figures)
    output.close()
