"""``simhash-hbase query``."""

from collections.abc import Iterator
from typing import Any

import click

from simhash_hbase.cli.corpus.documents import Documents, take_input
from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import (
    input_options,
    match_options,
    optional_files_argument,
    output_options,
    url_argument,
)
from simhash_hbase.cli.screen.output import Output
from simhash_hbase.errors import DocumentMissing, InvalidArgument
from simhash_hbase.index.answers import Answer
from simhash_hbase.index.index import Index
from simhash_hbase.index.jsonforms import answer_record, hex_simhash
from simhash_hbase.inputs import parse_simhash
from simhash_hbase.near import MatchRule
from simhash_hbase.opening import open_index


@click.command(
    "query",
    cls=Command,
    examples=[
        "simhash-hbase query file:news.index --text '今天，我们都是广场上放鸽子的人。' --limit 5",
        "simhash-hbase query file:news.index today.jsonl.gz --format table",
    ],
)
@url_argument
@optional_files_argument
@option("--text", "texts", multiple=True, help="A text to look for. Repeatable.")
@option("--id", "ids", multiple=True, metavar="ID", help="A stored document to look for. Repeatable.")
@option("--simhash", "simhashes", metavar="SIMHASH", multiple=True,
              help="A fingerprint to look for: 16 hex digits, 0x… or decimal. Repeatable.")  # fmt: skip
@match_options
@input_options
@output_options
def command(url: str, files: tuple[str, ...], **options: Any) -> int:  # noqa: ANN401
    """Find the near-duplicates of documents, nearest first."""
    given = take_input(options)
    output = Output.of(options)
    if not (files or options["texts"] or options["ids"] or options["simhashes"]):
        raise InvalidArgument("nothing to look for: name a FILE, --text, --id or --simhash")
    limit, code = options["limit"], 0
    with output, open_index(url, readonly=True) as index:
        wanted = {name: options[name] for name in ("match", "distance", "similarity")}
        rule = index.rule(**wanted)
        for name, answer in _named(index, options, rule):
            _print(output, name, answer)
        if files:
            code = _query_files(index, files, given, output, rule, limit)
    return code


def _named(index: Index, options: dict[str, Any], rule: MatchRule) -> Iterator[tuple[str, Answer]]:
    limit = options["limit"]
    for text in options["texts"]:
        yield text, index.query(text, rule=rule, limit=limit)
    for name in options["ids"]:
        found = index.query_id(name, rule=rule, limit=limit)
        if found is None:
            raise DocumentMissing(f"the index holds no document {name!r} that could be looked for")
        yield name, found
    for value in options["simhashes"]:
        simhash = parse_simhash(value)
        yield hex_simhash(simhash), index.query_simhash(simhash, rule=rule, limit=limit)


def _query_files(
    index: Index, files: tuple[str, ...], given: dict[str, Any], output: Output, rule: MatchRule, limit: int | None
) -> int:
    found = 0
    with Documents("query", files, given, output) as documents:
        for chunk in documents.chunks(index.analysis):
            answers = index.query_entries(chunk.entries, rule=rule, limit=limit)
            for name, answer in zip(chunk.entries.ids, answers, strict=True):
                found += bool(answer.matches)
                _print(output, name, answer)
            output.flush()
    output.summary("query", documents.read, with_matches=found, refused=documents.refused)
    return documents.exit_code


def _print(output: Output, name: str, answer: Answer) -> None:
    for record in _rows(name, answer) if output.format == "table" else [answer_record(name, answer)]:
        output.line(record)


def _rows(name: str, answer: Answer) -> list[dict[str, object]]:
    """Make the rows of an answer: one a match, or one that says that there is none."""
    notes = {"nothing near": not answer.matches, "there are more": answer.truncated, "short text": answer.short}
    note = ", ".join(text for text, holds in notes.items() if holds)
    found = [
        {"near": match.id, "bits": match.distance, "similarity": match.similarity, "exact": match.exact,
         "added": match.added}
        for match in answer.matches
    ]  # fmt: skip
    return [{"query": name, **row, "note": note} for row in found or [{}]]
