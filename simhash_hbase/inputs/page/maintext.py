"""The main text of an HTML page, without the template of its site; its title and its address."""

import logging
from copy import deepcopy
from typing import NamedTuple

from simhash_hbase.errors import InvalidInput, MissingExtra

try:
    import trafilatura
    from lxml.html import HtmlElement
    from trafilatura.settings import DEFAULT_CONFIG
except ImportError as error:
    raise MissingExtra("HTML pages need trafilatura: pip install 'simhash-hbase[html]'") from error

from simhash_hbase.inputs.page.pagetree import PageTree, open_layout_tables, page_tree

# trafilatura takes time with the square of the paragraphs: 1 s at 19,000 elements, 7 s at 38,000. Of 1,213 real pages
# the longest has 10,000.
_MAX_ELEMENTS = 20_000
# A shorter text is searched again in the whole page: 250, the default, is little in English but not in Chinese.
_CONFIG = deepcopy(DEFAULT_CONFIG)
_CONFIG["DEFAULT"]["MIN_EXTRACTED_SIZE"] = "100"
_CANONICAL = ".//link[@rel='canonical']"

# The page's reject reports the reason; without a handler Python would print the library's own.
logging.getLogger("trafilatura").addHandler(logging.NullHandler())


class MainText(NamedTuple):
    """The text, title and address of a page."""

    text: str  # The main text, a line a paragraph; all text where no part is the main one; may be empty.
    title: str  # The title for sharing, else that of the window, with single blanks; may be empty.
    url: str  # The canonical address that the page declares; may be empty.


def main_text(html: str) -> MainText:
    """Extract the main text of a page.

    A page that is nested more than 256 levels deep, or has more than 20,000 elements, yields all of its text.

    By trafilatura in its fast mode, without readers' comments. A text of 100 characters is accepted; below 250
    trafilatura itself would go on and find the template. Tables that hold paragraphs are opened, since old sites
    lay out their pages in them, menus beside articles. Measured on the 181 news pages of
    article-extraction-benchmark (4-word shingles) and on the 990 pages of trafilatura's own evaluation (segments), F1
    and CPU time a page:

    ============================ ============= ================ =======
    extractor                    181 pages     990 pages        ms
    ============================ ============= ================ =======
    trafilatura 2.3, as here     .961          .916             13 - 15
    trafilatura 2.3, fast        .962          .920             11 - 15
    trafilatura 2.3              .960          .926             17 - 20
    trafilatura 2.3, precision   .964          .922             17 - 20
    readability-lxml 0.8         .953          .868             17 - 18
    resiliparse 2.0              .927          .862             1.5
    all text                     .734          .755             6
    justext 3.0                  .792          (needs language) 12 - 14
    ============================ ============= ================ =======

    Examples
    --------
    >>> article = "<p>It rained all day.</p><p>Nobody went out to look at the river, which rose above the bridge.</p>"
    >>> page = f"<title>Rain</title><body><nav>Home | News</nav><article>{article * 2}</article></body>"
    >>> main_text(page).title, main_text(page).text.startswith("It rained"), "News" in main_text(page).text
    ('Rain', True, False)
    """
    try:
        return _found(page_tree(html))
    except (InvalidInput, MemoryError):
        raise
    except Exception as error:
        # One odd page of millions must not end the run, whatever parser and extractor trip over.
        raise InvalidInput(f"the page cannot be parsed: {type(error).__name__}: {error}") from error


def _found(page: PageTree) -> MainText:
    open_layout_tables(page.root)
    return MainText(_text(page), _title(page.root), _url(page.root))


def _text(page: PageTree) -> str:
    found = None
    # The main part of a deep page may be its innermost one for trafilatura: 2,000 of a million characters.
    if not page.is_deep and sum(1 for _ in page.root.iter()) <= _MAX_ELEMENTS:
        found = trafilatura.extract(page.root, fast=True, include_comments=False, config=_CONFIG)
    return found or trafilatura.html2txt(page.root)


def _title(tree: HtmlElement) -> str:
    return _property(tree, "og:title") or " ".join((tree.findtext(".//title") or "").split())


def _url(tree: HtmlElement) -> str:
    link = tree.find(_CANONICAL)
    href = link.get("href", "") if link is not None else ""
    return "".join(href.split()) or _property(tree, "og:url")


def _property(tree: HtmlElement, name: str) -> str:
    element = tree.find(f".//meta[@property='{name}']")
    return " ".join(element.get("content", "").split()) if element is not None else ""
