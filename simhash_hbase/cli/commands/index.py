"""Commands for a whole index: ``plan``, ``create``, ``schema``, ``stats``, ``verify``, ``vacuum`` and ``backup``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial

import click

from simhash_hbase import corpus
from simhash_hbase.cli import exits, options
from simhash_hbase.cli.commands.costs import HBASE_BYTES, PlannedScheme, plan_scheme
from simhash_hbase.cli.help import REPEAT, command, option
from simhash_hbase.cli.screen.terminal import secretless
from simhash_hbase.errors import CorruptIndex, InvalidArgument
from simhash_hbase.profile.defaults import BANDS
from simhash_hbase.rows.clock import MS_A_DAY
from simhash_hbase.stores.hbase.table import TableSchema, shell_script, thrift2_script

MOST_DOCUMENTS = 2**64
SCHEMES = ("4x1", "5x2", "6x3", "7x4")
LOOK_S = 0.2
MEGABYTE = 1 << 20


@command("plan", examples=["simhash-hbase plan --documents 2^34 --scheme 4x1 --scheme 5x2"])
@option("--documents", required=True, metavar="N", help="A number such as 1000000, 1e9 or 2^34.")
@option("--scheme", "schemes", metavar="BxC", multiple=True, show_default="those for distance 3",
              help="Number of blocks x blocks in each table's key. Repeatable.")  # fmt: skip
@option("--bands", type=click.IntRange(0), default=BANDS, show_default=True, metavar="N",
              help="Number of sketch rows of a document; 0 for none.")  # fmt: skip
@option("--passages", type=click.IntRange(16, 1000), metavar="N", show_default="none",
              help="Length of passages that are found for certain; none are kept without it.")  # fmt: skip
@option("--compression", type=click.Choice(list(HBASE_BYTES)), default="NONE", show_default=True,
              help="HBase: codec of the files.")  # fmt: skip
@options.output_in("table")
def plan(
    documents: str, schemes: tuple[str, ...], bands: int, passages: int | None, compression: str, output: options.Output
) -> None:
    """Compare schemes: rows, unrelated rows that a query reads, bytes on disk, regions, load time.

    A scheme is complete up to distance k: a query finds all documents within so many bits. It scans a prefix in each
    table, ten in 5x2. Scans are shown as "tables x rows" for the tables with the most bits; "expected" counts each
    table by its own bits. Scans of sketch rows read none of unrelated documents. Figures are for uniform fingerprints;
    templated documents add real neighbours. Bytes and times come from measured constants, for ids of 40 bytes with
    sketches, without metadata. Passages are counted for documents of 3,700 characters. `dedup`, `claim` and `add` leave
    a folder larger than `load` does.
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
        wanted = "wanted a number such as 1000000, 1e9 or 2^34"
        raise InvalidArgument(f"documents {documents!r}: {wanted}", parameter="documents") from error
    if number > MOST_DOCUMENTS:
        raise InvalidArgument(f"documents {documents}: at most 2^64", parameter="documents")
    plans = [
        plan_scheme(Scheme.parse(text), number, bands=bands, passages=passages, compression=compression)
        for text in schemes or SCHEMES
    ]
    with output:
        for planned in plans:
            output.line(asdict(planned), rows=partial(_readable, planned))
    output.note(
        f"plan: load times exclude fingerprinting, which takes about {plans[0].fingerprint_hours:,.1f} core-hours. "
        f"HBase: codec {compression}, one replica. docker/README.md, Size, says what was measured."
    )


