"""Part ``hbase``: queries, writes and bytes on disk on a real HBase of one node."""

from bench.hbase_bytes import bytes_table
from bench.hbase_instance import running_hbase
from bench.hbase_queries import query_tables
from bench.hbase_writes import write_tables
from bench.queries import Planted
from bench.sizes import Sizes
from bench.tables import Table

__all__ = ["measure_hbase"]


def measure_hbase(sizes: Sizes) -> list[Table]:
    """Load fingerprints, query them by all clients, then rewrite the files."""
    planted = Planted(sizes)
    with running_hbase() as instance:
        loads, writes = write_tables(instance, planted.stored, sizes)
        queries = query_tables(instance, loads.blocks, planted, sizes)
        return [*queries, writes, bytes_table(instance, loads, sizes)]
