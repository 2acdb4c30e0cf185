"""``simhash-hbase stats``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import output_in, url_argument
from simhash_hbase.cli.screen.controls import secretless

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output


@click.command(
    "stats",
    cls=Command,
    examples=[
        "simhash-hbase stats file:news.index --exact --format table",
        "simhash-hbase stats file:news.index --format html > stats.html",
    ],
)
@url_argument
@option("--exact", is_flag=True, help="Read everything, not a sample of a large index.")
@output_in("json", also=["html"])
def command(url: str, exact: bool, output: Output) -> None:
    """Count documents, rows and bytes; show how crowded the prefixes are; html is a page for a browser."""
    from simhash_hbase.opening import open_index
    from simhash_hbase.report import stats_page

    with output, open_index(url, readonly=True) as index, output.walk("stats", soon=False) as watch:
        figures = index.stats(exact=exact, watch=watch)
        if output.format == "html":
            output.page(stats_page(secretless(url), index.profile, figures))
        else:
            output.record(asdict(figures), about=figures.sampled)
