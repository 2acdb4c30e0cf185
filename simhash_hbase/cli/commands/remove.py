"""``simhash-hbase remove``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.help import REPEAT, Command, option
from simhash_hbase.cli.options import collection_option, output_options, url_argument
from simhash_hbase.cli.shell import complete_file
from simhash_hbase.errors import InvalidArgument, InvalidInput

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output
    from simhash_hbase.inputs import Progress


@click.command(
    "remove", cls=Command, interrupted=REPEAT, examples=["simhash-hbase remove file:news.index --from gone.txt"]
)
@url_argument
@click.argument("ids", nargs=-1, metavar="[ID…]")
@option("--from", "source", metavar="FILE", shell_complete=complete_file,
        help="A file with one id a line, UTF-8; - is standard input.")  # fmt: skip
@collection_option
@output_options
def command(url: str, ids: tuple[str, ...], source: str | None, collection: str | None, output: Output) -> None:
    """Remove documents by id."""
    from simhash_hbase.index.opened import BATCH_DOCUMENTS
    from simhash_hbase.inputs import Progress, total_bytes
    from simhash_hbase.opening import open_index

    if not ids and source is None:
        raise InvalidArgument("nothing to remove: name an ID, or --from FILE")
    asked = removed = 0
    with output, open_index(url, collection=collection) as index:
        consumed = Progress()
        names = _ids(ids, source, consumed)
        total = total_bytes([source]) if source else None
        with output.meter("remove", total, noun="ids") as meter:
            while some := list(islice(names, BATCH_DOCUMENTS)):
                for name, done in index.remove_many(some):
                    asked += 1
                    removed += done
                    output.line({"id": name, "removed": done})
                output.flush()
                meter.show(asked, consumed.bytes_read)
    output.summary("remove", asked, removed=removed)


def _ids(ids: tuple[str, ...], source: str | None, consumed: Progress) -> Iterator[str]:
    yield from ids
    if source is None:
        return
    with click.open_file(source, "rb") as file:
        for number, line in enumerate(file, 1):
            consumed.bytes_read += len(line)
            if name := _decoded(line, source, number):
                yield name


def _decoded(line: bytes, source: str, number: int) -> str:
    try:
        # Editors of Windows begin a file with a byte order mark.
        return line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{source}:{number}: the id is not UTF-8") from error
