"""Part ``passages``: what a clue and a text cost in folders of growing size, and a line that all documents have."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from time import process_time

import numpy as np
from numpy.typing import NDArray

from bench.documents import document_id, load_made
from bench.measuring import Table, count, fixed, percentile
from bench.sizes import Sizes
from simhash_hbase.bulk import StoreWriter
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.index.arguments import BATCH_DOCUMENTS
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.kernel.tables import jieba_file
from simhash_hbase.profile import Profile
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.stores.embedded import EmbeddedStore

PASSAGES = 50
WORDS = 80
LINE = (
    "版权所有，未经书面授权，任何单位和个人不得转载、摘编或者以其他方式使用本站的文字、图片和音视频资料，"
    "违者将依法追究责任。"
)
"""Stands below every document."""
ANALYSED = 20_000
"""Documents that are made of texts; larger indexes have copies of them with other hashes."""
PROFILE = Profile.resolve(analyzer="shingle", passages=PASSAGES)

COLUMNS = ("documents", "bytes a document", "mean", "median", "95 %", "documents or spans found")


def made_texts(documents: int) -> Iterator[list[str]]:
    """Yield batches of texts, whose words are drawn by their frequency; a larger index begins with the same ones."""
    lines = [line.split(" ") for line in jieba_file("dict.txt").read_text(encoding="utf-8").splitlines()]
    words, chances = [line[0] for line in lines], np.cumsum([float(line[1]) for line in lines])
    for start in range(0, documents, BATCH_DOCUMENTS):
        number = min(BATCH_DOCUMENTS, documents - start)
        drawn = np.random.default_rng([6, start]).random((BATCH_DOCUMENTS, WORDS))[:number] * chances[-1]
        yield ["".join(words[at] for at in row) + LINE for row in np.searchsorted(chances, drawn).tolist()]


def measure_passages(sizes: Sizes) -> list[Table]:
    rows = [row for documents in sizes.passage_documents for row in _measured(documents, sizes.passage_queries)]
    return [
        Table(
            title=f"Clues and passages in a folder, N {PASSAGES}",
            columns=["what", *COLUMNS],
            rows=rows,
            notes=["Processor time of this process. Each document ends with the same line of 54 letters."],
        )
    ]


def multiplied(base: Entries, documents: int) -> Iterator[Entries]:
    """Yield so many documents: the ones that were analysed, then copies with other hashes.

    A copy has the hashes of its document moved to another place of all spaces, all but those that half of the
    documents have. So it has as many rows, and shares the common ones alone.
    """
    values, numbers = np.unique(_hashes(base), return_counts=True)
    common = values[numbers > len(base) // 2]
    masks = np.random.default_rng(9)
    for made in range(0, documents, len(base)):
        mask = masks.integers(0, 2**64, dtype=np.uint64) if made else np.uint64(0)
        for start in range(0, min(len(base), documents - made), BATCH_DOCUMENTS):
            few = base.take(range(start, min(start + BATCH_DOCUMENTS, len(base), documents - made)))
            hashes = _hashes(few)
            hashes = np.where(np.isin(hashes, common), hashes, hashes ^ mask)
            owners = np.repeat(np.arange(len(few)), [len(packed) // 8 for packed in few.packed_passages])
            order = np.lexsort([hashes, owners])
            cuts = np.searchsorted(owners, np.arange(1, len(few)))
            digests = masks.bytes(16 * len(few))
            yield replace(
                few,
                ids=[document_id(made + start + at) for at in range(len(few))],
                simhashes=few.simhashes ^ mask,
                sketches=few.sketches ^ mask,
                bands=few.segments ^ mask.astype(np.uint32),
                digests=[digests[at : at + 16] for at in range(0, len(digests), 16)],
                passages=[part.astype(">u8").tobytes() for part in np.split(hashes[order], cuts)],
            )


def _hashes(entries: Entries) -> NDArray[np.uint64]:
    return np.frombuffer(b"".join(entries.packed_passages), ">u8").astype(np.uint64)


def _measured(documents: int, queries: int) -> list[list[str]]:
    analysed = min(documents, ANALYSED)
    texts = [text for batch in made_texts(analysed) for text in batch]
    base = Analysis(PROFILE).texts(list(map(str, range(analysed))), texts, [None] * analysed).entries
    asked = texts[:: max(1, analysed // queries)][:queries]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        store = EmbeddedStore.create(f"{folder}/index")
        with LocalIndex.create(store, PROFILE) as index:
            load_made(index, multiplied(base, documents), StoreWriter(store), process_time)
            size = store.size().bytes / documents
            rng = np.random.default_rng(8)
            kinds: list[tuple[str, Callable[[str], int], list[str]]] = [
                (
                    "`find`, a clue of 50",
                    lambda clue: len(index.find(clue).matches),
                    [_cut(text, rng) for text in asked],
                ),
                ("`find`, the common line", lambda clue: len(index.find(clue).matches), [LINE] * min(20, len(asked))),
                ("`passages`, half of it new", lambda text: len(index.passages(text).passages), _half_new(asked)),
            ]
            return [[name, count(documents), *_row(size, work, texts)] for name, work, texts in kinds]


def _cut(text: str, rng: np.random.Generator) -> str:
    """Cut a clue out of the part of a text that is its own."""
    at = int(rng.integers(max(1, len(text) - len(LINE) - PASSAGES)))
    return text[at : at + PASSAGES]


def _half_new(texts: Sequence[str]) -> list[str]:
    """Join the first half of a text, and in the place of the other one the second halves of words of other texts."""
    return [
        text[: len(text) // 2] + other[::-1] + LINE for text, other in zip(texts, [*texts[1:], texts[0]], strict=True)
    ]


def _row(size: float, work: Callable[[str], int], texts: Sequence[str]) -> list[str]:
    seconds, found = [], 0
    for text in texts:
        before = process_time()
        found += work(text)
        seconds.append(process_time() - before)
    figures = (sum(seconds) / len(seconds), percentile(seconds, 0.5), percentile(seconds, 0.95))
    return [count(size), *(f"{1e3 * each:.2f} ms" for each in figures), fixed(found / len(texts))]
