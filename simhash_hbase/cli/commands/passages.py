"""The commands for parts of texts: ``simhash-hbase find`` and ``passages``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import click

from simhash_hbase import corpus, inputs
from simhash_hbase.cli import exits, options
from simhash_hbase.cli.help import command, option
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.inputs.meter import counted
from simhash_hbase.profile.defaults import ITEM_SHARE

if TYPE_CHECKING:
    from simhash_hbase.cli.options import Choice, Output
    from simhash_hbase.corpus.contamination import SuiteCounts, TextItems
    from simhash_hbase.index.answers import ClueAnswer, PassagesAnswer
    from simhash_hbase.report.passages import PassagesReport

SHOWN_CHARACTERS = 60


@command(
    "find",
    examples=[
        "simhash-hbase find file:news.index --text '延安西路921号，进门左边第三棵树，有一个一百三十年前的'",
        "simhash-hbase find file:news.index clues.txt --format table",
    ],
)
@options.url
@options.optional_files
@options.collected(
    "choice",
    option("--text", "texts", multiple=True, metavar="CLUE", help="A clue to look for. Repeatable."),
    option("--limit", type=click.IntRange(1), metavar="N", show_default="all", help="Most matches in an answer."),
)
@options.collection
@options.reading
@options.output
def find(
    url: str, files: tuple[str, ...], choice: Choice, reading: corpus.Reading, collection: str | None, output: Output
) -> int:
    """Find the documents that hold a clue, or a part of it; the one with the largest share comes first.

    The index must have been made with --passages. An answer is complete where the clue has as many letters, numbers and
    marks as that says, and nothing was cut.
    """
    from simhash_hbase.index.passages import check_kept

    if not (files or choice.texts):
        raise InvalidArgument("nothing to look for: name a FILE, or --text")
    with output, options.open_index(url, collection=collection, readonly=True) as index:
        check_kept(index.profile)
        for text in choice.texts:
            _print_found(output, text, index.find(text, limit=choice.limit))
        if not files:
            return exits.DONE
        found = 0
        with corpus.Documents("find", files, reading, output.listener) as documents:
            documents.joins = False
            for answers in documents.acted(index, partial(index.found, limit=choice.limit), analysed=False):
                for document, answer in answers:
                    found += bool(answer.matches)
                    _print_found(output, document.id, answer)
                output.flush()
        output.summary("find", documents.read, with_matches=found, refused=documents.refused)
    return exits.after(documents.refused)


def _print_found(output: Output, name: str, answer: ClueAnswer) -> None:
    from simhash_hbase.index.jsonforms import FOUND

    output.line(FOUND.write_for(name, answer), rows=lambda: _found_rows(name, answer))


def _found_rows(name: str, answer: ClueAnswer) -> Iterator[Mapping[str, object]]:
    """Yield the rows that a table shows for a clue: one for each document that holds it, or one with "not found"."""
    notes = {"not found": not answer.matches, "there may be more": answer.truncated or not answer.complete}
    note = ", ".join(text for text, holds in notes.items() if holds)
    rows: list[dict[str, object]] = [
        {"in": match.id, "share": match.share, "added": match.added} for match in answer.matches
    ]
    for row in rows or [{}]:
        yield {"clue": name, **row, "note": note}


@command(
    "passages",
    examples=[
        "simhash-hbase passages file:news.index today.jsonl.gz --at-least 3 --cut articles.jsonl",
        "simhash-hbase passages file:news.index today.jsonl.gz --longest --format table",
    ],
)
@options.url
@options.files
@options.collected(
    "choice",
    *options.passages,
    option("--cut", type=click.Path(dir_okay=False), metavar="FILE",
           help="Write id and text of each document without its passages, as JSON lines."),
    option("--mark", type=click.Path(dir_okay=False), metavar="FILE",
           help="Write id and text of each document with its passages between ⟦ and ⟧, as JSON lines."),
    option("--report", type=click.Path(dir_okay=False), metavar="FILE.html",
           help="Write a page for people to FILE.html: the texts, their passages coloured by number of documents."),
    *options.suites,
    option("--output", type=click.Path(), metavar="PLACE", help="With --against, write the texts without items to"
           " PLACE, as `dedup` does."),
)  # fmt: skip
@options.collection
@options.reading
@options.output
def passages(
    url: str, files: tuple[str, ...], choice: Choice, reading: corpus.Reading, collection: str | None, output: Output
) -> int:
    """Find the parts of texts that stand in other documents, and print how many and which documents these are.

    The index must have been made with --passages. start and stop count characters of the text as it came; of a passage
    some characters at both ends may be missing. A document that is in the index under the same id does not count.

    With --against, each text is printed with the items that stand in it, and where; ids do not matter then.
    """
    from simhash_hbase.files.local import replacing
    from simhash_hbase.index.answers import PassagesAnswer
    from simhash_hbase.index.arguments import PassageSearch
    from simhash_hbase.index.jsonforms import REPEATED, json_line
    from simhash_hbase.index.passages import check_kept

    check_alone(choice, collection)
    if choice.against:
        return _print_items(url, files, choice, reading, output)
    search = PassageSearch(choice.at_least or 1, choice.same)
    written_files = {
        "`cut`": choice.cut,
        "`mark`": choice.mark,
        "`report`": choice.report,
        "`rejects`": reading.rejects,
    }
    corpus.documents.check_destinations(inputs.as_sources(files), written_files)
    found = truncated = 0
    with (
        output,
        ExitStack() as stack,
        options.open_index(url, collection=collection, readonly=True) as index,
        corpus.Documents("passages", files, reading, output.listener) as documents,
    ):
        check_kept(index.profile)
        documents.joins = False
        written = {
            rewrite: stack.enter_context(replacing(path))
            for rewrite, path in ((PassagesAnswer.cut, choice.cut), (PassagesAnswer.mark, choice.mark))
            if path is not None
        }
        report = stack.enter_context(_report(choice.report, url, files, documents))
        for answers in documents.acted(index, partial(index.repeated, search=search), analysed=False):
            for document, answer in answers:
                shown = answer.longest() if choice.longest else answer
                found += bool(shown.passages)
                truncated += answer.truncated
                text = document.text or ""
                if report is not None:
                    report.add(document.id, text, shown)
                output.line(REPEATED.write(shown), rows=partial(_passage_rows, shown, text))
                for rewrite, file in written.items():
                    file.write(json_line({"id": document.id, "text": rewrite(shown, text)}))
            output.flush()
    cut_short = {"truncated": truncated} if truncated else {}
    output.summary("passages", documents.read, with_passages=found, **cut_short, refused=documents.refused)
    return exits.after(documents.refused)


@contextmanager
def _report(
    path: str | None, url: str, files: Sequence[str], documents: corpus.Documents
) -> Iterator[PassagesReport | None]:
    """Yield the HTML report of ``--report``, to which the caller adds texts; it is written to `path` after the block.

    None is yielded if `path` is None.
    """
    if path is None:
        yield None
        return
    from simhash_hbase.cli.screen.terminal import secretless
    from simhash_hbase.files.local import replacing
    from simhash_hbase.report.passages import PassagesReport
    from simhash_hbase.report.write import ReportRun, named_sources

    with replacing(path) as page:
        report = PassagesReport()
        yield report
        run = ReportRun(index=secretless(url), time=datetime.now(UTC))
        report.write(page, names=named_sources(files), run=run, refused=documents.refused)


OF_PASSAGES = ("at_least", "same", "longest", "cut", "mark", "report")
OF_ITEMS = ("at_share", "output", "suites")


def check_alone(choice: Choice, collection: str | None) -> None:
    """Raise `InvalidArgument` for an option that cannot be combined with ``--against``, or needs it."""
    from simhash_hbase.cli.screen.terminal import secretless

    given = {name for name, value in vars(choice).items() if value}
    if not choice.against and (useless := given.intersection(OF_ITEMS)):
        raise InvalidArgument(f"{_options(useless)} goes with `against=COLLECTION`")
    useless = {*given.intersection(OF_PASSAGES), *(["collection"] if collection is not None else [])}
    if choice.against and useless:
        raise InvalidArgument(f"{_options(useless)} cannot be combined with `against`, which looks for items")
    # Lines name a suite without the secrets of its address.
    if len(set(map(secretless, choice.against))) < len(choice.against):
        raise InvalidArgument("`against` names one collection twice")


def _options(names: Collection[str]) -> str:
    return " and ".join(f"`{name}`" for name in sorted(names))


def _print_items(url: str, files: tuple[str, ...], choice: Choice, reading: corpus.Reading, output: Output) -> int:
    """Run ``passages --against``: print the items that stand in each text, and a line about each suite.

    An item is a document, such as a question of an evaluation set, and a suite the collection of items that
    ``--against`` names. Return the exit code.
    """
    from simhash_hbase.cli.screen.terminal import secretless
    from simhash_hbase.corpus.contamination import Decontamination, Suite, TextItems
    from simhash_hbase.files.local import replacing
    from simhash_hbase.index.jsonforms import json_line
    from simhash_hbase.stores.addresses import folder_of, looks_like_address

    run = Decontamination(
        files,
        choice.output,
        at_share=choice.at_share or ITEM_SHARE,
        reading=reading,
        listener=output.listener,
        beside={"the index": folder_of(url), "`suites`": choice.suites},
    )
    with output, options.open_index(url, readonly=True) as index, ExitStack() as stack:
        suites = []
        for name in choice.against:
            if looks_like_address(name):
                items = stack.enter_context(options.open_index(name, readonly=True))
            else:
                items = index.in_collection(name)
            suites.append(Suite(secretless(name), items, output.listener))
        report = stack.enter_context(replacing(choice.suites)) if choice.suites else None
        truncated = 0
        for results in run.run(index, suites):
            for document, answers in results:
                line = TextItems.of(document.id, (suite.name for suite in suites), answers)
                truncated += line.truncated
                output.line(line.record(), rows=partial(_item_rows, line))
            output.flush()
        counts = [suite.counts() for suite in suites]
        if report is not None:
            report.writelines(json_line(each._asdict()) for each in counts)
    note_suites(output, counts)
    cut_short = {"truncated": truncated} if truncated else {}
    output.summary("passages", run.read, with_items=run.read - run.kept, **cut_short, refused=run.refused)
    return exits.after(run.refused)


def note_suites(output: Output, counts: Iterable[SuiteCounts]) -> None:
    """Print for each suite, a collection of evaluation items, how many of its items were found in how many texts."""
    for suite, items, found, texts in counts:
        output.note(f"{suite}: {found:,} of {counted(items, 'items')} in {counted(texts, 'texts')}")


def _item_rows(line: TextItems) -> Iterator[Mapping[str, object]]:
    """Yield the rows that a table shows for a text: one for each item that stands in it, or one that says "none"."""
    for suite, item in line.items:
        where = ", ".join(f"{span.start}-{span.stop}" for span in item.spans)
        yield {"id": line.id, "suite": suite, "item": item.id, "share": item.share, "where": where}
    if not line.items:
        yield {"id": line.id, "suite": "there may be some" if line.truncated else "none"}


def _passage_rows(answer: PassagesAnswer, text: str) -> Iterator[Mapping[str, object]]:
    """Yield the rows that a table shows for a text: one for each of its passages, or one that says "none"."""
    for passage in answer.passages:
        span = text[passage.start : passage.stop]
        yield {
            "id": answer.id,
            "passage": span if len(span) <= SHOWN_CHARACTERS else f"{span[:SHOWN_CHARACTERS]}…",
            "start": passage.start,
            "stop": passage.stop,
            "documents": f"{'at least ' if passage.at_least else ''}{passage.documents:,}",
            "first": passage.first,
            "most": passage.most,
        }
    if not answer.passages:
        yield {"id": answer.id, "passage": "there may be some" if answer.truncated else "none"}
