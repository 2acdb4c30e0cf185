"""Reading every page of a folder in a process of its own.

LMDB trusts its pages: a damaged one may end the process that reads it with a signal, which no Python code can catch.
This file is run by its path, so that it imports nothing but the driver.
"""

import sys
from collections import deque

import lmdb


def main(folder: str, map_bytes: int, names: list[str], *, lock: bool) -> None:
    """Read all values of the named databases; the process that asks reads the driver's errors itself."""
    with lmdb.open(
        folder, readonly=True, lock=lock, max_dbs=len(names), map_size=map_bytes, readahead=False
    ) as environment:
        for name in names:
            database = environment.open_db(name.encode(), create=False)
            with environment.begin(database) as transaction, transaction.cursor() as cursor:
                deque(cursor, maxlen=0)


if __name__ == "__main__":
    try:
        main(sys.argv[1], int(sys.argv[2]), sys.argv[4:], lock=sys.argv[3] == "lock")
    except lmdb.Error:
        sys.exit(1)
