"""A process that de-duplicates an Arrow file: ``python -m bench.tabled FILE``."""

import sys

import pyarrow as pa

from simhash_hbase.tables import drop_near_duplicates


def main(path: str) -> None:
    """Drop the near-duplicates of a table with the columns id and text."""
    with pa.memory_map(path) as file:
        drop_near_duplicates(pa.ipc.open_file(file).read_all(), id="id", analyzer="jieba")


if __name__ == "__main__":
    main(sys.argv[1])
