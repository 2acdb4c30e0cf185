"""The clusters of a corpus: each kept document with its duplicates."""

from collections.abc import Iterable
from itertools import groupby

from simhash_hbase.files.local import open_placed
from simhash_hbase.index.decide.decided import duplicate_table
from simhash_hbase.index.jsonforms import json_line

_ROWS = (
    "SELECT of, id, distance, similarity FROM duplicate"
    " JOIN (SELECT of, MIN(number) AS first FROM duplicate GROUP BY of) USING (of) ORDER BY first, number"
)


def write_clusters(lines: Iterable[bytes], path: str) -> None:
    """Group decisions by the document that was kept.

    Grouped on the disk, in the folder for temporary files: memory does not grow with the corpus.
    """
    with duplicate_table(lines) as database, open_placed(path, "wb") as file:
        for of, members in groupby(database.execute(_ROWS), key=lambda row: row[0]):
            named = [dict(zip(("id", "distance", "similarity"), row[1:], strict=True)) for row in members]
            file.write(json_line({"id": of, "members": named}))
