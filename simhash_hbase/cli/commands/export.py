"""``simhash-hbase export``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.help import Command
from simhash_hbase.cli.options import collection_option, output_options, url_argument

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output


@click.command("export", cls=Command, examples=["simhash-hbase export file:news.index | gzip > news.jsonl.gz"])
@url_argument
@collection_option
@output_options
def command(url: str, collection: str | None, output: Output) -> None:
    """Print all documents as JSON lines, in the store's order; texts are not stored, so none is printed."""
    from simhash_hbase.index.answers import stored_record
    from simhash_hbase.opening import open_index

    count = 0
    with output, open_index(url, collection=collection, readonly=True) as index, output.walk("export") as watch:
        for stored in index.export(watch=watch):
            output.line(stored_record(stored))
            count += 1
    output.summary("export", count)
