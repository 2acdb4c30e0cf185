"""Parts of texts: ``simhash-hbase find`` and ``passages``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
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
    from simhash_hbase.index.answers import ClueAnswer, HeldItem, PassagesAnswer
    from simhash_hbase.report.passages import PassagesReport

SHOWN_CHARACTERS = 60
MARKS = "⟦", "⟧"


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

    output.line({**FOUND.write(answer), "query": name}, rows=lambda: _found_rows(name, answer))


def _found_rows(name: str, answer: ClueAnswer) -> Iterator[Mapping[str, object]]:
    """Yield the rows of a table: one a match, or one that says that there is none."""
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
    option("--longest", is_flag=True, help="Print only the longest passage of each text."),
    option("--cut", type=click.Path(dir_okay=False), metavar="FILE",
           help="Write id and text of each document without its passages, as JSON lines."),
    option("--mark", type=click.Path(dir_okay=False), metavar="FILE",
           help="Write id and text of each document with its passages between ⟦ and ⟧, as JSON lines."),
    option("--report", type=click.Path(dir_okay=False), metavar="FILE.html",
           help="Write a page for people to FILE.html: the texts, their passages coloured by number of documents."),
    option("--against", multiple=True, metavar="COLLECTION", help="Look for the documents of this collection, such as"
           " items of an evaluation set, or for those of the index at this address. Repeatable."),
    option("--at-share", type=click.FloatRange(0, 1, min_open=True), metavar="SHARE", show_default=f"{ITEM_SHARE:g}",
           help="With --against, print an item only if a text holds at least this share of it."),
    option("--output", type=click.Path(), metavar="PLACE", help="With --against, write the texts without items to"
           " PLACE, as `dedup` does."),
    option("--suites", type=click.Path(dir_okay=False), metavar="FILE",
           help="With --against, write how many items of each COLLECTION stand in how many texts, as JSON lines."),
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
    from simhash_hbase.index.arguments import PassageSearch
    from simhash_hbase.index.jsonforms import REPEATED, json_line
    from simhash_hbase.index.passages import check_kept

    _check_alone(choice, collection)
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
            between: stack.enter_context(replacing(path))
            for between, path in ((("", ""), choice.cut), (MARKS, choice.mark))
            if path is not None
        }
        report = stack.enter_context(_report(choice.report, url, files, documents))
        for answers in documents.acted(index, partial(index.repeated, search=search), analysed=False):
            for document, answer in answers:
                shown = _longest(answer) if choice.longest else answer
                found += bool(shown.passages)
                truncated += answer.truncated
                text = document.text or ""
                if report is not None:
                    report.add(document.id, text, shown)
                output.line(REPEATED.write(shown), rows=partial(_passage_rows, shown, text))
                for (before, after), file in written.items():
                    rewritten = _rewritten(text, shown, before, after)
                    file.write(json_line({"id": document.id, "text": rewritten}))
            output.flush()
    cut_short = {"truncated": truncated} if truncated else {}
    output.summary("passages", documents.read, with_passages=found, **cut_short, refused=documents.refused)
    return exits.after(documents.refused)


@contextmanager
def _report(
    path: str | None, url: str, files: Sequence[str], documents: corpus.Documents
) -> Iterator[PassagesReport | None]:
    """Open the page of a run, which is written when all texts were added to it."""
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


def _check_alone(choice: Choice, collection: str | None) -> None:
    """Refuse options that have no effect on what is asked for."""
    given = {name for name, value in vars(choice).items() if value}
    if not choice.against and (useless := given.intersection(OF_ITEMS)):
        raise InvalidArgument(f"{_options(useless)} goes with `against=COLLECTION`")
    useless = {*given.intersection(OF_PASSAGES), *(["collection"] if collection is not None else [])}
    if choice.against and useless:
        raise InvalidArgument(f"{_options(useless)} cannot be combined with `against`, which looks for items")
    if len(set(choice.against)) < len(choice.against):
        raise InvalidArgument("`against` names one collection twice")


def _options(names: Collection[str]) -> str:
    return " and ".join(f"`{name}`" for name in sorted(names))


def _print_items(url: str, files: tuple[str, ...], choice: Choice, reading: corpus.Reading, output: Output) -> int:
    """Print the items that stand in each text, and a line about each suite."""
    from simhash_hbase.cli.screen.terminal import secretless
    from simhash_hbase.corpus.contamination import Decontamination, Suite
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
                held = [(suite.name, item) for suite, each in zip(suites, answers, strict=True) for item in each.items]
                is_cut = any(each.truncated for each in answers)
                truncated += is_cut
                record = {
                    "id": document.id,
                    "items": [{"suite": suite, **asdict(item)} for suite, item in held],
                    "truncated": is_cut,
                }
                output.line(record, rows=partial(_item_rows, document.id, held, is_cut=is_cut))
            output.flush()
        for suite in suites:
            if report is not None:
                report.write(json_line(suite.record()))
    for suite in suites:
        output.note(
            f"{suite.name}: {suite.found:,} of {counted(suite.items, 'items')} in {counted(suite.texts, 'texts')}"
        )
    cut_short = {"truncated": truncated} if truncated else {}
    output.summary("passages", run.read, with_items=run.read - run.kept, **cut_short, refused=run.refused)
    return exits.after(run.refused)


def _item_rows(name: str, held: Sequence[tuple[str, HeldItem]], *, is_cut: bool) -> Iterator[Mapping[str, object]]:
    """Yield the rows of a table: one an item, or one that says that there is none."""
    for suite, item in held:
        where = ", ".join(f"{span.start}-{span.stop}" for span in item.spans)
        yield {"id": name, "suite": suite, "item": item.id, "share": item.share, "where": where}
    if not held:
        yield {"id": name, "suite": "there may be some" if is_cut else "none"}


def _longest(answer: PassagesAnswer) -> PassagesAnswer:
    longest = max(answer.passages, key=lambda passage: passage.stop - passage.start, default=None)
    return replace(answer, passages=[] if longest is None else [longest])


def _rewritten(text: str, answer: PassagesAnswer, before: str, after: str) -> str:
    """Return a text with its passages between two marks, or without them where there are none."""
    pieces, at = [], 0
    for passage in answer.passages:
        pieces.append(text[at : passage.start])
        if before:
            pieces += [before, text[passage.start : passage.stop], after]
        at = passage.stop
    return "".join([*pieces, text[at:]])


def _passage_rows(answer: PassagesAnswer, text: str) -> Iterator[Mapping[str, object]]:
    """Yield the rows of a table: one a passage, or one that says that there is none."""
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
