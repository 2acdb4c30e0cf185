"""A random sample of the texts of a corpus, from which an index that is made for the corpus learns its idf table."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future

from simhash_hbase.corpus import RunListener, refusals
from simhash_hbase.errors import InvalidInput, WorkerLost
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.idf import LEARN_FROM, CutTexts, Reservoir
from simhash_hbase.features.workers import Workers
from simhash_hbase.inputs import Document, InputOptions, Progress, Reject, Scanned, as_sources, extract, total_bytes
from simhash_hbase.inputs.reading import scan_lines
from simhash_hbase.inputs.records import JsonLine
from simhash_hbase.kernel.texts import Batch

PART_SIZE = 1 << 21  # Size of a part that a process cuts at a time: bytes of lines of JSON, else two a character.
EARLY_SIZE = 1 << 26  # Size of all parts: the words that are kept until the idf is learned take some 100 MB.
WAITING = 4  # Parts for each process.
NOTHING_TO_LEARN_FROM = "there is no document to learn the idf from"


class NothingToLearn(InvalidInput):
    """Raised when no record of an input has a text, so that there is nothing to learn an idf table from."""


class EarlyCut:
    """Has worker processes cut texts into words during the first reading of a corpus, which is for its idf table.

    The analysis is made after that reading, from the table, and need not cut these texts again. Texts are collected in
    parts, each a job of a process; those that come while many parts wait are left out, and are cut by the analysis.
    """

    def __init__(self, pool: Workers, processes: int, *, seed: int) -> None:
        self._pool = pool
        self._most_waiting = WAITING * processes
        self._seed = seed
        self._jobs: list[Future[CutTexts]] = []
        self._part: list[Document | JsonLine] = []
        self._size = 0
        self._left = EARLY_SIZE

    def add(self, record: Document | JsonLine) -> None:
        """Add a record to the current part of texts; give a full part to a process, unless many parts wait already."""
        size = len(record.content) if isinstance(record, JsonLine) else 2 * len(record.text or "")
        if self._left <= 0 or not size:
            return
        self._part.append(record)
        self._size += size
        if self._size < PART_SIZE:
            return
        if sum(not job.done() for job in self._jobs) < self._most_waiting:
            self._jobs.append(self._pool.submit(cut_texts, self._part, self._seed))
            self._left -= self._size
        self._part, self._size = [], 0

    def take(self) -> list[CutTexts]:
        """Return the counted words of all parts that a process has begun; wait for these, and cancel the other parts.

        To be called once, at the end of the reading.
        """
        jobs, self._jobs, self._left = [job for job in self._jobs if not job.cancel()], [], 0
        # A process that was ended from outside loses the part that it cut.
        return [job.result() for job in jobs if not isinstance(job.exception(), WorkerLost)]


def cut_texts(_: Analysis | None, records: list[Document | JsonLine], seed: int) -> CutTexts:
    """Return the counted words of the texts of records, hashed with `seed`; a worker process runs this.

    The first argument is the process's analysis, which is None as long as the idf is not known.
    """
    texts = [text for record in map(extract, records) if isinstance(record, Document) and (text := record.text)]
    return CutTexts.of(texts, Batch(texts).count(folded=True, seed=seed))


def texts_of(
    named: Sequence[str], settings: InputOptions, listener: RunListener, *, early: EarlyCut | None = None
) -> Iterator[str]:
    """Read an input and yield a random sample of its texts, to learn an idf table from; report refused records.

    `early`, if given, gets the texts that are not in the sample, to cut them into words meanwhile. `NothingToLearn` is
    raised if there is no text.
    """
    sources, consumed = as_sources(named), Progress()
    with listener.meter("learn the idf", total_bytes(sources), unit="bytes") as meter:
        sample = TextSample()
        for scanned in scan_lines(sources, settings, consumed):
            is_taken = sample.add(scanned)
            # Texts in the sample are cut when it is whole.
            if early is not None and not is_taken and isinstance(scanned, Document | JsonLine):
                early.add(scanned)
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

    def add(self, scanned: Scanned | JsonLine) -> bool:
        """Offer a record to the random sample; return whether the sample holds it for now."""
        if isinstance(scanned, Reject):
            self._text(scanned)
            return False
        if (at := self._items.add("")) is None:
            return False
        self._items.items[at] = scanned if isinstance(scanned, JsonLine) else self._text(scanned)
        return True

    def _text(self, scanned: Scanned | JsonLine) -> str:
        record = extract(scanned)
        if isinstance(record, Document):
            return record.text or ""
        self.refused += 1
        self.first = self.first or f"{refusals.where(record.place)}: {record.reason}"
        return ""
