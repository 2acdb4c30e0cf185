"""``simhash-hbase backup``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.help import Command
from simhash_hbase.cli.options import output_options, url_argument
from simhash_hbase.stores.abilities import Backup

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output

LOOK_S = 0.2
MEGABYTE = 1 << 20


@click.command("backup", cls=Command, examples=["simhash-hbase backup file:news.index monday.index"])
@url_argument
@click.argument("destination", metavar="DEST")
@output_options
def command(url: str, destination: str, output: Output) -> None:
    """Copy a file: index while it is in use; DEST, a folder that does not exist yet, is an index afterwards."""
    from simhash_hbase.opening import folder_of, open_index
    from simhash_hbase.stores.embedded.folder import copied_bytes

    if destination.startswith("file:"):
        destination = folder_of(destination) or ""
    with output, open_index(url) as index, ThreadPoolExecutor(1) as pool:
        total = index.store.size().bytes if isinstance(index.store, Backup) else None
        with output.meter("backup", total, noun="MB") as meter:
            copy = pool.submit(index.backup, destination)
            while not wait([copy], LOOK_S).done:
                done = copied_bytes(destination)
                meter.show(done // MEGABYTE, done)
            copy.result()
        output.record({"backup": f"file:{destination}"})
