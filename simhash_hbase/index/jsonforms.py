"""The JSON form of each answer: its fields, how it is written, and how it is read.

The command line, the service with its description, its client and the tools for agents use these: an answer looks the
same wherever it comes from.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from simhash_hbase.index.answers import (
    Added,
    Answer,
    BatchCounts,
    BatchRemoval,
    ClueAnswer,
    ClueMatch,
    Decision,
    DocumentBatch,
    HeldItem,
    ItemsAnswer,
    Match,
    NearCopy,
    Passage,
    PassagesAnswer,
    Removed,
    Span,
    Stored,
)
from simhash_hbase.index.copies import Copies, Copy
from simhash_hbase.profile.matching import rounded
from simhash_hbase.rows.analysed import MAX_ID_BYTES
from simhash_hbase.rows.documentcells import Count

T = TypeVar("T")

JsonRecord = dict[str, Any]
"""A JSON object."""

HEX = "^[0-9a-f]{16}$"
"""Pattern of a fingerprint in an answer."""
ANY_HEX = "^[0-9a-fA-F]{16}$"
"""Pattern of a fingerprint in a request to a service."""

Id = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_ID_BYTES,
        description="The caller's own: any text, a URL for one.",
        examples=["https://example.org/a?page=1"],
    ),
]
Simhash = Annotated[str, Meta(pattern=HEX)]
Distance = Annotated[int, Meta(ge=0, le=64)]
Similarity = Annotated[float, Meta(ge=0, le=1, description="A number from 0 to 1, with four decimals.")]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
KeptMetadata = Annotated[
    dict[str, Any], Meta(description="Kept with the document; at most 1 KB as JSON.", examples=[{"source": "example"}])
]


def said(description: str) -> Meta:
    """Return `description` as annotation of a field's type; it appears in the JSON schema of the answers."""
    return Meta(description=description)


_FIELDS: dict[str, Any] = {
    "id": Id,
    "simhash": Simhash,
    "state": Literal["added", "original", "duplicate"],
    "status": Literal["original", "duplicate"],
    "distance": Distance,
    "similarity": Similarity,
    "containment": Annotated[float, Meta(ge=0, le=1, description="Share of its shingles that the other text has.")],
    "exact": Annotated[bool, said("The normalised texts are equal.")],
    "short": Annotated[bool, said("A text so short that near copies may be missed.")],
    "of": Annotated[str, said("Of a duplicate, the id of its original.")],
    "of_removed": Annotated[bool, said("The original was removed, or has another text since.")],
    "added": Annotated[Time, said("When it was added or decided.")],
    "seen": Time,
    "length": Annotated[int, Meta(ge=0, description="Characters of the text.")],
    "features": Count,
    "metadata": KeptMetadata,
    "batch": Annotated[str, said("The batch that brought its text.")],
    "after": Annotated[str, said("Where the next part of the index begins: the parameter of the next request.")],
    "count": Count,
    "first": Annotated[Time, said("When the first of them was decided.")],
    "last": Annotated[Time, said("When one of them was last seen.")],
    "complete": Annotated[bool, said("Every document within the asked distance is there.")],
    "truncated": Annotated[bool, said("A limit kept something from being read or returned.")],
    "removed": Annotated[bool, said("Whether the index held it.")],
    "share": Annotated[float, Meta(ge=0, le=1, description="Share of the text, from 0 to 1, with four decimals.")],
    "start": Annotated[int, Meta(ge=0, description="First character, of the text as it was sent.")],
    "stop": Annotated[int, Meta(ge=0, description="The character after the last one.")],
}


def _shape(kind: type, *, absent: Collection[str] = (), optional: Collection[str] = (), **others: Any) -> type[Struct]:  # noqa: ANN401
    """Return the msgspec type of an answer as JSON: the fields of class `kind` without `absent`, and with `others`.

    `others` gives types for further fields, or other types for fields of the class. A field that is None is sent as
    null, or left out if it is named in `optional`.
    """
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name not in absent}
    columns: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for name, hint in {**hints, **others}.items():
        form = others[name] if name in others else _FIELDS[name]
        if name in optional:
            columns.append((name, form | UnsetType, UNSET))
        else:
            columns.append((name, form | None if type(None) in get_args(hint) else form))
    return defstruct(kind.__name__, columns, namespace={"__doc__": kind.__doc__}, kw_only=True)


