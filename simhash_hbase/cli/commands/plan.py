"""What an index would cost: ``simhash-hbase plan``."""

from __future__ import annotations

import re
from dataclasses import asdict

import click

from simhash_hbase.cli import options
from simhash_hbase.cli.help import command, option
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.profile.defaults import BANDS
from simhash_hbase.rows.costs import HBASE_BYTES, PlannedScheme, plan_scheme

MOST_DOCUMENTS = 2**64
SCHEMES = ("4x1", "5x2", "6x3", "7x4")


@command("plan", examples=["simhash-hbase plan --documents 2^34 --scheme 4x1 --scheme 5x2"])
@option("--documents", required=True, metavar="N", help="A number such as 1000000, 1e9 or 2^34.")
@option("--scheme", "schemes", metavar="BxC", multiple=True, show_default="those for distance 3",
              help="Number of blocks x blocks in each table's key. Repeatable.")  # fmt: skip
@option("--bands", type=click.IntRange(0), default=BANDS, show_default=True, metavar="N",
              help="Number of sketch rows of a document; 0 for none.")  # fmt: skip
@option("--compression", type=click.Choice(list(HBASE_BYTES)), default="NONE", show_default=True,
              help="HBase: codec of the files.")  # fmt: skip
@options.output_in("table")
def plan(documents: str, schemes: tuple[str, ...], bands: int, compression: str, output: options.Output) -> None:
    """Compare schemes: rows, unrelated rows that a query reads, bytes on disk, regions, load time.

    A scheme is complete up to distance k: a query finds all documents within so many bits. It scans a prefix in each
    table, ten in 5x2. Scans are shown as "tables x rows" for the tables with the most bits; "expected" counts each
    table by its own bits. Scans of sketch rows read none of unrelated documents. Figures are for uniform fingerprints;
    templated documents add real neighbours. Bytes and times come from measured constants, for ids of 40 bytes with
    sketches, without metadata. `dedup`, `claim` and `add` leave a folder larger than `load` does.
    """
    from simhash_hbase.rows.blocks import Scheme

    try:
        if power := re.fullmatch(r"(\d{1,4})\^(\d{1,3})", documents):
            number: int = int(power[1]) ** int(power[2])
        elif "e" in documents.lower():
            number = int(float(documents))
        else:
            number = int(documents.replace(",", "").replace("_", ""))
    except (ValueError, OverflowError) as error:
        raise InvalidArgument(f"documents {documents!r}: wanted a number such as 1000000, 1e9 or 2^34") from error
    if number > MOST_DOCUMENTS:
        raise InvalidArgument(f"documents {documents}: at most 2^64")
    plans = [
        plan_scheme(Scheme.parse(text), number, bands=bands, compression=compression) for text in schemes or SCHEMES
    ]
    with output:
        for planned in plans:
            output.line(_readable(planned) if output.format == "table" else asdict(planned))
    output.note(
        f"plan: load times exclude fingerprinting, which takes about {plans[0].fingerprint_hours:,.1f} core-hours. "
        f"HBase: codec {compression}, one replica. docker/README.md, Size, says what was measured."
    )


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
