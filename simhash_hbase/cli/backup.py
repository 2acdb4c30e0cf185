"""``simhash-hbase backup``."""

from typing import Any

import click

from simhash_hbase.cli.help import Command
from simhash_hbase.cli.options import output_options, url_argument
from simhash_hbase.cli.output import Output
from simhash_hbase.config import open_index


@click.command("backup", cls=Command, examples=["simhash-hbase backup file:news.index monday.index"])
@url_argument
@click.argument("destination", metavar="DEST")
@output_options
def command(url: str, destination: str, **options: Any) -> None:  # noqa: ANN401
    """Copy a file: index while it is in use; DEST, a folder that does not exist yet, is an index afterwards."""
    output = Output.of(options)
    destination = destination.removeprefix("file:")
    with open_index(url) as index:
        index.backup(destination)
    output.record({"backup": f"file:{destination}"})
    output.close()
