"""Chunks of a stream: lines that are analysed together."""

from dataclasses import dataclass, field

from simhash_hbase.inputs import Document
from simhash_hbase.rows.entries import Entries
from simhash_hbase.service.http.problems import Problem
from simhash_hbase.service.items import Item

LINES = 64
BYTES = 256 << 10
# About what a line takes in memory besides its bytes.
LINE_BYTES = 512


@dataclass(slots=True)
class Chunk:
    """Consecutive lines; their documents have all a text, all features or all a fingerprint."""

    numbers: list[int] = field(default_factory=list)
    items: list[Item | Problem] = field(default_factory=list)
    kind: str | None = None  # ``text``, ``simhash`` or ``features``; None without documents.
    size: int = 0  # About its bytes in memory.

    def takes(self, item: Item | Problem) -> bool:
        """Tell whether one more fits."""
        if len(self.items) >= LINES or self.size >= BYTES:
            return False
        return self.kind is None or not isinstance(item, Document) or _kind(item) == self.kind

    def add(self, number: int, item: Item | Problem, size: int) -> None:
        """Take one more."""
        self.numbers.append(number)
        self.items.append(item)
        self.size += size + LINE_BYTES
        if isinstance(item, Document):
            self.kind = _kind(item)

    @property
    def documents(self) -> list[Document]:
        """Those items that are documents."""
        return [item for item in self.items if isinstance(item, Document)]


@dataclass(slots=True)
class Ready:
    """A chunk whose documents are analysed."""

    chunk: Chunk
    entries: Entries | None  # Of the documents that have a fingerprint, in their order.
    refused: dict[int, Problem]  # Positions among its documents of the others, and why.


def _kind(document: Document) -> str:
    if document.simhash is not None:
        return "simhash"
    return "text" if document.features is None else "features"
