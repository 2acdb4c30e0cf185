"""What comes before the first document: ``simhash-hbase plan``, ``create`` and ``schema``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import (
    Choice,
    LearningFiles,
    debug_option,
    index_options,
    output_in,
    output_options,
    profile_fields,
    sample_options,
    silent_option,
    table_fields,
    table_options,
    ttl_option,
    url_argument,
)
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.profile.choices import DEFAULT_BANDS
from simhash_hbase.rows.clock import MS_A_DAY
from simhash_hbase.rows.costs import HBASE_BYTES, plan_scheme
from simhash_hbase.rows.table import TableSchema, shell_script, thrift2_script

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output
    from simhash_hbase.rows.costs import PlannedScheme

MOST_DOCUMENTS = 2**64
SCHEMES = ("4x1", "5x2", "6x3", "7x4")


@click.command("plan", cls=Command, examples=["simhash-hbase plan --documents 2^34 --scheme 4x1 --scheme 5x2"])
@option("--documents", required=True, metavar="N", help="A number such as 1000000, 1e9 or 2^34.")
@option("--scheme", "schemes", metavar="BxC", multiple=True, show_default="those for distance 3",
              help="Number of blocks x blocks in each table's key. Repeatable.")  # fmt: skip
@option("--bands", type=click.IntRange(0), default=DEFAULT_BANDS, show_default=True, metavar="N",
              help="Number of sketch rows of a document; 0 for none.")  # fmt: skip
@option("--compression", type=click.Choice(list(HBASE_BYTES)), default="NONE", show_default=True,
              help="HBase: codec of the files.")  # fmt: skip
@output_in("table")
def plan(documents: str, schemes: tuple[str, ...], bands: int, compression: str, output: Output) -> None:
    """Compare schemes: rows, unrelated rows that a query reads, bytes on disk, regions, load time.

    A scheme is complete up to distance k: a query finds all documents within so many bits. It scans a prefix in each
    table, ten in 5x2. Scans are shown as "tables x rows" for the tables with the most bits; "expected" counts each
    table by its own bits. Scans of sketch rows read none of unrelated documents. Figures are for uniform fingerprints;
    templated documents add real neighbours. Bytes and times come from measured constants, for ids of 40 bytes with
    sketches, without metadata. `dedup`, `claim` and `add` leave a folder larger than `load` does.
    """
    from simhash_hbase.rows.blocks import Scheme

    number = _number(documents)
    plans = [
        plan_scheme(Scheme.parse(text), number, bands=bands, compression=compression) for text in schemes or SCHEMES
    ]
    for planned in plans:
        output.line(_readable(planned) if output.format == "table" else asdict(planned))
    output.close()
    output.note(
        f"plan: load times exclude fingerprinting, which takes about {plans[0].fingerprint_hours:,.1f} core-hours. "
        f"HBase: codec {compression}, one replica. docker/README.md, Size, says what was measured."
    )


def _number(text: str) -> int:
    try:
        if power := re.fullmatch(r"(\d{1,4})\^(\d{1,3})", text):
            number: int = int(power[1]) ** int(power[2])
        elif "e" in text.lower():
            number = int(float(text))
        else:
            number = int(text.replace(",", "").replace("_", ""))
    except (ValueError, OverflowError) as error:
        raise InvalidArgument(f"documents {text!r}: wanted a number such as 1000000, 1e9 or 2^34") from error
    if number > MOST_DOCUMENTS:
        raise InvalidArgument(f"documents {text}: at most 2^64")
    return number


def _readable(planned: PlannedScheme) -> dict[str, object]:
    p = planned
    dedup = ("by dedup:", _size(p.embedded_dedup_bytes))
    reads = [f"{p.tables} x {p.rows_a_scan:,}", f"= {p.rows_a_query:,}"]
    if p.rows_a_query != p.rows_a_query_exact:
        digits = 0 if p.rows_a_query_exact >= 100 else 1  # noqa: PLR2004
        reads.append(f"{p.rows_a_query_exact:,.{digits}f} expected")
    if p.bands:
        reads.append(f"{p.bands} sketch scans")
    return {
        "scheme": p.scheme,
        "all\nwithin": f"{p.distance} bits",
        "rows stored": f"{p.rows:,}",
        "unrelated rows\na query reads": "\n".join(reads),
        "file:\nindex": "\n".join(["by load:", _size(p.embedded_bytes), _hours(p.embedded_load_hours), *dedup]),
        "HBase\ntable": "\n".join(
            [
                *("by load:", _size(p.hbase_bytes), _hours(p.load_hours)),
                *(f"{p.hbase_regions:,}", "region" if p.hbase_regions == 1 else "regions"),
            ]
        ),
    }


def _hours(hours: float) -> str:
    if (seconds := hours * 3600) < 360:  # noqa: PLR2004
        return f"in {max(seconds, 1):.0f} s" if seconds < 60 else f"in {seconds / 60:.0f} min"  # noqa: PLR2004
    return f"in {hours:,.1f} h" if hours < 10 else f"in {hours:,.0f} h"  # noqa: PLR2004


def _size(octets: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if octets < 1000:  # noqa: PLR2004
            return f"{octets:,.0f} {unit}"
        octets /= 1000
    return f"{octets:,.1f} TB"


@click.command(
    "create",
    cls=Command,
    examples=[
        "simhash-hbase create file:laws.index --learn-from last-month.jsonl.gz",
        "simhash-hbase create hbase://127.0.0.1:9091/news --learn-from last-month.jsonl.gz --regions 16",
    ],
)
@url_argument
@click.argument("files", nargs=-1, metavar="")
@option("--if-not-exists", is_flag=True, help="Do nothing if an index with the same profile exists.")
@sample_options
@index_options
@output_options
def create(
    url: str, files: tuple[str, ...], if_not_exists: bool, sample: LearningFiles, index_choice: Choice, output: Output
) -> None:
    """Make an index and print its profile, which is frozen from now on."""
    import msgspec

    from simhash_hbase.opening import create_index

    if files and not sample.learn_from:
        raise InvalidArgument(f"{files[0]}: to learn from files, write --learn-from before them")
    # A pattern that the shell expanded leaves all but the first to the arguments.
    learn_from = (*sample.learn_from, *files)
    texts, workers = None, 1
    if learn_from:
        # With all that reads files, for which no other index waits.
        from simhash_hbase.corpus.options import processors

        texts, workers = replace(sample, learn_from=learn_from).texts(output.watch), processors()
    with output:
        if texts is not None:
            output.note("learning the idf …")
        with output.warnings_as_lines():
            made = create_index(
                url,
                learn_from=texts,
                workers=workers,
                if_not_exists=if_not_exists,
                regions=index_choice.regions,
                compression=index_choice.compression,
                **profile_fields(index_choice),
            )
        with made as index:
            output.record(msgspec.to_builtins(index.profile))
            output.warn_of_shortfalls(index.store)


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
def schema(url: str, form: str, table: Choice, ttl_days: float | None) -> None:
    """Print the table of an index as commands of the HBase shell and as the calls of Thrift 2; nothing is made.

    An operator can make the table this way; create then takes it over.
    """
    from simhash_hbase.opening import table_of

    schema_of: Callable[..., TableSchema] = TableSchema
    table_schema = schema_of(**table_fields(table), ttl_ms=None if ttl_days is None else round(ttl_days * MS_A_DAY))
    name = table_of(url)
    if form in ("both", "shell"):
        click.echo(f"# hbase shell\n{shell_script(table_schema, name)}", nl=False)
    if form in ("both", "thrift2"):
        click.echo(f"# Thrift 2\n{thrift2_script(table_schema, name)}", nl=False)
