"""The commands that decide documents, against an index or a temporary one: ``simhash-hbase claim`` and ``dedup``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import click

from simhash_hbase import corpus, inputs
from simhash_hbase.cli import exits, options
from simhash_hbase.cli.help import command, option
from simhash_hbase.cli.screen.terminal import erase_starting, secretless
from simhash_hbase.corpus import DedupOptions, Reading
from simhash_hbase.errors import ClaimContended, IndexMissing, InvalidArgument, Permanent, TooManyDuplicates
from simhash_hbase.files.local import replacing
from simhash_hbase.profile.defaults import GROUP_MB
from simhash_hbase.report.sources import SourceFigures, source_lines

if TYPE_CHECKING:
    from simhash_hbase.cli.options import Choice, Output
    from simhash_hbase.index.index import Index
    from simhash_hbase.index.local import LocalIndex

Fields = dict[str, Any]

SHOWN_SOURCES = 20


def _urls(words: Sequence[str]) -> list[str]:
    from simhash_hbase.stores.addresses import looks_like_address

    return [word for word in words if looks_like_address(word)]


@dataclass(frozen=True)
class GivenPlaces:
    """The files and the address of the index that ``claim`` or ``dedup`` were given; without an address, `url` is None.

    The command makes a temporary index then, which is deleted at its end.
    """

    url: str | None
    files: Sequence[str]

    @classmethod
    def of(cls, *, words: Sequence[str]) -> Self:
        """Return the arguments of a command, sorted into the address of an index and the files."""
        from simhash_hbase.stores.embedded.folder import holds_index

        urls = _urls(words)
        files = [word for word in words if word not in urls]
        if len(urls) > 1:
            raise InvalidArgument(f"{secretless(' and '.join(urls))} are two addresses: name one index")
        if not files:
            raise click.UsageError("Missing argument 'FILE…'.", click.get_current_context())
        for path in files:
            if not urls and holds_index(path):
                raise InvalidArgument(f"{path} is an index, not documents: wanted file:{path}")
        return cls(urls[0] if urls else None, files)

    def await_input(self) -> None:
        """Erase the word ``starting …`` from the terminal if standard input is read: documents may be typed there."""
        if inputs.sources.STDIN in self.files:
            erase_starting()

    def check_batch(self, name: str | None) -> None:
        """Raise `InvalidArgument` if a batch is named for a temporary index: nobody could ask for the batch later."""
        if name is not None and self.url is None:
            raise InvalidArgument("--batch needs an address, such as file:docs.index")

    def say_gone(self, output: Output) -> None:
        """Print that the index was temporary and is deleted, if it was; called after the summary of a command."""
        if self.url is None:
            output.note(
                "the index was temporary and is gone; an address, such as file:docs.index, names one that stays"
            )


# The options that a resumed run must share with the interrupted one.
RESUMABLE = {
    "keep": "first",
    "by": None,
    "fail_above": None,
    "counts": None,
    "dry_run": False,
    "exact": False,
    "contained": None,
}


def left_by_interrupt(
    *, words: Sequence[str], results: str | None = None, resume: bool = False, **given: object
) -> str:
    """Return the sentence that ``claim`` or ``dedup`` with these options prints after Ctrl-C.

    It says whether decisions are kept, and how to go on: `words` are the arguments, `results` and `resume` options.
    """
    stays = bool(_urls(words))
    how = "repeat the command to go on" if stays else "repeat the command to begin anew"
    if results and not resume:
        can_go_on = stays and all(given[name] == value for name, value in RESUMABLE.items())
        how = "repeat the command with --resume to go on" if can_go_on else f"remove {results} to begin anew"
    return f"{'what was acknowledged stays' if stays else 'the temporary index is gone'}: {how}"


named_argument = options.collected(
    "places",
    click.argument("words", nargs=-1, required=True, metavar="[URL] FILE…",
                   shell_complete=lambda *words: options.complete_address(*words) or options.complete_file(*words)),
    make=GivenPlaces.of,
)  # fmt: skip


@command(
    "claim",
    interrupted=left_by_interrupt,
    examples=["simhash-hbase claim hbase://127.0.0.1:9091/news crawl.jsonl > decisions.jsonl"],
)
@named_argument
@option("--deadline", "deadline_s", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
        help="Give up on a document that stays contested for SECONDS.")  # fmt: skip
@options.batch
@options.collection
@options.reading
@options.output
def claim(
    places: GivenPlaces,
    deadline_s: float | None,
    batch: str | None,
    reading: Reading,
    collection: str | None,
    output: Output,
) -> int:
    """Decide of each document whether it is an original or a duplicate, safely while other writers claim too.

    Of near copies claimed at the same time by different processes exactly one becomes the original. The same id with
    the same text gets the same answer, now and later: repeat a command that was interrupted. Without URL the index is
    a temporary one, with an idf that is learned from FILEs.
    """
    from simhash_hbase.index.jsonforms import DECISION

    places.check_batch(batch)
    originals, unlike = 0, corpus.tally.UnlikeRemainders()
    with (
        output,
        _opened(places, reading, output) as (index, files, read),
        corpus.Documents("claim", files, read, output.listener) as documents,
    ):
        view = index.in_collection(collection)
        act = partial(view.claimed, deadline_s=deadline_s, batch=batch)
        for decisions in documents.acted(view, act, writes=True):
            for document, decision in decisions:
                unlike.decide(document, decision)
                originals += decision.is_original
                output.line(DECISION.write(decision))
            output.flush()
    if (warning := unlike.warning()) is not None:
        output.note(warning)
    output.summary(
        "claim",
        documents.read,
        originals=originals,
        duplicates=documents.read - originals,
        refused=documents.refused,
        **{"contested, claim again": documents.failed[ClaimContended]},
    )
    places.say_gone(output)
    return exits.after(documents.refused)


@contextmanager
def _opened(places: GivenPlaces, reading: Reading, output: Output) -> Iterator[tuple[Index, inputs.Sources, Reading]]:
    """Yield the index of ``claim``, the sources of documents, and the options for reading them.

    Without an address the index is a temporary one: its idf is learned from the sources, which are then read twice.
    """
    sources = inputs.Sources(places.files)
    if places.url is not None:
        with options.open_index(places.url) as index:
            output.warn_of_expiry(index)
            yield index, sources, reading.into_lasting()
        return
    places.await_input()
    with corpus.documents.spooled(sources, wanted=True) as stdin:
        reading = replace(reading, settings=replace(reading.settings, stdin=stdin))
        texts = partial(corpus.sample.texts_of, sources, reading.settings, output.listener)
        with _temporary(sources, partial(_learned, {}, reading, texts, output), output) as index:
            yield index, sources, reading


@command(
    "dedup",
    interrupted=left_by_interrupt,
    examples=[
        "simhash-hbase dedup corpus.jsonl --output clean.jsonl > decisions.jsonl",
        "simhash-hbase dedup file:crawl.index --create crawl-*.jsonl.gz > decisions.jsonl",
        "simhash-hbase dedup file:crawl.index --create crawl.jsonl --output kept.jsonl --results done.jsonl --resume",
    ],
)
@named_argument
@options.collected(
    "choice",
    option("--create", is_flag=True, help="Make the index if there is none, learning the idf from FILEs."),
    options.keep,
    option("--by", metavar="FIELD", help="Count documents, kept and removed ones by their FIELD, such as site; of a URL"
           " by its host."),
    option("--fail-above", type=float, metavar="SHARE", help="Write nothing and end with exit code 4 if more than this"
           " share of the documents, or of one source of --by, would be removed."),
    option("--fail-from", type=int, default=1, show_default=True, metavar="N", help="With --fail-above and --by, judge"
           " sources of N documents or more."),
    option("--exact", is_flag=True, help="Judge near copies by their texts: at the threshold no pair is wrong."),
    option("--contained", type=float, metavar="SHARE", help="Drop a near copy only if the kept text holds this share"
           " of its shingles; decisions of others show both figures. Implies --exact."),
    option("--dry-run", is_flag=True, help="Change no index; files that other options name are written."),
    option("--output", type=click.Path(), metavar="PLACE", help="Write the kept documents to PLACE, as they"
           " came, or as its suffix says (.jsonl, .csv, .parquet); whole files to a folder."),
    option("--counts", metavar="FIELD", help="Write into each record of --output how many copies of it were"
           " removed; with --by, into FIELD_sources from how many sources."),
    option("--duplicates", type=click.Choice(["drop", "revisit"]), default="drop", show_default=True, help="In the"
           " --output of a crawl, leave duplicates out, or write records that refer to the kept ones."),
    option("--clusters", type=click.Path(dir_okay=False), metavar="FILE",
           help="Write the clusters, each original with its duplicates, to FILE."),
    option("--report", type=click.Path(dir_okay=False), metavar="FILE.html", help="Write a page for people to"
           " FILE.html: figures, clusters, and pairs side by side; reads the input once more."),
    option("--results", type=click.Path(dir_okay=False), metavar="FILE",
           help="Write the decisions to FILE, with a checkpoint; not for standard input."),
    option("--resume", is_flag=True, help="Continue an earlier run of --results FILE."),
    option("--memory", "memory_mb", type=int, default=GROUP_MB, show_default=True, metavar="MB", help="Memory for rows"
           " that are not yet written to a folder; for millions of documents more of it writes fewer bytes."),
    options.batch,
    make=lambda create, report, **rest: options.Choice(create=create, report=report, options=DedupOptions(**rest)),
)  # fmt: skip
@options.index
@options.collection
@options.reading
@options.output
def dedup(
    places: GivenPlaces, choice: Choice, index_choice: Choice, reading: Reading, collection: str | None, output: Output
) -> int:
    """Decide a corpus at once, against the index and itself: each document is an original or a duplicate of one.

    Without URL the index is a temporary one, made as --create does.

    Documents in the index always win; a second run over the same input prints the same. Some hundred bytes of memory
    are needed for each document, for its id.
    """
    settings = _dedup_options(places, choice)
    surroundings = _surroundings(places, choice, index_choice)
    places.await_input()
    deduplication = corpus.Deduplication(
        places.files, settings, reading=reading, lines=output, listener=output.listener, surroundings=surroundings
    )
    with output, deduplication:
        opened = replacing(choice.report) if choice.report else nullcontext()
        with _open(places, deduplication, index_choice, choice, output) as (index, make), opened as report:
            output.warn_of_expiry(index)
            lasting = make and (lambda: make().in_collection(collection))
            try:
                done = deduplication.run(index.in_collection(collection), lasting=lasting)
            except TooManyDuplicates:
                _show_sources(settings, deduplication.by_source, output)
                raise
            seconds = output.seconds()
            if report is not None:
                # To import it takes longer than to decide a few documents.
                from simhash_hbase.report.pairs import DecidedCorpus
                from simhash_hbase.report.write import ReportRun, write_report

                decided = DecidedCorpus(
                    lines=deduplication.lines,
                    sources=deduplication.sources,
                    settings=replace(deduplication.reading.settings, agree_field=index.profile.agree),
                    analysis=index.analysis,
                    refused=done.refused,
                )
                run = ReportRun(
                    index=secretless(places.url or "a temporary index"),
                    time=datetime.now(UTC),
                    keep=settings.keep,
                    dry=settings.dry_run,
                    by=settings.by,
                    by_source=done.by_source,
                    words=output.in_options,
                )
                write_report(report, decided, run, meter=output.meter)
    counts = {"kept": done.originals, "duplicates": done.duplicates, "refused": done.refused}
    if done.uncontained:
        counts["kept for too little in a near copy"] = done.uncontained
    output.summary("dedup", done.documents, seconds=seconds, decided_before=done.decided_before, **counts)
    _show_sources(settings, done.by_source, output)
    places.say_gone(output)
    if choice.report:
        output.note(f"the report is in {choice.report}")
    return exits.after(done.refused)


def _show_sources(settings: DedupOptions, figures: Sequence[SourceFigures], output: Output) -> None:
    """Print the numbers of documents of the largest sources, those of the option ``--by``; nothing without it."""
    if settings.by is None:
        return
    if not any(each.source for each in figures):
        output.note(f"no document names a source in the field {settings.by!r}")
        return
    for line in source_lines(figures, settings.by, shown=SHOWN_SOURCES):
        output.note(f"  {line}")


def _dedup_options(places: GivenPlaces, choice: Choice) -> DedupOptions:
    """Return the options of ``dedup`` for the library; raise an error for one that needs the address of an index."""
    settings: DedupOptions = choice.options
    places.check_batch(settings.batch)
    if places.url is None and choice.create:
        raise InvalidArgument("--create needs an address, such as file:docs.index")
    if places.url is None and settings.resume:
        raise InvalidArgument(
            "--resume needs the index of the earlier run, which is gone if it was temporary: name its address"
        )
    return replace(settings, lasting=places.url is not None)


def _surroundings(places: GivenPlaces, choice: Choice, index_choice: Choice) -> corpus.Surroundings:
    """Return what the command does itself before and after the library's run: it makes the index and the report."""
    from simhash_hbase.stores.addresses import folder_of

    url = places.url
    return corpus.Surroundings(
        learn=choice.create or url is None,
        remember=choice.report is not None,
        made_with={
            "create": choice.create,
            **options.profile_fields(index_choice),
            **options.table_fields(index_choice),
        },
        beside={"the index": folder_of(url) if url else None, "`report`": choice.report},
    )


