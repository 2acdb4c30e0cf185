"""A random sample of the texts of a corpus, from which an index that is made for the corpus learns its idf table."""

from collections.abc import Iterator, Sequence

from simhash_hbase.corpus import RunListener, refusals
from simhash_hbase.errors import InvalidInput
from simhash_hbase.features.idf import LEARN_FROM, Reservoir
from simhash_hbase.inputs import Document, InputOptions, Progress, Reject, Scanned, as_sources, extract, total_bytes
from simhash_hbase.inputs.reading import scan_lines
from simhash_hbase.inputs.records import JsonLine, JsonLines

NOTHING_TO_LEARN_FROM = "there is no document to learn the idf from"


class NothingToLearn(InvalidInput):
    """Raised when no record of an input has a text, so that there is nothing to learn an idf table from."""


def texts_of(named: Sequence[str], settings: InputOptions, listener: RunListener) -> Iterator[str]:
    """Read an input and yield a random sample of its texts, to learn an idf table from; report refused records.

    `NothingToLearn` is raised if there is no text.
    """
    sources, consumed = as_sources(named), Progress()
    with listener.meter("learn the idf", total_bytes(sources), unit="bytes") as meter:
        sample = TextSample()
        for scanned in scan_lines(sources, settings, consumed):
            sample.add(scanned)
            meter.show(sample.seen, consumed.bytes_read)
    texts = sample.texts()
    if not texts:
        raise NothingToLearn(NOTHING_TO_LEARN_FROM + (sample.first and f": {sample.first}"))
    if refused := sample.refused:
        records = "record of the sample was" if refused == 1 else "records of the sample were"
        listener.note(f"{refused:,} {records} refused, the first: {sample.first}")
    yield from texts


class TextSample:
    """A random sample of the texts of an input, for its idf table.

    The main text of a page is extracted only when the page enters the sample, as some 20,000 of a million do; a line of
    JSON is decoded only by `texts`.
    """

    def __init__(self) -> None:
        self._items: Reservoir[str | JsonLine] = Reservoir(limit=LEARN_FROM)
        self.refused = 0
        self.first = ""
        """Place and reason of the first refused record."""

    @property
    def seen(self) -> int:
        """The number of records that were offered to the sample, without refused ones."""
        return self._items.seen

    def texts(self) -> list[str]:
        """Return the texts that are in the sample, without empty ones."""
        texts = (self._text(item) if isinstance(item, JsonLine) else item for item in self._items.items)
        return [text for text in texts if text]

    def add(self, scanned: Scanned | JsonLines) -> None:
        """Offer the next record of the input, or lines, to the random sample; a refused record is counted."""
        if isinstance(scanned, Reject):
            self._text(scanned)
        elif isinstance(scanned, JsonLines):
            for at, place in self._items.draw(len(scanned)):
                self._items.keep(scanned.line(at), place)
        else:
            for _, place in self._items.draw(1):
                self._items.keep(self._text(scanned), place)

    def _text(self, scanned: Scanned | JsonLine) -> str:
        record = extract(scanned)
        if isinstance(record, Document):
            return record.text or ""
        self.refused += 1
        self.first = self.first or f"{refusals.where(record.place)}: {record.reason}"
        return ""
