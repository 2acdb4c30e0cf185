"""Documents kept as columns, one list for each property: those that other processes have read or an output is made of.

Making an object for each document takes longer than deciding it, and most are never looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, SupportsIndex, overload

from simhash_hbase.inputs.records import Document, Place


@dataclass(frozen=True, slots=True, eq=False)
class DocumentColumns(Sequence[Document]):
    """A sequence of documents without their texts, kept as one list for each property.

    An item becomes a `Document` when it is accessed.
    """

    ids: Sequence[str]
    metadata: Sequence[Mapping[str, Any] | None]
    files: Sequence[str]
    """The file of each document's place."""
    lines: Sequence[int]
    """The line, or row, of each document's place."""
    raws: Sequence[bytes | None]
    preferences: Sequence[float | None]
    sources: Sequence[str | None]
    remainders: Sequence[bytes]

    @classmethod
    def of(cls, documents: Sequence[Document]) -> DocumentColumns:
        """Return documents as columns; a `DocumentColumns` is returned as it is."""
        if isinstance(documents, DocumentColumns):
            return documents
        return cls(
            [each.id for each in documents],
            [each.metadata for each in documents],
            [each.place.file for each in documents],
            [each.place.line for each in documents],
            [each.raw for each in documents],
            [each.preference for each in documents],
            [each.source for each in documents],
            [each.remainder for each in documents],
        )

    @classmethod
    def joined(cls, parts: Iterable[DocumentColumns]) -> DocumentColumns:
        """Return the documents of several `DocumentColumns`, one after the other, as one."""
        columns: list[list[Any]] = [[] for _ in fields(cls)]
        for part in parts:
            for column, more in zip(columns, part._columns(), strict=True):
                column.extend(more)
        return cls(*columns)

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: SupportsIndex) -> Document: ...

    @overload
    def __getitem__(self, at: slice) -> DocumentColumns: ...

    def __getitem__(self, at: SupportsIndex | slice) -> Document | DocumentColumns:
        if isinstance(at, slice):
            return DocumentColumns(*(column[at] for column in self._columns()))
        number = range(len(self))[at]
        name, metadata, file, line, raw, preference, source, remainder = (column[number] for column in self._columns())
        own = None if metadata is None else dict(metadata)
        return Document(
            name, None, None, None, own, Place(file, line), raw, preference, source=source, remainder=remainder
        )

    def _columns(self) -> tuple[Sequence[Any], ...]:
        return tuple(getattr(self, each) for each in _NAMES)


_NAMES = tuple(each.name for each in fields(DocumentColumns))
