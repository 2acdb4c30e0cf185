"""``simhash-hbase query``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.codes import DONE, after
from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import (
    collected,
    collection_option,
    input_options,
    match_options,
    optional_files_argument,
    output_options,
    url_argument,
)
from simhash_hbase.corpus import Reading
from simhash_hbase.errors import DocumentMissing, InvalidArgument, SimhashError
from simhash_hbase.rows.clock import now_ms, parse_since

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output
    from simhash_hbase.index.answers import Answer
    from simhash_hbase.index.index import Index
    from simhash_hbase.profile.near import MatchRule


@dataclass(frozen=True)
class Choice:
    """What is looked for besides FILEs, and by which rule."""

    texts: tuple[str, ...]
    ids: tuple[str, ...]
    simhashes: tuple[str, ...]
    match: str | None
    distance: int | None
    similarity: float | None
    limit: int | None
    since: str | None


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
@collected(
    "wanted",
    Choice,
    option("--text", "texts", multiple=True, help="A text to look for. Repeatable."),
    option("--id", "ids", multiple=True, metavar="ID", help="A stored document to look for. Repeatable."),
    option("--simhash", "simhashes", metavar="SIMHASH", multiple=True,
           help="A fingerprint to look for: 16 hex digits, 0x… or decimal. Repeatable."),
    *match_options,
    option("--since", metavar="DATE|AGE", section="Match options", show_default="ever",
           help="Only what was added or last seen since: 2026-11-22, 2026-11-22T09:30Z, or 7d, 12h, 30m ago."),
)  # fmt: skip
@collection_option
@input_options
@output_options
def command(
    url: str, files: tuple[str, ...], wanted: Choice, reading: Reading, collection: str | None, output: Output
) -> int:
    """Find the near-duplicates of documents, nearest first."""
    from simhash_hbase.corpus import Documents
    from simhash_hbase.corpus.documents import answered
    from simhash_hbase.inputs import Reject
    from simhash_hbase.opening import open_index

    if not (files or wanted.texts or wanted.ids or wanted.simhashes):
        raise InvalidArgument("nothing to look for: name a FILE, --text, --id or --simhash")
    with output, open_index(url, collection=collection, readonly=True) as index:
        rule = index.rule(match=wanted.match, distance=wanted.distance, similarity=wanted.similarity)
        since = None if wanted.since is None else parse_since(wanted.since, now_ms())
        for name, answer in _named(index, wanted, rule, since):
            _print(output, name, answer)
        if not files:
            return DONE
        found = 0
        with Documents("query", files, reading, output.watch) as documents:
            for chunk in documents.chunks(index):
                for document, outcome in answered(index, chunk, rule=rule, limit=wanted.limit, since=since):
                    if isinstance(outcome, SimhashError):
                        documents.refuse(Reject(document.place, str(outcome), document.raw or b"", document.id))
                    else:
                        found += bool(outcome.matches)
                        _print(output, document.id, outcome)
                output.flush()
        output.summary("query", documents.read, with_matches=found, refused=documents.refused)
    return after(documents.refused)


def _named(index: Index, wanted: Choice, rule: MatchRule, since: datetime | None) -> Iterator[tuple[str, Answer]]:
    from simhash_hbase.index.answers import hex_simhash
    from simhash_hbase.inputs import parse_simhash

    limit = wanted.limit
    for text in wanted.texts:
        yield text, index.query(text, rule=rule, limit=limit, since=since)
    for name in wanted.ids:
        found = index.query_id(name, rule=rule, limit=limit, since=since)
        if found is None:
            raise DocumentMissing(f"the index has no document {name!r} to look for")
        yield name, found
    for value in wanted.simhashes:
        simhash = parse_simhash(value)
        yield hex_simhash(simhash), index.query_simhash(simhash, rule=rule, limit=limit, since=since)


def _print(output: Output, name: str, answer: Answer) -> None:
    from simhash_hbase.index.answers import answer_record

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
