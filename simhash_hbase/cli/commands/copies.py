"""``simhash-hbase copies``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.codes import DONE, FAILED
from simhash_hbase.cli.help import Command
from simhash_hbase.cli.options import collection_option, output_options, url_argument

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output
    from simhash_hbase.index.copies import Copies


@click.command(
    "copies", cls=Command, examples=["simhash-hbase copies file:news.index https://example.org/a --format table"]
)
@url_argument
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@collection_option
@output_options
def command(url: str, ids: tuple[str, ...], collection: str | None, output: Output) -> int:
    """Print what was decided a duplicate of an original, by claim and dedup; an ID may be that of a copy, too."""
    from simhash_hbase.index.answers import copies_record
    from simhash_hbase.opening import open_index

    missing = []
    with output, open_index(url, collection=collection, readonly=True) as index:
        for name in ids:
            found = index.copies(name)
            if found is None:
                missing.append(name)
                continue
            for record in _rows(found) if output.format == "table" else [copies_record(found)]:
                output.line(record)
    for name in missing:
        output.error(f"simhash-hbase: {name}: not in the index")
    return FAILED if missing else DONE


def _rows(found: Copies) -> Iterator[dict[str, object]]:
    """Make the rows of a table: the original, then its copies."""
    there = f"{'at least ' if found.truncated else ''}{found.count:,} copies"
    note = "removed or changed since" if found.of_removed else ""
    yield {"of": found.of, "copy": there, "added": found.first, "seen": found.last, "note": note}
    for copy in found.copies:
        yield {
            "of": found.of, "copy": copy.id, "added": copy.added, "seen": copy.seen, "bits": copy.distance,
            "similarity": copy.similarity, "metadata": copy.metadata,
            "note": "of an earlier text" if copy.of_removed else "",
        }  # fmt: skip
