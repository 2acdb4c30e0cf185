"""Writing into HBase: puts and loads of family ``b`` from ready fingerprints, then of everything."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from bench.hbase_clients import PROFILE
from bench.hbase_instance import Instance
from bench.peers import peer
from bench.sizes import Sizes
from bench.synthetic import fill_spool, made_entries
from bench.tables import Table, count, fixed, rate, times
from simhash_hbase.bulk import Spool, begin, load
from simhash_hbase.bulk.sorting import Corpus, sorted_rows
from simhash_hbase.index.index import Index
from simhash_hbase.index.opened import BATCH_DOCUMENTS
from simhash_hbase.profile import Profile
from simhash_hbase.rows.keys import BlockRows, block_rows, pack_rows
from simhash_hbase.rows.layout import BLOCK_ROW_BYTES
from simhash_hbase.stores.hbase import HBaseStore

__all__ = ["TIMESTAMP", "Loads", "load_documents", "write_tables"]

TIMESTAMP = 1_700_000_000_000
"""Of block rows that are written without an index's clock."""

HAPPYBASE_BATCH = 1_000
Simhashes = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Loads:
    """Tables that were written whole."""

    blocks: str
    """Family ``b`` of all fingerprints."""
    documents: str
    """All families of some documents."""


def write_tables(instance: Instance, simhashes: Simhashes, sizes: Sizes) -> tuple[Loads, Table]:
    """Write in all ways, each into a table of its own, and keep the two loaded ones."""
    few = simhashes[: sizes.hbase_documents]
    rows = []
    puts: list[tuple[str, Callable[[str], None]]] = [
        ("`b`: happybase, `batch(1000)`", lambda table: _happybase(instance, table, few)),
        ("`b`: `put_rows`, Thrift 1", lambda table: _put(instance, table, few, 1)),
        ("`b`: `put_rows`, Thrift 2", lambda table: _put(instance, table, few, 2)),
    ]
    done = [(name, len(few), _in_new_table(instance, work)) for name, work in puts]
    blocks, loaded = _load_blocks(instance, simhashes)
    done.append(("`b`: `load`, HFiles", len(simhashes), loaded))
    put = min(seconds / number for _, number, seconds in done[1:3])
    rows = [_row(*each, put) for each in done]
    whole = _in_new_table(instance, lambda table: _add(instance, table, few), prepare=_empty_index)
    documents, everything = load_documents(instance, few)
    rows.append(_row("all: `Index.add_entries`, Thrift 2", len(few), whole, whole / len(few)))
    rows.append(_row("all: `load`, HFiles", len(few), everything, whole / len(few)))
    return Loads(blocks=blocks, documents=documents), Table(
        title="Writing into HBase, from ready fingerprints",
        columns=["what", "documents", "seconds", "documents /s", "as fast as puts"],
        rows=rows,
        notes=[
            "Each writes once, into an empty table of four regions. “`b`” is the ten block rows of a document; its "
            "ratio is to the faster of the two `put_rows`. `load` includes sorting, the start of Java, and the region "
            "server taking over the files.",
            "“all” adds the document cell and the member with id, sketch and text digest; its ratio is to "
            f"`Index.add_entries`, {count(BATCH_DOCUMENTS)} at a time, which first checks whether the ids are known. "
            "Analysis is not included: the parts are ready on the disk.",
        ],
    )


def _row(name: str, number: int, seconds: float, put: float) -> list[str]:
    return [name, count(number), fixed(seconds, " s"), rate(number, seconds), times(seconds / number, put)]


def _in_new_table(
    instance: Instance, work: Callable[[str], None], prepare: Callable[[Instance, str], None] | None = None
) -> float:
    table = instance.new_table()
    if prepare is not None:
        prepare(instance, table)
    start = perf_counter()
    work(table)
    seconds = perf_counter() - start
    instance.drop(table)
    return seconds


def _happybase(instance: Instance, table: str, simhashes: Simhashes) -> None:
    connection = peer("happybase").Connection(*instance.happybase())
    packed = pack_rows(block_rows(PROFILE.blocks, simhashes))
    with connection.table(table).batch(timestamp=TIMESTAMP, batch_size=HAPPYBASE_BATCH) as batch:
        for at in range(0, len(packed), BLOCK_ROW_BYTES):
            batch.put(packed[at : at + BLOCK_ROW_BYTES], {b"b:": b""})
    connection.close()


def _put(instance: Instance, table: str, simhashes: Simhashes, version: int) -> None:
    store = HBaseStore.open(instance.options(version, table))
    for at in range(0, len(simhashes), BATCH_DOCUMENTS):
        rows: BlockRows = block_rows(PROFILE.blocks, simhashes[at : at + BATCH_DOCUMENTS])
        store.put_rows(rows, timestamp=TIMESTAMP)
    store.close()


def _load_blocks(instance: Instance, simhashes: Simhashes) -> tuple[str, float]:
    table = instance.new_table()
    writer = instance.writer(table)
    start = perf_counter()
    writer.write([], sorted_rows(Corpus.of(PROFILE.blocks, simhashes)), timestamp=TIMESTAMP)
    return table, perf_counter() - start


def _empty_index(instance: Instance, table: str, bands: int = 0) -> None:
    profile = Profile.resolve(analyzer="jieba", bands=bands)
    Index.create(HBaseStore.open(instance.options(2, table)), profile).close()


def _add(instance: Instance, table: str, simhashes: Simhashes) -> None:
    with Index(HBaseStore.open(instance.options(2, table))) as index:
        for entries in made_entries(simhashes):
            index.add_entries(entries)


def load_documents(instance: Instance, simhashes: Simhashes, *, bands: int = 0) -> tuple[str, float]:
    """Load documents with all families into a table; give its name and the seconds."""
    table = instance.new_table()
    _empty_index(instance, table, bands)
    with (
        Index(HBaseStore.open(instance.options(2, table))) as index,
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
    ):
        spool = Spool(Path(folder) / "spool", index.store.url, index.profile)
        fill_spool(spool, made_entries(simhashes, bands=bands))
        start = perf_counter()
        begin(index, spool)
        load(index, spool, instance.writer(table))
        return table, perf_counter() - start
