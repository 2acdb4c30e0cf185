"""The JSON forms as the OpenAPI description has them; what is sent is made by `simhash_hbase.index.jsonforms`.

By hand, not from models of pydantic or msgspec: a document holds exactly one of three contents and any other fields
beside them, which neither can say; the records that are sent are those of the commands, so that both are equal; and the
texts in a body are checked by the same rules as those of a file, not by a second set. The tests send requests made from
this description, and compare the answers with it.
"""

from typing import Any

from simhash_hbase.entries import MAX_ID_BYTES

LONGEST_COMPARED = 200_000
"""Characters of a text whose words are compared with another one's."""

JSON, NDJSON, PROBLEM = "application/json", "application/x-ndjson", "application/problem+json"

Schema = dict[str, Any]

TEXT = "今天，市政府召开会议，讨论城市东部的新地铁线路规划。会议决定，工程将在明年三月开始，预计三年完成。"
_ID: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_ID_BYTES,
    "description": "The caller's own: any text, a URL for one.",
    "examples": ["https://example.org/a?page=1"],
}
_SENT_ID: Schema = {**_ID, "type": ["string", "integer"]}
_CONTENTS: dict[str, Schema] = {
    "text": {"type": "string", "minLength": 1, "pattern": r"^[^\x00]*[^\s\x00][^\x00]*$"},
    "simhash": {"type": "string", "pattern": "^[0-9a-f]{16}$", "description": "A fingerprint of the caller's own."},
    "features": {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": "number", "minimum": -1e9, "maximum": 1e9}],
            "minItems": 2,
            "maxItems": 2,
        },
        "description": "Features of the caller's own with their weights, in units of 1/65,536; not all of them 0.",
    },
}
_COMPARED: Schema = {**_CONTENTS["text"], "maxLength": LONGEST_COMPARED}
_METADATA: Schema = {
    "type": ["object", "null"],
    "description": "Kept with the document; at most 1 KB as JSON.",
    "examples": [{"source": "example"}],
}
_SIMHASH: Schema = {"type": "string", "pattern": "^[0-9a-f]{16}$"}
_DISTANCE: Schema = {"type": "integer", "minimum": 0, "maximum": 64}
_SIMILARITY: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
_TIME: Schema = {"type": "string", "format": "date-time"}


def _object(properties: dict[str, Schema], *, optional: tuple[str, ...] = (), **more: object) -> Schema:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, **more}


def _only(content: str) -> list[Schema]:
    """Say that the other contents are not there."""
    return [{"not": {"required": [other]}} for other in _CONTENTS if other != content]


def _with_contents(common: dict[str, Schema], required: list[str], *, id_alone: bool) -> Schema:
    properties = {**common, **_CONTENTS, "metadata": _METADATA}
    kinds: list[Schema] = [{"required": [content], "allOf": _only(content)} for content in _CONTENTS]
    if id_alone:
        kinds.append({"required": ["id"], "allOf": [{"not": {"required": [content]}} for content in _CONTENTS]})
    return {"type": "object", "properties": properties, "required": required, "oneOf": kinds}


