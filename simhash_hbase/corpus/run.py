"""De-duplication of a corpus: reads it, decides each document by an index, and writes decisions and kept documents."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from simhash_hbase.corpus import checkpoint, sample
from simhash_hbase.corpus.documents import Documents, UniqueIds, are_made_here, check_destinations, spooled
from simhash_hbase.corpus.forms import RECORDS, KeptForm, kept_form, looks_into
from simhash_hbase.corpus.options import DedupOptions, Lines, Reading, RunListener, Summary, Surroundings
from simhash_hbase.corpus.ranking import Decide, RankedDocuments
from simhash_hbase.corpus.tally import ClusterTally, UnlikeRemainders, check_removed
from simhash_hbase.corpus.writers import Kept, KeptCaptures, check_kept, open_kept, rows_path
from simhash_hbase.errors import InvalidArgument, TooManyDuplicates
from simhash_hbase.features.chunks import Chunk
from simhash_hbase.features.workers import Workers
from simhash_hbase.files.local import WatchedPipes, replacing
from simhash_hbase.files.remote import is_remote
from simhash_hbase.index import exact, indexrows
from simhash_hbase.index.decisions import Decisions
from simhash_hbase.index.dedup import Deduplicator
from simhash_hbase.index.gathering import WriteGroups
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.inputs import Document, Sources, are_files_here, total_bytes
from simhash_hbase.inputs.columns import DocumentColumns
from simhash_hbase.profile import Profile
from simhash_hbase.report.sources import SourceFigures
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore

AHEAD_BYTES = 16 << 20
"""Size in bytes of an input above which worker processes start while an idf table is learned from it."""


def deduplicate(
    index: LocalIndex,
    sources: Sequence[str],
    options: DedupOptions | None = None,
    *,
    reading: Reading | None = None,
    lines: Lines | None = None,
    listener: RunListener | None = None,
) -> Summary:
    r"""De-duplicate a corpus against the index and itself: decide each document as an original or a duplicate of one.

    Parameters
    ----------
    index : Index
        Its documents always win; a second run over the same input makes the same decisions.
    sources : sequence of str
        Files, folders and patterns; ``"-"`` is standard input.
    options : DedupOptions, optional
        Which of near copies is kept, and which files are written.
    reading : Reading, optional
        How documents are read.
    lines : Lines, optional
        Takes the decisions in input order, unless `options` names a file for them.
    listener : RunListener, optional
        Hears of refused records, warnings and progress.

    Returns
    -------
    Summary

    Raises
    ------
    InvalidArgument
        When options contradict each other, or a file cannot be where it was asked for.
    FileNotFoundError
        When the folder of a file to write does not exist; before anything is read.
    InvalidInput
        When a source cannot be read at all; a record that cannot be read is refused, and the rest goes on.

    Notes
    -----
    Needs some hundred bytes of memory a document, for the ids. Decisions stay when an error or an
    interrupt ends the run; with `options.results` the same call with `resume` repeats no finished work.

    Examples
    --------
    >>> from simhash_hbase import create_index
    >>> with tempfile.TemporaryDirectory() as folder, create_index("memory:", analyzer="shingle") as index:
    ...     path = Path(folder, "news.jsonl")
    ...     _ = path.write_text('{"text": "an article"}\n{"text": "an article"}\n{"text": "another thing"}\n')
    ...     deduplicate(index, [str(path)])
    Summary(documents=3, originals=2, refused=0, decided_before=0, uncontained=0, by_source=())
    """
    with Deduplication(sources, options, reading=reading, lines=lines, listener=listener) as corpus:
        return corpus.run(index)


class Deduplication:
    """De-duplication of a corpus in two steps, for a caller who makes the index for the input, or reads results again.

    Entering the context checks the input, the options and the files to be written; `run` then needs an index, which the
    caller may make in between. Afterwards the caller may read input and decisions again. Parameters are those of
    `deduplicate`, and `surroundings`, which says which of these the caller does.
    """

    def __init__(
        self,
        sources: Sequence[str],
        options: DedupOptions | None = None,
        *,
        reading: Reading | None = None,
        lines: Lines | None = None,
        listener: RunListener | None = None,
        surroundings: Surroundings | None = None,
    ) -> None:
        self.sources = Sources(sources)
        self.reading = reading or Reading()
        """How the input is read; if standard input was copied to a file, that copy is read instead."""
        self._options = options or DedupOptions()
        self._lines = lines
        self._listener = listener or RunListener()
        self._surroundings = surroundings or Surroundings()
        self._form: KeptForm | None = None
        self._stack = ExitStack()
        self._decisions: checkpoint.Sink
        self._pool: Workers | None = None
        self._pipes = WatchedPipes(())
        self._may_write = self._options.fail_above is None
        self.by_source: tuple[SourceFigures, ...] = ()
        """Counts of each source, if the option `fail_above` is used; also after `TooManyDuplicates` was raised."""

    def __enter__(self) -> Self:
        options, settings = self._options, self.reading.settings
        if options.judges_texts and (settings.simhash_field or settings.features_field):
            raise InvalidArgument("documents with fingerprints or features of their own have no texts to compare")
        with ExitStack() as stack:
            self._pipes = stack.enter_context(closing(self._checked_destinations()))
            self._decisions = self._make_decisions()
            stack.enter_context(self._decisions)
            self._prepare_input(stack)
            self._prepare_output()
            self._stack = stack.pop_all()
        if self._form is not None and self._form.loss is not None:
            self._listener.note(self._form.loss)
        return self

    def _make_decisions(self) -> checkpoint.Sink:
        options = self._options
        if options.results:
            new = checkpoint.of_beginning(self.sources, self._deciding())
            return checkpoint.FileDecisions(options.results, new, resume=options.resume)
        return checkpoint.HandedDecisions(self._lines, remember=bool(options.clusters or self._surroundings.remember))

    def _prepare_input(self, stack: ExitStack) -> None:
        """Copy standard input to the disk if it is read twice; start worker processes if an idf table is learned."""
        options, settings, surroundings = self._options, self.reading.settings, self._surroundings
        is_read_ahead = options.output is not None and looks_into(settings.format)
        is_read_again = surroundings.learn or surroundings.remember or is_read_ahead
        stdin = stack.enter_context(spooled(self.sources, wanted=is_read_again))
        if surroundings.learn and self.reading.processes > 1:
            size = Path(stdin).stat().st_size if stdin else total_bytes(self.sources)
            if size is not None and size > AHEAD_BYTES:
                self._pool = stack.enter_context(closing(Workers(self.reading.processes - 1)))
                self._pool.start()
        settings = replace(
            settings, stdin=stdin, preference=options.preference, by_field=options.by, new_fields=options.new_fields
        )
        self.reading = replace(self.reading, settings=settings)

    def _prepare_output(self) -> None:
        """Choose the format in which kept documents are written, by the input and the output's name, and check it."""
        options = self._options
        if options.output:
            self._form = kept_form(self.sources, self.reading.settings, options.output)
            if options.counts is not None:
                self._form = self._form.with_numbers(options.new_fields)
            check_kept(options.output, self._form, resume=self._decisions.start is not None)
        if options.duplicates == "revisit":
            if self._form is None or self._form.kind != RECORDS:
                raise InvalidArgument("`duplicates=revisit` needs `output=FILE`, and crawls as the input")
            self._form = replace(self._form, refers=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def check_profile(self, profile: Profile) -> None:
        """Raise `InvalidArgument` if the options of the run do not fit an index with this profile."""
        if self._options.judges_texts:
            exact.check_judged(profile)

    def texts(self) -> Iterator[str]:
        """Return a random sample of the texts of the input, from which the caller of the run learns an idf table."""
        return sample.texts_of(self.sources, self.reading.settings, self._listener)

    def lines(self) -> Iterator[bytes]:
        """Yield all decisions again, after the run, as JSON lines in the order of the input."""
        return self._decisions.lines()

    def run(self, index: LocalIndex, *, lasting: Callable[[], LocalIndex] | None = None) -> Summary:
        """Decide all documents by an index, write the files of the options, and return the counts of documents.

        Errors are those of `deduplicate`. With `fail_above` a caller may pass a temporary index and `lasting`, a
        function that makes the index which stays: it is called if no more documents would be removed than allowed.
        """
        options, start = self._options, self._decisions.start
        # Read before the run: its progress is the same object, which grows.
        before = start.read if start else 0
        takes_bytes = self._form is not None and self._form.takes_bytes
        # A continued run must cut the input where the earlier run would have: into whole chunks. After the wait for the
        # idf of a long input a caller can wait a chunk longer, and all processes are at work from the first one on.
        soon = options.results is None and self._pool is None
        stays = options.lasting and not options.dry_run and not index.address.startswith("memory:")
        stays = stays or lasting is not None
        with (
            self._read_as(lasting=stays) as reading,
            Documents("dedup", self.sources, reading, self._listener, keep_raw=takes_bytes, soon=soon) as documents,
        ):
            documents.pool = self._pool
            is_counted = bool(options.by or options.counts or options.fail_above is not None)
            run = _Run(index, documents, self._decisions, counts=is_counted)
            if options.decides_at_end:
                self._decide_at_end(run, index, lasting)
            else:
                with self._deduplicating(index) as (decide, groups), self._open_kept() as kept:
                    run.first(_Writing(decide, groups, kept), with_texts=options.judges_texts)
        if options.clusters:
            checkpoint.write_clusters(self._decisions.lines(), options.clusters)
        self._warn_of_remainders(run)
        by_source = () if options.by is None else run.tally.figures()
        return Summary(documents.read, run.progress.originals, documents.refused, before, run.uncontained, by_source)

    def _decide_at_end(self, run: "_Run", index: LocalIndex, lasting: Callable[[], LocalIndex] | None) -> None:
        """Read all documents, decide them, then write the results.

        With `fail_above` the documents are first decided without writing, and nothing is written if too large a share
        of them would be removed. `lasting` makes the index that stays, as for `run`.
        """
        options, listener = self._options, self._listener
        with RankedDocuments(options.preference, with_texts=options.judges_texts) as waiting:
            waiting.read(run.parts(with_texts=options.judges_texts))
            is_guarded = options.fail_above is not None
            is_tried = is_guarded and not options.dry_run and (options.lasting or lasting is not None)
            if is_tried:
                # The index that the caller made for this takes the decisions of the first time, too.
                with self._deduplicating(index, dry_run=lasting is None) as (decide, _):
                    waiting.decide(decide, listener, name="dedup: decide, without writing")
                run.count(waiting)
                self._check(run, waiting)
                index = index if lasting is None else lasting()
            with self._deduplicating(index) as (decide, groups):
                waiting.decide(decide, listener)
                groups.commit()
                run.count(waiting)
                if not is_tried:
                    self._check(run, waiting)
                with self._open_kept() as kept:
                    numbers = run.tally.of_clusters()[: len(options.new_fields)]
                    run.write(waiting, _Writing(decide, groups, kept), numbers)

    def _check(self, run: "_Run", waiting: RankedDocuments) -> None:
        """Raise `TooManyDuplicates` if a larger share of documents would be removed than `fail_above` allows.

        `waiting` has the decisions about all documents, which wait to be written.
        """
        self.by_source = run.tally.figures()
        try:
            check_removed(self.by_source, self._options)
        except TooManyDuplicates:
            # Main texts that are one notice are a likely cause.
            for document, decision in waiting:
                run.unlike.decide(document, decision)
            self._warn_of_remainders(run)
            raise
        self._may_write = True

    def _warn_of_remainders(self, run: "_Run") -> None:
        if (warning := run.unlike.warning()) is not None:
            self._listener.note(warning)

    @contextmanager
    def _read_as(self, *, lasting: bool) -> Iterator[Reading]:
        """Yield the options for reading the input; with `fail_above` they send refused records to a temporary file.

        After the block that file is copied to where the caller asked for it, unless the run was not allowed to write.
        `lasting` says whether the decisions stay in an index after the run.
        """
        reading = self.reading.into_lasting(lasting=lasting)
        if self._options.fail_above is None or reading.rejects is None:
            yield reading
            return
        with tempfile.TemporaryDirectory(prefix="simhash-hbase-") as folder:
            held = Path(folder) / "rejects"
            try:
                yield replace(reading, rejects=str(held))
            finally:
                if self._may_write:
                    with held.open("rb") as source, replacing(reading.rejects) as target:
                        shutil.copyfileobj(source, target)

    @contextmanager
    def _deduplicating(self, index: LocalIndex, *, dry_run: bool | None = None) -> Iterator[tuple[Decide, WriteGroups]]:
        """Yield the function that decides a batch of documents by the index, and the groups of batches.

        A group is the batches that are written to the store by one commit.
        """
        options = self._options if dry_run is None else replace(self._options, dry_run=dry_run)
        gathers = are_files_here(self.sources) and are_made_here(self._named_files())
        with (
            _deduplicator(index, options) as deduplicator,
            WriteGroups(deduplicator.target, gathers=gathers, memory_mb=options.memory_mb) as groups,
        ):

            def decide(entries: Entries, texts: list[str]) -> Decisions:
                self._pipes.check()
                with groups.batch():
                    return index.dedup_entries(entries.in_batch(options.batch), deduplicator, texts=texts)

            if isinstance(self._decisions, checkpoint.FileDecisions):
                self._decisions.begin(indexrows.identity(index.store, index.collection.name))
            yield decide, groups

    def _open_kept(self) -> AbstractContextManager[Kept]:
        """Open the file or folder for the kept documents, and return their writer as a context."""
        options, start = self._options, self._decisions.start
        # None where no run can continue this one; a number of bytes or files where it can.
        keep = (start.kept_bytes if start else 0) if options.results else None
        return open_kept(options.output, self._form, self._listener, keep=keep, resume=start is not None)

    def _checked_destinations(self) -> WatchedPipes:
        """Check, before the input is read, that all files can be written; return the named pipes among them."""
        check_destinations(self.sources, self._destinations())
        return WatchedPipes(path for path in self._named_files() if not is_remote(path))

    def _named_files(self) -> list[str]:
        """Return the paths of the files to be written that the caller named by a parameter, such as `output`.

        The index is not among them, nor a file that the run makes beside another one, such as a checkpoint.
        """
        return [path for name, path in self._destinations().items() if path is not None and name.startswith("`")]

    def _destinations(self) -> Mapping[str, str | None]:
        """Return the paths of all files that the run and its caller write, by what error messages call them."""
        return {**self._surroundings.beside, **self._written()}

    def _written(self) -> Mapping[str, str | None]:
        """Return the paths of all files that the run writes, by what error messages call them; None: not asked for."""
        options, results = self._options, self._options.results
        return {
            "`output`": options.output,
            "the numbers of `output`'s rows": rows_path(options.output) if options.output and results else None,
            "`clusters`": options.clusters,
            "`results`": results,
            "the checkpoint": checkpoint.path_of(results) if results else None,
            "`rejects`": self.reading.rejects,
        }

    def _deciding(self) -> list[object]:
        """Return the values of all options that must be the same in a resumed run as in the interrupted one."""
        options, reading = self._options, self.reading
        at_end = [options.fail_above, options.counts]
        return [
            options.keep,
            options.exact,
            options.contained,
            options.dry_run,
            options.output,
            options.clusters,
            self._surroundings.made_with,
            options.duplicates,
            asdict(reading.settings),
            reading.rejects,
            # A run without these is continued by the words of before.
            *filter(None, [options.batch]),
            *([["at the end", options.by, *at_end]] if any(value is not None for value in at_end) else []),
        ]


class _Writing(NamedTuple):
    """The function that decides a batch, groups of batches that one commit writes, and the writer of kept documents."""

    decide: Decide
    groups: WriteGroups
    kept: Kept


class _Run:
    """One run over a corpus: reads its documents, decides them, counts, and writes decisions and kept documents.

    A chunk is the documents that are read and decided at a time. The checkpoint says how far the run has come, so that
    a resumed run continues after it.
    """

    def __init__(self, index: LocalIndex, documents: Documents, decisions: checkpoint.Sink, *, counts: bool) -> None:
        self.progress = decisions.progress
        self.uncontained = 0
        self.tally = ClusterTally()
        self.unlike = UnlikeRemainders()
        self.counts = counts  # Whether documents are counted by source and cluster.
        self._index = index
        self._documents = documents
        self._decisions = decisions
        if (done := decisions.start) is not None:
            documents.skip(done.records, read=done.read, refused=done.refused)
        self._unique_ids = UniqueIds(documents.refuse, decisions.ids())

    def _chunks(self, *, with_texts: bool) -> Iterator[Chunk]:
        return self._documents.chunks(self._index.analysis, self._index.profile, with_texts=with_texts)

    def first(self, writing: _Writing, *, with_texts: bool) -> None:
        """Decide and write each chunk of documents as it is read: so the first of near copies is kept.

        `with_texts` reads the texts of documents, which are compared when pairs are judged by their texts.
        """
        # Lines reach the file before a batch is whole: a run that is killed then continues from here.
        synced = done = self._synced(writing, self._noted(writing))
        try:
            for chunk in self._chunks(with_texts=with_texts):
                entries, documents = self._unique_ids(chunk)
                texts = [document.text or "" for document in documents] if with_texts else []
                decisions, columns = writing.decide(entries, texts), DocumentColumns.of(documents)
                if self.counts:
                    self.tally.read(columns.sources)
                    self.tally.decide(decisions)
                self._write(writing, columns, decisions)
                self.progress.records += chunk.records
                done = self._noted(writing)
                if writing.groups.is_durable:
                    synced = self._synced(writing, done)
        except BaseException as error:
            writing.groups.commit()
            if not writing.groups.is_undone:
                try:
                    # A file that has failed is not synced again: that would succeed, and prove nothing.
                    if isinstance(self._decisions, checkpoint.FileDecisions) and not isinstance(error, OSError):
                        writing.kept.sync()
                        synced = done
                finally:
                    # Whatever is wrong with the kept documents, the index has these decisions.
                    self._decisions.commit(synced)
            raise
        self._finish(writing)

    def parts(self, *, with_texts: bool) -> Iterator[tuple[Entries, Sequence[Document]]]:
        """Yield the entries and documents of each chunk of the input, to be decided when all of them are read."""
        for chunk in self._chunks(with_texts=with_texts):
            entries, documents = self._unique_ids(chunk)
            if self.counts:
                self.tally.read(document.source for document in documents)
            yield entries, documents

    def count(self, waiting: RankedDocuments) -> None:
        """Count anew by source and by cluster (an original with its duplicates) the decisions about all documents.

        `waiting` has these decisions. Counts of earlier decisions are dropped.
        """
        self.tally.begin_anew()
        if self.counts:
            self.tally.decide(waiting.decisions())

    def write(self, waiting: RankedDocuments, writing: _Writing, numbers: Sequence[NDArray[np.int64]]) -> None:
        """Write the decisions and the kept documents in the order of the input, when all documents are decided.

        `waiting` has the documents and decisions. `numbers` has an array for each field that the option `counts` adds,
        with a value for each document.
        """
        start = 0
        for columns, decisions in waiting.written():
            if start:
                # Lines and kept documents that wait would take as much memory as the corpus.
                self._synced(writing, self._noted(writing))
            stop = start + len(columns)
            added = list(zip(*(column[start:stop].tolist() for column in numbers), strict=True))
            self._write(writing, columns, decisions, added)
            start = stop
        self._finish(writing)

    def _finish(self, writing: _Writing) -> None:
        """Commit the last batches, write their decisions and kept documents, and mark the checkpoint as finished."""
        writing.groups.commit()
        self.progress.finished = True
        self._synced(writing, self._noted(writing))

    def _synced(self, writing: _Writing, done: checkpoint.Checkpoint) -> checkpoint.Checkpoint:
        """Sync the kept documents up to a checkpoint to the disk, commit their decisions, and return the checkpoint."""
        writing.kept.sync()
        self._decisions.commit(done)
        return done

    def _noted(self, writing: _Writing) -> checkpoint.Checkpoint:
        """Write the kept documents of all decided chunks; return the checkpoint that is valid once they are synced."""
        self.progress.read, self.progress.refused = self._documents.read, self._documents.refused
        self.progress.kept_bytes = writing.kept.flush()
        self.progress.result_bytes = self._decisions.length()
        return msgspec.structs.replace(self.progress)

    def _write(
        self, writing: _Writing, documents: DocumentColumns, decisions: Decisions, numbers: Sequence[Sequence[int]] = ()
    ) -> None:
        self.uncontained += sum(decision.near is not None for decision in decisions.others.values())
        for at, remainder in enumerate(documents.remainders):
            if remainder:
                self.unlike.decide(documents[at], decisions[at])
        originals = decisions.originals
        self.progress.originals += len(originals)
        self._decisions.take(decisions)
        if isinstance(writing.kept, KeptCaptures):
            writing.kept.write_decided(documents, decisions)
        else:
            writing.kept.write(documents, originals, numbers)


@contextmanager
def _deduplicator(index: LocalIndex, options: DedupOptions) -> Iterator[Deduplicator]:
    """Yield the object that decides batches by the index; with `dry_run` it writes to a temporary folder instead."""
    with exact.judging(index.profile, exact=options.exact, contained=options.contained) as judge:
        if not options.dry_run:
            yield index.deduplicator(judge=judge)
            return
        with (
            tempfile.TemporaryDirectory(prefix="simhash-hbase-") as folder,
            closing(EmbeddedStore.create(str(Path(folder) / "scratch"), EmbeddedOptions(durable=False))) as scratch,
        ):
            yield index.deduplicator(scratch=scratch, judge=judge)
