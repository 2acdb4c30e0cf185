"""Web pages: decode them as a browser does, and extract main text, title and address; an HTML file is one page."""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from itertools import accumulate, chain
from typing import NamedTuple

from simhash_hbase.errors import InvalidArgument, InvalidInput, missing_extra
from simhash_hbase.inputs.compression import take_all
from simhash_hbase.inputs.encodings import (
    AUTO,
    MARK_BYTES,
    REPLACEMENT,
    UTF8,
    WIDE,
    byte_order_mark,
    checked_codec,
    detect,
    is_text,
)
from simhash_hbase.inputs.options import PAGE_BYTES
from simhash_hbase.inputs.prose import SENTENCES, Prose, is_sentence, joined, page_prose
from simhash_hbase.inputs.records import Page, Place, Reject
from simhash_hbase.inputs.remainder import sketch_remainder
from simhash_hbase.inputs.streams import BINARY_BYTES, NUL_SHARE, ReadRequest, open_bytes, packed_fault

try:
    from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, resolve_encoding, to_unicode
except ImportError as error:
    raise missing_extra("HTML pages need w3lib", "html") from error

try:
    import trafilatura
    from charset_normalizer import from_bytes
    from lxml.etree import ParseError, ParserError, XPath, iterwalk
    from lxml.html import HtmlElement, HTMLParser, fromstring
    from trafilatura.settings import DEFAULT_CONFIG
    from trafilatura.utils import is_dubious_html, repair_faulty_html
except ImportError as error:
    raise missing_extra("HTML pages need trafilatura", "html") from error


_GARBLED_SHARE = 0.1


def decode_page(content: bytes, content_type: str | None, encoding: str, *, html: bool = True) -> str:
    """Return the text of a page's bytes, decoded as a browser does, unless the declared encoding is clearly wrong.

    Examples
    --------
    >>> decode_page('<meta charset="gb2312">龍'.encode("gbk"), None, "utf-8")[-1]
    '龍'
    >>> decode_page("Привет, мир".encode("cp1251"), "text/html; charset=windows-1251", "utf-8")
    'Привет, мир'
    >>> decode_page('<meta charset="gb2312">昨天傍晚，老码头又恢复了渡轮'.encode(), None, "utf-8")[-2:]
    '渡轮'
    """
    mark = byte_order_mark(content[:MARK_BYTES])
    if mark is not None:
        codec, skip = mark
        text = to_unicode(content[skip:], codec)
        return text if html else _legible(text)
    given = UTF8 if encoding == AUTO else resolve_encoding(encoding) or encoding
    header = http_content_type_encoding(content_type) or _label(_HEADER_CHARSET.search(content_type or ""))
    if content.count(0) > NUL_SHARE * len(content):
        wide = next((codec for codec in _codecs(header, given) if codec in WIDE), None)
        text = "" if wide is None else to_unicode(content, wide)
        if "\0" in text or REPLACEMENT in text or not text:
            raise InvalidInput("the page is binary: it has too many NUL bytes")
        return text
    if not is_text(content):
        raise InvalidInput("the page is binary: it has too many control characters, as compressed data has")
    inside: str | None = None
    if html:
        inside = html_body_declared_encoding(content) or _label(_META_CHARSET.search(content.decode("latin-1")))
    if inside is not None and inside.lower().startswith(("utf-16", "utf-32")):
        inside = UTF8  # A declaration that can be read is not in UTF-16, so the standard says UTF-8.
    # A page without NUL bytes is in none of the wide codecs.
    codec = detect(content, [codec for codec in _codecs(header, inside, given) if codec not in WIDE], _guess)
    text = to_unicode(content, codec).replace("\0", REPLACEMENT)
    return text if html else _legible(text)


# w3lib reads the first 4 KB of a page, and returns None for a label that Python does not know.
_META_CHARSET = re.compile(r"<meta\s[^<>]{0,500}?\bcharset\s*=\s*[\"']?\s*([\w:.-]+)", re.IGNORECASE | re.ASCII)
_HEADER_CHARSET = re.compile(r"\bcharset\s*=\s*[\"']?\s*([\w:.-]+)", re.IGNORECASE)


def _label(match: re.Match[str] | None) -> str | None:
    """Return the encoding for which browsers take a label, such as GB 18030 for ``gb2312``; None if it is unknown.

    `match` is the match of a pattern whose first group is the label.
    """
    if match is None:
        return None
    with suppress(InvalidArgument):
        return resolve_encoding(checked_codec(match[1]))
    return None


def _codecs(*labels: str | None) -> list[str]:
    """Return Python's codecs for encoding labels such as ``utf-8``; unknown labels are left out."""
    codecs = []
    for label in labels:
        with suppress(InvalidArgument):
            codecs.append(checked_codec(label or ""))
    return codecs


