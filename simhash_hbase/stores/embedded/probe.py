"""Reading every page of a folder in a process of its own.

LMDB trusts its pages: a damaged one may end the process that reads it with a signal, which no Python code can catch.
This file is run by its path, so that it imports nothing but the driver.
"""

import os
import sys
from collections import deque

import lmdb

FAILED = 1
FREE_LIST_DAMAGED = 2
PAGE_DAMAGED = 3
_DAMAGE = (lmdb.CorruptedError, lmdb.IncompatibleError, lmdb.PageNotFoundError)


def main(folder: str, map_bytes: int, names: list[str], *, lock: bool) -> None:
    """Read all values of the named databases and the list of free pages; exit with a code of this module for damage."""
    with lmdb.open(
        folder, readonly=True, lock=lock, max_dbs=len(names), map_size=map_bytes, readahead=False
    ) as environment:
        for name in names:
            database = environment.open_db(name.encode(), create=False)
            with environment.begin(database) as transaction, transaction.cursor() as cursor:
                try:
                    # To the end or to the first damaged page, behind which there may be one that ends the process.
                    deque(cursor, maxlen=0)
                except _DAMAGE:
                    # A page that looks damaged may be one that a writer who does not see this process has used again.
                    if lock:
                        sys.exit(PAGE_DAMAGED)
                    raise
        # A writer that does not see this process may change the list of free pages meanwhile.
        if lock:
            with open(os.devnull, "wb") as nowhere:
                try:
                    # The free list has no cursor: a compact copy leaves its pages out, and must count them for that.
                    environment.copyfd(nowhere.fileno(), compact=True)
                except _DAMAGE:
                    # All other databases have been read.
                    sys.exit(FREE_LIST_DAMAGED)


if __name__ == "__main__":
    try:
        main(sys.argv[1], int(sys.argv[2]), sys.argv[4:], lock=sys.argv[3] == "lock")
    except lmdb.Error:
        sys.exit(FAILED)
