"""``simhash-hbase dedup``."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from simhash_hbase.cli.corpus.clusters import write_clusters
from simhash_hbase.cli.corpus.decisions import (
    Checkpoint,
    Decisions,
    FileDecisions,
    PrintedDecisions,
    checkpoint_path,
    new_checkpoint,
)
from simhash_hbase.cli.corpus.destinations import check_destinations
from simhash_hbase.cli.corpus.documents import Documents, input_settings, take_input
from simhash_hbase.cli.corpus.kept.opening import NOTHING, Kept, kept_form, looks_into, open_kept
from simhash_hbase.cli.corpus.kept.rows import rows_path
from simhash_hbase.cli.corpus.longest import decide_longest
from simhash_hbase.cli.corpus.report import open_report, partial_report, tell_report
from simhash_hbase.cli.corpus.sample import texts_of
from simhash_hbase.cli.corpus.stdin import spooled
from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import (
    files_argument,
    index_options,
    input_options,
    output_options,
    profile_fields,
    profile_options,
    store_fields,
    url_argument,
)
from simhash_hbase.cli.screen.output import Output
from simhash_hbase.cli.screen.shortfalls import warn_of_shortfalls, warnings_as_lines
from simhash_hbase.entries import Entries
from simhash_hbase.errors import IndexMissing, InvalidArgument
from simhash_hbase.index.answers import Decision
from simhash_hbase.index.decide.dedup import Deduplicator
from simhash_hbase.index.index import Index
from simhash_hbase.index.jsonforms import decision_record
from simhash_hbase.inputs import Document, Place, Reject, repeated_id
from simhash_hbase.opening import create_index, create_store, open_index
from simhash_hbase.pipeline.chunks import Chunk
from simhash_hbase.report import Corpus
from simhash_hbase.rows.keys import id_digest


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
@option("--create", is_flag=True, help="Make the index where there is none, learning the idf from FILEs.")
@option("--keep", type=click.Choice(["first", "longest"]), default="first", show_default=True,
              help="Of near copies, which becomes the original.")  # fmt: skip
@option("--dry-run", is_flag=True, help="Change no index; files that other options name are written.")
@option("--output", "kept", type=click.Path(), metavar="PLACE", help="Write the kept documents here, as they"
              " came: lines, rows of Parquet, records of a crawl into a file; whole files into a folder.")  # fmt: skip
@option("--clusters", type=click.Path(dir_okay=False), metavar="FILE", help="Write each original that has"
              " duplicates here, with them.")  # fmt: skip
@option("--report", type=click.Path(dir_okay=False), metavar="FILE.html", help="Write a page for people here:"
              " figures, clusters, and pairs side by side; reads the input once more.")  # fmt: skip
@option("--results", type=click.Path(dir_okay=False), metavar="FILE", help="Write the decisions here, with a"
              " checkpoint; not for standard input.")  # fmt: skip
@option("--resume", is_flag=True, help="Go on with --results FILE where an earlier run was ended.")
@profile_options
@index_options
@input_options
@output_options
def command(url: str, files: tuple[str, ...], **options: Any) -> int:  # noqa: ANN401
    """Decide a corpus at once, against the index and itself: each document is an original or a duplicate of one.

    What the index holds already always wins; a second run over the same input prints the same. Needs some hundred
    bytes of memory a document, for the ids.
    """
    _check_results(options)
    given = take_input(options)
    check_destinations(files, {"the index": _index_folder(url), **_written(options, given)})
    output = Output.of(options)
    with output, ExitStack() as stack:
        new = new_checkpoint(files, {**options, **given}) if options["results"] else Checkpoint("", "")
        decisions = stack.enter_context(_decisions(options, new, output))
        given["stdin"] = stack.enter_context(spooled(files, wanted=_reads_twice(options, given)))
        form = kept_form(files, input_settings(given), output) if options["kept"] else NOTHING
        index = stack.enter_context(_open(url, files, given, options, output))
        deduplicator = stack.enter_context(_deduplicator(index, dry_run=options["dry_run"]))
        report = stack.enter_context(open_report(options["report"]))
        keep, resume = _kept_before(options, decisions), options["resume"]
        kept = stack.enter_context(open_kept(options["kept"], form, output, keep=keep, resume=resume))
        documents = stack.enter_context(Documents("dedup", files, given, output, keep_raw=form.takes_bytes))
        run = _Run(index, deduplicator, documents, decisions, kept, new)
        if options["keep"] == "longest":
            run.longest(output)
        else:
            run.first()
        if options["clusters"]:
            write_clusters(decisions.lines(), options["clusters"])
        if report is not None:
            corpus = Corpus(
                lines=decisions.lines,
                sources=files,
                settings=input_settings(given),
                analysis=index.analysis,
                refused=documents.refused,
            )
            tell_report(report, corpus, url, options, output)
    progress = run.progress
    output.summary(
        "dedup",
        documents.read,
        kept=progress.originals,
        duplicates=documents.read - progress.originals,
        refused=documents.refused,
    )
    if options["report"]:
        output.note(f"the report is in {options['report']}")
    return documents.exit_code


def _check_results(options: dict[str, Any]) -> None:
    if options["resume"] and not options["results"]:
        raise InvalidArgument("--resume goes with --results FILE")
    if options["resume"] and (options["keep"] == "longest" or options["dry_run"]):
        raise InvalidArgument("--resume cannot go on where --keep longest or --dry-run was ended: leave one out")


def _reads_twice(options: dict[str, Any], given: dict[str, Any]) -> bool:
    """Tell whether the input is looked at before it is decided, for the idf or to keep it, or after, for a report."""
    looked_into = options["kept"] is not None and looks_into(given["input_format"])
    return options["create"] or looked_into or options["report"] is not None


def _kept_before(options: dict[str, Any], decisions: Decisions) -> int | None:
    """Return how much an earlier run kept; None where none goes on with another."""
    if not options["results"]:
        return None
    return decisions.start.kept_bytes if decisions.start else 0


def _index_folder(url: str) -> str | None:
    scheme, _, path = url.partition(":")
    return os.path.expanduser(path) or None if scheme == "file" else None


def _written(options: dict[str, Any], given: dict[str, Any]) -> dict[str, str | None]:
    """Name every file that a run with these options writes."""
    results, report = options["results"], options["report"]
    return {
        "--output": options["kept"],
        "the numbers of --output's rows": rows_path(options["kept"]) if options["kept"] and results else None,
        "--clusters": options["clusters"],
        "--report": report,
        "the report's partial file": partial_report(report) if report else None,
        "--results": results,
        "the checkpoint": checkpoint_path(results) if results else None,
        "--rejects": given["rejects"],
    }


def _decisions(options: dict[str, Any], new: Checkpoint, output: Output) -> AbstractContextManager[Decisions]:
    if options["results"]:
        return FileDecisions(options["results"], new, resume=options["resume"])
    return PrintedDecisions(output, remember=bool(options["clusters"] or options["report"]))


class _Run:
    """One corpus on its way through."""

    def __init__(
        self,
        index: Index,
        deduplicator: Deduplicator,
        documents: Documents,
        decisions: Decisions,
        kept: Kept,
        new: Checkpoint,
    ) -> None:
        self.progress = decisions.start or new
        self._index = index
        self._deduplicator = deduplicator
        self._documents = documents
        self._decisions = decisions
        self._kept = kept
        self._seen: set[bytes] = set()
        if decisions.start is not None:
            done = decisions.start
            documents.skip(done.records, read=done.read, refused=done.refused)
            self._seen.update(map(id_digest, decisions.ids()))

    def first(self) -> None:
        """Decide in the order of the input."""
        # Lines reach the file before a batch is whole: a run that is killed then goes on from here.
        self._commit()
        for chunk in self._documents.chunks(self._index.analysis):
            entries, texts = self._once(chunk)
            decisions = self._decide(entries)
            for document, decision in zip(texts, decisions, strict=True):
                self._tell(document.raw, document.place, decision)
            self.progress.records += chunk.records
            self._commit()
        self.progress.finished = True
        self._commit()

    def longest(self, output: Output) -> None:
        """Decide by length downwards, print in the order of the input."""
        parts = (self._once(chunk) for chunk in self._documents.chunks(self._index.analysis))
        for raw, place, decision in decide_longest(parts, self._decide, output):
            self._tell(raw, place, decision)
        self._commit()

    def _commit(self) -> None:
        """Make durable what was told, the checkpoint last."""
        self.progress.read, self.progress.refused = self._documents.read, self._documents.refused
        self.progress.kept_bytes = self._kept.commit()
        self._decisions.commit(self.progress)

    def _decide(self, entries: Entries) -> list[Decision]:
        return self._index.dedup_entries(entries, self._deduplicator)

    def _once(self, chunk: Chunk) -> tuple[Entries, list[Document]]:
        """Refuse documents whose id came before in this input."""
        entries, documents = chunk.entries, chunk.kept
        keep = []
        for at, document in enumerate(documents):
            digest = id_digest(document.id)
            if digest in self._seen:
                reason = repeated_id(document.id, document.place)
                self._documents.refuse(Reject(document.place, reason, document.raw or b"", document.id))
                self._documents.read -= 1
            else:
                self._seen.add(digest)
                keep.append(at)
        if len(keep) == len(documents):
            return entries, documents
        return entries.take(keep), [documents[at] for at in keep]

    def _tell(self, raw: bytes | None, place: Place, decision: Decision) -> None:
        self.progress.originals += decision.is_original
        self._decisions.line(decision_record(decision))
        if decision.is_original:
            self._kept.write(raw or b"", decision.id, place)


def _open(url: str, sources: tuple[str, ...], given: dict[str, Any], options: dict[str, Any], output: Output) -> Index:
    fields = profile_fields(options)
    if not options["create"] and (fields or store_fields(options)):
        raise InvalidArgument("the profile is fixed when an index is made: leave out its options, or add --create")
    try:
        index = open_index(url, readonly=options["dry_run"])
    except IndexMissing:
        if not options["create"]:
            raise
        stored = {} if options["dry_run"] else store_fields(options)
        with warnings_as_lines(output):
            made = _create("memory:" if options["dry_run"] else url, sources, given, {**fields, **stored}, output)
        warn_of_shortfalls(made.store, output)
        return made
    if fields:
        # Asked for as False, stored as None.
        wanted = {name: None if value is False and name == "sketch" else value for name, value in fields.items()}
        index.profile.check_same(index.profile.replace(**wanted))
    return index


def _create(url: str, sources: tuple[str, ...], given: dict[str, Any], fields: dict[str, Any], output: Output) -> Index:
    """Make the index; by default its idf is learned from the input."""
    settings = input_settings(given)
    learns = settings.simhash_field is None and settings.features_field is None
    if fields.get("analyzer", "learned") == "learned" and learns:
        output.note("learning the idf from the input …")
        fields.pop("analyzer", None)
        return create_index(url, learn_from=texts_of(sources, settings, output), **fields)
    if settings.features_field is not None:
        fields.setdefault("analyzer", "weighted")
    return create_index(url, **fields)


@contextmanager
def _deduplicator(index: Index, *, dry_run: bool) -> Iterator[Deduplicator]:
    """Make what decides; a dry run writes to a temporary folder that is thrown away."""
    if not dry_run:
        yield index.deduplicator()
        return
    with tempfile.TemporaryDirectory(prefix="simhash-hbase-") as folder:
        scratch = create_store(f"file:{Path(folder) / 'scratch'}")
        try:
            yield index.deduplicator(scratch=scratch)
        finally:
            scratch.close()
