"""The JSON schemas in the OpenAPI description.

Answers are described by `simhash_hbase.index.jsonforms`, which writes them, too; all other objects by the structs
below. The schemas of documents are written by hand: a document holds exactly one of three contents, which neither
msgspec nor pydantic can say, and its text is checked by the same rules as that of a file. The tests send requests made
from this description, and compare the answers with it.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, defstruct
from msgspec.json import schema_components

from simhash_hbase.index.jsonforms import ANY_HEX, FORMS, Distance, Id, KeptMetadata, Similarity, said
from simhash_hbase.service.problems import PROBLEM_TYPE

LONGEST_COMPARED = 200_000  # Characters of a text whose words are compared with another one's.

JSON, NDJSON = "application/json", "application/x-ndjson"
_REFERENCE = "#/components/schemas/{name}"

Schema = dict[str, Any]

TEXT = "今天，市政府召开会议，讨论城市东部的新地铁线路规划。会议决定，工程将在明年三月开始，预计三年完成。"
_NOT_BLANK = r"^[^\x00]*[^\s\x00][^\x00]*$"

Compared = Annotated[str, Meta(min_length=1, max_length=LONGEST_COMPARED, pattern=_NOT_BLANK)]
_ADDED, _REMOVED, _DECISION, _STORED, _COPIES, _ANSWER, _FOUND, _REPEATED, _ITEMS, _BATCHES, _TAKEN_BACK = (
    form.shape() for form in FORMS
)
_PROBLEM = defstruct(
    "Problem",
    [
        ("status", int),
        ("code", Annotated[str, said("For programs.")]),
        ("detail", Annotated[str, said("For people.")]),
        ("retryable", Annotated[bool, said("The same request may succeed later.")]),
        ("request_id", str),
    ],
    namespace={"__doc__": "Why there is no result."},
)


class Pair(Struct, forbid_unknown_fields=True):
    """Two texts to be compared."""

    a: Compared
    b: Compared


class Piece(Struct):
    """A stretch of two texts in which their words are the same, or differ."""

    kind: Literal["same", "changed", "left", "right"]
    left: str
    right: str


class Comparison(Struct):
    """How near two texts are; the object has more fields, as `simhash-hbase explain` prints them."""

    distance: Distance
    similarity: Similarity | None
    found: Annotated[
        bool | None,
        said("With one of them in the index, a query for the other finds it; null where rare passages decide."),
    ]
    cosine: Annotated[float, said("Of the weighted features.")]
    bits: Annotated[str, Meta(pattern="^[01]{64}$", description="1 where the fingerprints differ.")]
    block_widths: Annotated[list[int], said("Bits of each block.")]
    pieces: Annotated[list[Piece], said("Both texts from beginning to end, cut where their words differ.")]


_CONTENTS: dict[str, Schema] = {
    "text": {"type": "string", "minLength": 1, "pattern": _NOT_BLANK},
    "simhash": {"type": "string", "pattern": ANY_HEX, "description": "A fingerprint of the caller's own."},
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


def _document(name: str, examples: list[Schema], required: list[str], *, id_alone: bool) -> Schema:
    """Return the schema of a document that has exactly one content: a text, a fingerprint or features.

    With `id_alone`, an object with an id and no content fits, too.
    """
    absent = {content: {"not": {"required": [content]}} for content in _CONTENTS}
    kinds = [
        {"required": [content], "allOf": [absent[other] for other in _CONTENTS if other != content]}
        for content in _CONTENTS
    ]
    if id_alone:
        kinds.append({"required": ["id"], "allOf": list(absent.values())})
    (ids, metadata), _ = schema_components([Id, KeptMetadata | None], ref_template=_REFERENCE)
    properties = {"id": {**ids, "type": ["string", "integer"]}, **_CONTENTS, "metadata": metadata}
    return {
        "title": name,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        "oneOf": kinds,
        "examples": examples,
    }


_EXAMPLE_PAIR = {"distance": 1, "similarity": 0.8711, "containment": 0.9311}
_EXAMPLE_MATCH = {"id": "a", **_EXAMPLE_PAIR, "exact": False, "added": "2026-11-21T09:30:00.000Z"}
_EXAMPLES: dict[type, Schema | None] = {
    _ADDED: {"id": "a", "simhash": "fd239d0b3ee32c91"},
    _DECISION: {"id": "b", "status": "duplicate", "of": "a", **_EXAMPLE_PAIR, "short": False},
    _REMOVED: {"id": "a", "removed": True},
    _ANSWER: {"query": "b", "matches": [_EXAMPLE_MATCH], "truncated": False, "complete": False, "short": False},
    _STORED: None,
    _COPIES: None,
    _FOUND: None,
    _REPEATED: None,
    _ITEMS: None,
    _BATCHES: None,
    _TAKEN_BACK: {"removed": ["a", "b"], "after": None},
    Pair: {"a": "如果雨停了，我们就出发。", "b": "倘若雨停了，我们就马上出发。"},
    Comparison: None,
    _PROBLEM: {
        "status": 422,
        "code": "invalid_document",
        "detail": "the field 'id' is missing",
        "retryable": False,
        "request_id": "5f0c7a31d2e94b6a",
    },
}


def schemas() -> dict[str, Schema]:
    """Return the schemas of bodies and answers by name, as OpenAPI lists them among its components."""
    _, made = schema_components(_EXAMPLES, ref_template=_REFERENCE)
    for kind, example in _EXAMPLES.items():
        made[kind.__name__].update({} if example is None else {"examples": [example]})
    url = "https://example.org/a?page=1"
    stored = [{"id": url, "text": TEXT, "metadata": {"source": "example"}}]
    asked = [{"text": TEXT}, {"id": url}, {"simhash": "fd239d0b3ee32c91"}]
    query = _document("Query", asked, [], id_alone=True)
    query["description"] = "A document, which does not match itself by id; or the id alone of a stored one."
    text = {"text": _CONTENTS["text"], "id": query["properties"]["id"], "metadata": query["properties"]["metadata"]}
    clue = {
        "title": "Clue",
        "description": "A text, which is not found in the document of the same id.",
        "type": "object",
        "properties": text,
        "required": ["text"],
        "additionalProperties": False,
        "examples": [{"text": TEXT}],
    }
    return {**made, "Document": _document("Document", stored, ["id"], id_alone=False), "Query": query, "Clue": clue}


_PROBLEMS = {
    400: "The body is not JSON, or a parameter is not percent-encoded UTF-8 or is given more than once.",
    401: "A key is needed, or this one is not known.",
    403: "The key does not have the scope.",
    404: "The index does not hold a document of this id.",
    408: "The body did not arrive in time.",
    409: "Other writers kept winning; claim again.",
    413: "The body is too large.",
    415: "The body is of another content type.",
    422: "The document, or a parameter, is invalid.",
    500: "An unforeseen error.",
    501: "This store cannot do that.",
    503: "The service is busy, or the store does not answer: Retry-After says when to retry. Or it takes no writes.",
    507: "No space is left where the store keeps its data.",
}
_ALWAYS = (400, 401, 403, 500, 501, 503)
_OF_BODIES = (408, 413, 415, 422, 507)


def problems(*statuses: int, body: bool = True) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of a route's errors: those of every route, and those of `statuses`.

    `body`: whether the route has a body, and so the errors of one.
    """
    wanted = sorted({*_ALWAYS, *(_OF_BODIES if body else ()), *statuses})
    content = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _PROBLEMS[status], "content": content} for status in wanted}


def found(name: str, *, lines: str | None = None) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of a route's answer, an object of type `name`.

    `lines`: an example of the answer to a stream; None where the route takes no streams.
    """
    content: dict[str, Any] = {JSON: {"schema": {"$ref": f"#/components/schemas/{name}"}}}
    if lines is not None:
        content[NDJSON] = _lines(name, lines)
    return {200: {"description": "Done; of a stream, line by line.", "content": content}}


def body(name: str | None, lines: str | None = None) -> dict[str, Any]:
    """Return the OpenAPI description of a route's body: an object of type `name`, a stream, or both.

    `lines`: an example of the stream. The route takes none where that is None, and no object where `name` is.
    """
    content: dict[str, Any] = {}
    if name is not None:
        content[JSON] = {"schema": {"$ref": f"#/components/schemas/{name}"}}
    if lines is not None:
        content[NDJSON] = _lines(name, lines)
    return {"requestBody": {"required": True, "content": content}}


def _lines(name: str | None, example: str) -> dict[str, Any]:
    each = f"a {name}" if name else 'a {"id": …}'
    return {"schema": {"type": "string", "description": f"JSON lines, each {each}."}, "example": example}
