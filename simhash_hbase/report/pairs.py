"""The content of a report on a de-duplicated corpus: totals, pairs and clusters of duplicates.

If there are many pairs, a selection is shown, and the report says which.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from simhash_hbase.errors import InvalidInput
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.chunks import analyse
from simhash_hbase.inputs import (
    Document,
    InputOptions,
    Page,
    Progress,
    Reject,
    Scanned,
    extract,
    repeated_id,
    scan,
    title_of,
)
from simhash_hbase.inputs.meter import Meter
from simhash_hbase.report.differences import pair_rows, word_differences
from simhash_hbase.report.duplicates import DecisionRecord, read_decisions
from simhash_hbase.report.page import COMPARED_CHARACTERS, HistogramBar, data_json, shortened
from simhash_hbase.rows.keys import id_digest

SHOWN_REJECTS = 100

_CHANGED = "the input changed while it was read, so there is no report; the decisions stand"


@dataclass(frozen=True, kw_only=True)
class DecidedCorpus:
    """A corpus whose documents `dedup` has decided: its decisions, and how to read its documents again."""

    lines: Callable[[], Iterable[bytes]]  # Reads the decisions, JSON lines in the order of the input.
    sources: Sequence[str]  # As `simhash_hbase.inputs.read` takes them.
    settings: InputOptions
    analysis: Analysis  # The index's; gives the reason of a document without decision.
    refused: int

    @property
    def has_texts(self) -> bool:
        """Whether the input has texts: False for fingerprints or features of the caller's own."""
        return self.settings.simhash_field is None and self.settings.features_field is None


@dataclass
class InputTotals:
    """Totals over the documents of an input: how many were kept, duplicates or refused, and how many bytes."""

    kept: int = 0
    duplicates: int = 0
    refused: int = 0
    short: int = 0  # Documents of so few features that near copies may be missed.
    removed: int = 0  # Duplicates whose original was removed or changed since.
    bytes: int = 0  # Bytes of all decided texts as UTF-8, or of undecoded pages.
    duplicate_bytes: int = 0
    has_pages: bool = False
    rejects: list[Reject] = field(default_factory=list)  # The first ones.

    def count(self, record: Document | Page, decided: DecisionRecord) -> None:
        """Add one document, with its decision, to the totals."""
        is_duplicate = decided.of is not None
        size = len(record.content) if isinstance(record, Page) else len((record.text or "").encode())
        self.has_pages |= isinstance(record, Page)
        self.kept += not is_duplicate
        self.duplicates += is_duplicate
        self.short += decided.short
        self.removed += decided.of_removed
        self.bytes += size
        self.duplicate_bytes += size * is_duplicate


def read_again(corpus: DecidedCorpus, chosen: Sequence[int], database: sqlite3.Connection, meter: Meter) -> InputTotals:
    """Read the input once more and return its totals; put titles, and the texts of some pairs, into the database.

    `chosen` has the numbers of these pairs in the table ``duplicate``.
    """
    database.execute("CREATE TABLE text (id PRIMARY KEY, text, characters)")
    pair = "SELECT id, of FROM duplicate WHERE number = ?"
    names = {name for number in chosen for name in database.execute(pair, (number,)).fetchone()}
    totals, progress = InputTotals(), Progress()
    corpus = replace(corpus, settings=replace(corpus.settings, titles=True))
    has_duplicates = "SELECT 1 FROM duplicate WHERE of = ?"
    for number, (record, decided) in enumerate(_beside(corpus, progress), 1):
        if decided is not None and not isinstance(record, Reject):
            totals.count(record, decided)
            if decided.of is not None or database.execute(has_duplicates, (record.id,)).fetchone():
                title = shortened(title_of(record), TITLE_CHARACTERS)
                if title and title != record.id:
                    database.execute("INSERT INTO title VALUES (?, ?)", (record.id, title))
            document = extract(record) if record.id in names else None
            if isinstance(document, Document) and document.text is not None:
                row = (document.id, document.text[:COMPARED_CHARACTERS], len(document.text))
                database.execute("INSERT INTO text VALUES (?, ?, ?)", row)
        else:
            totals.refused += 1
            if len(totals.rejects) < SHOWN_REJECTS:
                repeated = Reject(record.place, repeated_id(record.id or "", record.place), b"", record.id)
                totals.rejects.append(_refusal(record, corpus.analysis) or repeated)
        meter.show(number, progress.bytes_read)
    if totals.refused != corpus.refused:
        raise InvalidInput(_CHANGED)
    return totals


