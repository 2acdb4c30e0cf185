"""A sample of a corpus, for the idf table of an index that is made for it."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from simhash_hbase.corpus.notes import where
from simhash_hbase.corpus.options import Watch
from simhash_hbase.errors import InvalidInput
from simhash_hbase.features.idf import LEARN_FROM, CutTexts, Reservoir, text_key
from simhash_hbase.inputs import Document, InputOptions, Progress, Reject, Scanned, extract, scan, total_bytes
from simhash_hbase.inputs.sources import as_sources
from simhash_hbase.kernel.texts import Batch

PART_CHARACTERS = 1 << 21  # Of a part that a thread cuts at a time: small ones would often wait for Python's lock.
EARLY_CHARACTERS = 1 << 25  # Of all of them: the words that are kept until the idf is learned take some 100 MB.
NOTHING_TO_LEARN_FROM = "there is no document to learn the idf from"


class NothingToLearn(InvalidInput):
    """No record of an input has a text."""


class EarlyCut:
    """Has threads cut texts of a corpus while it is read to learn from, which keeps one processor busy.

    Texts that come while all threads are at work are left for later.
    """

    def __init__(self, threads: int, *, seed: int) -> None:
        self._threads = threads
        self._seed = seed
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="cut")
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
        if sum(not job.done() for job in self._jobs) <= self._threads:
            self._jobs.append(self._pool.submit(self._cut, self._part))
            self._left -= self._characters
        self._part, self._characters = [], 0

    def _cut(self, texts: list[str]) -> CutTexts:
        words = Batch(texts).count(folded=True, seed=self._seed)
        return CutTexts(list(map(text_key, texts)), words.without_texts())

    def take(self) -> list[CutTexts]:
        """Wait for the threads, and return what was cut, once."""
        jobs, self._jobs, self._left = self._jobs, [], 0
        return [job.result() for job in jobs]

    def close(self) -> None:
        """Give up what no thread has begun."""
        self._pool.shutdown(cancel_futures=True)


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
