"""``simhash-hbase export``."""

from dataclasses import asdict
from typing import Any

import click

from simhash_hbase.answers import Stored
from simhash_hbase.cli.options import output_options
from simhash_hbase.cli.output import Output, hex_simhash
from simhash_hbase.config import open_index


@click.command("export", epilog="Example: simhash-hbase export file:news.index | gzip > news.jsonl.gz")
@click.argument("url")
@output_options
def command(url: str, **options: Any) -> None:  # noqa: ANN401
    """Print all documents as JSON lines, in an order of the store's own; no text is kept, so none is printed."""
    output = Output(format=options["format_"], quiet=options["quiet"])
    count = 0
    with output, open_index(url, readonly=True) as index:
        for stored in index.export():
            output.line(stored_record(stored))
            count += 1
    output.summary("export", count)


def stored_record(stored: Stored) -> dict[str, object]:
    """Make the JSON form of a stored document; what is unknown is left out."""
    record = {**asdict(stored), "simhash": hex_simhash(stored.simhash)}
    return {name: value for name, value in record.items() if value is not None}
