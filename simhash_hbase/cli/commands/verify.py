"""``simhash-hbase verify``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.codes import DONE, FAILED
from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import output_options, url_argument

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output


@click.command("verify", cls=Command, examples=["simhash-hbase verify file:news.index --repair"])
@url_argument
@option("--repair", is_flag=True, help="Complete or remove rows that do not agree.")
@output_options
def command(url: str, repair: bool, output: Output) -> int:
    """Check that block rows, members and document cells agree; exit code 1 when something is wrong."""
    from simhash_hbase.opening import open_index

    with output, open_index(url, readonly=not repair) as index, output.walk("verify") as watch:
        result = index.verify(repair=repair, watch=watch)
        output.record(asdict(result))
    output.note(f"verify: {'clean' if not result.wrong else f'{result.wrong:,} things are wrong'}")
    if result.not_repaired:
        output.note(
            f"verify: {result.not_repaired:,} could not be repaired: deletes or writes with a later time than the "
            "server's hide them; repeat the repair after that time, or after a major compaction"
        )
    return FAILED if result.wrong else DONE
