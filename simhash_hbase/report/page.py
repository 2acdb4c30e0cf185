"""One HTML file: template, style, script and data put together."""

import base64
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import NamedTuple

import msgspec

_SKIP = '<a class="skip" href="#search">Skip to the search box</a>\n'


class Section(NamedTuple):
    """A part of a page."""

    html: str
    links: Sequence[tuple[str, str]] = ()  # Anchors in it, and their names in the page's head.


def make_page(*, heading: str, lead: str, sections: Sequence[Section], data: object, version: str) -> bytes:
    """Put a page together."""
    style, script = resource("page.css").template, resource("page.js").template
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    links = [link for section in sections if section.html for link in section.links]
    page = resource("page.html").substitute(
        policy=policy,
        skip="" if data is None else _SKIP,
        title=escape(heading),
        style=style,
        heading=escape(heading),
        lead=escape(lead),
        links="".join(f'<a href="#{anchor}">{name}</a>' for anchor, name in links),
        sections="\n".join(section.html for section in sections),
        version=escape(version),
        scripts="" if data is None else _scripts(data, script),
    )
    # Names of files need not be Unicode.
    return page.encode(errors="backslashreplace")


def _scripts(data: object, script: str) -> str:
    return f'<script type="application/json" id="data">{data_json(data)}</script>\n<script>{script}</script>'


def data_json(data: object) -> str:
    r"""Write data so that it can stand in a script element: nothing in it ends the element, or begins another.

    Examples
    --------
    >>> data_json("</script>&<!--")
    '"\\u003c/script>&\\u003c!--"'
    """
    return msgspec.json.encode(data).decode().replace("<", "\\u003c")


def resource(name: str) -> Template:
    """Read a file of this package."""
    return Template(files("simhash_hbase.report").joinpath(name).read_text(encoding="utf-8"))


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(sha256(content.encode()).digest()).decode()
