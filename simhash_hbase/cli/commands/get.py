"""``simhash-hbase get``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.codes import DONE, FAILED
from simhash_hbase.cli.help import Command
from simhash_hbase.cli.options import collection_option, output_options, url_argument

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output


@click.command("get", cls=Command, examples=["simhash-hbase get file:news.index https://example.org/a"])
@url_argument
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@collection_option
@output_options
def command(url: str, ids: tuple[str, ...], collection: str | None, output: Output) -> int:
    """Print what the index holds of documents; an id that is not in it is reported, with exit code 1."""
    from simhash_hbase.index.answers import stored_record
    from simhash_hbase.opening import open_index

    with output, open_index(url, collection=collection, readonly=True) as index:
        found = index.get_many(ids)
        for stored in found:
            if stored is not None:
                output.line(stored_record(stored))
    missing = [name for name, stored in zip(ids, found, strict=True) if stored is None]
    for name in missing:
        output.error(f"simhash-hbase: {name}: not in the index")
    return FAILED if missing else DONE
