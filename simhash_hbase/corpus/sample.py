"""A sample of a corpus, for the idf table of an index that is made for it."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future

from simhash_hbase.corpus.messages import where
from simhash_hbase.corpus.options import Watch
from simhash_hbase.errors import InvalidInput, WorkerLost
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.idf import LEARN_FROM, CutTexts, Reservoir
from simhash_hbase.inputs import Document, InputOptions, Progress, Reject, Scanned, extract, scan, total_bytes
from simhash_hbase.inputs.sources import as_sources
from simhash_hbase.kernel.texts import Batch
from simhash_hbase.pipeline.worker import Workers

PART_CHARACTERS = 1 << 20  # Of a part that a process cuts at a time.
EARLY_CHARACTERS = 1 << 25  # Of all of them: the words that are kept until the idf is learned take some 100 MB.
WAITING = 4  # Parts for each process.
NOTHING_TO_LEARN_FROM = "there is no document to learn the idf from"


class NothingToLearn(InvalidInput):
    """No record of an input has a text."""


class EarlyCut:
    """Has processes cut texts of a corpus while it is read to learn from, until there is an analysis for them.

    Texts that come while enough of them wait are left for later.
    """

    def __init__(self, pool: Workers, processes: int, *, seed: int) -> None:
        self._pool = pool
        self._most_waiting = WAITING * processes
        self._seed = seed
        self._jobs: list[Future[CutTexts]] = []
        self._part: list[str] = []
        self._characters = 0
        self._left = EARLY_CHARACTERS

    def add(self, text: str) -> None:
        """Offer the next text."""
        if self._left <= 0:
            return
        self._part.append(text)
        self._characters += len(text)
        if self._characters < PART_CHARACTERS:
            return
        if sum(not job.done() for job in self._jobs) < self._most_waiting:
            self._jobs.append(self._pool.submit(cut_texts, self._part, self._seed))
            self._left -= self._characters
        self._part, self._characters = [], 0

    def take(self) -> list[CutTexts]:
        """Give up what no process has begun, wait for the rest, and return what was cut, once."""
        jobs, self._jobs, self._left = [job for job in self._jobs if not job.cancel()], [], 0
        # A process that was ended from outside costs what it cut.
        return [job.result() for job in jobs if not isinstance(job.exception(), WorkerLost)]


def cut_texts(_: Analysis | None, texts: list[str], seed: int) -> CutTexts:
    """Cut texts in any process, before there is an analysis."""
    return CutTexts.of(texts, Batch(texts).count(folded=True, seed=seed))


def texts_of(
    named: Sequence[str], settings: InputOptions, watch: Watch, *, early: EarlyCut | None = None
) -> Iterator[str]:
    """Read texts to learn from, as many as are learned from; what cannot be read is counted and reported."""
    sources, consumed = as_sources(named), Progress()
    with watch.meter("learn the idf", total_bytes(sources), unit="bytes") as meter:
        sample = TextSample()
        for scanned in scan(sources, settings, consumed):
            is_taken = sample.add(scanned)
            # What the sample takes is cut when it is whole.
            if early is not None and not is_taken and isinstance(scanned, Document) and scanned.text:
                early.add(scanned.text)
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

    def add(self, scanned: Scanned) -> bool:
        """Offer a record, and return whether it is taken as yet."""
        record, at = scanned, None
        if not isinstance(scanned, Reject) and (at := self._texts.add("")) is not None:
            record = extract(scanned)
            self._texts.items[at] = "" if isinstance(record, Reject) else record.text or ""
        if isinstance(record, Reject):
            self.refused += 1
            self.first = self.first or f"{where(record.place)}: {record.reason}"
        return at is not None
