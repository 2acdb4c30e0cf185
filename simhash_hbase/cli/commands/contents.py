"""Commands for documents of an index: ``add``, ``remove``, ``query``, ``get``, ``copies``, ``export``, ``batches``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, get_args

import click

from simhash_hbase import corpus, inputs
from simhash_hbase.cli import exits, options
from simhash_hbase.cli.help import REPEAT, command, option
from simhash_hbase.errors import CorruptIndex, DocumentMissing, InvalidArgument, InvalidInput, not_held
from simhash_hbase.profile import defaults
from simhash_hbase.rows.clock import now_ms

if TYPE_CHECKING:
    from simhash_hbase.cli.options import Choice, Output
    from simhash_hbase.index.answers import Answer
    from simhash_hbase.index.arguments import Search
    from simhash_hbase.index.copies import Copies
    from simhash_hbase.index.index import Index

_ids_argument = click.argument("ids", nargs=-1, required=True, metavar="ID…")
_rule = partial(option, section="Match options", show_default="the index's")


@command("add", interrupted=REPEAT, examples=["simhash-hbase add file:news.index today.jsonl.gz --encoding auto"])
@options.url
@options.files
@options.collected(
    "choice", option("--verbose", is_flag=True, help="Print id and fingerprint of each document."), options.batch
)
@options.collection
@options.reading
@options.output
def add(
    url: str, files: tuple[str, ...], choice: Choice, reading: corpus.Reading, collection: str | None, output: Output
) -> int:
    """Write documents, duplicates or not; a known id gets the new text.

    FILEs are JSON lines, CSV, plain text, folders or patterns, also .gz and .zst; - is standard input. Whatever was
    printed, or counted in the summary, is durable.
    """
    from simhash_hbase.index.jsonforms import ADDED

    counts: Counter[str] = Counter()
    with (
        output,
        options.open_index(url, collection=collection) as index,
        corpus.Documents("add", files, reading.into_lasting(), output.listener) as documents,
    ):
        for results in documents.acted(index, partial(index.added, batch=choice.batch), writes=True):
            for _, added in results:
                # A service does not say whether an id was known.
                if added.known is not None:
                    counts.update(known=added.known, with_another_text=bool(added.moved))
                if choice.verbose:
                    output.line(ADDED.write(added))
            output.flush()
    output.summary("add", documents.read, **counts, refused=documents.refused)
    return exits.after(documents.refused)


@command(
    "remove",
    interrupted=REPEAT,
    examples=[
        "simhash-hbase remove file:news.index --from gone.txt",
        "simhash-hbase remove file:news.index --batch crawl-2026-11-28",
    ],
)
@options.url
@click.argument("ids", nargs=-1, metavar="[ID…]")
@options.collected(
    "choice",
    option("--from", "source", metavar="FILE", shell_complete=options.complete_file,
           help="A file with one id a line, UTF-8; - is standard input."),
    option("--batch", metavar="NAME", callback=options.checked_batch,
           help="Remove the documents that came in this batch."),
    option("--yes", is_flag=True, help="Remove a batch even if it is most of the index."),
)  # fmt: skip
@options.collection
@options.output
def remove(url: str, ids: tuple[str, ...], choice: Choice, collection: str | None, output: Output) -> None:
    """Remove documents by id, or those that came in a batch.

    The next near copy of a removed original that is claimed becomes an original.
    """
    is_by_id = bool(ids) or choice.source is not None
    if choice.batch is not None and is_by_id:
        raise InvalidArgument("--batch goes without IDs and without --from")
    if choice.batch is None and choice.yes:
        raise InvalidArgument("--yes goes with --batch")
    if choice.batch is None and not is_by_id:
        raise InvalidArgument("nothing to remove: name an ID, --from FILE or --batch NAME")
    with output, options.open_index(url, collection=collection) as index:
        if choice.batch is None:
            asked, removed = _remove_ids(index, ids, choice.source, output)
        else:
            asked = removed = _remove_batch(index, choice, output)
    output.summary("remove", asked, removed=removed)
    if choice.batch is not None:
        _say_absent(output, choice.batch, removed)


def _remove_ids(index: Index, ids: Sequence[str], source: str | None, output: Output) -> tuple[int, int]:
    """Remove documents by id; return the number of ids, and the number of documents that were removed.

    `source` is a file with one id a line, or None; its ids are removed after `ids`.
    """
    from simhash_hbase.index.answers import Removed
    from simhash_hbase.index.arguments import BATCH_DOCUMENTS
    from simhash_hbase.index.jsonforms import REMOVED

    consumed = inputs.Progress()

    def named() -> Iterator[str]:
        yield from ids
        if source is None:
            return
        with click.open_file(source, "rb") as file:
            for number, line in enumerate(file, 1):
                consumed.bytes_read += len(line)
                try:
                    # Editors of Windows begin a file with a byte order mark.
                    name = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError as error:
                    raise InvalidInput(f"{source}:{number}: the id is not UTF-8") from error
                if name:
                    yield name

    asked = removed = 0
    names = named()
    total = inputs.total_bytes([source]) if source else None
    with output.meter("remove", total, noun="ids") as meter:
        while some := list(islice(names, BATCH_DOCUMENTS)):
            for name, done in index.remove_many(some):
                asked += 1
                removed += done
                output.line(REMOVED.write(Removed(name, done)))
            output.flush()
            meter.show(asked, consumed.bytes_read)
    return asked, removed


def _remove_batch(index: Index, choice: Choice, output: Output) -> int:
    """Remove the documents of a batch; return the number of them."""
    from simhash_hbase.index.answers import Removed
    from simhash_hbase.index.jsonforms import REMOVED

    count = 0
    with output.walk("remove") as watch:
        for name in index.remove_batch(choice.batch, yes=choice.yes, watch=watch):
            count += 1
            output.line(REMOVED.write(Removed(name, removed=True)))
    return count


def _say_absent(output: Output, batch: str, count: int) -> None:
    """Print a note if no document came in a batch: its name may be misspelt."""
    if not count:
        output.note(f"no document of the index is in the batch {batch!r}: the command batches lists them")


@command("batches", examples=["simhash-hbase batches file:news.index --format table"])
@options.url
@options.collection
@options.output
def batches(url: str, collection: str | None, output: Output) -> None:
    """Count the documents of each batch, the one that began first on top; null counts those that came in none.

    Reads all document cells.
    """
    with (
        output,
        options.open_index(url, collection=collection, readonly=True) as index,
        output.walk("batches") as watch,
    ):
        found = index.batches(watch=watch)
        for batch in found:
            output.line(asdict(batch))
    output.summary("batches", sum(batch.documents for batch in found), batches=len(found))


@command(
    "query",
    examples=[
        "simhash-hbase query file:news.index --text '今天，我们都是广场上放鸽子的人。' --limit 5",
        "simhash-hbase query file:news.index today.jsonl.gz --format table",
    ],
)
@options.url
@options.optional_files
@options.collected(
    "choice",
    option("--text", "texts", multiple=True, help="A text to look for. Repeatable."),
    option("--id", "ids", multiple=True, metavar="ID", help="A stored document to look for. Repeatable."),
    option("--simhash", "simhashes", metavar="SIMHASH", multiple=True,
           help="A fingerprint to look for: 16 hex digits, 0x… or decimal. Repeatable."),
    _rule("--match", type=click.Choice(get_args(defaults.MatchName)), help="Rule for near-duplicates."),
    _rule("--distance", type=click.IntRange(0, 64), metavar="BITS",
          help="Most bits that differ; above the index's distance, answers are not complete."),
    _rule("--similarity", type=click.FloatRange(0, 1), metavar="J", help="Least similarity for rule verified."),
    _rule("--limit", type=click.IntRange(1), metavar="N", show_default="all", help="Most matches in an answer."),
    _rule("--since", metavar="DATE|AGE", show_default="ever",
          help="Only documents added or last seen since: 2026-11-22, 2026-11-22T09:30Z, or 7d, 12h, 30m ago."),
)  # fmt: skip
@options.collection
@options.reading
@options.output
def query(
    url: str, files: tuple[str, ...], choice: Choice, reading: corpus.Reading, collection: str | None, output: Output
) -> int:
    """Find the near-duplicates of documents, nearest first."""
    from simhash_hbase.index.arguments import Search

    if not (files or choice.texts or choice.ids or choice.simhashes):
        raise InvalidArgument("nothing to look for: name a FILE, --text, --id or --simhash")
    with output, options.open_index(url, collection=collection, readonly=True) as index:
        rule = index.rule(match=choice.match, distance=choice.distance, similarity=choice.similarity)
        search = Search(rule, choice.limit, choice.since).begun(now_ms())
        for name, answer in _answers(index, choice, search):
            _print_answer(output, name, answer)
            nothing_near = name in choice.ids and not answer.matches and not answer.complete
            if nothing_near and (stored := index.get(name)) is not None and stored.of is not None:
                output.note(
                    f"{name} was decided a duplicate of {stored.of}: the index keeps no sketch of a duplicate, "
                    "so near copies of it are found by its text"
                )
        if not files:
            return exits.DONE
        found = 0
        with corpus.Documents("query", files, reading, output.listener) as documents:
            for answers in documents.acted(index, partial(index.answered, search=search)):
                for document, answer in answers:
                    found += bool(answer.matches)
                    _print_answer(output, document.id, answer)
                output.flush()
        output.summary("query", documents.read, with_matches=found, refused=documents.refused)
    return exits.after(documents.refused)


def _answers(index: Index, choice: Choice, search: Search) -> Iterator[tuple[str, Answer]]:
    from simhash_hbase.index.jsonforms import hex_simhash

    for text in choice.texts:
        yield text, index.query(text, **search.options)
    for name in choice.ids:
        found = index.query_id(name, **search.options)
        if found is None:
            raise DocumentMissing(not_held(name))
        yield name, found
    for value in choice.simhashes:
        simhash = inputs.parse_simhash(value)
        yield hex_simhash(simhash), index.query_simhash(simhash, **search.options)


def _print_answer(output: Output, name: str, answer: Answer) -> None:
    from simhash_hbase.index.jsonforms import ANSWER

    output.line(ANSWER.write_for(name, answer), rows=lambda: _answer_rows(name, answer))


def _answer_rows(name: str, answer: Answer) -> Iterator[Mapping[str, object]]:
    """Yield the rows that a table shows for a query: one for each match, or one that says that there is none."""
    notes = {"nothing near": not answer.matches, "there are more": answer.truncated, "short text": answer.short}
    note = ", ".join(text for text, holds in notes.items() if holds)
    rows: list[dict[str, object]] = [
        {"near": match.id, "bits": match.distance, "similarity": match.similarity,
         "containment": match.containment, "exact": match.exact, "added": match.added}
        for match in answer.matches
    ]  # fmt: skip
    for row in rows or [{}]:
        yield {"query": name, **row, "note": note}


@command("get", examples=["simhash-hbase get file:news.index https://example.org/a"])
@options.url
@_ids_argument
@options.collection
@options.output
def get(url: str, ids: tuple[str, ...], collection: str | None, output: Output) -> int:
    """Print stored documents by their ids; an id that is not in the index is reported, with exit code 1."""
    from simhash_hbase.index.jsonforms import STORED

    with output, options.open_index(url, collection=collection, readonly=True) as index:
        found = index.get_many(ids)
        for stored in found:
            if stored is not None:
                output.line(STORED.write(stored))
    missing = [name for name, stored in zip(ids, found, strict=True) if stored is None]
    return _report_missing(missing, output)


@command("copies", examples=["simhash-hbase copies file:news.index https://example.org/a --format table"])
@options.url
@_ids_argument
@options.collection
@options.output
def copies(url: str, ids: tuple[str, ...], collection: str | None, output: Output) -> int:
    """Print the duplicates of an original, as claim and dedup decided; an ID may be that of a copy, too."""
    from simhash_hbase.index.jsonforms import COPIES

    missing = []
    with output, options.open_index(url, collection=collection, readonly=True) as index:
        for name in ids:
            if (found := index.copies(name)) is None:
                missing.append(name)
            else:
                output.line(COPIES.write(found), rows=partial(_copies_rows, found))
    return _report_missing(missing, output)


def _copies_rows(found: Copies) -> Iterator[Mapping[str, object]]:
    """Yield the rows that a table shows for an original: one for itself, then one for each of its copies."""
    there = f"{'at least ' if found.truncated else ''}{found.count:,} copies"
    note = "removed or changed since" if found.of_removed else ""
    yield {"of": found.of, "copy": there, "added": found.first, "seen": found.last, "note": note}
    for copy in found.copies:
        yield {
            "of": found.of, "copy": copy.id, "added": copy.added, "seen": copy.seen, "bits": copy.distance,
            "similarity": copy.similarity, "containment": copy.containment, "metadata": copy.metadata,
            "note": "of an earlier text" if copy.of_removed else "",
        }  # fmt: skip


def _report_missing(missing: Sequence[str], output: Output) -> int:
    """Print an error for each of the ids, which the index does not hold; return the exit code: 1, or 0 if none is."""
    for name in missing:
        output.error(f"simhash-hbase: {not_held(name)}")
    return exits.FAILED if missing else exits.DONE


@command("export", examples=["simhash-hbase export file:news.index | gzip > news.jsonl.gz"])
@options.url
@options.of_batch
@options.collection
@options.output
def export(url: str, batch: str | None, collection: str | None, output: Output) -> int:
    """Print all documents as JSON lines, in the store's order; texts are not stored, so none is printed.

    Damaged cells are named by their rows, in hex, and left out; the exit code is 3 then.
    """
    from simhash_hbase.index.jsonforms import STORED

    count = damaged = 0

    def name_damage(row: bytes, error: CorruptIndex) -> None:
        nonlocal damaged
        damaged += 1
        output.error(f"simhash-hbase: row {row.hex()}: {error}")

    with (
        output,
        options.open_local_index(url, collection=collection, readonly=True) as index,
        output.walk("export") as watch,
    ):
        for stored in index.export(batch=batch, watch=watch, on_damage=name_damage):
            output.line(STORED.write(stored))
            count += 1
    output.summary("export", count, refused=damaged)
    if batch is not None:
        _say_absent(output, batch, count)
    return exits.after(damaged)
