"""Part ``hbase``: queries, writes and bytes on disk on a real HBase of one node."""

from bench.hbase_instance import Instance, running_hbase
from bench.hbase_peer import rewrite
from bench.hbase_queries import query_tables
from bench.hbase_writes import Loads, write_tables
from bench.queries import Planted
from bench.sizes import Sizes
from bench.tables import Table, count, fixed

__all__ = ["measure_hbase"]


def measure_hbase(sizes: Sizes) -> list[Table]:
    """Load fingerprints, query them by all clients, then rewrite the files."""
    planted = Planted(sizes)
    with running_hbase() as instance:
        loads, writes = write_tables(instance, planted.stored, sizes)
        queries = query_tables(instance, loads.blocks, planted, sizes)
        return [*queries, writes, _bytes_table(instance, loads, sizes)]


def _bytes_table(instance: Instance, loads: Loads, sizes: Sizes) -> Table:
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
