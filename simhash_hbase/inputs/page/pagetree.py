"""The tree of an HTML page, whole or not at all, with layout tables opened."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from simhash_hbase.errors import InvalidInput, MissingExtra

try:
    from lxml.etree import ParseError, ParserError, XPath, iterwalk
    from lxml.html import HtmlElement, HTMLParser, fromstring
    from trafilatura.utils import is_dubious_html, repair_faulty_html
except ImportError as error:
    raise MissingExtra("HTML pages need trafilatura: pip install 'simhash-hbase[html]'") from error


_MAX_DEPTH = 2_000  # libxml2 itself stops at 2,048, in some versions nowhere.
_MAX_ATTRIBUTES = 1_000  # Of one tag. The parser takes time with their square: 2 s for 40,000, minutes for 400,000.
_BEGINNING = 50
_LIMITS = ("ERR_RESOURCE_LIMIT", "ERR_INTERNAL_ERROR")
"""Names of the error for a page that is nested too deeply, in different versions of libxml2."""
_TABLE, _CELL = "table", "td"
_LAID_OUT = frozenset({"p", "h1", "h2", _TABLE})
_CELLS = XPath("./tr | ./tr/* | ./tbody | ./tbody/tr | ./tbody/tr/* | ./thead | ./thead/tr | ./thead/tr/*")


class PageTree(NamedTuple):
    """A page as it was parsed."""

    root: HtmlElement
    is_deep: bool  # Whether it is nested deeper than parsers accept by default, 256 levels.


def page_tree(html: str) -> PageTree:
    """Parse a page.

    Repairs and judges the page as `trafilatura.load_html` does, which uses libxml2's default and so loses everything
    below level 256 silently: unclosed ``<font>`` reach that in any long page.
    """
    beginning = html[:_BEGINNING].lower()
    content = repair_faulty_html(html, beginning).encode("utf-8", "surrogatepass")
    _check_attributes(content)
    try:
        root, whole = _parsed(content, huge=False)
    except ParserError as error:
        raise InvalidInput("the page is not HTML: it is empty") from error
    is_deep = not whole
    if is_deep:
        root, whole = _parsed(content, huge=True)
        if not whole or _depth(root) > _MAX_DEPTH:
            raise InvalidInput(f"the page is nested more than {_MAX_DEPTH:,} levels deep")
    if is_dubious_html(beginning) and len(root) <= 1:
        raise InvalidInput(
            f"the page is not HTML: its first {_BEGINNING} characters name no html, and it has at most one element"
        )
    return PageTree(root, is_deep)


def _check_attributes(content: bytes) -> None:
    """Refuse a page with a tag that takes too long, by the parser itself without its tree, in linear time."""
    parser = HTMLParser(encoding="utf-8", huge_tree=True, target=_AttributeCount())
    parser.feed(content)
    # An empty page is refused where its tree is wanted.
    with suppress(ParseError):
        parser.close()


class _AttributeCount:
    """Gets the events of a parser."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if len(attributes) > _MAX_ATTRIBUTES:
            raise InvalidInput(f"a tag of the page has more than {_MAX_ATTRIBUTES:,} attributes")

    def close(self) -> None:
        pass


def _parsed(content: bytes, *, huge: bool) -> tuple[HtmlElement, bool]:
    """Parse a page; return also whether the parser reached the end."""
    options = {"collect_ids": False, "default_doctype": False, "remove_comments": True, "remove_pis": True}
    parser = HTMLParser(encoding="utf-8", huge_tree=huge, **options)
    root = fromstring(content, parser=parser)
    faults = parser.error_log.filter_from_fatals()
    return root, not any(fault.type_name in _LIMITS for fault in faults)


def _depth(root: HtmlElement) -> int:
    depth = deepest = 0
    for event, _ in iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


def open_layout_tables(root: HtmlElement) -> None:
    """Turn tables that lay out a page into blocks."""
    for table in list(layout_tables(root)):
        for element in (table, *_CELLS(table)):
            element.tag = "div"


def layout_tables(root: HtmlElement) -> Iterator[HtmlElement]:
    """Yield each table with a paragraph, a heading or a table in one of its cells, at whatever depth.

    One pass: as an XPath this takes time with the cube of the depth, 68 s for a thousand tables in one another.
    """
    tables: list[HtmlElement] = []
    # For each open cell, the number of tables open around it; the number of open tables already yielded.
    cells: list[int] = []
    done = 0
    for event, element in iterwalk(root, events=("start", "end"), tag=(*_LAID_OUT, _CELL)):
        if event == "start":
            if element.tag in _LAID_OUT and cells:
                yield from tables[done : cells[-1]]
                done = max(done, cells[-1])
            if element.tag == _TABLE:
                tables.append(element)
            elif element.tag == _CELL:
                cells.append(len(tables))
        elif element.tag == _TABLE:
            tables.pop()
            done = min(done, len(tables))
        elif element.tag == _CELL:
            cells.pop()
