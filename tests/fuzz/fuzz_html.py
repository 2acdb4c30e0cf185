"""Pages: whatever their bytes are, a page becomes a document with a text that can be kept, or is refused."""

import json

from fuzz import by_atheris
from simhash_hbase.inputs import Document, InputOptions, Page, Place, Reject, extract

TYPES = (None, "text/html", "text/html; charset=gb18030", "text/html; charset=utf-16", "text/html; charset=nonsense")


def TestOneInput(data: bytes) -> None:
    """Read a page, whose content type is the first byte."""
    content_type = TYPES[data[0] % len(TYPES) if data else 0]
    page = Page(
        id="page", content=data[1:], options=InputOptions(), place=Place("page", 0), raw=None, content_type=content_type
    )
    found = extract(page)
    assert isinstance(found, Document | Reject)
    if isinstance(found, Document):
        assert found.text.strip()
        found.text.encode()
        json.dumps(found.metadata)


ARTICLE = "<p>" + "</p><p>".join(f"The council has approved line {number} through the old town." for number in range(9))
HEAD = '<meta charset="utf-8"><title>News &amp; more</title><meta property="og:url" content="https://a.example/">'
BODY = f"<nav><a href=/>Home</a></nav><article>{ARTICLE}</article>"
DECLARED = [{"articleBody": ["A text with <b>markup</b> &amp; entities. " * 20]}, {"text": {"@value": "x"}}]
SCRIPT = f'<script type="application/ld+json">{json.dumps({"@graph": DECLARED})}</script>'
CHINESE = "<html><body><p>市政府今天批准了穿过老城的新地铁线路，工程将于明年春天开始。</p></body></html>"
NESTED = f"<table><tr><td>{ARTICLE}<td><table><tr><td>x</table></table><svg><math><!-- <![CDATA[ ]]> --><frameset>"
SEEDS = [
    f"\0<!doctype html><html><head>{HEAD}</head><body>{BODY}</body></html>".encode(),
    f"\1<html><head>{HEAD}{SCRIPT}</head><body><p>We use cookies. Accept?</p>".encode(),
    b"\2" + CHINESE.encode("gb18030"),
    b"\3" + CHINESE.encode("utf-16"),
    b"\4" + NESTED.encode(),
    b'\0<?xml version="1.0" encoding="windows-1252"?><html><body class="cookie">caf\xe9 \x80 &#0; &#xD800; &#x110000;',
]

if __name__ == "__main__":
    by_atheris(TestOneInput)
