"""Part ``lsh``: documents against datasketch's MinHash LSH."""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from bench.documents import Sentences, document_id
from bench.measuring import Table, anonymous_bytes, count, fixed, peer, rate
from bench.sizes import Sizes
from simhash_hbase.index.arguments import BATCH_DOCUMENTS
from simhash_hbase.index.index import Index
from simhash_hbase.kernel.texts import Batch
from simhash_hbase.opening import create_index
from simhash_hbase.rows.analysed import Entries

THRESHOLD = 0.8
PERMUTATIONS = 128
SHINGLE = 5
COLUMNS = ("from text /s", "insert ready ones /s", "query ready ones /s", "all three /s", "memory", "copies found")


class _Speeds:
    """Seconds a document, and what came of it."""

    def __init__(self) -> None:
        self.text = self.insert = self.query = 0.0
        self.memory = 0
        self.found = 0

    def row(self, name: str, documents: int) -> list[str]:
        steps = (self.text, self.insert, self.query)
        return [
            name,
            *(rate(1, seconds) for seconds in (*steps, sum(steps))),
            fixed(self.memory / 2**20, " MiB"),
            fixed(100 * self.found / documents, " %"),
        ]


def measure_lsh(sizes: Sizes) -> list[Table]:
    """Insert the same documents into both, and query each document."""
    sentences = Sentences(sizes.lsh_documents)
    ours, banded, theirs = _ours(sentences, sizes, 0), _ours(sentences, sizes, 6), _datasketch(sentences, sizes)
    n = len(sentences.documents)
    return [
        Table(
            title=f"{count(n)} documents, against MinHash LSH",
            columns=["index", *COLUMNS],
            rows=[
                ours.row("ours, `file:`, on disk, without sketch rows", n),
                banded.row("ours, `file:`, on disk, with six", n),
                theirs.row(f"datasketch `MinHashLSH(threshold={THRESHOLD}, num_perm={PERMUTATIONS})`, in memory", n),
            ],
            notes=[
                f"Documents have {count(sentences.characters)} characters; “from text” is of {count(sizes.lsh_texts)}."
            ],
        )
    ]


def _ours(sentences: Sentences, sizes: Sizes, bands: int) -> _Speeds:
    speeds = _Speeds()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        index = create_index(f"file:{Path(folder) / 'index'}", analyzer="jieba", bands=bands)
        batches = list(_analysed(index, sentences))
        few = [sentences.text(numbers) for numbers in sentences.documents[: sizes.lsh_texts].tolist()]
        start = process_time()
        index.analysis.texts([""] * len(few), few)
        speeds.text = (process_time() - start) / len(few)
        before, start = anonymous_bytes(), process_time()
        for entries in batches:
            index.add_entries(entries)
        speeds.insert = (process_time() - start) / len(sentences.documents)
        speeds.memory = anonymous_bytes() - before
        start = process_time()
        answers = [answer for entries in batches for answer in index.query_entries(entries)]
        speeds.query = (process_time() - start) / len(sentences.documents)
        speeds.found = _partners([match.id for match in answer.matches] for answer in answers)
        index.close()
    return speeds


def _analysed(index: Index, sentences: Sentences) -> Iterable[Entries]:
    for start in range(0, len(sentences.documents), BATCH_DOCUMENTS):
        few = sentences.documents[start : start + BATCH_DOCUMENTS].tolist()
        ids = [document_id(start + at) for at in range(len(few))]
        yield index.analysis.texts(ids, [sentences.text(numbers) for numbers in few]).entries


def _datasketch(sentences: Sentences, sizes: Sizes) -> _Speeds:
    module, speeds = peer("datasketch"), _Speeds()
    few = [sentences.text(numbers) for numbers in sentences.documents[: sizes.lsh_texts].tolist()]
    start = process_time()
    for text in few:
        signature(module, text)
    speeds.text = (process_time() - start) / len(few)
    signatures = _ready(module, sentences)
    lsh = module.MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    before, start = anonymous_bytes(), process_time()
    for at, ready in enumerate(signatures):
        lsh.insert(document_id(at), ready)
    speeds.insert = (process_time() - start) / len(signatures)
    speeds.memory = anonymous_bytes() - before
    start = process_time()
    answers = [lsh.query(ready) for ready in signatures]
    speeds.query = (process_time() - start) / len(signatures)
    speeds.found = _partners(answers)
    return speeds


def signature(module: Any, text: str) -> Any:
    [normal] = Batch([text]).normal_forms()
    starts = range(max(1, len(normal) - SHINGLE + 1))
    signature = module.MinHash(PERMUTATIONS)
    signature.update_batch({normal[at : at + SHINGLE].encode() for at in starts})
    return signature


def _ready(module: Any, sentences: Sentences) -> list[Any]:
    """Make signatures of documents as minima over their sentences: right but for shingles across two sentences."""
    parts = np.stack([signature(module, sentence).hashvalues for sentence in sentences.pool])
    values = parts[sentences.documents[:, 0]]
    for column in sentences.documents.T[1:]:
        np.minimum(values, parts[column], out=values)
    empty = module.MinHash(PERMUTATIONS)
    signatures = [empty.copy() for _ in values]
    for ready, row in zip(signatures, values, strict=True):
        ready.hashvalues = row
    return signatures


def _partners(answers: Iterable[Iterable[str]]) -> int:
    return sum(document_id(at ^ 1) in set(ids) for at, ids in enumerate(answers))
