"""The second reading of the input, after the decisions: its totals, and the texts of the shown pairs."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from simhash_hbase.errors import InvalidInput
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.index.duplicates import Decided, read_decisions
from simhash_hbase.inputs import Document, InputOptions, Page, Progress, Reject, Scanned, extract, repeated_id, scan
from simhash_hbase.inputs.meter import Meter
from simhash_hbase.pipeline.analyse import analyse
from simhash_hbase.rows.keys import id_digest

COMPARED_CHARACTERS = 200_000  # Compared of a longer text.
SHOWN_REJECTS = 100

_CHANGED = "the input changed while it was read, so there is no report; the decisions stand"


@dataclass(frozen=True, kw_only=True)
class DecidedCorpus:
    """The decided input."""

    lines: Callable[[], Iterable[bytes]]  # Reads the decisions, JSON lines in the order of the input.
    sources: Sequence[str]  # As `simhash_hbase.inputs.read` takes them.
    settings: InputOptions
    analysis: Analysis  # The index's; gives the reason of a document without decision.
    refused: int

    @property
    def has_texts(self) -> bool:
        """False for fingerprints or features of the caller's own."""
        return self.settings.simhash_field is None and self.settings.features_field is None


@dataclass
class InputTotals:
    """The totals of the input."""

    kept: int = 0
    duplicates: int = 0
    refused: int = 0
    short: int = 0  # Documents of so few features that near copies may be missed.
    removed: int = 0  # Duplicates whose original was removed or changed since.
    bytes: int = 0  # Bytes of all decided texts as UTF-8, or of undecoded pages.
    duplicate_bytes: int = 0
    has_pages: bool = False
    rejects: list[Reject] = field(default_factory=list)  # The first ones.

    def count(self, decided: Decided, size: int) -> None:
        """Add a document."""
        is_duplicate = decided.of is not None
        self.kept += not is_duplicate
        self.duplicates += is_duplicate
        self.short += decided.short
        self.removed += decided.of_removed
        self.bytes += size
        self.duplicate_bytes += size * is_duplicate

    def refuse(self, record: Scanned, analysis: Analysis) -> None:
        """Add a record that has no decision."""
        self.refused += 1
        if len(self.rejects) < SHOWN_REJECTS:
            self.rejects.append(record if isinstance(record, Reject) else _rejected(record, analysis))


@dataclass(frozen=True)
class ComparedText:
    """The compared part of a document's text."""

    text: str
    characters: int


def read_again(corpus: DecidedCorpus, wanted: Sequence[int], database: sqlite3.Connection, meter: Meter) -> InputTotals:
    """Read the input together with its decisions."""
    database.execute("CREATE TABLE text (id PRIMARY KEY, text, characters)")
    pair = "SELECT id, of FROM duplicate WHERE number = ?"
    names = {name for number in wanted for name in database.execute(pair, (number,)).fetchone()}
    reading = InputTotals()
    progress = Progress()
    for number, (record, decided) in enumerate(_beside(corpus, progress), 1):
        if decided is None:
            reading.refuse(record, corpus.analysis)
        else:
            reading.has_pages |= isinstance(record, Page)
            reading.count(decided, _bytes(record))
            document = extract(record) if record.id in names else None
            if isinstance(document, Document) and document.text is not None:
                row = (document.id, document.text[:COMPARED_CHARACTERS], len(document.text))
                database.execute("INSERT INTO text VALUES (?, ?, ?)", row)
        meter.show(number, progress.bytes_read)
    if reading.refused != corpus.refused:
        raise InvalidInput(_CHANGED)
    return reading


def _beside(corpus: DecidedCorpus, progress: Progress) -> Iterator[tuple[Scanned, Decided | None]]:
    """Yield records with their decisions, which are in the order of the input; refused ones have none.

    Records are told apart by their ids, since analysing all of them would take as long as deciding them. Of an id that
    comes twice the first record may have been refused for its text, so of such ids each record is analysed.
    """
    repeated = _repeated_ids(corpus)
    decisions = read_decisions(corpus.lines())
    following = next(decisions, None)
    for record in scan(corpus.sources, corpus.settings, progress):
        if following is None or record.id != following.id or _is_refused(record, repeated, corpus.analysis):
            yield record, None
        else:
            yield record, following
            following = next(decisions, None)
    if following is not None:
        raise InvalidInput(_CHANGED)


def _repeated_ids(corpus: DecidedCorpus) -> set[bytes]:
    """Return digests of the ids that come more than once; a repeated id is refused, so without refusals none is."""
    seen: set[bytes] = set()
    repeated: set[bytes] = set()
    for record in scan(corpus.sources, corpus.settings, Progress()) if corpus.refused else ():
        if record.id is not None:
            digest = id_digest(record.id)
            (repeated if digest in seen else seen).add(digest)
    return repeated


def _is_refused(record: Scanned, repeated: set[bytes], analysis: Analysis) -> bool:
    if isinstance(record, Reject):
        return True
    return id_digest(record.id) in repeated and bool(_rejects(record, analysis))


def _rejects(record: Document | Page, analysis: Analysis) -> list[Reject]:
    [chunk] = analyse([record], analysis)
    return chunk.rejects


def _bytes(record: Scanned) -> int:
    if isinstance(record, Page):
        return len(record.content)
    return 0 if isinstance(record, Reject) else len((record.text or "").encode())


def _rejected(record: Document | Page, analysis: Analysis) -> Reject:
    """Give the reason of a record without decision: no text or feature, or a repeated id."""
    for reject in _rejects(record, analysis):
        return reject
    return Reject(record.place, repeated_id(record.id, record.place), b"", record.id)


def text_of(database: sqlite3.Connection, name: str) -> ComparedText | None:
    """Return the text of a document of a wanted pair; None when the input does not have it."""
    row = database.execute("SELECT text, characters FROM text WHERE id = ?", (name,)).fetchone()
    return ComparedText(*row) if row is not None else None
