"""Part ``load``: time, bytes on disk and memory of loading documents into a folder."""

import tempfile
from contextlib import closing
from pathlib import Path
from time import perf_counter

import numpy as np

from bench.documents import made_entries
from bench.measuring import Table, count, rate
from bench.queries import PROFILE
from bench.sizes import Sizes
from simhash_hbase.index.arguments import BATCH_DOCUMENTS
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.rows.keys import block_rows
from simhash_hbase.stores.embedded import EmbeddedStore

COLUMNS = ("documents", "documents /s", "bytes a document", "in use")


def measure_load(sizes: Sizes) -> list[Table]:
    simhashes = np.random.default_rng(11).integers(0, 2**64, sizes.documents, dtype=np.uint64)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        rows = [
            _rows("block rows alone, sorted, one commit", f"{folder}/sorted", simhashes, batch=len(simhashes)),
            _rows("block rows alone, batches", f"{folder}/batches", simhashes, batch=BATCH_DOCUMENTS),
            _documents(f"{folder}/documents", simhashes),
        ]
    return [Table(title="Loading a `file:` index", columns=["what", *COLUMNS], rows=rows)]


def _rows(name: str, path: str, simhashes: np.ndarray, *, batch: int) -> list[str]:
    with closing(EmbeddedStore.create(path)) as store:
        start = perf_counter()
        for at in range(0, len(simhashes), batch):
            store.put_rows(block_rows(PROFILE.blocks, simhashes[at : at + batch]), timestamp=1)
        return _row(name, len(simhashes), perf_counter() - start, store)


def _documents(path: str, simhashes: np.ndarray) -> list[str]:
    store = EmbeddedStore.create(path)
    with LocalIndex.create(store, PROFILE) as index:
        batches = list(made_entries(simhashes))
        start = perf_counter()
        for entries in batches:
            index.add_entries(entries)
        return _row("everything, batches", len(simhashes), perf_counter() - start, store)


def _row(name: str, documents: int, seconds: float, store: EmbeddedStore) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        store.backup(f"{folder}/copy")
        in_use = (Path(folder) / "copy" / "data.mdb").stat().st_size
    sizes = (store.size().bytes or 0, in_use)
    return [name, count(documents), rate(documents, seconds), *(count(size / documents) for size in sizes)]
