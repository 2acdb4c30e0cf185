"""``simhash-hbase schema``."""

from typing import Any

import click

from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import debug_option, quiet_option, store_fields, store_options, ttl_option, url_argument
from simhash_hbase.clock import MS_A_DAY
from simhash_hbase.opening import table_of
from simhash_hbase.rows.table import TableSchema, shell_script, thrift2_script


@click.command(
    "schema",
    cls=Command,
    examples=["simhash-hbase schema hbase://127.0.0.1:9091/news --regions 16 --as shell > news.rb"],
)
@url_argument
@option("--as", "form", type=click.Choice(["both", "shell", "thrift2"]), default="both", show_default=True,
              help="For whom it is written.")  # fmt: skip
@store_options
@ttl_option
@quiet_option
@debug_option
def command(url: str, form: str, **options: Any) -> None:  # noqa: ANN401
    """Print the table of an index as commands of the HBase shell and as the calls of Thrift 2; nothing is made.

    An operator may make the table so; create then takes it over.
    """
    days = options["ttl_days"]
    ttl_ms = None if days is None else round(days * MS_A_DAY)
    schema, table = TableSchema(**store_fields(options), ttl_ms=ttl_ms), table_of(url)
    if form in ("both", "shell"):
        click.echo(f"# hbase shell\n{shell_script(schema, table)}", nl=False)
    if form in ("both", "thrift2"):
        click.echo(f"# Thrift 2\n{thrift2_script(schema, table)}", nl=False)