def _guess(sample: bytes) -> list[str]:
    """Return a list of the codec that the library charset-normalizer guesses from a sample; empty if it finds none."""
    match = from_bytes(sample).best()
    with suppress(InvalidArgument):
        return [checked_codec(match.encoding)] if match is not None else []
    return []


def _legible(text: str) -> str:
    """Return the text of a page unchanged; raise InvalidInput if a tenth of it is U+FFFD, as after wrong decoding."""
    faults, characters = text.count(REPLACEMENT), sum(map(len, text.split()))
    if faults > _GARBLED_SHARE * characters:
        raise InvalidInput(
            f"the page is garbled: {faults:,} of its {characters:,} characters are U+FFFD; it was damaged before, or "
            "is in an encoding that is not detected: if you know it, give `encoding=`"
        )
    return text


_MAX_DEPTH = 2_000  # libxml2 itself stops at 2,048, in some versions nowhere.
_MAX_ATTRIBUTES = 1_000  # In one tag. The parser takes time with their square: 2 s for 40,000, minutes for 400,000.
_BEGINNING = 50
# trafilatura removes a doctype in time with the square of its slashes: 240 s for 200,000.
_LONG_DOCTYPE = re.compile(r"\A(< ?! ?doctype[^>]{1000})[^>]+", re.IGNORECASE)
# trafilatura removes these first; among them it still finds a doctype.
_NO_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_LIMITS = ("ERR_RESOURCE_LIMIT", "ERR_INTERNAL_ERROR")
"""Names of the error for a page that is nested too deeply, in different versions of libxml2."""
_TABLE, _CELL = "table", "td"
_LAID_OUT = frozenset({"p", "h1", "h2", _TABLE})
_CELLS = XPath("./tr | ./tr/* | ./tbody | ./tbody/tr | ./tbody/tr/* | ./thead | ./thead/tr | ./thead/tr/*")


def page_tree(html: str) -> tuple[HtmlElement, bool]:
    """Return the element tree of a page, and whether it is nested more than 256 levels deep, libxml2's default limit.

    Repairs and judges the page as `trafilatura.load_html` does, which keeps to that limit and so loses everything below
    it silently: unclosed ``<font>`` reach it in any long page.
    """
    beginning = html[:_BEGINNING].lower()
    # A doctype is repaired only if the beginning has the whole word.
    html = _LONG_DOCTYPE.sub(r"\1", _NO_CHARACTERS.sub("", html[:_BEGINNING]) + html[_BEGINNING:], count=1)
    content = repair_faulty_html(html, beginning).encode("utf-8", "surrogatepass")
    # A tag that takes too long is found by the parser itself without its tree, in linear time.
    attributes = HTMLParser(encoding="utf-8", huge_tree=True, target=_AttributeCount())
    attributes.feed(content)
    # An empty page is refused where its tree is wanted.
    with suppress(ParseError):
        attributes.close()
    try:
        root, whole = _parsed(content, huge=False)
    except ParserError as error:
        raise InvalidInput("the page is not HTML: it is empty") from error
    is_deep = not whole
    if is_deep:
        root, whole = _parsed(content, huge=True)
        levels = accumulate(1 if event == "start" else -1 for event, _ in iterwalk(root, events=("start", "end")))
        if not whole or max(levels) > _MAX_DEPTH:
            raise InvalidInput(f"the page is nested more than {_MAX_DEPTH:,} levels deep")
    if is_dubious_html(beginning) and len(root) <= 1:
        raise InvalidInput(
            f"the page is not HTML: its first {_BEGINNING} characters name no html, and it has at most one element"
        )
    return root, is_deep


class _AttributeCount:
    """A parser target that raises InvalidInput at a tag with more than 1,000 attributes, which would take very long."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if len(attributes) > _MAX_ATTRIBUTES:
            raise InvalidInput(f"a tag of the page has more than {_MAX_ATTRIBUTES:,} attributes")

    def close(self) -> None:
        pass


def _parsed(content: bytes, *, huge: bool) -> tuple[HtmlElement, bool]:
    """Return the element tree of a page, and whether all of it was parsed; `huge` lifts libxml2's limit of depth."""
    options = {"collect_ids": False, "default_doctype": False, "remove_comments": True, "remove_pis": True}
    parser = HTMLParser(encoding="utf-8", huge_tree=huge, **options)
    root = fromstring(content, parser=parser)
    faults = parser.error_log.filter_from_fatals()
    return joined(root), not any(fault.type_name in _LIMITS for fault in faults)


