"""The texts of a web page, sorted by where they stand: paragraphs, articles in JSON-LD, and all other places."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from simhash_hbase.errors import missing_extra

try:
    from lxml.etree import iterwalk
    from lxml.html import HtmlElement, document_fromstring
except ImportError as error:
    raise missing_extra("HTML pages need lxml", "html") from error

# Also those of Arabic, Urdu, the languages of India, Tibetan, Burmese, Khmer, Armenian, Amharic and Mongolian.
_ENDS = "。．！？｡….!?‼⁇⁈⁉؟۔।॥།༎။។៕։።፧፨᠃᠉"
# Thai and Lao write no end; so many letters are no label.
_LETTER = "[\u0e00-\u0eff]"
# Only tried at the first letter of a row, so that many rows which are too short take linear time.
_ROW = rf"{_LETTER}(?<!{_LETTER}{_LETTER})(?<!{_LETTER}\s{_LETTER})\s?+(?:{_LETTER}\s?+){{39}}"
_SENTENCE = re.compile(rf"[{_ENDS}]|{_ROW}")
SENTENCES = re.compile(rf"[^{_ENDS}]+(?:[{_ENDS}]+|\Z)")
"""The pieces of a text that each end as a sentence does, or with the text."""

_INLINE = frozenset(
    {"a", "abbr", "b", "cite", "code", "em", "font", "i", "mark", "q", "small", "span", "strong", "sub", "sup", "u"}
)
_CODE = frozenset({"script", "style"})
_NO_PROSE = _CODE | {"template", "head", "nav", "footer", "button", "select"}
_HTML, _BODY = "html", "body"
_ROOTS = frozenset({_HTML, _BODY, "main", "article"})
_NOTICE_NAME = re.compile(r"cookie|consent|gdpr|onetrust", re.IGNORECASE)

_SENTENCE_BYTES = 30

_JSON_LD = "application/ld+json"
_JSON = "application/json"
_POSTING = "Posting"
_SCHEMA_PLACES = ("", "schema:", "http://schema.org/", "https://schema.org/")
_ARTICLE_BODY = tuple(f"{place}articleBody" for place in _SCHEMA_PLACES)
_REVIEW_BODY = tuple(f"{place}reviewBody" for place in _SCHEMA_PLACES)
_POSTING_BODY = (*_REVIEW_BODY, *(f"{place}text" for place in _SCHEMA_PLACES))
_ADDRESS = re.compile(r"\s*([a-z][a-z0-9+.-]*:|/)\S*\s*", re.IGNORECASE)
_DATA_BYTES = 100  # In the data of a page's program, shorter strings are labels and messages.
_DESCRIPTION = re.compile("description|articlebody|text", re.IGNORECASE)


class Prose(NamedTuple):
    """The texts of a web page, in one list for each kind of place, such as paragraphs or articles in JSON-LD."""

    paragraphs: list[str]  # Paragraphs that are not mostly links, without menus, footers and consent notices.
    articles: list[str]  # The bodies of articles in JSON-LD.
    parts: list[str]  # Reviews and postings in JSON-LD: parts of a page, such as that of a product.
    elsewhere: list[str]
    """Texts in other places: sentences in menus, footers, links, templates, frames and descriptions, and JSON."""


def joined(root: HtmlElement) -> HtmlElement:
    """Return the root element of a page with all that stands behind its ``</html>``, as browsers show it.

    libxml2 keeps that as further roots beside the first one, which nobody looks for.

    Examples
    --------
    >>> from lxml.html import document_fromstring
    >>> joined(document_fromstring("<html><body><p>One.</p></body></html><p>Two.</p>")).text_content()
    'One.Two.'
    """
    later = list(root.itersiblings(_HTML))
    if later:
        place = next(root.iterchildren(_BODY), root)
        for page in later:
            for element in (page, *page.iterchildren(_BODY)):
                element.tag = "div"
            place.append(page)
    return root


def page_prose(root: HtmlElement) -> Prose:
    """Return the texts of a page, sorted by where they stand, from the root of its element tree."""
    prose = Prose([], [], [], [])
    _read_elements(root, prose)
    for script in root.iterfind(".//script[@type]"):
        kind = script.get("type").partition(";")[0].strip().lower()
        with suppress(ValueError, RecursionError):
            if kind == _JSON_LD:
                _read_linked_data(json.loads(script.text or "", strict=False), prose)
            elif kind == _JSON:
                _read_data(json.loads(script.text or "", strict=False), prose)
    for element in root.iter("meta", "iframe"):
        if element.tag == "iframe":
            prose.elsewhere.extend(filter(is_sentence, _plain([element.get("srcdoc") or ""])))
        elif any(_DESCRIPTION.search(element.get(name, "")) for name in ("name", "property", "itemprop")):
            prose.elsewhere.extend(filter(is_sentence, _plain([element.get("content") or ""])))
    prose.elsewhere[:] = dict.fromkeys(prose.elsewhere)
    return prose


def is_sentence(text: str) -> bool:
    """Return whether a text contains the end of a sentence and is longer than a label such as a menu item.

    Examples
    --------
    >>> is_sentence("नाव आज फिर से चल रही है।"), is_sentence("วันนี้เรือข้ามฟากกลับมาวิ่งอีกครั้งหลังหยุดไปสามสิบปี")
    (True, True)
    >>> is_sentence("नाव आज फिर से"), is_sentence("หน้าแรก")
    (False, False)
    """
    return _SENTENCE.search(text) is not None and len(text.encode()) >= _SENTENCE_BYTES


def _read_elements(root: HtmlElement, prose: Prose) -> None:
    """Add to `prose` the paragraphs of a page's HTML elements.

    Of paragraphs that are mostly links, and of menus, footers and notices, only sentences are added, to ``elsewhere``.
    """
    pieces: list[str] = []
    plain: list[str] = []  # The pieces outside of links.
    other: list[str] = []  # The pieces in menus and the like.
    links = left_out = code = 0  # How many links, left-out elements and scripts are open.
    for event, element in iterwalk(root, events=("start", "end")):
        name = f"{element.get('id', '')} {element.get('class', '')}"
        is_left_out = element.tag in _NO_PROSE or (element.tag not in _ROOTS and _NOTICE_NAME.search(name) is not None)
        change = 1 if event == "start" else -1
        left_out += change * is_left_out
        links += change * (element.tag == "a")
        code += change * (element.tag in _CODE)
        if element.tag not in _INLINE:
            paragraph, outside = (" ".join("".join(some).split()) for some in (pieces, other))
            is_shown = 2 * len("".join(plain)) > len("".join(pieces))
            if is_shown:
                prose.paragraphs.append(paragraph)
            prose.elsewhere.extend(filter(is_sentence, [outside] if is_shown else [paragraph, outside]))
            pieces, plain, other = [], [], []
        piece = (element.text if event == "start" else element.tail) or ""
        if not left_out:
            pieces.append(piece)
            plain += [] if links else [piece]
        elif not code:
            other.append(piece)


def _read_linked_data(data: object, prose: Prose) -> None:
    """Add to `prose` the articles, reviews and postings in JSON-LD, and its other strings unless they are URLs."""
    values = [data]
    while values:
        value = values.pop()
        if isinstance(value, str) and not _ADDRESS.fullmatch(value):
            # A million labels would take ten seconds to parse.
            prose.elsewhere.extend(_plain([value]) if is_sentence(value) else [value.strip()])
        elif isinstance(value, dict):
            # The text of an answer, and of other things that are no posting, stands in the page itself.
            is_posting = any(kind.endswith(_POSTING) for kind in _texts([value.get("@type")]))
            bodies = _POSTING_BODY if is_posting else _REVIEW_BODY
            prose.articles.extend(_plain(_texts(map(value.get, _ARTICLE_BODY))))
            prose.parts.extend(_plain(_texts(map(value.get, bodies))))
            known = {"@type", "@id", "@context", *_ARTICLE_BODY, *bodies}
            values.extend(value[key] for key in reversed(value) if key not in known)
        elif isinstance(value, list):
            values.extend(reversed(value))


def _read_data(data: object, prose: Prose) -> None:
    """Add to `prose` the long strings with sentences in a page's JSON data (not JSON-LD), such as a script's state."""
    values = [data]
    while values:
        value = values.pop()
        if isinstance(value, dict | list):
            values.extend(reversed(list(value.values()) if isinstance(value, dict) else value))
        elif isinstance(value, str) and len(value.encode()) >= _DATA_BYTES and not _ADDRESS.fullmatch(value):
            prose.elsewhere.extend(filter(is_sentence, _plain([value])))


def _plain(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts with HTML tags and entities removed; blank ones are left out."""
    for text in filter(str.strip, texts):
        # Not inside an element that an end tag in the text would close.
        yield joined(document_fromstring(f"<body>{text}")).text_content().strip()


def _texts(values: Iterable[object]) -> Iterator[str]:
    """Yield the strings in values of JSON-LD: strings, lists of strings, ``{"@value": …}`` of either; none is blank."""
    for value in values:
        single = value.get("@value") if isinstance(value, dict) else value
        if isinstance(single, str) and single.strip():
            yield single
        elif isinstance(single, list):
            yield from (text for text in single if isinstance(text, str) and text.strip())
