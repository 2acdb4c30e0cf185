"""The clusters of a corpus: each kept document with its duplicates."""

import sqlite3
from collections.abc import Iterable
from itertools import groupby

from simhash_hbase.index.jsonforms import json_line
from simhash_hbase.placed import open_placed
from simhash_hbase.report import duplicate_table


def write_clusters(lines: Iterable[bytes], path: str) -> int:
    """Group decisions by the document that was kept.

    Grouped on the disk, in the folder for temporary files: memory does not grow with the corpus.
    """
    with duplicate_table(lines) as database:
        return _write(database, path)


def _write(database: sqlite3.Connection, path: str) -> int:
    rows = database.execute(
        "SELECT of, id, distance, similarity FROM duplicate"
        " JOIN (SELECT of, MIN(number) AS first FROM duplicate GROUP BY of) USING (of) ORDER BY first, number"
    )
    count = 0
    with open_placed(path, "wb") as file:
        for of, members in groupby(rows, key=lambda row: row[0]):
            named = [dict(zip(("id", "distance", "similarity"), row[1:], strict=True)) for row in members]
            file.write(json_line({"id": of, "members": named}))
            count += 1
    return count
