"""``simhash-hbase schema``."""

from typing import Any

import click

from simhash_hbase.cli.options import remember_debug
from simhash_hbase.config import table_of
from simhash_hbase.schema import COMPRESSIONS, TableSchema, shell_script, thrift2_script

MS_A_DAY = 86_400_000


@click.command(
    "schema", epilog="Example: simhash-hbase schema hbase://gateway:9091/news --regions 16 --as shell > news.rb"
)
@click.argument("url")
@click.option("--regions", type=click.IntRange(1), default=4, show_default=True, help="Regions at the beginning.")
@click.option("--compression", type=click.Choice(COMPRESSIONS), default="NONE", show_default=True)
@click.option("--ttl", "ttl_days", type=click.FloatRange(0, min_open=True), metavar="DAYS", help="As for create.")
@click.option("--as", "form", type=click.Choice(["both", "shell", "thrift2"]), default="both", show_default=True)
@click.option("--quiet", is_flag=True, hidden=True)
@click.option("--debug", is_flag=True, hidden=True, callback=remember_debug)
def command(url: str, form: str, **options: Any) -> None:  # noqa: ANN401
    """Print the table of an index as commands of the HBase shell and as the calls of Thrift 2; nothing is made.

    An operator may make the table so; create then takes it over.
    """
    days = options["ttl_days"]
    ttl_ms = None if days is None else round(days * MS_A_DAY)
    schema, table = (
        TableSchema(regions=options["regions"], compression=options["compression"], ttl_ms=ttl_ms),
        table_of(url),
    )
    if form in ("both", "shell"):
        click.echo(f"# hbase shell\n{shell_script(schema, table)}", nl=False)
    if form in ("both", "thrift2"):
        click.echo(f"# Thrift 2\n{thrift2_script(schema, table)}", nl=False)
