"""Parts of texts: ``simhash-hbase find`` and ``passages``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from simhash_hbase import corpus, inputs
from simhash_hbase.cli import exits, options
from simhash_hbase.cli.help import command, option
from simhash_hbase.errors import InvalidArgument

if TYPE_CHECKING:
    from simhash_hbase.cli.options import Choice, Output
    from simhash_hbase.index.answers import ClueAnswer, PassagesAnswer

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
            for answers in documents.acted(index, partial(index.found, limit=choice.limit), with_texts=True):
                for document, answer in answers:
                    found += bool(answer.matches)
                    _print_found(output, document.id, answer)
                output.flush()
        output.summary("find", documents.read, with_matches=found, refused=documents.refused)
    return exits.after(documents.refused)


def _print_found(output: Output, name: str, answer: ClueAnswer) -> None:
    from simhash_hbase.index.forms import FOUND

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
    option("--at-least", type=click.IntRange(1), default=1, show_default=True, metavar="N",
           help="Only passages that stand in so many other documents."),
    option("--same", metavar="FIELD",
           help="Count only documents whose metadata has the same value there; with --metadata-field FIELD."),
    option("--longest", is_flag=True, help="Print only the longest passage of each text."),
    option("--cut", type=click.Path(dir_okay=False), metavar="FILE",
           help="Write id and text of each document without its passages, as JSON lines."),
    option("--mark", type=click.Path(dir_okay=False), metavar="FILE",
           help="Write id and text of each document with its passages between ⟦ and ⟧, as JSON lines."),
)  # fmt: skip
@options.collection
@options.reading
@options.output
def passages(
    url: str, files: tuple[str, ...], choice: Choice, reading: corpus.Reading, collection: str | None, output: Output
) -> int:
    """Find the parts of texts that stand in other documents: in how many, in which first, in which most.

    The index must have been made with --passages. start and stop count characters of the text as it came; of a passage
    some characters at both ends may be missing. A document that is in the index under the same id does not count.
    """
    from simhash_hbase.files.local import replacing
    from simhash_hbase.index.arguments import PassageSearch
    from simhash_hbase.index.forms import REPEATED, json_line
    from simhash_hbase.index.passages import check_kept

    search = PassageSearch(choice.at_least, choice.same)
    written_files = {"`cut`": choice.cut, "`mark`": choice.mark, "`rejects`": reading.rejects}
    corpus.documents.check_destinations(inputs.as_sources(files), written_files)
    found = truncated = 0
    with (
        output,
        ExitStack() as stack,
        options.open_index(url, collection=collection, readonly=True) as index,
        corpus.Documents("passages", files, reading, output.listener) as documents,
    ):
        check_kept(index.profile)
        written = {
            between: stack.enter_context(replacing(path))
            for between, path in ((("", ""), choice.cut), (MARKS, choice.mark))
            if path is not None
        }
        for answers in documents.acted(index, partial(index.repeated, search=search), with_texts=True):
            for document, answer in answers:
                shown = _longest(answer) if choice.longest else answer
                found += bool(shown.passages)
                truncated += answer.truncated
                text = document.text or ""
                output.line(REPEATED.write(shown), rows=partial(_passage_rows, shown, text))
                for (before, after), file in written.items():
                    rewritten = _rewritten(text, shown, before, after)
                    file.write(json_line({"id": document.id, "text": rewritten}))
            output.flush()
    cut_short = {"truncated": truncated} if truncated else {}
    output.summary("passages", documents.read, with_passages=found, **cut_short, refused=documents.refused)
    return exits.after(documents.refused)


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
