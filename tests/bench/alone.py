"""A process that reads and analyses a file and does nothing with it: ``python -m bench.alone FILE``."""

import sys

from simhash_hbase.inputs import InputOptions, read
from simhash_hbase.opening import create_index
from simhash_hbase.pipeline.analyse import analyse


def main(path: str) -> None:
    """Fingerprint and sketch a file of JSON lines."""
    analysis = create_index("memory:", analyzer="jieba").analysis
    for _ in analyse(read([path], InputOptions()), analysis, workers=1):
        pass


if __name__ == "__main__":
    main(sys.argv[1])
