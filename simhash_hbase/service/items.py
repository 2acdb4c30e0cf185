"""Items of requests: documents and ids, read from JSON, and the chunks in which documents are analysed together."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import msgspec

from simhash_hbase.errors import EmptyDocument
from simhash_hbase.features.analysis import Analysed
from simhash_hbase.index.jsonforms import ANY_HEX
from simhash_hbase.inputs import Document, InputOptions, Place
from simhash_hbase.inputs.records import Builder, listed
from simhash_hbase.rows.analysed import Entries, metadata_problem
from simhash_hbase.service.problems import Problem, of_error

Item = Document | str  # A document with a text, features or a fingerprint; or the id of a stored one.

_BUILDERS = {
    "text": Builder(InputOptions()),
    "simhash": Builder(InputOptions(simhash_field="simhash", simhash_format="hex")),
    "features": Builder(InputOptions(features_field="features")),
}
_CONTENTS = ", ".join(_BUILDERS)
_DOCUMENT_FIELDS = ("id", *_BUILDERS, "metadata")
# Fields of documents and of comparisons, as their names stand in JSON, unless a letter of them is an escape.
_FIELDS = (*_DOCUMENT_FIELDS, "a", "b")
_NAMES = [f'"{name}"'.encode() for name in _FIELDS]
_ESCAPED = b"\\u00"
_decode = msgspec.json.Decoder(dict[str, object]).decode


def decode(raw: bytes) -> dict[str, object]:
    """Return the JSON object in a body or in a line of a stream; raise `Problem` where there is no such object."""
    try:
        return _decode(raw)
    except msgspec.ValidationError as error:
        # Numbers that nothing here can hold are of this kind, too.
        detail = "a JSON object is wanted" if str(error).startswith("Expected") else _shown(error)
        raise Problem("invalid_document", detail) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise Problem("malformed_json", f"the body or line is not JSON: {_shown(error)}") from error
    except RecursionError as error:
        raise _too_deep() from error


def decode_body(raw: bytes) -> dict[str, object]:
    """Return the JSON object in a body; raise `Problem` for a field that comes twice.

    In a line of a stream, which `decode` reads, the last one of such fields counts.
    """
    value = decode(raw)
    if any(raw.count(name) > 1 for name in _NAMES) or _ESCAPED in raw:
        try:
            names = [name for name, _ in json.loads(raw, object_pairs_hook=list)]
        except RecursionError as error:
            raise _too_deep() from error
        for name in _FIELDS:
            if names.count(name) > 1:
                raise invalid(f"the field '{name}' comes more than once")
    return value


class ItemForm(NamedTuple):
    """Which items an operation takes, documents, ids or both, and where they stand, in a body or in a line."""

    documents: bool
    ids: bool
    needs_id: bool
    is_line: bool  # Whether the object is a line of a stream: lines of a corpus have fields for others, too.
    is_analysed: bool = True  # Whether documents are analysed before the index is asked.


def document_or_id(value: dict[str, object], wanted: ItemForm) -> Item:
    """Return the document in a JSON object, or its id where the object has no content.

    Raises `Problem` where the operation takes no such item.
    """
    documents, ids, needs_id, is_line, _ = wanted
    if not is_line:
        check_fields(value, _DOCUMENT_FIELDS if documents else ("id",))
    contents = [name for name in _BUILDERS if name in value] if documents else []
    if len(contents) > 1:
        raise invalid(f"give one of {_CONTENTS}, not {' and '.join(contents)}")
    if not contents:
        if not ids:
            raise invalid(f"one of the fields {_CONTENTS} is missing")
        # The id is checked by the same rules as a document's.
        return _built({**value, "simhash": "0" * 16}, "simhash", needs_id=True).id
    return _built(value, contents[0], needs_id=needs_id)


def check_fields(value: dict[str, object], known: Collection[str]) -> None:
    """Raise `Problem` for fields that are not among `known`: a mistyped name would otherwise be ignored silently."""
    unknown = value.keys() - known
    if unknown:
        raise invalid(f"unknown field {listed(sorted(unknown))}: the fields are {', '.join(known)}")


def _built(value: dict[str, object], content: str, *, needs_id: bool) -> Document:
    named = "id" in value
    if needs_id and not named:
        raise invalid("the field 'id' is missing")
    if content == "simhash" and not (isinstance(given := value[content], str) and re.fullmatch(ANY_HEX, given)):
        raise invalid("the fingerprint is not 16 hex digits in a string")
    record = _BUILDERS[content].build(value, Place("", 0), b"")
    if not isinstance(record, Document):
        raise invalid(record.reason)
    metadata = value.get("metadata")
    if not isinstance(metadata, dict | None):
        raise invalid("the metadata is not a JSON object")
    if metadata and (problem := metadata_problem(metadata)):
        raise invalid(f"the metadata {problem}")
    return replace(record, id=record.id if named else "", metadata=metadata or None)


def invalid(detail: str) -> Problem:
    """Return a `Problem` with code ``invalid_document`` and this sentence, for a document or another JSON object."""
    return Problem("invalid_document", detail)


def _too_deep() -> Problem:
    return Problem("malformed_json", "the JSON is nested too deeply")


def _shown(error: Exception) -> str:
    """Return the reason why JSON cannot be read, as a client may see it.

    Bytes that are not UTF-8 get a sentence of ours: msgspec before 0.23 raises a UnicodeError whose text quotes them.
    """
    return "it is not UTF-8" if isinstance(error, UnicodeError) or "UTF-8" in str(error) else str(error)


LINES = 64
BYTES = 256 << 10
# Bytes of memory that a line takes besides its own, about.
LINE_BYTES = 512


@dataclass(slots=True)
class ItemChunk:
    """Consecutive items of a stream, some dozens, which are analysed by one call.

    All documents of a chunk have the same kind of content: a text, features or a fingerprint.
    """

    numbers: list[int] = field(default_factory=list)
    items: list[Item | Problem] = field(default_factory=list)
    kind: str | None = None  # ``text``, ``simhash`` or ``features``; None without documents.
    size: int = 0  # About its bytes in memory.

    def takes(self, item: Item | Problem) -> bool:
        """Return whether one more item fits into the chunk, by number, size and kind of content."""
        if len(self.items) >= LINES or self.size >= BYTES:
            return False
        return self.kind is None or not isinstance(item, Document) or _kind(item) == self.kind

    def add(self, number: int, item: Item | Problem, size: int) -> None:
        """Add an item with the number of its line in the stream and its size in bytes."""
        self.numbers.append(number)
        self.items.append(item)
        self.size += size + LINE_BYTES
        if isinstance(item, Document):
            self.kind = _kind(item)

    @property
    def documents(self) -> list[Document]:
        """The items of the chunk that are documents, in order; the others are ids and problems."""
        return [item for item in self.items if isinstance(item, Document)]


@dataclass(slots=True)
class AnalysedChunk:
    """A chunk of items with the fingerprints and sketches of its documents."""

    chunk: ItemChunk
    entries: Entries | None  # Entries of the documents that have a fingerprint, in their order.
    refused: dict[int, Problem]  # Problems of the other documents, by position among the documents.

    @classmethod
    def of(cls, chunk: ItemChunk, analysed: Analysed | None) -> Self:
        """Return a chunk of items with the analysis of its documents.

        `analysed` is None where the chunk has no documents, or the operation takes texts that are not analysed.
        """
        if analysed is None:
            return cls(chunk, None, {})
        refused = {at: of_error(EmptyDocument(reason)) for at, reason in analysed.refused.items()}
        return cls(chunk, analysed.entries, refused)

    @classmethod
    def alone(cls, number: int, item: Item | Problem, analysed: Analysed | None, size: int) -> Self:
        """Return an analysed chunk of one item: a document, with its analysis if it has one, an id, or a problem."""
        kind = "text" if isinstance(item, Document) else None
        return cls.of(ItemChunk([number], [item], kind, size), analysed)


def _kind(document: Document) -> str:
    if document.simhash is not None:
        return "simhash"
    return "text" if document.features is None else "features"
