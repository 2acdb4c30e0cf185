"""Part ``load``: time, bytes on disk and memory of loading documents into a folder."""

import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from bench.documents import made_entries
from bench.measuring import Table, anonymous_bytes, count, fixed, rate
from bench.sizes import Sizes
from simhash_hbase.index.index import Index
from simhash_hbase.index.opened import BATCH_DOCUMENTS
from simhash_hbase.profile import Profile
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.keys import block_rows
from simhash_hbase.stores.embedded import EmbeddedStore

COLUMNS = ("documents", "documents /s", "block rows /s", "bytes a document", "in use", "memory")


def measure_load(sizes: Sizes) -> list[Table]:
    """Load uniform fingerprints in three ways."""
    simhashes = np.random.default_rng(11).integers(0, 2**64, sizes.load_documents, dtype=np.uint64)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        rows = [
            _rows("block rows alone, sorted, one commit", Path(folder) / "sorted", simhashes, batch=len(simhashes)),
            _rows("block rows alone, batches", Path(folder) / "batches", simhashes, batch=BATCH_DOCUMENTS),
            _documents(Path(folder) / "documents", simhashes, 0),
            _documents(Path(folder) / "banded", simhashes, 6),
        ]
    return [
        Table(
            title="Loading a `file:` index",
            columns=["what", *COLUMNS],
            rows=rows,
            notes=[
                f"Batches are durable commits of {count(BATCH_DOCUMENTS)} documents. “Everything” is "
                "`Index.add_entries`: ids of 40 bytes, sketch, text digest, document cell and ten block rows.",
                "Bytes are those of the file. A later batch reuses what an earlier one freed, so up to some 90 MB are "
                "spare. “In use” is the size of a `backup`. Memory is the growth of the process's private memory.",
            ],
        )
    ]


def _rows(name: str, path: Path, simhashes: np.ndarray, *, batch: int) -> list[str]:
    scheme = Scheme.parse("5x2")
    store = EmbeddedStore.create(str(path))
    before, start = anonymous_bytes(), perf_counter()
    for at in range(0, len(simhashes), batch):
        store.put_rows(block_rows(scheme, simhashes[at : at + batch]), timestamp=1)
    row = _row(name, len(simhashes), perf_counter() - start, store, before)
    store.close()
    return row


def _documents(path: Path, simhashes: np.ndarray, bands: int) -> list[str]:
    store = EmbeddedStore.create(str(path))
    with Index.create(store, Profile.resolve(analyzer="jieba", bands=bands)) as index:
        batches = list(made_entries(simhashes, bands=bands))
        before, start = anonymous_bytes(), perf_counter()
        for entries in batches:
            index.add_entries(entries)
        named = f"everything, batches, {bands} bands" if bands else "everything, batches"
        return _row(named, len(simhashes), perf_counter() - start, store, before)


def _row(name: str, documents: int, seconds: float, store: EmbeddedStore, before: int) -> list[str]:
    memory, size = anonymous_bytes() - before, store.size()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        store.backup(f"{folder}/copy")
        in_use = (Path(folder) / "copy" / "data.mdb").stat().st_size
    return [
        name,
        count(documents),
        rate(documents, seconds),
        rate((size.rows or {})["b"], seconds),
        count((size.bytes or 0) / documents),
        count(in_use / documents),
        fixed(memory / 2**20, " MiB"),
    ]
