"""``simhash-hbase vacuum``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.help import REPEAT, Command
from simhash_hbase.cli.options import output_options, url_argument

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output


@click.command("vacuum", cls=Command, interrupted=REPEAT, examples=["simhash-hbase vacuum file:news.index"])
@url_argument
@output_options
def command(url: str, output: Output) -> None:
    """Delete data that no answer needs: expired documents, old removals, rows without a document."""
    from simhash_hbase.opening import open_index

    with output, open_index(url) as index, output.walk("vacuum") as watch:
        swept = index.vacuum(watch=watch)
        output.record(asdict(swept))