@contextmanager
def _open(
    places: GivenPlaces, deduplication: corpus.Deduplication, index_choice: Choice, choice: Choice, output: Output
) -> Iterator[tuple[LocalIndex, Callable[[], LocalIndex] | None]]:
    """Yield the index of ``dedup`` and None, or a trial index and the function that makes the real one.

    There is a trial index where ``--fail-above`` may forbid the run and the index is still to be made. A missing index
    is made with ``--create``; without an address the index is a temporary one.
    """
    from simhash_hbase.api import create_index, create_index_like, open_local_index, temporary_index
    from simhash_hbase.stores.addresses import check_table_options

    url, fields, table = places.url, options.profile_fields(index_choice), options.table_fields(index_choice)
    learn = partial(_fields_for, deduplication, fields, output)
    if url is None:
        if table:
            raise InvalidArgument("--regions and --compression are for tables in HBase: name the address of one")
        with _temporary(deduplication.sources, learn, output) as index:
            yield index, None
        return
    if not choice.create and (fields or table):
        raise InvalidArgument(options.fixed_profile(index_choice, or_else="add --create"))
    dry_run = choice.options.dry_run
    with ExitStack() as stack:
        try:
            index = stack.enter_context(open_local_index(url, readonly=dry_run))
        except IndexMissing as error:
            if not choice.create:
                raise Permanent(f"{exits.sentence_of(error)}, or dedup with --create") from error
        else:
            if fields:
                # Asked for as False, stored as None.
                stored = {
                    name: None if value is False and name == "sketch" else value for name, value in fields.items()
                }
                index.profile.check_same(index.profile.replace(**stored))
            yield index, None
            return
        check_table_options(url, **table)
        if choice.options.fail_above is None or dry_run:
            where = {"url": "memory:"} if dry_run else {"url": url, **table}
            yield stack.enter_context(output.made(lambda: create_index(**where, **learn()))), None
            return
        trial = stack.enter_context(temporary_index(inputs.total_bytes(deduplication.sources), **learn()))
        yield trial, lambda: stack.enter_context(output.made(lambda: create_index_like(url, trial, **table)))


