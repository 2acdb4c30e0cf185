"""Runs under valgrind, which counts the instructions of each process: python counted.py FOLDER.

Forked children do each job N times and 2 N times, so that the difference is N jobs and nothing else. Standard output
names the job, its times and the process of each child.
"""

import gc
import os
import sys

from simhash_hbase import LocalIndex, create_index
from simhash_hbase.features.chunks import analyse_chunk
from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore

TIMES = 10
DOCUMENTS = 200
# The size of the map is mapped at once, and valgrind has no room for the usual terabyte.
MAP_BYTES = 32 << 20


def text(number: int) -> str:
    """Return a page of some 300 characters, which shares most of them with all others."""
    news = f"市政府今天批准了第{number}条穿过老城的新地铁线路，工程将于明年春天开始，预计{number * 7}年完成。"
    return f"{news}居民们{number}对此表示欢迎。The council has approved line {number}. " * 3


def fill(folder: str) -> None:
    """Make the index that is asked."""
    with create_index(f"file:{folder}", passages=50) as index:
        list(index.add_many((str(number), text(number)) for number in range(DOCUMENTS)))


def opened(folder: str) -> LocalIndex:
    """Open the index."""
    return LocalIndex(EmbeddedStore.open(folder, EmbeddedOptions(map_bytes=MAP_BYTES)))


def main(folder: str) -> None:
    """Do everything once, so that all is loaded, then have the children repeat it."""
    with opened(folder) as index:
        analysis = index.analysis
        assert index.query(text(7)).matches

    def fingerprint(times: int) -> None:
        for _ in range(times):
            analyse_chunk(analysis, "texts", [""], [text(7)], None)

    def query(times: int) -> None:
        with opened(folder) as index:
            index.analysis = analysis
            for _ in range(times):
                index.query(text(7))

    gc.disable()
    for job in (fingerprint, query):
        for times in (TIMES, 2 * TIMES):
            process = os.fork()
            if not process:
                job(times)
                os._exit(0)
            _, status = os.waitpid(process, 0)
            assert not status
            print(job.__name__, times, process, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
