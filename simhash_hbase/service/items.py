"""From the JSON of a request, or of a line of a stream, to a document or an id."""

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

import msgspec

from simhash_hbase.inputs import Document, InputOptions, Place
from simhash_hbase.inputs.fields import Builder, listed
from simhash_hbase.rows.entries import metadata_problem
from simhash_hbase.service.http.problems import Problem

Item = Document | str  # A document with a text, features or a fingerprint; or the id of a stored one.

MALFORMED = 400
UNPROCESSABLE = 422

_BUILDERS = {
    "text": Builder(InputOptions()),
    "simhash": Builder(InputOptions(simhash_field="simhash")),
    "features": Builder(InputOptions(features_field="features")),
}
_CONTENTS = ", ".join(_BUILDERS)
_DOCUMENT_FIELDS = ("id", *_BUILDERS, "metadata")
_decode = msgspec.json.Decoder(dict[str, object]).decode


def decode(raw: bytes) -> dict[str, object]:
    """Read one JSON object."""
    try:
        return _decode(raw)
    except msgspec.ValidationError as error:
        # Numbers that nothing here can hold are of this kind, too.
        detail = "a JSON object is wanted" if str(error).startswith("Expected") else _shown(error)
        raise Problem(UNPROCESSABLE, "invalid_document", detail) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise Problem(MALFORMED, "malformed_json", f"the body or line is not JSON: {_shown(error)}") from error
    except RecursionError as error:
        raise Problem(MALFORMED, "malformed_json", "the JSON is nested too deeply") from error


class Wanted(NamedTuple):
    """What an operation takes."""

    documents: bool
    ids: bool
    needs_id: bool
    is_line: bool  # Whether the object is a line of a stream: lines of a corpus have fields for others, too.


def document_or_id(value: dict[str, object], wanted: Wanted) -> Item:
    """Make the document, or the id, of a JSON object."""
    documents, ids, needs_id, is_line = wanted
    if not is_line:
        check_fields(value, _DOCUMENT_FIELDS if documents else ("id",))
    contents = [name for name in _BUILDERS if name in value] if documents else []
    if len(contents) > 1:
        raise _invalid(f"give one of {_CONTENTS}, not {' and '.join(contents)}")
    if not contents:
        if not ids:
            raise _invalid(f"one of the fields {_CONTENTS} is missing")
        # The id is checked by the same rules as a document's.
        contents, value = ["simhash"], {**value, "simhash": 0}
        return _built(value, contents[0], needs_id=True).id
    return _built(value, contents[0], needs_id=needs_id)


def check_fields(value: dict[str, object], known: Collection[str]) -> None:
    """Refuse fields that nothing reads: a name that was mistyped, or belongs elsewhere, would be lost silently."""
    unknown = value.keys() - known
    if unknown:
        raise _invalid(f"unknown field {listed(sorted(unknown))}: the fields are {', '.join(known)}")


def _built(value: dict[str, object], content: str, *, needs_id: bool) -> Document:
    named = "id" in value
    if needs_id and not named:
        raise _invalid("the field 'id' is missing")
    record = _BUILDERS[content].build(value, Place("", 0), b"")
    if not isinstance(record, Document):
        raise _invalid(record.reason)
    return replace(record, id=record.id if named else "", metadata=_metadata(value))


def _metadata(value: dict[str, object]) -> dict[str, object] | None:
    metadata = value.get("metadata")
    if metadata is None:
        return None
    if not isinstance(metadata, dict):
        raise _invalid("the metadata is not a JSON object")
    if problem := metadata_problem(metadata):
        raise _invalid(f"the metadata {problem}")
    return metadata or None


def _invalid(detail: str) -> Problem:
    return Problem(UNPROCESSABLE, "invalid_document", detail)


def _shown(error: Exception) -> str:
    """Describe an error; the text of a UnicodeError would quote the bytes."""
    return str(error) if isinstance(error, msgspec.DecodeError) else "it is not UTF-8"