def _fields_for(deduplication: corpus.Deduplication, fields: Fields, output: Output) -> Fields:
    """Return the options with which to create the index of a run: `fields`, and the idf to be learned.

    An error is raised first if the run cannot be made in such an index.
    """
    from simhash_hbase.profile import Profile

    deduplication.check_profile(Profile.resolve(**fields))
    return _learned(fields, deduplication.reading, deduplication.texts, output)


def _learned(fields: Fields, reading: Reading, texts: Callable[[], Iterator[str]], output: Output) -> Fields:
    """Return the options with which to create an index: `fields`, and by default texts from which it learns its idf."""
    settings = reading.settings
    if settings.features_field is not None:
        return {"analyzer": "weighted", **fields}
    if fields.get("analyzer", "learned") != "learned" or settings.simhash_field is not None:
        return fields
    output.note("learning the idf from the input …")
    return {**fields, "learn_from": texts(), "workers": reading.processes}


@contextmanager
def _temporary(sources: Sequence[str], learn: Callable[[], Fields], output: Output) -> Iterator[LocalIndex]:
    """Yield a temporary index for the input, which is deleted after the block; `learn` returns its options.

    If no record has a text, nothing is learned: each record is refused, and an empty input has an empty result.
    """
    from simhash_hbase.api import temporary_index

    size, fields = inputs.total_bytes(sources), learn()
    if isinstance(texts := fields.get("learn_from"), Iterator):
        try:
            fields["learn_from"] = chain([next(texts)], texts)
        except corpus.sample.NothingToLearn:
            fields = {name: fields[name] for name in fields if name not in ("analyzer", "learn_from")}
    with ExitStack() as stack:
        yield output.made(lambda: stack.enter_context(temporary_index(size, **fields)))
