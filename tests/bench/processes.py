"""Processes that the command is compared with: ``python -m bench.processes analyse|table FILE``."""

import sys

import pyarrow as pa

from simhash_hbase.inputs import InputOptions, read
from simhash_hbase.opening import create_index
from simhash_hbase.pipeline.analyse import analyse
from simhash_hbase.tables import drop_near_duplicates


def main(what: str, path: str) -> None:
    """Read and analyse a file of JSON lines, or drop the near-duplicates of an Arrow file with columns id and text."""
    if what == "analyse":
        analysis = create_index("memory:", analyzer="jieba").analysis
        for _ in analyse(read([path], InputOptions()), analysis, workers=1):
            pass
        return
    with pa.memory_map(path) as file:
        drop_near_duplicates(pa.ipc.open_file(file).read_all(), id="id", analyzer="jieba")


if __name__ == "__main__":
    main(*sys.argv[1:])
