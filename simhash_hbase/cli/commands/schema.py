"""``simhash-hbase schema``."""

from collections.abc import Callable

import click

from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import (
    TableChoice,
    debug_option,
    silent_option,
    table_fields,
    table_options,
    ttl_option,
    url_argument,
)
from simhash_hbase.rows.clock import MS_A_DAY
from simhash_hbase.rows.table import TableSchema, shell_script, thrift2_script


@click.command(
    "schema",
    cls=Command,
    examples=["simhash-hbase schema hbase://127.0.0.1:9091/news --regions 16 --as shell > news.rb"],
)
@url_argument
@option("--as", "form", type=click.Choice(["both", "shell", "thrift2"]), default="both", show_default=True,
              help="Form of the commands.")  # fmt: skip
@table_options
@ttl_option
@silent_option
@debug_option
def command(url: str, form: str, table: TableChoice, ttl_days: float | None) -> None:
    """Print the table of an index as commands of the HBase shell and as the calls of Thrift 2; nothing is made.

    An operator can make the table this way; create then takes it over.
    """
    from simhash_hbase.opening import table_of

    schema_of: Callable[..., TableSchema] = TableSchema
    schema = schema_of(**table_fields(table), ttl_ms=None if ttl_days is None else round(ttl_days * MS_A_DAY))
    name = table_of(url)
    if form in ("both", "shell"):
        click.echo(f"# hbase shell\n{shell_script(schema, name)}", nl=False)
    if form in ("both", "thrift2"):
        click.echo(f"# Thrift 2\n{thrift2_script(schema, name)}", nl=False)
