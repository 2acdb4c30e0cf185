"""The lists of a report: which pairs and clusters it shows, of few all, of many a stated selection, and their data."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from simhash_hbase.compare.differences import pair_rows, word_differences
from simhash_hbase.inputs.meter import Meter
from simhash_hbase.report.page import data_json, shortened
from simhash_hbase.report.reading import COMPARED_CHARACTERS, text_of

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


class ClusterMember(NamedTuple):
    """A duplicate of a kept document."""

    number: int
    id: str
    distance: int
    similarity: float | None


class ListedCluster(NamedTuple):
    """A kept document with its duplicates."""

    id: str
    size: int  # Duplicates, listed or not.
    members: list[ClusterMember]


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
    database: sqlite3.Connection, shown: set[int], *, room: int, size: Callable[[ListedCluster], int]
) -> list[ListedCluster]:
    """List the largest clusters, and those of the pairs that are shown."""
    database.execute("CREATE TEMP TABLE shown (number INTEGER PRIMARY KEY)")
    database.executemany("INSERT INTO shown VALUES (?)", [(number,) for number in shown])
    needed = {of for (of,) in database.execute("SELECT DISTINCT of FROM duplicate JOIN shown USING (number)")}
    clusters: list[ListedCluster] = []
    for of, members, _ in database.execute(_LARGEST):
        if of in needed or room > 0:
            # Without room a cluster lists only the members with a shown pair.
            clusters.append(ListedCluster(of, members, _members(database, of, MEMBERS if room > 0 else 0)))
            room -= size(clusters[-1])
            needed.discard(of)
        elif not needed:
            break
    return clusters


def _members(database: sqlite3.Connection, of: str, limit: int) -> list[ClusterMember]:
    columns = "SELECT number, id, distance, similarity FROM duplicate"
    found = database.execute(
        f"SELECT * FROM ({columns} WHERE of = :of ORDER BY number LIMIT :limit)"
        f" UNION {columns} JOIN shown USING (number) WHERE of = :of ORDER BY number",
        {"of": of, "limit": limit},
    )
    return [ClusterMember(*row) for row in found]


TEXT_BYTES = 5_000_000  # Most bytes of the pairs in a report, as JSON.
LIST_BYTES = 3_000_000  # Most bytes of the clusters, apart from those of the shown pairs, which are always there.
ALONE_CHARACTERS = 2_000  # Shown of a text without its counterpart.
ID_CHARACTERS = 300

_NO_TEXTS = "The input has fingerprints or features of your own, and no texts."
_NOT_IN_INPUT = (
    "The text of the kept document is not available: it was in the index before, not in this input. The"
    " duplicate begins:"
)
_NEITHER = "The texts are not available."


@dataclass(frozen=True)
class Lists:
    """The data for the page's script."""

    pairs: list[dict[str, Any]]
    clusters: list[dict[str, Any]]
    left_out: int  # Chosen pairs without room.


def make_lists(database: sqlite3.Connection, numbers: Sequence[int], meter: Meter, *, has_texts: bool) -> Lists:
    """Make the lists."""
    pairs: dict[int, dict[str, Any]] = {}
    room = TEXT_BYTES
    for count, number in enumerate(numbers, 1):
        pair = _pair(database, number, has_texts=has_texts)
        size = _size(pair)
        if size <= room:
            pairs[number] = pair
            room -= size
        meter.show(count, count)
    places = {number: place for place, number in enumerate(pairs)}
    ranked = list_clusters(database, set(pairs), room=LIST_BYTES, size=lambda cluster: _size(_cluster(cluster, places)))
    for place, cluster in enumerate(ranked):
        for member in cluster.members:
            if member.number in pairs:
                pairs[member.number]["cluster"] = place
    return Lists(list(pairs.values()), [_cluster(each, places) for each in ranked], len(numbers) - len(pairs))


def _cluster(cluster: ListedCluster, places: dict[int, int]) -> dict[str, Any]:
    members = [[_shown(m.id), m.distance, m.similarity, places.get(m.number)] for m in cluster.members]
    return {"id": _shown(cluster.id), "size": cluster.size, "members": members}


def _size(item: object) -> int:
    return len(data_json(item).encode())


def _pair(database: sqlite3.Connection, number: int, *, has_texts: bool) -> dict[str, Any]:
    columns = "SELECT of, id, distance, similarity FROM duplicate WHERE number = ?"
    of, name, distance, similarity = database.execute(columns, (number,)).fetchone()
    pair = {"id": _shown(name), "of": _shown(of), "distance": distance, "similarity": similarity}
    return {**pair, **(_texts(database, of, name) if has_texts else {"note": _NO_TEXTS})}


def _texts(database: sqlite3.Connection, of: str, name: str) -> dict[str, Any]:
    kept, copy = text_of(database, of), text_of(database, name)
    if copy is None:
        return {"note": _NEITHER}
    if kept is None:
        return {"note": _NOT_IN_INPUT, "rows": [[["", copy.text[:ALONE_CHARACTERS]]]]}
    pieces = word_differences(kept.text, copy.text)
    changes = sum(piece.kind != "same" for piece in pieces)
    texts: dict[str, Any] = {
        "rows": pair_rows(pieces),
        "changes": changes,
        "lengths": [kept.characters, copy.characters],
    }
    if max(kept.characters, copy.characters) > COMPARED_CHARACTERS:
        texts["note"] = f"Compared are the first {COMPARED_CHARACTERS:,} characters of each."
    elif not changes:
        texts["note"] = "The texts are the same." if kept.text == copy.text else "Only blanks and line ends differ."
    return texts


def _shown(name: str) -> str:
    return shortened(name, ID_CHARACTERS)
