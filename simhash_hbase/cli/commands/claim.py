"""``simhash-hbase claim``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.codes import after
from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.learning import Fields, await_input, learned, say_gone, temporary
from simhash_hbase.cli.named import Named, left_by_interrupt, named_argument
from simhash_hbase.cli.options import collection_option, input_options, output_options
from simhash_hbase.corpus import Reading
from simhash_hbase.errors import ClaimContended, SimhashError

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output
    from simhash_hbase.index.index import Index
    from simhash_hbase.inputs import Sources


@click.command(
    "claim",
    cls=Command,
    interrupted=left_by_interrupt,
    examples=["simhash-hbase claim hbase://127.0.0.1:9091/news crawl.jsonl > decisions.jsonl"],
)
@named_argument
@option("--deadline", "deadline_s", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
        help="Give up on a document that stays contested for SECONDS.")  # fmt: skip
@collection_option
@input_options
@output_options
def command(named: Named, deadline_s: float | None, reading: Reading, collection: str | None, output: Output) -> int:
    """Decide of each document whether it is an original or a duplicate, safely while other writers claim too.

    Of near copies claimed at the same time by different processes exactly one becomes the original. The same id with
    the same text gets the same answer, now and later: repeat a command that was interrupted. Without URL the index is
    a temporary one, with an idf that is learned from FILEs.
    """
    from simhash_hbase.corpus import Documents
    from simhash_hbase.corpus.documents import claimed
    from simhash_hbase.index.answers import decision_record
    from simhash_hbase.inputs import Reject

    originals = contended = 0
    with (
        output,
        _opened(named, reading, output) as (index, files, read),
        Documents("claim", files, read, output.watch) as documents,
    ):
        view = index.in_collection(collection)
        for chunk in documents.chunks(view):
            for document, decision in claimed(view, chunk, deadline_s=deadline_s):
                if isinstance(decision, SimhashError):
                    contended += isinstance(decision, ClaimContended)
                    documents.refuse(Reject(document.place, str(decision), document.raw or b"", document.id))
                else:
                    originals += decision.is_original
                    output.line(decision_record(decision))
            output.flush()
    output.summary(
        "claim",
        documents.read,
        originals=originals,
        duplicates=documents.read - originals,
        refused=documents.refused,
        **{"contested, claim again": contended},
    )
    say_gone(named.url, output)
    return after(documents.refused)


@contextmanager
def _opened(named: Named, reading: Reading, output: Output) -> Iterator[tuple[Index, Sources, Reading]]:
    """Open the index, or make a temporary one of the input, which is then read twice."""
    from simhash_hbase.corpus.documents import spooled
    from simhash_hbase.corpus.sample import texts_of
    from simhash_hbase.inputs import Sources
    from simhash_hbase.opening import open_index

    sources = Sources(named.files)
    if named.url is not None:
        with open_index(named.url) as index:
            yield index, sources, reading
        return
    await_input(named.files, output)
    with spooled(sources, wanted=True) as stdin:
        settings = replace(reading.settings, stdin=stdin)

        def fields() -> Fields:
            return learned({}, settings, lambda: texts_of(sources, settings, output.watch), output)

        with temporary(sources, fields, output) as index:
            yield index, sources, replace(reading, settings=settings)
