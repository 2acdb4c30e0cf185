"""Bytes on disk in HBase, by data block encoding and codec."""

import numpy as np

from bench.hbase_instance import Instance
from bench.hbase_peer import rewrite
from bench.hbase_writes import Loads, load_documents
from bench.sizes import Sizes
from bench.tables import Table, count, fixed

__all__ = ["bytes_table", "with_and_without"]


def bytes_table(instance: Instance, loads: Loads, sizes: Sizes) -> Table:
    """Have the files of both families rewritten under each setting."""
    blocks = rewrite(instance, loads.blocks, "b", sizes.hbase_files)
    documents = rewrite(instance, loads.documents, "d", sizes.hbase_files)
    rows = [
        [
            f"{encoding}, {codec}",
            fixed(of_blocks / 2**20, " MiB"),
            fixed(of_blocks / sizes.fingerprints, " B"),
            fixed(of_documents / sizes.hbase_documents, " B"),
        ]
        for (encoding, codec), of_blocks, of_documents in zip(sizes.hbase_files, blocks, documents, strict=True)
    ]
    return Table(
        title="Files in HBase after a major compaction",
        columns=["encoding, codec", "family `b`", "a document in `b`", "in `d`"],
        rows=rows,
        notes=[
            f"Family `b` holds {count(sizes.fingerprints)} uniform fingerprints, ten rows each. The encoding saves "
            f"more if there are more of them. Family `d` holds {count(sizes.hbase_documents)} documents: ids of 40 "
            "bytes that differ in their numbers, random sketches and text digests. Four regions. Sizes include "
            "indexes and bloom filters."
        ],
    )


def with_and_without(instance: Instance, bands: int, sizes: Sizes) -> Table:
    """Load documents with and without sketch rows, and have their files rewritten under the settings of a schema."""
    simhashes = np.random.default_rng(37).integers(0, 2**64, sizes.hbase_documents, dtype=np.uint64)
    settings = [setting for setting in sizes.hbase_files if setting[0] == "FAST_DIFF"]
    tables = [load_documents(instance, simhashes, bands=each)[0] for each in (0, 0, bands)]
    files = [rewrite(instance, table, family, settings) for table in tables for family in ("b", "d")]
    rows = [[codec, *(fixed(size[at] / len(simhashes)) for size in files)] for at, (_, codec) in enumerate(settings)]
    columns = [f"`{family}`{told}" for told in ("", ", control", f", {bands} sketch rows") for family in ("b", "d")]
    return Table(
        title="Files in HBase after a major compaction, bytes a document",
        columns=["codec, with FAST_DIFF", *columns],
        rows=rows,
        notes=[
            f"{count(len(simhashes))} documents with uniform fingerprints and segments, ids of 40 bytes, random "
            "sketches and text digests; four regions. The control is a second table without sketch rows."
        ],
    )