def layout_tables(root: HtmlElement) -> Iterator[HtmlElement]:
    """Yield each table that a page uses for layout: one with a paragraph, heading or table in one of its cells.

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


# trafilatura takes time with the square of the paragraphs: 1 s at 19,000 elements, 7 s at 38,000. Of 1,213 real pages
# the longest has 10,000.
_MAX_ELEMENTS = 20_000
# A shorter text is searched again in the whole page: 250, the default, is little in English but not in Chinese.
_CONFIG = deepcopy(DEFAULT_CONFIG)
_CONFIG["DEFAULT"]["MIN_EXTRACTED_SIZE"] = "100"
_CANONICAL = ".//link[@rel='canonical']"

_COOKIE = re.compile("cookie|クッキー|쿠키", re.IGNORECASE)
_ASKS = re.compile(
    "consent|privacy|agree|accept|同意|接受|隐私|隱私|プライバシー|동의|개인정보|zustimm|datenschutz|confidentialit|privacidad"
    "|соглас|конфиденциальн",
    re.IGNORECASE,
)
# A paragraph of a notice without the word has all three: it asks for consent, to something personal, for
# advertisements. An article about such things has them in several paragraphs.
_CONSENT = re.compile(
    "consent|agree|accept|同意|接受|동의|einwillig|zustimm|akzeptier|acept|соглас|прин(ять|има)", re.IGNORECASE
)
_PERSONAL = re.compile(
    "privacy|personal data|隐私|隱私|个人信息|個人資料|個人データ|プライバシー|개인정보|datenschutz|personenbezogen"
    "|confidentialit|données personnelles|privacidad|datos personales|конфиденциальн|персональн",
    re.IGNORECASE,
)
_ADVERTISEMENTS = re.compile(
    r"\bads?\b|advertis|广告|廣告|広告|광고|anzeigen|werbung|annonces|publicité|anuncios|publicidad|реклам",
    re.IGNORECASE,
)
# A text without which no page is an article, and one after which a text is the article whatever else is there.
_ARTICLE_BYTES = 100
_SHORT_BYTES = 1_500
_NOTICE_BYTES = 6_000
_MAIN_SHARE = 1 / 3
_REMAINDER_SHARE = 1 / 4
_HIDDEN_SHARE = 1 / 2
# Most characters that are gone through to find pieces of a page in its text: .1 to .3 s of processor time. A page of 10
# KB may have 10,000 pieces.
_SEARCHED_CHARACTERS = 100_000_000

# The page's reject reports the reason; without a handler Python would print the library's own.
logging.getLogger("trafilatura").addHandler(logging.NullHandler())


class MainText(NamedTuple):
    """What is extracted from a web page: text, title, address, and a sketch of the remaining sentences."""

    text: str  # The main text, a line a paragraph; all text where no part is the main one; may be empty.
    title: str  # The title for sharing, else that of the window, with single blanks; may be empty.
    url: str  # The canonical address that the page declares; may be empty.
    remainder: bytes
    """The sketch of the sentences outside of the text; empty where they are less than a quarter as long as the text."""


def main_text(html: str) -> MainText:
    """Return the main text of a page, with its title, its address and a sketch of its other sentences.

    A page that is nested more than 256 levels deep, or has more than 20,000 elements, yields all of its text. If the
    extracted text is a cookie notice, or if it is short and less than a third of the page's sentences, another text is
    taken: the article in the page's JSON-LD, or else all paragraphs except links, menus, footers and notices. Beside a
    notice, the texts in these, in templates and frames, in descriptions and in JSON are taken, too, where there are
    more of them.

    The extractor is trafilatura in its fast mode, without readers' comments. A text of 100 characters is accepted;
    below 250 trafilatura itself would go on and find the template. Tables that hold paragraphs are opened, since old
    sites lay out their pages in them, menus beside articles. Measured on the 181 news pages of
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
        root, is_deep = page_tree(html)
        for table in list(layout_tables(root)):
            for element in (table, *_CELLS(table)):
                element.tag = "div"
        title = _title(root)
        link = root.find(_CANONICAL)
        href = "".join(link.get("href", "").split()) if link is not None else ""
        text = None
        # The main part of a deep page may be its innermost one for trafilatura: 2,000 of a million characters.
        if not is_deep and sum(1 for _ in root.iter()) <= _MAX_ELEMENTS:
            text = trafilatura.extract(root, fast=True, include_comments=False, config=_CONFIG)
        prose = page_prose(root)
        text = _article(text or trafilatura.html2txt(root), prose)
        return MainText(_legible(text), title, href or _property(root, "og:url"), _remainder(text, prose))
    except (InvalidInput, MemoryError):
        raise
    except Exception as error:
        # A single odd page of millions must not end the run, whatever error parser and extractor raise.
        raise InvalidInput(f"the page cannot be parsed: {type(error).__name__}: {error}") from error


_HEAD_BYTES = 1 << 16


