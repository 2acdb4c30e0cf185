"""A sample of a corpus, for the idf table of an index that is made for it."""

from collections.abc import Iterator, Sequence

from simhash_hbase.corpus.notes import where
from simhash_hbase.corpus.options import Watch
from simhash_hbase.errors import InvalidInput
from simhash_hbase.features.idf import LEARN_FROM, Reservoir
from simhash_hbase.inputs import InputOptions, Progress, Reject, Scanned, extract, scan, total_bytes
from simhash_hbase.inputs.sources import as_sources

NOTHING_TO_LEARN_FROM = "there is no document to learn the idf from"


class NothingToLearn(InvalidInput):
    """No record of an input has a text."""


def texts_of(named: Sequence[str], settings: InputOptions, watch: Watch) -> Iterator[str]:
    """Read texts to learn from, as many as are learned from; what cannot be read is counted and reported."""
    sources, consumed = as_sources(named), Progress()
    with watch.meter("learn the idf", total_bytes(sources), unit="bytes") as meter:
        sample = TextSample()
        for scanned in scan(sources, settings, consumed):
            sample.add(scanned)
            meter.show(sample.seen, consumed.bytes_read)
    if not sample.texts:
        raise NothingToLearn(NOTHING_TO_LEARN_FROM + (sample.first and f": {sample.first}"))
    if refused := sample.refused:
        records = "record of the sample was" if refused == 1 else "records of the sample were"
        watch.note(f"{refused:,} {records} refused, the first: {sample.first}")
    yield from sample.texts


class TextSample:
    """A sample of texts; pages are extracted as they come into it, so of a million some 20,000."""

    def __init__(self) -> None:
        self._texts: Reservoir[str] = Reservoir(limit=LEARN_FROM)
        self.refused = 0
        self.first = ""
        """Place and reason of the first refused record."""

    @property
    def seen(self) -> int:
        """How many texts were offered."""
        return self._texts.seen

    @property
    def texts(self) -> list[str]:
        """The texts to learn from."""
        return [text for text in self._texts.items if text]

    def add(self, scanned: Scanned) -> None:
        """Offer a record."""
        record = scanned
        if not isinstance(scanned, Reject) and (at := self._texts.add("")) is not None:
            record = extract(scanned)
            self._texts.items[at] = "" if isinstance(record, Reject) else record.text or ""
        if isinstance(record, Reject):
            self.refused += 1
            self.first = self.first or f"{where(record.place)}: {record.reason}"
