"""``simhash-hbase claim``."""

import click

from simhash_hbase.cli.codes import after
from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import files_argument, input_options, output_options, url_argument
from simhash_hbase.cli.screen.output import Output
from simhash_hbase.corpus import Documents, Reading
from simhash_hbase.errors import ClaimContended
from simhash_hbase.index.jsonforms import decision_record
from simhash_hbase.inputs import Reject
from simhash_hbase.opening import open_index


@click.command(
    "claim", cls=Command, examples=["simhash-hbase claim hbase://127.0.0.1:9091/news crawl.jsonl > decisions.jsonl"]
)
@url_argument
@files_argument
@option("--deadline", "deadline_s", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
        help="Give up on a document that stays contested for SECONDS.")  # fmt: skip
@input_options
@output_options
def command(url: str, files: tuple[str, ...], deadline_s: float | None, reading: Reading, output: Output) -> int:
    """Decide of each document whether it is an original or a duplicate, safely while other writers claim too.

    Of near copies claimed at the same time by different processes exactly one becomes the original. The same id with
    the same text gets the same answer, now and later: repeat a command that was interrupted.
    """
    originals = contended = 0
    with output, open_index(url) as index, Documents("claim", files, reading, output.watch) as documents:
        for chunk in documents.chunks(index.analysis):
            claimed = index.claim_entries(chunk.entries, deadline_s=deadline_s)
            for document, decision in zip(chunk.kept, claimed, strict=True):
                if isinstance(decision, ClaimContended):
                    contended += 1
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
    return after(documents.refused)