SCHEMAS: dict[str, Schema] = {
    "Document": {
        **_with_contents({"id": _SENT_ID}, ["id"], id_alone=False),
        "examples": [{"id": "https://example.org/a?page=1", "text": TEXT, "metadata": {"source": "example"}}],
    },
    "Query": {
        **_with_contents({"id": _SENT_ID}, [], id_alone=True),
        "description": "A document, which does not match itself by id; or the id alone of a stored one.",
        "examples": [{"text": TEXT}, {"id": "https://example.org/a?page=1"}, {"simhash": "fd239d0b3ee32c91"}],
    },
    "Added": _object({"id": _ID, "simhash": _SIMHASH}, examples=[{"id": "a", "simhash": "fd239d0b3ee32c91"}]),
    "Decision": _object(
        {
            "id": _ID,
            "status": {"type": "string", "enum": ["original", "duplicate"]},
            "of": {"type": ["string", "null"], "description": "Of a duplicate, the id of its original."},
            "distance": {**_DISTANCE, "type": ["integer", "null"]},
            "similarity": _SIMILARITY,
            "short": {"type": "boolean", "description": "A text so short that near copies may be missed."},
            "of_removed": {"type": "boolean", "description": "The original was removed or changed since."},
        },
        optional=("of_removed",),
        examples=[{"id": "b", "status": "duplicate", "of": "a", "distance": 1, "similarity": 0.8711, "short": False}],
    ),
    "Removed": _object({"id": _ID, "removed": {"type": "boolean"}}, examples=[{"id": "a", "removed": True}]),
    "Match": _object(
        {
            "id": _ID,
            "distance": _DISTANCE,
            "similarity": _SIMILARITY,
            "exact": {"type": "boolean", "description": "The normalised texts are equal."},
            "added": _TIME,
        }
    ),
    "Answer": _object(
        {
            "query": {"type": ["string", "null"], "description": "The id that was sent."},
            "matches": {"type": "array", "items": {"$ref": "#/components/schemas/Match"}},
            "truncated": {"type": "boolean", "description": "A limit kept something from being read or returned."},
            "complete": {"type": "boolean", "description": "Every document within the asked distance is there."},
            "short": {"type": "boolean", "description": "A text so short that near copies may be missed."},
        },
        examples=[
            {
                "query": "b",
                "matches": [
                    {
                        "id": "a",
                        "distance": 1,
                        "similarity": 0.8711,
                        "exact": False,
                        "added": "2026-11-21T09:30:00.000Z",
                    }
                ],
                "truncated": False,
                "complete": False,
                "short": False,
            }
        ],
    ),
    "Stored": _object(
        {
            "id": _ID,
            "simhash": _SIMHASH,
            "state": {"type": "string", "enum": ["added", "original", "duplicate"]},
            "added": _TIME,
            "seen": _TIME,
            "length": {"type": "integer", "description": "Characters of the text."},
            "features": {"type": "integer"},
            "metadata": _METADATA,
            "of": {"type": "string", "description": "Of a duplicate, the id of its original."},
            "distance": _DISTANCE,
            "similarity": _SIMILARITY,
        },
        optional=("length", "features", "metadata", "of", "distance", "similarity"),
    ),
    "Pair": _object(
        {"a": _COMPARED, "b": _COMPARED},
        examples=[{"a": "如果雨停了，我们就出发。", "b": "倘若雨停了，我们就马上出发。"}],
    ),
    "Comparison": _object(
        {
            "distance": _DISTANCE,
            "similarity": _SIMILARITY,
            "found": {
                "type": "boolean",
                "description": "With one of them in the index, a query for the other finds it.",
            },
            "cosine": {"type": "number", "description": "Of the weighted features."},
            "bits": {"type": "string", "pattern": "^[01]{64}$", "description": "1 where the fingerprints differ."},
            "block_widths": {"type": "array", "items": {"type": "integer"}, "description": "Bits of each block."},
            "pieces": {
                "type": "array",
                "description": "Both texts from beginning to end, cut where their words differ.",
                "items": _object(
                    {
                        "kind": {"type": "string", "enum": ["same", "changed", "left", "right"]},
                        "left": {"type": "string"},
                        "right": {"type": "string"},
                    }
                ),
            },
        },
        description="More fields as `simhash-hbase explain` prints them.",
    ),
    "Problem": _object(
        {
            "status": {"type": "integer"},
            "code": {"type": "string", "description": "For programs."},
            "detail": {"type": "string", "description": "For people."},
            "retryable": {"type": "boolean", "description": "The same request may succeed later."},
            "request_id": {"type": "string"},
        },
        examples=[
            {
                "status": 422,
                "code": "invalid_document",
                "detail": "the field 'id' is missing",
                "retryable": False,
                "request_id": "5f0c7a31d2e94b6a",
            }
        ],
    ),
}
"""Component schemas by name."""

_PROBLEMS = {
    400: "The body is not JSON.",
    401: "A key is needed, or this one is not known.",
    403: "The key has not the scope.",
    404: "The index does not hold a document of this id.",
    408: "The body did not arrive in time.",
    409: "Other writers kept winning; claim again.",
    413: "The body is too large.",
    415: "The body is of another content type.",
    422: "The document, or a parameter, is not as it should be.",
    500: "Something went wrong.",
    501: "This store cannot do that.",
    503: "The store, or the service, has no time or does not answer; Retry-After says when to try again.",
    507: "There is no room left where the store keeps its data.",
}
_ALWAYS = (401, 403, 500, 501, 503)
_OF_BODIES = (400, 408, 413, 415, 422, 507)


def problems(*statuses: int, body: bool = True) -> dict[int | str, dict[str, Any]]:
    """Describe the errors of a route: those that every one has, and the ones named."""
    schema = {"$ref": "#/components/schemas/Problem"}
    wanted = sorted({*_ALWAYS, *(_OF_BODIES if body else ()), *statuses})
    return {status: {"description": _PROBLEMS[status], "content": {PROBLEM: {"schema": schema}}} for status in wanted}


def found(name: str, *, lines: str | None = None) -> dict[int | str, dict[str, Any]]:
    """Describe the answer of a route."""
    content: dict[str, Any] = {JSON: {"schema": {"$ref": f"#/components/schemas/{name}"}}}
    if lines is not None:
        content[NDJSON] = _lines(name, lines)
    return {200: {"description": "Done; of a stream, line by line.", "content": content}}


def body(name: str | None, lines: str | None = None) -> dict[str, Any]:
    """Describe what a route reads: one JSON object, unless `name` is None, and lines of them, unless `lines` is."""
    content: dict[str, Any] = {}
    if name is not None:
        content[JSON] = {"schema": {"$ref": f"#/components/schemas/{name}"}}
    if lines is not None:
        content[NDJSON] = _lines(name, lines)
    return {"requestBody": {"required": True, "content": content}}


def _lines(name: str | None, example: str) -> dict[str, Any]:
    each = f"a {name}" if name else 'a {"id": …}'
    return {"schema": {"type": "string", "description": f"JSON lines, each {each}."}, "example": example}