def _readable(planned: PlannedScheme) -> Iterator[dict[str, object]]:
    """Yield the one row of the table of ``plan`` that shows a scheme."""
    p = planned
    dedup = ("by dedup:", _size(p.embedded_dedup_bytes))
    reads = [f"{p.tables} x {p.rows_a_scan:,}", f"= {p.rows_a_query:,}"]
    if p.rows_a_query != p.rows_a_query_exact:
        digits = 0 if p.rows_a_query_exact >= 100 else 1  # noqa: PLR2004
        reads.append(f"{p.rows_a_query_exact:,.{digits}f} expected")
    if p.bands:
        reads.append(f"{p.bands} sketch scans")
    yield {
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

    from simhash_hbase import api

    if files and not sample.learn_from:
        raise InvalidArgument(f"{files[0]}: to learn from files, write --learn-from before them")
    # A pattern that the shell expanded leaves all but the first to the arguments.
    learn_from = (*sample.learn_from, *files)
    texts, workers = None, 1
    if learn_from:
        texts = corpus.sample.texts_of(learn_from, sample.settings, output.listener)
        workers = corpus.options.processors()
    with output:
        if texts is not None:
            output.note("learning the idf …")
        fields = {**options.profile_fields(index_choice), **options.table_fields(index_choice)}
        fields |= {"learn_from": texts, "workers": workers, "if_not_exists": if_not_exists}
        with output.made(lambda: api.create_index(url, **fields)) as index:
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


@command(
    "stats",
    examples=[
        "simhash-hbase stats file:news.index --exact --format table",
        "simhash-hbase stats file:news.index --format html > stats.html",
    ],
)
@options.url
@option("--exact", is_flag=True, help="Read everything, not a sample of a large index.")
@options.output_in("json", also=["html"])
def stats(url: str, exact: bool, output: options.Output) -> None:
    """Count documents, rows and bytes; show how crowded the prefixes are; --format html writes a page."""
    from simhash_hbase.report.page import stats_page

    with output, options.open_index(url, readonly=True) as index, output.walk("stats", soon=False) as watch:
        figures = index.stats(exact=exact, watch=watch)
        page = partial(stats_page, secretless(url), index.profile, figures)
        output.record(asdict(figures), about=figures.sampled, page=page)


@command("verify", examples=["simhash-hbase verify file:news.index --repair"])
@options.url
@option("--repair", is_flag=True, help="Complete or remove rows that do not agree.")
@options.output
def verify(url: str, repair: bool, output: options.Output) -> int:
    """Check that block rows, members and document cells agree; exit code 1 when something is wrong.

    Damaged cells are named by their rows, in hex, and by their ids if these can be read.
    """

    def name_damage(row: bytes, error: CorruptIndex) -> None:
        output.error(f"simhash-hbase: row {row.hex()}: {error}")

    with output, options.open_local_index(url, readonly=not repair) as index, output.walk("verify") as watch:
        result = index.verify(repair=repair, watch=watch, on_damage=name_damage)
        output.record(asdict(result))
    problems = "1 thing is wrong" if result.wrong == 1 else f"{result.wrong:,} things are wrong"
    output.note(f"verify: {problems if result.wrong else 'clean'}")
    if result.without_original:
        output.note(
            f"verify: {result.without_original:,} duplicates name an original that no query finds: it was removed, has "
            "expired, or is damaged"
        )
    if result.not_repaired:
        output.note(
            f"verify: {result.not_repaired:,} could not be repaired: a document's cell agrees with nothing else, or a "
            "row of its sketch or passages stands with one bit changed (add the document again), or deletes or writes "
            "with a later time than the server's hide the repair (repeat it after that time, or after a major "
            "compaction)"
        )
    return exits.FAILED if result.wrong else exits.DONE


@command("vacuum", interrupted=REPEAT, examples=["simhash-hbase vacuum file:news.index"])
@options.url
@option("--yes", is_flag=True, help="Delete expired documents even if these are most of the index.")
@options.output
def vacuum(url: str, yes: bool, output: options.Output) -> None:
    """Delete data that no answer needs: expired documents, old removals, rows without a document."""
    with output, options.open_local_index(url) as index, output.walk("vacuum") as watch:
        swept = index.vacuum(yes=yes, watch=watch)
        output.record(asdict(swept))


@command(
    "backup",
    examples=[
        "simhash-hbase backup file:news.index monday.index",
        "simhash-hbase backup hbase://127.0.0.1:9091/news --taken 2026-11-21T09:30:00Z",
    ],
)
@options.url
@click.argument("destination", metavar="[DEST]", required=False)
@option("--taken", metavar="TIME", help="Copy nothing: only note a backup made by other means, such as a snapshot.")
@options.output
def backup(url: str, destination: str | None, taken: str | None, output: options.Output) -> None:
    """Copy a file: index while it is in use; DEST, a folder that does not exist yet, is an index afterwards."""
    if destination is None and taken is not None:
        with output, options.open_local_index(url) as index:
            output.record({"last_backup": index.note_backup(taken)})
        return
    if destination is None or taken is not None:
        raise click.UsageError("name DEST, or the time of a backup by --taken", click.get_current_context())
    from concurrent.futures import ThreadPoolExecutor, wait

    from simhash_hbase.stores.addresses import folder_of
    from simhash_hbase.stores.embedded.folder import copied_bytes

    if destination.startswith("file:"):
        destination = folder_of(destination) or ""
    with output, options.open_local_index(url) as index, ThreadPoolExecutor(1) as pool:
        space = index.store.space()
        with output.meter("backup", None if space is None else space.used, noun="MB") as meter:
            copy = pool.submit(index.backup, destination)
            while not wait([copy], LOOK_S).done:
                done = copied_bytes(destination)
                meter.show(done // MEGABYTE, done)
            if not copy.result():
                output.note("warning: the backup is complete; it is not noted in the index, which cannot be written")
        output.record({"backup": f"file:{destination}"})
