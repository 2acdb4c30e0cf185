"""``simhash-hbase key``."""

import click

from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.shell import complete_file


@click.command("key", cls=Command, examples=["simhash-hbase key keys.txt --name crawler-1 --scope read --scope write"])
@click.argument("file", type=click.Path(dir_okay=False), shell_complete=complete_file)
@option("--name", metavar="NAME", required=True, help="Who will use it; logs show the name, never the key.")
@option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice(["read", "write", "metrics"]),
    help="What the key is for: queries and look-ups; changes and claims; the metrics. Repeatable.",
)
@option("--collection", "collections", metavar="NAME", multiple=True, show_default="all",
        help="Bind the key to the documents of this collection. Repeatable.")  # fmt: skip
def key(file: str, name: str, scopes: tuple[str, ...], collections: tuple[str, ...]) -> None:
    """Make a key for the service and print it, this once: FILE takes only its SHA-256.

    A key ends when its line is taken out of FILE; a running service reads that by itself.
    """
    from simhash_hbase.service import make_key

    click.echo(make_key(file, name, scopes, collections))
