"""Which pairs and clusters a report shows: of few all, of many a stated selection."""

import sqlite3
from collections.abc import Callable
from typing import NamedTuple

ALL_PAIRS = 500  # Up to this number all pairs are shown.
LEAST_SIMILAR = 100
CLUSTERS = 40
PAIRS_A_CLUSTER = 4
PAIRS_A_DISTANCE = 30
MEMBERS = 100  # Listed members of one cluster, besides those with a shown pair.


class Selection(NamedTuple):
    """Pairs to show."""

    numbers: list[int]  # Row numbers of the table ``duplicate``, the most useful first.
    sentence: str


class Member(NamedTuple):
    """A duplicate of a kept document."""

    number: int
    id: str
    distance: int
    similarity: float | None


class Cluster(NamedTuple):
    """A kept document with its duplicates."""

    id: str
    size: int  # Duplicates, listed or not.
    members: list[Member]


_SPREAD = """
SELECT number FROM (
  SELECT number, distance,
    ROW_NUMBER() OVER (PARTITION BY distance ORDER BY similarity DESC, number) - 1 AS place,
    COUNT(*) OVER (PARTITION BY distance) AS total
  FROM duplicate
) WHERE total <= :wanted OR place * (:wanted - 1) % (total - 1) < :wanted - 1 ORDER BY distance, place
"""
_LEAST_SIMILAR = "SELECT number FROM duplicate ORDER BY similarity IS NULL, similarity, distance DESC, number LIMIT ?"
_LARGEST = "SELECT of, COUNT(*) AS size, MIN(number) AS first FROM duplicate GROUP BY of ORDER BY size DESC, first"
_OF_LARGEST = f"""
SELECT number FROM (
  SELECT number, size, first, ROW_NUMBER() OVER (PARTITION BY of ORDER BY similarity, number) AS place
  FROM duplicate JOIN ({_LARGEST} LIMIT ?) USING (of)
) WHERE place <= ? ORDER BY size DESC, first, place
"""


def choose_pairs(database: sqlite3.Connection) -> Selection:
    """Choose the pairs whose texts are shown."""
    (total,) = database.execute("SELECT COUNT(*) FROM duplicate").fetchone()
    least = database.execute(_LEAST_SIMILAR, (ALL_PAIRS if total <= ALL_PAIRS else LEAST_SIMILAR,))
    numbers = [number for (number,) in least]
    if total <= ALL_PAIRS:
        return Selection(numbers, "all of them")
    numbers += [number for (number,) in database.execute(_OF_LARGEST, (CLUSTERS, PAIRS_A_CLUSTER))]
    numbers += [number for (number,) in database.execute(_SPREAD, {"wanted": PAIRS_A_DISTANCE})]
    sentence = (
        f"the {LEAST_SIMILAR} least similar ones, up to {PAIRS_A_CLUSTER} of each of the {CLUSTERS} largest clusters,"
        f" and for each distance up to {PAIRS_A_DISTANCE} spread evenly from the most to the least similar"
    )
    return Selection(list(dict.fromkeys(numbers)), sentence)


def list_clusters(
    database: sqlite3.Connection, shown: set[int], *, room: int, size: Callable[[Cluster], int]
) -> list[Cluster]:
    """List the largest clusters, and those of the pairs that are shown."""
    database.execute("CREATE TEMP TABLE shown (number INTEGER PRIMARY KEY)")
    database.executemany("INSERT INTO shown VALUES (?)", [(number,) for number in shown])
    needed = {of for (of,) in database.execute("SELECT DISTINCT of FROM duplicate JOIN shown USING (number)")}
    clusters: list[Cluster] = []
    for of, members, _ in database.execute(_LARGEST):
        if of in needed or room > 0:
            # Without room a cluster lists only the members with a shown pair.
            clusters.append(Cluster(of, members, _members(database, of, MEMBERS if room > 0 else 0)))
            room -= size(clusters[-1])
            needed.discard(of)
        elif not needed:
            break
    return clusters


def _members(database: sqlite3.Connection, of: str, limit: int) -> list[Member]:
    columns = "SELECT number, id, distance, similarity FROM duplicate"
    found = database.execute(
        f"SELECT * FROM ({columns} WHERE of = :of ORDER BY number LIMIT :limit)"
        f" UNION {columns} JOIN shown USING (number) WHERE of = :of ORDER BY number",
        {"of": of, "limit": limit},
    )
    return [Member(*row) for row in found]
