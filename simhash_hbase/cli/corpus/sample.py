"""``--learn-from``: a sample of the user's own documents, for the idf table."""

from collections.abc import Iterator, Sequence
from typing import Any

from simhash_hbase.cli.screen.output import Output
from simhash_hbase.errors import InvalidInput
from simhash_hbase.features.analysis import LEARN_FROM
from simhash_hbase.features.idf import Reservoir
from simhash_hbase.inputs import InputOptions, Progress, Reject, scan, total_bytes
from simhash_hbase.inputs.page.extract import extracted


def sample_texts(options: dict[str, Any], output: Output) -> Iterator[str] | None:
    """Read the texts of ``--learn-from``; None without it."""
    sources = options["learn_from"]
    if not sources:
        return None
    names = ("encoding", "text_field", "max_document_bytes")
    settings = InputOptions(format=options["input_format"], **{name: options[name] for name in names})
    return texts_of(sources, settings, output)


def texts_of(sources: Sequence[str], settings: InputOptions, output: Output) -> Iterator[str]:
    """Read texts to learn from, as many as are learned from; what cannot be read is counted and told.

    Pages are extracted as they come into the sample, so of a million some 20,000.
    """
    sample: Reservoir[str] = Reservoir(limit=LEARN_FROM)
    refused, first = 0, ""
    consumed = Progress()
    with output.meter("learn the idf", total_bytes(sources)) as meter:
        for scanned in scan(sources, settings, consumed):
            record = scanned
            if not isinstance(scanned, Reject) and (at := sample.add("")) is not None:
                record = extracted(scanned)
                sample.items[at] = "" if isinstance(record, Reject) else record.text or ""
            if isinstance(record, Reject):
                refused += 1
                first = first or f"{record.place}: {record.reason}"
            meter.show(sample.seen, consumed.bytes_read)
    if not any(sample.items):
        raise InvalidInput("there is no document to learn the idf from" + (first and f": {first}"))
    if refused:
        records = "record of the sample was" if refused == 1 else "records of the sample were"
        output.warn(f"{refused:,} {records} refused, the first: {first}")
    yield from filter(None, sample.items)
