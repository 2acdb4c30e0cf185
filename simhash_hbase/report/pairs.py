"""The lists of a report as data: clusters, and pairs with the words that differ."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simhash_hbase.compare.differences import word_differences
from simhash_hbase.pipeline.meter import Meter
from simhash_hbase.report.page import data_json
from simhash_hbase.report.reading import COMPARED_CHARACTERS, text_of
from simhash_hbase.report.rows import pair_rows
from simhash_hbase.report.selection import Cluster, list_clusters

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
    clusters = [_cluster(cluster, places) for cluster in ranked]
    return Lists(list(pairs.values()), clusters, len(numbers) - len(pairs))


def _cluster(cluster: Cluster, places: dict[int, int]) -> dict[str, Any]:
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
    return name if len(name) <= ID_CHARACTERS else name[: ID_CHARACTERS - 1] + "…"