@dataclass(frozen=True, slots=True)
class Form(Generic[T]):
    """How one kind of answer, such as that of `query`, is written as JSON and read back: JSON type, writer, reader."""

    kind: type[T]
    shape: Callable[[], type[Struct]]
    """Returns the JSON type of the answer, from which schemas are made."""
    write: Callable[[T], JsonRecord]
    """Returns the JSON object of an answer."""
    make: Callable[[JsonRecord], T]
    """Returns the answer of a JSON object whose fields are within their ranges."""
    id_field: str = "id"
    """The field that names the document which the answer is for."""

    def read(self, record: JsonRecord) -> T:
        """Return the answer that a JSON object describes.

        Raises `LookupError`, `TypeError`, `ValueError` or `msgspec.ValidationError` if the object is no such answer,
        for example if a field is out of range. Unknown fields are ignored: a later version of the service may send
        more.
        """
        msgspec.convert(record, _described(self))
        return self.make(record)

    def write_for(self, name: str | None, answer: T) -> JsonRecord:
        """Return the answer as a JSON object whose id field has `name`, the id or value that the request named."""
        return {**self.write(answer), self.id_field: name}


@cache
def _described(form: Form[Any]) -> type[Struct]:
    """Return the JSON type of an answer's form, made once: making it takes longer than reading an answer."""
    return form.shape()


def hex_simhash(simhash: int) -> str:
    """Return a fingerprint as text: 16 lower-case hex digits."""
    return f"{simhash:016x}"


def parse_hex_simhash(text: object) -> int:
    """Return the fingerprint that `hex_simhash` wrote as this text, or raise `ValueError`."""
    if not isinstance(text, str) or re.fullmatch(HEX, text) is None:
        raise ValueError("no fingerprint")
    return int(text, 16)


def _fields(value: object) -> JsonRecord:
    """Return the fields of a dataclass as a dictionary, as `asdict` does, but ten times as fast.

    Dataclasses in it are not converted.
    """
    return {name: getattr(value, name) for name in value.__dataclass_fields__}  # type: ignore[attr-defined]


def _write_added(added: Added) -> JsonRecord:
    return {"id": added.id, "simhash": hex_simhash(added.simhash)}


def _read_added(record: JsonRecord) -> Added:
    return Added(record["id"], parse_hex_simhash(record["simhash"]))


def _write_decision(decision: Decision) -> JsonRecord:
    record: JsonRecord = {
        "id": decision.id,
        "status": "original" if decision.is_original else "duplicate",
        "of": decision.of,
        "distance": decision.distance,
        "similarity": decision.similarity,
        "containment": decision.containment,
        "short": decision.short,
    }
    if decision.near is not None:
        record["near"] = _fields(decision.near)
    return {**record, "of_removed": True} if decision.of_removed else record


def _read_decision(record: JsonRecord) -> Decision:
    decision = msgspec.convert({**record, "is_original": record["status"] == "original"}, Decision)
    if decision.is_original != (decision.of is None):
        raise ValueError("an original of another document")
    return decision


def _write_answer(answer: Answer) -> JsonRecord:
    return {
        "query": None,
        "matches": list(map(_fields, answer.matches)),
        "truncated": answer.truncated,
        "complete": answer.complete,
        "short": answer.short,
    }


def _write_stored(stored: Stored) -> JsonRecord:
    record = {**_fields(stored), "simhash": hex_simhash(stored.simhash)}
    return {name: value for name, value in record.items() if value is not None}


def _read_stored(record: JsonRecord) -> Stored:
    return msgspec.convert({**record, "simhash": parse_hex_simhash(record["simhash"])}, Stored)


