"""The duplicates found in a corpus, in a temporary SQLite database, where reports group, rank and count them."""

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from simhash_hbase.files.local import placed_database


class DecisionRecord(msgspec.Struct):
    """The decision about one document, as a line of the output of `dedup`.

    `of` is the id of the kept document, None for an original.
    """

    id: str
    of: str | None = None
    distance: int | None = None
    similarity: float | None = None
    short: bool = False
    of_removed: bool = False


def read_decisions(lines: Iterable[bytes]) -> Iterator[DecisionRecord]:
    """Yield the decisions in the JSON lines that `dedup` has written."""
    return map(msgspec.json.Decoder(DecisionRecord).decode, lines)


@contextmanager
def duplicate_table(lines: Iterable[bytes]) -> Iterator[sqlite3.Connection]:
    """Return a context manager for a temporary SQLite database with the duplicates in the table ``duplicate``.

    `lines` are the decisions that `dedup` has written. The database is a file, so memory does not grow with the corpus.
    Its table ``title`` is for the titles of documents, and empty.
    """
    with (
        tempfile.TemporaryDirectory(prefix="simhash-hbase-") as folder,
        placed_database(folder),
        closing(sqlite3.connect(str(Path(folder) / "duplicates"))) as database,
    ):
        # The database ends with this process.
        database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        database.execute("CREATE TABLE duplicate (number INTEGER PRIMARY KEY, of, id, distance, similarity)")
        rows = ((d.of, d.id, d.distance, d.similarity) for d in read_decisions(lines) if d.of is not None)
        database.executemany("INSERT INTO duplicate VALUES (NULL, ?, ?, ?, ?)", rows)
        database.execute("CREATE INDEX originals ON duplicate (of, number)")
        database.execute("CREATE TABLE title (id PRIMARY KEY, title)")
        yield database
