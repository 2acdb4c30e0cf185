"""Documents to measure with: shared or made texts, ready fingerprints, and near copies out of sentences."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support.labelled import documents_file, read_documents

from simhash_hbase.bulk import Spool, Writer, begin, load
from simhash_hbase.bulk.spool import PartNote, SpoolPart, write_part
from simhash_hbase.index.arguments import BATCH_DOCUMENTS
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.kernel.tables import jieba_file
from simhash_hbase.rows.analysed import SKETCH_WORDS, Entries

SETS = {
    "laws-zh": "laws_tw_versions",
    "laws-en": "laws_tw_en_versions",
    "lctt": "lctt_zh_edit",
    "graph": "graph_zh_v1_beta",
}
"""The sets by their names in README.md of this folder, and their files."""

WORDS_A_SENTENCE = 12
SENTENCES_A_TEXT = 25
MADE_TEXTS = 4_000


def are_shared(name: str) -> bool:
    return documents_file(SETS[name]).exists()


def corpus(name: str) -> Iterator[str]:
    """Yield the texts of a set in their order; where its file is absent, made texts, always the same."""
    if not are_shared(name):
        yield from _made_texts()
        return
    for document in read_documents(SETS[name]):
        yield document["text"]


def spread(name: str, wanted: int) -> list[str]:
    """Take texts at equal distances from all of a set."""
    texts = list(corpus(name))
    places = np.linspace(0, len(texts) - 1, num=min(wanted, len(texts)), dtype=np.int64)
    return [texts[at] for at in places]


def _made_texts() -> Iterator[str]:
    """Draw words by their frequency."""
    rng = np.random.default_rng(1)
    lines = [line.split(" ") for line in jieba_file("dict.txt").read_text(encoding="utf-8").splitlines()]
    words, chances = [line[0] for line in lines], np.cumsum([float(line[1]) for line in lines])
    for _ in range(MADE_TEXTS):
        drawn = rng.random((SENTENCES_A_TEXT, WORDS_A_SENTENCE)) * chances[-1]
        yield "\n".join("".join(words[at] for at in row) + "。" for row in np.searchsorted(chances, drawn))


def document_id(number: int) -> str:
    """Make an id of 40 bytes, the length of a short URL."""
    return f"https://example.org/articles/{number:011d}"


def numbered_entries(first: int, simhashes: NDArray[np.uint64], *, bands: int = 0) -> Entries:
    """Make documents of these fingerprints with all their cells, numbered from the first."""
    n, rng = len(simhashes), np.random.default_rng([3, first])
    digests = rng.bytes(16 * n)
    return Entries(
        ids=[document_id(first + at) for at in range(n)],
        simhashes=simhashes,
        sketches=rng.integers(0, 2**64, (n, SKETCH_WORDS), dtype=np.uint64),
        shingles=np.full(n, 1_700, np.uint32),
        features=np.full(n, 150, np.int32),
        lengths=np.full(n, 2_000, np.int32),
        digests=[digests[16 * at : 16 * at + 16] for at in range(n)],
        metadata=[None] * n,
        bands=rng.integers(0, 2**32, (n, bands), dtype=np.uint32),
    )


def made_entries(simhashes: NDArray[np.uint64], *, bands: int = 0) -> Iterator[Entries]:
    """Yield documents in batches of the size that the index's own methods take."""
    for start in range(0, len(simhashes), BATCH_DOCUMENTS):
        yield numbered_entries(start, simhashes[start : start + BATCH_DOCUMENTS], bands=bands)


def load_made(index: LocalIndex, batches: Iterable[Entries], writer: Writer, clock: Callable[[], float]) -> float:
    """Load documents that need no analysis, as `Spool.fill` hands them over; return the seconds that this takes."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        spool = Spool(Path(folder) / "spool", index.store.url, index.profile)
        for number, entries in enumerate(batches):
            file, size = f"part-{number:06d}", len(entries)
            checksum = write_part(spool.folder / file, SpoolPart(entries, []))
            note = PartNote(file=file, checksum=checksum, records=size, input=checksum, documents=size)
            spool.manifest.parts.append(note)
        spool.save()
        start = clock()
        begin(index, spool)
        load(index, spool, writer)
        return clock() - start


ARTICLES = 600
MOST_SENTENCES = 2_000
SHORTEST, LONGEST = 30, 90
SENTENCES_A_DOCUMENT = 12


class Sentences:
    """Lines of Chinese articles, and documents made of twelve of them.

    Document 2 i + 1 is document 2 i without half a sentence, so they share about 23 in 24 of their shingles.
    """

    def __init__(self, number: int) -> None:
        lines = (line.strip() for text in islice(corpus("lctt"), ARTICLES) for line in text.splitlines())
        fitting = dict.fromkeys(line for line in lines if SHORTEST <= len(line) <= LONGEST)
        whole = list(islice(fitting, min(number, MOST_SENTENCES)))
        self.characters = SENTENCES_A_DOCUMENT * sum(map(len, whole)) / len(whole)
        """Length of an original, on average."""
        self.pool = [*whole, *(line[: len(line) // 2] for line in whole)]
        """The sentences, and behind them the first half of each."""
        rng = np.random.default_rng(5)
        originals = rng.integers(len(whole), size=((number + 1) // 2, SENTENCES_A_DOCUMENT))
        copies = originals.copy()
        copies[np.arange(len(copies)), rng.integers(SENTENCES_A_DOCUMENT, size=len(copies))] += len(whole)
        self.documents = np.stack([originals, copies], axis=1).reshape(-1, SENTENCES_A_DOCUMENT)[:number]
        """Sentence numbers, shape (number, 12)."""

    def text(self, numbers: Sequence[int]) -> str:
        return "\n".join(self.pool[at] for at in numbers)
