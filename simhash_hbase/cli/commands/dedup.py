"""``simhash-hbase dedup``."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from simhash_hbase.cli.codes import after
from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.learning import Fields, await_input, learned, say_gone, temporary
from simhash_hbase.cli.named import Named, left_by_interrupt, named_argument
from simhash_hbase.cli.options import (
    IndexChoice,
    TableChoice,
    collected,
    collection_option,
    index_options,
    input_options,
    keep_option,
    output_options,
    profile_fields,
    table_fields,
)
from simhash_hbase.cli.screen.controls import secretless
from simhash_hbase.cli.screen.shortfalls import warn_of_shortfalls, warnings_as_lines
from simhash_hbase.corpus import DedupOptions, Reading
from simhash_hbase.errors import IndexMissing, InvalidArgument
from simhash_hbase.files.local import partial_of, replacing

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output
    from simhash_hbase.corpus import Deduplication
    from simhash_hbase.index.index import Index


@dataclass(frozen=True, kw_only=True)
class Choice(DedupOptions):
    """The library's options, and what only the command does."""

    create: bool
    report: str | None


@click.command(
    "dedup",
    cls=Command,
    interrupted=left_by_interrupt,
    examples=[
        "simhash-hbase dedup corpus.jsonl --output clean.jsonl > decisions.jsonl",
        "simhash-hbase dedup file:crawl.index --create crawl-*.jsonl.gz > decisions.jsonl",
        "simhash-hbase dedup file:crawl.index --create crawl.jsonl --output kept.jsonl --results done.jsonl --resume",
    ],
)
@named_argument
@collected(
    "chosen",
    Choice,
    option("--create", is_flag=True, help="Make the index if there is none, learning the idf from FILEs."),
    keep_option,
    option("--exact", is_flag=True, help="Judge near copies by their texts: at the threshold no pair is wrong."),
    option("--contained", type=float, metavar="SHARE", help="Drop a near copy only if what is kept holds this share of"
           " its shingles; with both figures in the decisions of others. Implies --exact."),
    option("--dry-run", is_flag=True, help="Change no index; files that other options name are written."),
    option("--output", type=click.Path(), metavar="PLACE", help="Write the kept documents to PLACE, as they"
           " came, or as its suffix says (.jsonl, .csv, .parquet); whole files to a folder."),
    option("--duplicates", type=click.Choice(["drop", "revisit"]), default="drop", show_default=True, help="Of a crawl:"
           " leave duplicates out of --output, or write records that refer to what is kept."),
    option("--clusters", type=click.Path(dir_okay=False), metavar="FILE",
           help="Write the clusters, each original with its duplicates, to FILE."),
    option("--report", type=click.Path(dir_okay=False), metavar="FILE.html", help="Write a page for people to"
           " FILE.html: figures, clusters, and pairs side by side; reads the input once more."),
    option("--results", type=click.Path(dir_okay=False), metavar="FILE",
           help="Write the decisions to FILE, with a checkpoint; not for standard input."),
    option("--resume", is_flag=True, help="Continue an earlier run of --results FILE."),
)  # fmt: skip
@index_options
@collection_option
@input_options
@output_options
def command(
    named: Named, chosen: Choice, asked: IndexChoice, reading: Reading, collection: str | None, output: Output
) -> int:
    """Decide a corpus at once, against the index and itself: each document is an original or a duplicate of one.

    Without URL the index is a temporary one, made as --create does.

    What the index holds already always wins; a second run over the same input prints the same. Needs some hundred
    bytes of memory a document, for the ids.
    """
    from simhash_hbase.corpus import Deduplication

    url, options = named.url, _completed(named.url, chosen, asked)
    await_input(named.files, output)
    with output, Deduplication(named.files, options, reading=reading, lines=output, watch=output.watch) as corpus:
        opened = replacing(chosen.report) if chosen.report else nullcontext()
        with _open(url, corpus, asked, chosen, output) as index, opened as report:
            done = corpus.run(index.in_collection(collection))
            if report is not None:
                # To import it takes longer than to decide a few documents.
                from simhash_hbase.report import DecidedCorpus, ReportRun, write_report

                decided = DecidedCorpus(
                    lines=corpus.lines,
                    sources=corpus.sources,
                    settings=corpus.reading.settings,
                    analysis=index.analysis,
                    refused=done.refused,
                )
                run = ReportRun(
                    index=secretless(url or "a temporary index"),
                    time=datetime.now(UTC),
                    keep=chosen.keep,
                    dry=chosen.dry_run,
                )
                write_report(report, decided, run, meter=output.meter)
    counts = {"kept": done.originals, "duplicates": done.duplicates, "refused": done.refused}
    if done.uncontained:
        counts["kept for too little in a near copy"] = done.uncontained
    output.summary("dedup", done.documents, decided_before=done.decided_before, **counts)
    say_gone(url, output)
    if chosen.report:
        output.note(f"the report is in {chosen.report}")
    return after(done.refused)


def _completed(url: str | None, chosen: Choice, asked: IndexChoice) -> Choice:
    """Add what the library has to know of the index and of the report."""
    from simhash_hbase.opening import folder_of

    if url is None and chosen.create:
        raise InvalidArgument("--create needs an address, such as file:docs.index")
    if url is None and chosen.resume:
        raise InvalidArgument(
            "--resume needs the index of the earlier run, which is gone if it was temporary: name its address"
        )
    return replace(
        chosen,
        learn=chosen.create or url is None,
        remember=chosen.report is not None,
        made_with={"create": chosen.create, **profile_fields(asked), **table_fields(asked)},
        beside={
            "the index": folder_of(url) if url else None,
            "--report": chosen.report,
            "the report's partial file": partial_of(chosen.report) if chosen.report else None,
        },
    )


def _open(
    url: str | None, corpus: Deduplication, asked: IndexChoice, chosen: Choice, output: Output
) -> AbstractContextManager[Index]:
    from simhash_hbase.opening import open_index

    fields = profile_fields(asked)
    if url is None:
        if table_fields(asked):
            raise InvalidArgument("--regions and --compression are for tables in HBase: name the address of one")
        return temporary(corpus.sources, lambda: learned(fields, corpus.reading.settings, corpus.texts, output), output)
    if not chosen.create and (fields or table_fields(asked)):
        raise InvalidArgument("the profile is fixed when an index is made: leave out its options, or add --create")
    try:
        index = open_index(url, readonly=chosen.dry_run)
    except IndexMissing:
        if not chosen.create:
            raise
        with warnings_as_lines(output):
            if chosen.dry_run:
                made = _create("memory:", corpus, fields, TableChoice(), output)
            else:
                made = _create(url, corpus, fields, asked, output)
        warn_of_shortfalls(made.store, output)
        return made
    if fields:
        # Asked for as False, stored as None.
        wanted = {name: None if value is False and name == "sketch" else value for name, value in fields.items()}
        index.profile.check_same(index.profile.replace(**wanted))
    return index


def _create(url: str, corpus: Deduplication, fields: Fields, table: TableChoice, output: Output) -> Index:
    from simhash_hbase.opening import create_index

    options: dict[str, Any] = learned(fields, corpus.reading.settings, corpus.texts, output)
    return create_index(url, regions=table.regions, compression=table.compression, **options)
