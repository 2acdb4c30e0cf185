"""What comes before the first document: ``simhash-hbase create`` and ``schema``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import click

from simhash_hbase import corpus
from simhash_hbase.cli import options
from simhash_hbase.cli.help import command, option
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.rows.clock import MS_A_DAY
from simhash_hbase.rows.table import TableSchema, shell_script, thrift2_script


@command(
    "create",
    examples=[
        "simhash-hbase create file:laws.index --learn-from last-month.jsonl.gz",
        "simhash-hbase create hbase://127.0.0.1:9091/news --learn-from last-month.jsonl.gz --regions 16",
    ],
)
@options.url
@click.argument("files", nargs=-1, metavar="")
@option("--if-not-exists", is_flag=True, help="Do nothing if an index with the same profile exists.")
@options.sample
@options.index
@options.output
def create(
    url: str,
    files: tuple[str, ...],
    if_not_exists: bool,
    sample: options.Choice,
    index_choice: options.Choice,
    output: options.Output,
) -> None:
    """Make an index and print its profile, which is frozen from now on."""
    import msgspec

    from simhash_hbase import opening

    if files and not sample.learn_from:
        raise InvalidArgument(f"{files[0]}: to learn from files, write --learn-from before them")
    # A pattern that the shell expanded leaves all but the first to the arguments.
    learn_from = (*sample.learn_from, *files)
    texts, workers = None, 1
    if learn_from:
        texts = corpus.sample.texts_of(learn_from, sample.settings, output.watch)
        workers = corpus.options.processors()
    with output:
        if texts is not None:
            output.note("learning the idf …")
        fields = {**options.profile_fields(index_choice), **options.table_fields(index_choice)}
        make = partial(opening.create_index, url, learn_from=texts, workers=workers, if_not_exists=if_not_exists)
        with output.made(lambda: make(**fields)) as index:
            output.record(msgspec.to_builtins(index.profile))


@command("schema", examples=["simhash-hbase schema hbase://127.0.0.1:9091/news --regions 16 --as shell > news.rb"])
@options.url
@option("--as", "form", type=click.Choice(["both", "shell", "thrift2"]), default="both", show_default=True,
              help="Form of the commands.")  # fmt: skip
@options.table
@options.ttl
@options.silent
@options.debug
def schema(url: str, form: str, table: options.Choice, ttl_days: float | None) -> None:
    """Print the table of an index as commands of the HBase shell and as the calls of Thrift 2; nothing is made.

    An operator can make the table this way; create then takes it over.
    """
    from simhash_hbase.stores.addresses import table_of

    schema_of: Callable[..., TableSchema] = TableSchema
    table_schema = schema_of(
        **options.table_fields(table), ttl_ms=None if ttl_days is None else round(ttl_days * MS_A_DAY)
    )
    name = table_of(url)
    if form in ("both", "shell"):
        click.echo(f"# hbase shell\n{shell_script(table_schema, name)}", nl=False)
    if form in ("both", "thrift2"):
        click.echo(f"# Thrift 2\n{thrift2_script(table_schema, name)}", nl=False)
