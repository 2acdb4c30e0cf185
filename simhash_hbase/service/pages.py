"""Pages for people: the console, whose figures come from the API's routes, and the reference of all routes."""

from collections.abc import Iterable, Mapping
from html import escape
from http import HTTPStatus
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from simhash_hbase.report.passages import BOUNDS

OpenApi = Mapping[str, Any]

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}: HTTP API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="console/page.css">
<link rel="stylesheet" href="console/console.css">
</head>
<body>
<header class="top">
  <div>
    <h1>{title}: HTTP API</h1>
    <p class="lead">{summary} Version {version}. For programs: <a href="openapi.json">openapi.json</a>.</p>
    <nav aria-label="Sections">{sections}</nav>
  </div>
</header>
<main>
"""
_LIMITS = {
    "minimum": "at least",
    "maximum": "at most",
    "minLength": "characters at least:",
    "maxLength": "characters at most:",
    "minItems": "items at least:",
    "maxItems": "items at most:",
    "pattern": "pattern",
    "default": "default",
}


def reference_page(description: OpenApi) -> str:
    """Return the HTML page of an OpenAPI description: its routes, then the schemas of their bodies and answers."""
    schemas = description["components"]["schemas"]
    routes = [
        (f"{method.upper()} {path}", operation)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    head = _HEAD.format(
        title=escape(description["info"]["title"]),
        summary=escape(description["info"]["summary"]),
        version=escape(description["info"]["version"]),
        sections="".join(f'<a href="#{operation["operationId"]}">{escape(name)}</a>' for name, operation in routes),
    )
    sections = [_route(*route) for route in routes]
    for name, schema in schemas.items():
        needed, parts = schema.get("required", ()), schema.get("properties", {})
        fields = _fields((field, _described(part, is_needed=field in needed)) for field, part in parts.items())
        sections.append(
            f'<section id="{name}" class="card">\n<h2>{name}</h2>\n<p>{escape(schema.get("description", ""))}</p>\n'
            f"{fields}</section>\n"
        )
    return "".join([head, *sections, "</main>\n</body>\n</html>\n"])


def _route(name: str, operation: OpenApi) -> str:
    needs = "" if operation.get("security") else " Needs no key."
    parts = [
        f'<section id="{operation["operationId"]}" class="card">\n<h2><code>{escape(name)}</code></h2>\n'
        f"<p>{escape(operation['summary'])}</p>\n<p>{escape(operation.get('description', ''))}{needs}</p>\n"
    ]
    if parameters := operation.get("parameters"):
        described = [(each["name"], _described(each["schema"], is_needed=each.get("required"))) for each in parameters]
        parts += ["<h3>Parameters</h3>\n", _fields(described)]
    if body := operation.get("requestBody"):
        parts += ["<h3>Body</h3>\n", _contents(body)]
    answers = {f"{status} {HTTPStatus(int(status)).phrase}": of for status, of in operation["responses"].items()}
    for status, answer in answers.items():
        if status.startswith("2"):
            parts += [f"<h3>{status}</h3>\n<p>{escape(answer['description'])}</p>\n", _contents(answer)]
    errors = [(status, escape(of["description"])) for status, of in answers.items() if not status.startswith("2")]
    if errors:
        parts += ['<h3>Errors, each a <a href="#Problem">Problem</a></h3>\n', _fields(errors)]
    return "".join([*parts, "</section>\n"])


def _contents(body: OpenApi) -> str:
    """Return the HTML for a body or an answer of a route: the schema and the example of each media type."""
    contents: OpenApi = body.get("content", {})
    examples = [content["example"] for content in contents.values() if "example" in content]
    fields = _fields((media, _described(content.get("schema", {}))) for media, content in contents.items())
    return fields + "".join(f'<pre tabindex="0">{escape(example)}</pre>\n' for example in examples)


def _fields(fields: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<dt><code>{escape(name)}</code></dt><dd>{described}</dd>\n" for name, described in fields)
    return f'<dl class="data">\n{rows}</dl>\n' if rows else ""


def _described(schema: OpenApi, *, is_needed: bool | None = False) -> str:
    """Return the HTML that describes a value by its JSON schema: its type, limits and description."""
    limits = [f"{words} <code>{escape(str(schema[key]))}</code>" for key, words in _LIMITS.items() if key in schema]
    facts = ", ".join([_type(schema), *(["required"] if is_needed else []), *limits])
    return f"{facts}. {escape(schema['description'])}" if "description" in schema else facts


def _type(schema: OpenApi) -> str:
    """Return the HTML of the type in a JSON schema; a reference to a named schema is a link."""
    match schema:
        case {"$ref": str(place)}:
            name = place.rpartition("/")[2]
            return f'<a href="#{name}">{name}</a>'
        case {"anyOf": choices}:
            return " or ".join(map(_described, choices))
        case {"enum": values}:
            return " or ".join(f"<code>{escape(str(value))}</code>" for value in values)
        case {"type": "array", "items": items}:
            return f"list of {_type(items)}"
        case {"type": list(types)}:
            return " or ".join(types)
    return str(schema.get("type", "any"))


router = APIRouter(include_in_schema=False)

# Nothing from elsewhere, nothing inline, nowhere to send anything but here, in nobody's frame.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# Passages have the colours of the report, from the same numbers of documents on.
_BOUNDS = f'data-bounds="{" ".join(map(str, BOUNDS))}"'.encode()
_PAGE = (files("simhash_hbase.service") / "page.html").read_bytes().replace(b'data-bounds=""', _BOUNDS)
# The page asks for a key only where the service does.
_PAGES = {True: _PAGE, False: _PAGE.replace(b'data-keys="wanted"', b'data-keys="none"')}


@router.head("/")
@router.get("/")
async def page(request: Request) -> Response:
    """Send the console, a page for browsers; it holds nothing that a key would be needed for."""
    has_keys = request.app.state.service.keys is not None
    return Response(_PAGES[has_keys], media_type="text/html", headers=_HEADERS)


@router.head("/docs")
@router.get("/docs")
def reference(request: Request) -> Response:
    """Send the reference of all routes as HTML.

    A thread makes it, not the event loop, since it takes some milliseconds.
    """
    return Response(reference_page(request.app.openapi()), media_type="text/html", headers=_HEADERS)


class ConsoleFiles(StaticFiles):
    """Serves the style sheets and scripts of the console; some of them are those of the report, too."""

    def __init__(self) -> None:
        super().__init__(packages=[("simhash_hbase.service", "console"), ("simhash_hbase.report", "static")])

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answer with a file, and with headers such as Content-Security-Policy that keep a browser from misusing it."""
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response