ADDED = Form(Added, lambda: _shape(Added, absent={"known", "moved"}), _write_added, _read_added)
REMOVED = Form(Removed, lambda: _shape(Removed), _fields, partial(msgspec.convert, type=Removed))
DECISION = Form(
    Decision,
    lambda: _shape(
        Decision,
        absent={"is_original", "near"},
        optional={"near", "of_removed"},
        status=_FIELDS["status"],
        near=Annotated[
            _shape(NearCopy), said("Of dedup: an original that is near and holds too little of it to drop it.")
        ],
    ),
    _write_decision,
    _read_decision,
)
STORED = Form(
    Stored,
    lambda: _shape(Stored, optional={field.name for field in fields(Stored) if field.default is None}),
    _write_stored,
    _read_stored,
)
COPIES = Form(
    Copies,
    lambda: _shape(
        Copies,
        of=Annotated[str, said("The original: the id itself, or of a copy the one that it duplicates.")],
        truncated=Annotated[bool, said("The original has more copies than are listed.")],
        copies=list[_shape(Copy)],  # type: ignore[misc]
    ),
    lambda found: {**_fields(found), "copies": list(map(_fields, found.copies))},
    partial(msgspec.convert, type=Copies),
)
ANSWER = Form(
    Answer,
    lambda: _shape(
        Answer,
        query=Annotated[str | None, said("The id that was sent.")],
        matches=list[_shape(Match)],  # type: ignore[misc]
    ),
    _write_answer,
    partial(msgspec.convert, type=Answer),
    id_field="query",
)
FOUND = Form(
    ClueAnswer,
    lambda: _shape(
        ClueAnswer,
        query=Annotated[str | None, said("The id that was sent.")],
        matches=list[_shape(ClueMatch, spans=list[_shape(Span)])],  # type: ignore[misc]
        complete=Annotated[bool, said("Every document that holds the whole clue is there.")],
    ),
    lambda answer: {
        "query": None,
        "matches": [{**_fields(match), "spans": list(map(_fields, match.spans))} for match in answer.matches],
        "truncated": answer.truncated,
        "complete": answer.complete,
    },
    partial(msgspec.convert, type=ClueAnswer),
    id_field="query",
)
REPEATED = Form(
    PassagesAnswer,
    lambda: _shape(
        PassagesAnswer,
        id=Annotated[str | None, said("The id that was sent.")],
        passages=list[  # type: ignore[misc]
            _shape(
                Passage,
                documents=Annotated[int, Meta(ge=1, description="Other documents that hold some of it.")],
                at_least=Annotated[bool, said("There may be more documents than were read.")],
                first=Annotated[str, said("The document that was added first.")],
                most=Annotated[str, said("The document that holds most of it.")],
            )
        ],
    ),
    lambda answer: {**_fields(answer), "id": answer.id or None, "passages": list(map(_fields, answer.passages))},
    lambda record: msgspec.convert({**record, "id": record["id"] or ""}, PassagesAnswer),
)
ITEMS = Form(
    ItemsAnswer,
    lambda: _shape(
        ItemsAnswer,
        id=Annotated[str | None, said("The id that was sent.")],
        items=list[  # type: ignore[misc]
            _shape(
                HeldItem,
                share=Annotated[float, Meta(ge=0, le=1, description="Share of the item's passages that the text has.")],
                spans=list[_shape(Span)],  # type: ignore[misc]
            )
        ],
    ),
    lambda answer: {
        "id": answer.id or None,
        "items": [{**_fields(item), "spans": list(map(_fields, item.spans))} for item in answer.items],
        "truncated": answer.truncated,
    },
    lambda record: msgspec.convert({**record, "id": record["id"] or ""}, ItemsAnswer),
)
BATCHES = Form(
    BatchCounts,
    lambda: _shape(
        BatchCounts,
        batches=list[  # type: ignore[misc]
            _shape(
                DocumentBatch,
                batch=Annotated[str | None, said("Its name; null for the documents that came in none.")],
                documents=Annotated[Count, said("Its documents.")],
                originals=Annotated[Count, said("Those that queries find.")],
                duplicates=Annotated[Count, said("Those that were decided to be duplicates.")],
                first=Annotated[Time, said("When the first of them was added or decided.")],
                last=Annotated[Time, said("When the last of them was added or decided.")],
            )
        ],
    ),
    lambda counts: {"batches": list(map(_fields, counts.batches)), "after": counts.after},
    partial(msgspec.convert, type=BatchCounts),
)
BATCH_REMOVAL = Form(
    BatchRemoval,
    lambda: _shape(BatchRemoval, removed=Annotated[list[Id], said("The ids of what was removed.")]),
    _fields,
    partial(msgspec.convert, type=BatchRemoval),
)
FORMS: tuple[Form[Any], ...] = (
    ADDED, REMOVED, DECISION, STORED, COPIES, ANSWER, FOUND, REPEATED, ITEMS, BATCHES, BATCH_REMOVAL
)  # fmt: skip


JSON_TYPES = frozenset({str, int, bool, type(None)})


def plain(value: object) -> object:
    """Return a result as JSON values: dataclasses become objects, iterables lists, floats get four decimals."""
    # Most records are dictionaries of these: a tenth of the time of `dedup` was spent on looking for more.
    kind = type(value)
    if kind in JSON_TYPES:
        return value
    if isinstance(value, float):
        return rounded(value)
    if kind is not dict and is_dataclass(value) and not isinstance(value, type):
        value = {item.name: getattr(value, item.name) for item in fields(value)}
    if isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - a dict is found without asking the ABC
        return {key: item if type(item) in JSON_TYPES else plain(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    return value


def json_line(record: Mapping[str, object]) -> bytes:
    """Return a record as one line of JSON, with its line end; its values are converted by `plain`."""
    return plain_line(plain(record))


def plain_line(record: object) -> bytes:
    """Return a record as one line of JSON, with its line end; all its values must already be JSON values."""
    return msgspec.json.encode(record) + b"\n"
