"""A sample of a corpus, for the idf table of an index that is made for it."""

from collections.abc import Iterator, Sequence

from simhash_hbase.corpus.notes import where
from simhash_hbase.corpus.options import Watch
from simhash_hbase.errors import InvalidInput
from simhash_hbase.features.analysis import LEARN_FROM
from simhash_hbase.features.idf import Reservoir
from simhash_hbase.inputs import InputOptions, Progress, Reject, scan, total_bytes
from simhash_hbase.inputs.page.extract import extracted
from simhash_hbase.inputs.sources import listed


def texts_of(named: Sequence[str], settings: InputOptions, watch: Watch) -> Iterator[str]:
    """Read texts to learn from, as many as are learned from; what cannot be read is counted and reported.

    Pages are extracted as they come into the sample, so of a million some 20,000.
    """
    sample: Reservoir[str] = Reservoir(limit=LEARN_FROM)
    refused, first = 0, ""
    sources, consumed = listed(named), Progress()
    with watch.meter("learn the idf", total_bytes(sources)) as meter:
        for scanned in scan(sources, settings, consumed):
            record = scanned
            if not isinstance(scanned, Reject) and (at := sample.add("")) is not None:
                record = extracted(scanned)
                sample.items[at] = "" if isinstance(record, Reject) else record.text or ""
            if isinstance(record, Reject):
                refused += 1
                first = first or f"{where(record.place)}: {record.reason}"
            meter.show(sample.seen, consumed.bytes_read)
    if not any(sample.items):
        raise InvalidInput("there is no document to learn the idf from" + (first and f": {first}"))
    if refused:
        records = "record of the sample was" if refused == 1 else "records of the sample were"
        watch.note(f"{refused:,} {records} refused, the first: {first}")
    yield from filter(None, sample.items)
