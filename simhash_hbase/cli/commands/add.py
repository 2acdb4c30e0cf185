"""``simhash-hbase add``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.codes import after
from simhash_hbase.cli.help import REPEAT, Command, option
from simhash_hbase.cli.options import files_argument, input_options, output_options, url_argument
from simhash_hbase.corpus import Reading

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output


@click.command(
    "add",
    cls=Command,
    interrupted=REPEAT,
    examples=["simhash-hbase add file:news.index today.jsonl.gz --encoding auto"],
)
@url_argument
@files_argument
@option("--verbose", is_flag=True, help="Print id and fingerprint of each document.")
@input_options
@output_options
def command(url: str, files: tuple[str, ...], verbose: bool, reading: Reading, output: Output) -> int:
    """Write documents, duplicates or not; a known id gets the new text.

    FILEs are JSON lines, CSV, plain text, folders or patterns, also .gz and .zst; - is standard input. Whatever was
    printed, or counted in the summary, is durable.
    """
    from simhash_hbase.corpus import Documents
    from simhash_hbase.index.jsonforms import hex_simhash
    from simhash_hbase.opening import open_index

    known = moved = 0
    with output, open_index(url) as index, Documents("add", files, reading, output.watch) as documents:
        for chunk in documents.chunks(index.analysis):
            entries = chunk.entries
            written = index.add_entries(entries)
            known += sum(written.known)
            moved += sum(written.moved)
            if verbose:
                for name, simhash in zip(entries.ids, entries.simhashes.tolist(), strict=True):
                    output.line({"id": name, "simhash": hex_simhash(simhash)})
                output.flush()
    output.summary("add", documents.read, known=known, with_another_text=moved, refused=documents.refused)
    return after(documents.refused)