def _beside(corpus: DecidedCorpus, progress: Progress) -> Iterator[tuple[Scanned, DecisionRecord | None]]:
    """Yield each record of the input together with its decision, or with None if the record was refused.

    Decisions are in the order of the input, so the next decision has the id of the next record that was not refused: to
    analyse all records would take as long as to decide them. The first record of a repeated id may have been refused
    for its text, so each record of such an id is analysed.
    """
    seen: set[bytes] = set()
    repeated: set[bytes] = set()
    # A repeated id is refused, so without refusals none is.
    for record in scan(corpus.sources, corpus.settings, Progress()) if corpus.refused else ():
        if record.id is not None:
            digest = id_digest(record.id)
            (repeated if digest in seen else seen).add(digest)
    decisions = read_decisions(corpus.lines())
    following = next(decisions, None)
    for record in scan(corpus.sources, corpus.settings, progress):
        is_refused = following is None or record.id != following.id
        if not is_refused and (isinstance(record, Reject) or id_digest(record.id) in repeated):
            is_refused = _refusal(record, corpus.analysis) is not None
        if is_refused:
            yield record, None
        else:
            yield record, following
            following = next(decisions, None)
    if following is not None:
        raise InvalidInput(_CHANGED)


def _refusal(record: Scanned, analysis: Analysis) -> Reject | None:
    """Return the refusal of a record that has no usable text or features; None if it has."""
    if isinstance(record, Reject):
        return record
    [chunk] = analyse([record], analysis)
    return next(iter(chunk.rejects), None)


ALL_PAIRS = 500  # Up to this number all pairs are shown.
LEAST_SIMILAR = 100
CLUSTERS = 40
PAIRS_A_CLUSTER = 4
PAIRS_A_DISTANCE = 30
MEMBERS = 100  # Listed members of one cluster, besides those with a shown pair.
TEXT_BYTES = 5_000_000  # Most bytes of the pairs in a report, as JSON.
LIST_BYTES = 3_000_000  # Most bytes of the clusters, apart from those of the shown pairs, which are always there.
ALONE_CHARACTERS = 2_000  # Shown of a text without its counterpart.
ID_CHARACTERS = 300
TITLE_CHARACTERS = 120

_NO_TEXTS = "The input has fingerprints or features of your own, and no texts."
_NOT_IN_INPUT = (
    "The text of the kept document is not available: it was in the index before, not in this input. The"
    " duplicate begins:"
)
_NEITHER = "The texts are not available."


class Selection(NamedTuple):
    """The pairs of duplicate and kept document that a report shows, and a sentence that says which these are."""

    numbers: list[int]  # Row numbers of the table ``duplicate``, the most useful first.
    sentence: str


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
_MEMBERS = """
SELECT * FROM (SELECT number, id, distance, similarity FROM duplicate WHERE of = :of ORDER BY number LIMIT :limit)
UNION SELECT number, id, distance, similarity FROM duplicate JOIN shown USING (number) WHERE of = :of ORDER BY number
"""


def choose_pairs(database: sqlite3.Connection) -> Selection:
    """Return the pairs of duplicate and kept document whose texts a report shows: all, or a selection of many."""
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


def make_lists(
    database: sqlite3.Connection, numbers: Sequence[int], meter: Meter, *, has_texts: bool
) -> dict[str, list[dict[str, Any]]]:
    """Return the data from which the page's script shows ``pairs`` and ``clusters``.

    A cluster is a kept document with its duplicates. Of the chosen pairs, whose numbers are `numbers`, those are left
    out for which the page has no room.
    """
    pairs: dict[int, dict[str, Any]] = {}
    room = TEXT_BYTES
    for count, number in enumerate(numbers, 1):
        columns = "SELECT of, id, distance, similarity FROM duplicate WHERE number = ?"
        of, name, distance, similarity = database.execute(columns, (number,)).fetchone()
        pair = {"id": _shown(name), "of": _shown(of), "distance": distance, "similarity": similarity}
        titles = [_title(database, each) for each in (of, name)]
        if any(titles):
            pair["titles"] = titles
        pair |= _texts(database, of, name) if has_texts else {"note": _NO_TEXTS}
        size = json_bytes(pair)
        if size <= room:
            pairs[number] = pair
            room -= size
        meter.show(count, count)
    clusters = list_clusters(database, pairs, room=LIST_BYTES)
    return {"pairs": list(pairs.values()), "clusters": clusters}


