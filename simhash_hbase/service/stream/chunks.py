"""Chunks of a stream: lines that are analysed together."""

from dataclasses import dataclass, field
from typing import Self

from simhash_hbase.errors import EmptyDocument
from simhash_hbase.features.analysis import Analysed
from simhash_hbase.inputs import Document, Place
from simhash_hbase.rows.entries import Entries
from simhash_hbase.service.http.problems import Problem, of_error
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

    @classmethod
    def of(cls, chunk: Chunk, analysed: Analysed) -> Self:
        """Join a chunk with what analysis made of its documents."""
        refused = {at: of_error(EmptyDocument(reason)) for at, reason in analysed.refused.items()}
        return cls(chunk, analysed.entries, refused)

    @classmethod
    def alone(cls, number: int, item: str | Problem, analysed: Analysed | None, size: int) -> Self:
        """Make a chunk of one: a document by its id and what analysis made of it, or else an id or a refusal."""
        if analysed is None or isinstance(item, Problem):
            return cls(Chunk([number], [item], None, size), None, {})
        document = Document(item, "", None, None, None, Place("", 0), b"")
        return cls.of(Chunk([number], [document], "text", size), analysed)


def _kind(document: Document) -> str:
    if document.simhash is not None:
        return "simhash"
    return "text" if document.features is None else "features"
