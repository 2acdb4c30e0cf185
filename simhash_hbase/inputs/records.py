"""What a reader yields: a document, a page, or a refused record, each with its place."""

from dataclasses import dataclass, field
from typing import NamedTuple

from simhash_hbase.inputs.options import InputOptions

Feature = tuple[str | int, float]


class Place(NamedTuple):
    """Where a record starts."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Document:
    """One document; exactly one of ``text``, ``simhash`` and ``features`` is set."""

    id: str  # The caller's id, or the file and line when the input names none.
    text: str | None
    simhash: int | None  # The caller's own fingerprint, 0 <= simhash < 2**64.
    features: tuple[Feature, ...] | None
    metadata: dict[str, object] | None
    """The metadata fields that the record has; None when none was asked for or found."""
    place: Place
    raw: bytes | None  # The record's own bytes without the line end, when ``keep_raw`` asked for them.


@dataclass(frozen=True, slots=True)
class Reject:
    """A record, or a whole file, that was refused while the rest goes on."""

    place: Place  # Where the record starts; line 0 for a whole file.
    reason: str  # One sentence for people, without a full stop.
    raw: bytes  # The record's own bytes; of one above the size limit its beginning; empty for a file.
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page as saved or served; `extract` makes a document of it, which costs far more than reading."""

    id: str
    content: bytes
    options: InputOptions  # Has the fallback encoding and the metadata to keep.
    place: Place
    raw: bytes | None
    html: bool = True
    content_type: str | None = None  # The server's header, such as ``text/html; charset=big5``.
    metadata: dict[str, str] = field(default_factory=dict)  # More than its title and URL.


Record = Document | Reject

Scanned = Record | Page
