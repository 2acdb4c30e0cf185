"""``simhash-hbase mcp``."""

from contextlib import suppress

import click

from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import collection_option, debug_option, url_argument


@click.command("mcp", cls=Command, examples=["simhash-hbase mcp file:news.index --read-only"])
@url_argument
@option("--read-only", is_flag=True, help="Offer no tool that changes the index.")
@collection_option
@debug_option
def command(url: str, read_only: bool, collection: str | None) -> None:
    """Offer an index to an agent as tools, by the Model Context Protocol on standard input and output.

    The tools are have_i_seen, copies, remember and forget. The command ends when its standard input ends.
    """
    from importlib.util import find_spec

    from simhash_hbase.opening import open_index

    with open_index(url, collection=collection, readonly=read_only) as index:
        # To import its library takes most of a second; standard output belongs to the protocol.
        if find_spec("mcp") is not None:
            # An agent may have closed standard error, or keep it on a full disk.
            with suppress(OSError):
                click.echo("mcp: starting …", err=True)
        from simhash_hbase.cli.agents import make_server

        make_server(index, readonly=read_only).run("stdio")
