"""Reading every page of a folder in a process of its own.

LMDB trusts its pages: one that is damaged may end the process that reads it by a signal, where no Python code can
catch it. This file is run by its path, so that it imports nothing but the driver.
"""

import sys
from collections import deque

import lmdb

DATABASES = ((b"b", True), (b"d", False), (b"m", False), (b"h", False))


def main(folder: str, map_bytes: int, *, lock: bool) -> None:
    """Read all rows and cells; errors of the driver are left to the process that asks."""
    with lmdb.open(
        folder, readonly=True, lock=lock, max_dbs=len(DATABASES), map_size=map_bytes, readahead=False
    ) as environment:
        for name, repeats in DATABASES:
            database = environment.open_db(name, dupsort=repeats, dupfixed=repeats, create=False)
            with environment.begin(database) as transaction, transaction.cursor() as cursor:
                deque(cursor, maxlen=0)


if __name__ == "__main__":
    try:
        main(sys.argv[1], int(sys.argv[2]), lock=sys.argv[3] == "lock")
    except lmdb.Error:
        sys.exit(1)
