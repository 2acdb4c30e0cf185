"""``simhash-hbase add``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.codes import after
from simhash_hbase.cli.help import REPEAT, Command, option
from simhash_hbase.cli.options import collection_option, files_argument, input_options, output_options, url_argument
from simhash_hbase.corpus import Reading
from simhash_hbase.errors import SimhashError

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
@collection_option
@input_options
@output_options
def command(
    url: str, files: tuple[str, ...], verbose: bool, reading: Reading, collection: str | None, output: Output
) -> int:
    """Write documents, duplicates or not; a known id gets the new text.

    FILEs are JSON lines, CSV, plain text, folders or patterns, also .gz and .zst; - is standard input. Whatever was
    printed, or counted in the summary, is durable.
    """
    from simhash_hbase.corpus import Documents
    from simhash_hbase.corpus.documents import added
    from simhash_hbase.index.answers import hex_simhash
    from simhash_hbase.inputs import Reject
    from simhash_hbase.opening import open_index

    counts: Counter[str] = Counter()
    with (
        output,
        open_index(url, collection=collection) as index,
        Documents("add", files, reading, output.watch) as documents,
    ):
        for chunk in documents.chunks(index):
            for document, simhash in added(index, chunk, counts):
                if isinstance(simhash, SimhashError):
                    documents.refuse(Reject(document.place, str(simhash), document.raw or b"", document.id))
                elif verbose:
                    output.line({"id": document.id, "simhash": hex_simhash(simhash)})
            output.flush()
    output.summary("add", documents.read, **counts, refused=documents.refused)
    return after(documents.refused)