def list_clusters(database: sqlite3.Connection, pairs: dict[int, dict[str, Any]], *, room: int) -> list[dict[str, Any]]:
    """Return the largest clusters, and those of the shown pairs, as JSON objects.

    `room` is the number of bytes for the clusters without a shown pair. Each pair gets the position of its cluster in
    the list.
    """
    places = {number: place for place, number in enumerate(pairs)}
    database.execute("CREATE TEMP TABLE shown (number INTEGER PRIMARY KEY)")
    database.executemany("INSERT INTO shown VALUES (?)", [(number,) for number in places])
    needed = {of for (of,) in database.execute("SELECT DISTINCT of FROM duplicate JOIN shown USING (number)")}
    clusters: list[dict[str, Any]] = []
    for of, size, _ in database.execute(_LARGEST):
        if of not in needed and room <= 0:
            if not needed:
                break
            continue
        # Without room a cluster lists only the members with a shown pair.
        members = []
        limit = MEMBERS if room > 0 else 0
        for number, name, distance, similarity in database.execute(_MEMBERS, {"of": of, "limit": limit}):
            title = _title(database, name)
            members.append([_shown(name), distance, similarity, places.get(number), *([title] if title else [])])
            if number in pairs:
                pairs[number]["cluster"] = len(clusters)
        title = _title(database, of)
        clusters.append({"id": _shown(of), **({"title": title} if title else {}), "size": size, "members": members})
        room -= json_bytes(clusters[-1])
        needed.discard(of)
    return clusters


def _texts(database: sqlite3.Connection, of: str, name: str) -> dict[str, Any]:
    """Return the rows that show the two texts of a pair side by side, or a note if the input lacks one of them.

    `of` is the id of the kept document, `name` that of the duplicate.
    """
    columns = "SELECT text, characters FROM text WHERE id = ?"
    kept, copy = (database.execute(columns, (each,)).fetchone() for each in (of, name))
    if copy is None:
        return {"note": _NEITHER}
    if kept is None:
        return {"note": _NOT_IN_INPUT, "rows": [[["", copy[0][:ALONE_CHARACTERS]]]]}
    pieces = word_differences(kept[0], copy[0])
    changes = sum(piece.kind != "same" for piece in pieces)
    texts: dict[str, Any] = {"rows": pair_rows(pieces), "changes": changes, "lengths": [kept[1], copy[1]]}
    if max(kept[1], copy[1]) > COMPARED_CHARACTERS:
        texts["note"] = f"Compared are the first {COMPARED_CHARACTERS:,} characters of each."
    elif not changes:
        texts["note"] = "The texts are the same." if kept == copy else "Only blanks and line ends differ."
    return texts


def _title(database: sqlite3.Connection, name: str) -> str | None:
    found = database.execute("SELECT title FROM title WHERE id = ?", (name,)).fetchone()
    return None if found is None else str(found[0])


def _shown(name: str) -> str:
    return shortened(name, ID_CHARACTERS)


def json_bytes(item: object) -> int:
    """Return how many bytes an item takes as JSON in a page."""
    return len(data_json(item).encode())


_BINS = 50  # Bins of similarity, from 0 to 1.
_SHOWN_FROM = 35


def distance_bars(database: sqlite3.Connection) -> list[HistogramBar]:
    """Return the bars of a histogram: for each Hamming distance the number of duplicates so far from their original."""
    counts = dict(database.execute("SELECT distance, COUNT(*) FROM duplicate GROUP BY distance"))
    return [
        HistogramBar(f"distance {distance}", str(distance), counts.get(distance, 0), distance)
        for distance in range(max(counts, default=0) + 1)
    ]


def similarity_bars(database: sqlite3.Connection) -> list[HistogramBar]:
    """Return the bars of a histogram: for each range of similarity the number of duplicates so similar to originals.

    Duplicates of unknown similarity are left out; if it is known of none, there is no bar.
    """
    bins = f"CAST(similarity * {_BINS} + 1e-9 AS INTEGER)"
    counts = dict(
        database.execute(f"SELECT {bins}, COUNT(*) FROM duplicate WHERE similarity IS NOT NULL GROUP BY {bins}")
    )
    if not counts:
        return []
    bars = []
    for number in range(min(*counts, _SHOWN_FROM), _BINS + 1):
        low, high = f"{number / _BINS:.2f}", f"{(number + 1) / _BINS:.2f}"
        label = "similarity 1" if number == _BINS else f"similarity from {low} to below {high}"
        tick = "1" if number == _BINS else low
        bars.append(HistogramBar(label, tick, counts.get(number, 0), number / _BINS))
    return bars