def page_title(page: Page) -> str:
    """Return the title of a page from its first bytes alone, in a tenth of the time of `main_text`.

    Empty if the page has none or is damaged.
    """
    try:
        html = decode_page(page.content[:_HEAD_BYTES], page.content_type, page.options.encoding)
        root, _ = page_tree(html)
        return _title(root)
    except Exception:
        # Faults of the page were reported when it was read.
        return ""


def _title(root: HtmlElement) -> str:
    return _property(root, "og:title") or " ".join((root.findtext(".//title") or "").split())


def _asks_for_consent(paragraph: str) -> bool:
    return all(term.search(paragraph) for term in (_CONSENT, _PERSONAL, _ADVERTISEMENTS))


def _article(text: str, prose: Prose) -> str:
    """Return the main text of a page: the extracted text, or the article if that text is a notice or a small part.

    The article is then the one declared in JSON-LD, or the paragraphs that the extractor takes for comments or asides.
    Beside a cookie or consent notice it may also be in a menu, a footer, a template, a description or the steps of a
    recipe: as nothing marks it there, all texts are taken.
    """
    size = _size([text])
    is_notice = size <= _NOTICE_BYTES and (
        all(term.search(text) for term in (_COOKIE, _ASKS)) or any(map(_asks_for_consent, text.splitlines()))
    )
    article = max(prose.articles, key=len, default="")
    if not is_notice:
        if size > _SHORT_BYTES:
            return text
        if article and _size([article]) >= size:
            return article
        shown = _size(filter(is_sentence, prose.paragraphs))
        return text if shown < size / _MAIN_SHARE else "\n".join(prose.paragraphs)
    part = max(prose.parts, key=len, default="")
    # An article about notices is the main text where there is no other one.
    others = [paragraph for paragraph in prose.paragraphs if paragraph not in text]
    shown = _size(filter(is_sentence, others))
    hidden = _size(_outside(text, prose.elsewhere))
    declared = article if len(article) >= len(part) or hidden > _size([part]) else part
    if _size([declared]) >= _ARTICLE_BYTES:
        return declared
    if hidden >= max(_ARTICLE_BYTES, _REMAINDER_SHARE * size, shown):
        return "\n".join([text, *others, *prose.parts, *prose.elsewhere])
    return text if shown < _ARTICLE_BYTES else "\n".join(prose.paragraphs)


def _remainder(text: str, prose: Prose) -> bytes:
    """Return a sketch (hashes) of the sentences of a page outside of its main text; empty bytes where they are few.

    Sentences in menus, footers, descriptions and JSON count where they are more than half as long as the text.
    """
    size = _size([text])
    declared = chain.from_iterable(map(SENTENCES.findall, (*prose.articles, *prose.parts)))
    outside = _outside(text, filter(is_sentence, [*prose.paragraphs, *declared]))
    elsewhere = _outside(text, prose.elsewhere)
    if _size(elsewhere) > max(_ARTICLE_BYTES, _HIDDEN_SHARE * size):
        outside |= elsewhere
    return sketch_remainder(outside) if _size(outside) >= max(_ARTICLE_BYTES, _REMAINDER_SHARE * size) else b""


def _outside(text: str, pieces: Iterable[str]) -> set[str]:
    """Return the pieces of a page that do not occur in its main text, with all blanks removed.

    In a page with very many pieces and a long text, some are only compared with whole lines of the text.
    """
    lines, whole = {_squeezed(line) for line in text.splitlines()}, _squeezed(text)
    others = [piece for piece in dict.fromkeys(map(_squeezed, pieces)) if piece and piece not in lines]
    searched = _SEARCHED_CHARACTERS // (len(whole) + 1)
    return {piece for at, piece in enumerate(others) if at >= searched or piece not in whole}


def _size(texts: Iterable[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _property(tree: HtmlElement, name: str) -> str:
    element = tree.find(f".//meta[@property='{name}']")
    return " ".join(element.get("content", "").split()) if element is not None else ""


def read_html(request: ReadRequest) -> Iterator[Page | Reject]:
    """Yield the page of an HTML file, or its refusal.

    Its id is the path below the folder that was named, or the file's name as given.
    """
    source, options = request.source, request.options
    place = Place(source.name, 0)
    stream = open_bytes(request)
    limit = min(PAGE_BYTES, options.record_bytes)
    content, whole = take_all(stream.blocks, limit)
    if not whole:
        yield Reject(place, f"the page is longer than {limit:,} bytes; only its beginning is kept", content, source.id)
    elif stream.fault is not None:
        yield Reject(place, stream.fault, content, source.id)
    elif (fault := packed_fault(content[:BINARY_BYTES], source.name)) is not None:
        yield Reject(place, fault, content, source.id)
    else:
        raw = content if options.keep_raw else None
        yield Page(id=source.id, content=content, options=options, place=place, raw=raw)
