"""``simhash-hbase dedup``."""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import click

from simhash_hbase.cli.codes import after
from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import (
    IndexChoice,
    TableChoice,
    collected,
    files_argument,
    index_options,
    input_options,
    output_options,
    profile_fields,
    table_fields,
    url_argument,
)
from simhash_hbase.cli.screen.controls import secretless
from simhash_hbase.cli.screen.output import Output
from simhash_hbase.cli.screen.shortfalls import warn_of_shortfalls, warnings_as_lines
from simhash_hbase.corpus import Deduplication, DedupOptions, Reading
from simhash_hbase.errors import IndexMissing, InvalidArgument
from simhash_hbase.index.index import Index
from simhash_hbase.opening import create_index, folder_of, open_index
from simhash_hbase.placed import partial_of, replacing
from simhash_hbase.report import Corpus, Run, write_report


@dataclass(frozen=True, kw_only=True)
class Choice(DedupOptions):
    """The library's options, and what only the command does."""

    create: bool
    report: str | None


@click.command(
    "dedup",
    cls=Command,
    examples=[
        "simhash-hbase dedup file:crawl.index --create crawl-*.jsonl.gz > decisions.jsonl",
        "simhash-hbase dedup file:crawl.index --create crawl.jsonl --output kept.jsonl --results done.jsonl --resume",
    ],
)
@url_argument
@files_argument
@collected(
    "chosen",
    Choice,
    option("--create", is_flag=True, help="Make the index if there is none, learning the idf from FILEs."),
    option("--keep", type=click.Choice(["first", "longest"]), default="first", show_default=True,
           help="Which of near copies becomes the original."),
    option("--dry-run", is_flag=True, help="Change no index; files that other options name are written."),
    option("--output", type=click.Path(), metavar="PLACE", help="Write the kept documents to PLACE, as they"
           " came: lines, rows of Parquet, records of a crawl to a file; whole files to a folder."),
    option("--clusters", type=click.Path(dir_okay=False), metavar="FILE",
           help="Write the clusters, each original with its duplicates, to FILE."),
    option("--report", type=click.Path(dir_okay=False), metavar="FILE.html", help="Write a page for people to"
           " FILE.html: figures, clusters, and pairs side by side; reads the input once more."),
    option("--results", type=click.Path(dir_okay=False), metavar="FILE",
           help="Write the decisions to FILE, with a checkpoint; not for standard input."),
    option("--resume", is_flag=True, help="Continue an earlier run of --results FILE."),
)  # fmt: skip
@index_options
@input_options
@output_options
def command(
    url: str, files: tuple[str, ...], chosen: Choice, asked: IndexChoice, reading: Reading, output: Output
) -> int:
    """Decide a corpus at once, against the index and itself: each document is an original or a duplicate of one.

    What the index holds already always wins; a second run over the same input prints the same. Needs some hundred
    bytes of memory a document, for the ids.
    """
    options = _completed(url, chosen, asked)
    with output, Deduplication(files, options, reading=reading, lines=output, watch=output.watch) as corpus:
        opened = replacing(chosen.report) if chosen.report else nullcontext()
        with _open(url, corpus, asked, chosen, output) as index, opened as report:
            done = corpus.run(index)
            if report is not None:
                decided = Corpus(
                    lines=corpus.lines,
                    sources=corpus.sources,
                    settings=corpus.reading.settings,
                    analysis=index.analysis,
                    refused=done.refused,
                )
                run = Run(index=secretless(url), time=datetime.now(UTC), keep=chosen.keep, dry=chosen.dry_run)
                write_report(report, decided, run, meter=output.meter)
    output.summary("dedup", done.documents, kept=done.originals, duplicates=done.duplicates, refused=done.refused)
    if chosen.report:
        output.note(f"the report is in {chosen.report}")
    return after(done.refused)


def _completed(url: str, chosen: Choice, asked: IndexChoice) -> Choice:
    """Add what the library has to know of the index and of the report."""
    return replace(
        chosen,
        learn=chosen.create,
        remember=chosen.report is not None,
        made_with={"create": chosen.create, **profile_fields(asked), **table_fields(asked)},
        beside={
            "the index": folder_of(url),
            "--report": chosen.report,
            "the report's partial file": partial_of(chosen.report) if chosen.report else None,
        },
    )


def _open(url: str, corpus: Deduplication, asked: IndexChoice, chosen: Choice, output: Output) -> Index:
    fields = profile_fields(asked)
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


def _create(url: str, corpus: Deduplication, fields: dict[str, object], table: TableChoice, output: Output) -> Index:
    """Make the index; by default its idf is learned from the input."""
    learn_from = None
    settings = corpus.reading.settings
    learns = settings.simhash_field is None and settings.features_field is None
    if fields.get("analyzer", "learned") == "learned" and learns:
        output.note("learning the idf from the input …")
        learn_from = corpus.texts()
    elif settings.features_field is not None:
        fields = {"analyzer": "weighted", **fields}
    return create_index(
        url, learn_from=learn_from, if_not_exists=False, regions=table.regions, compression=table.compression, **fields
    )
