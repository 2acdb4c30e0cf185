"""A crawler of news that asks before it stores, for pages in any encoding, such as UTF-8, GBK and Big5.

``python examples/crawl_news.py http://127.0.0.1:8000/ pages`` follows the links of a site, and stores a page into the
folder ``pages`` only if no near copy was crawled before. The index is ``file:news.index``; for many crawlers, set
NEWS_INDEX to a table: ``hbase://HOST:PORT/TABLE``. Run it again after a night: what is known is not stored twice.
"""

import hashlib
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urldefrag, urljoin, urlsplit
from urllib.request import Request, urlopen
from urllib.robotparser import RobotFileParser

from lxml.etree import LxmlError
from lxml.html import HTMLParser, document_fromstring
from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding
from w3lib.url import safe_url_string

from simhash_hbase import EmptyDocument, LocalIndex, create_index
from simhash_hbase.inputs import Document, InputOptions, Page, Place, extract

AGENT = "news-example"
PAGES = 10_000
PAGE_BYTES = 4 << 20
ROBOTS_BYTES = 500_000
WAIT_S = 30.0
PAUSE_S = 0.2  # Between requests, where robots.txt asks for no longer one.


def crawl(start: str) -> Iterator[Page]:
    """Yield the pages of a site that its robots.txt allows, and say on standard error which ones cannot be had."""
    robots = rules(start)
    pause = float(robots.crawl_delay(AGENT) or PAUSE_S)
    seen, waiting = {start}, deque([start])
    while waiting:
        url = waiting.popleft()
        try:
            page = fetch(url)
        except (OSError, HTTPException, ValueError) as error:
            print(f"{url}: {error}", file=sys.stderr)
            continue
        finally:
            time.sleep(pause)
        # A redirect leads elsewhere: to another site, or to a page that came already.
        if page is None or (page.id != url and not is_new(page.id, start, seen, robots)):
            continue
        seen.add(page.id)
        for target in links(page):
            if len(seen) < PAGES and is_new(target, start, seen, robots):
                seen.add(target)
                waiting.append(target)
        yield page


def rules(start: str) -> RobotFileParser:
    """Fetch what a site allows to robots: nothing where it says that they may not ask, all where it says nothing."""
    robots = RobotFileParser()
    try:
        with urlopen(Request(urljoin(start, "/robots.txt"), headers={"User-Agent": AGENT}), timeout=WAIT_S) as response:
            # Rules of robots.txt are ASCII; comments may be in any encoding.
            robots.parse(response.read(ROBOTS_BYTES).decode("utf-8", "replace").splitlines())
    except HTTPError as error:
        error.close()
        is_closed = error.code in (401, 403) or error.code >= HTTPStatus.INTERNAL_SERVER_ERROR
        robots.parse(["User-agent: *", "Disallow: /"] if is_closed else [])
    except OSError as error:
        sys.exit(f"{start}: {error}")
    return robots


def is_new(url: str, start: str, seen: set[str], robots: RobotFileParser) -> bool:
    """Return whether a page is one of the site, was not seen, and may be fetched."""
    return urlsplit(url)[:2] == urlsplit(start)[:2] and url not in seen and robots.can_fetch(AGENT, url)


def links(page: Page) -> Iterator[str]:
    """Yield the addresses that a page links to, absolute, as a browser sends them."""
    header = http_content_type_encoding(page.content_type)
    encoding = header or html_body_declared_encoding(page.content) or "utf-8"
    try:
        tree = document_fromstring(page.content, parser=HTMLParser(encoding=encoding))
        base = urljoin(page.id, tree.xpath("string(//base/@href)"))
        found = [(base, link.strip()) for link in tree.xpath("//a/@href")]
    except (LxmlError, LookupError, ValueError):
        return
    for start, link in found:
        # A link may be no address at all.
        with suppress(ValueError):
            yield safe_url_string(urldefrag(urljoin(start, link)).url, encoding)


def fetch(url: str) -> Page | None:
    """Fetch a page, as bytes and with its header: which encoding it has, `extract` finds out."""
    try:
        with urlopen(Request(url, headers={"User-Agent": AGENT}), timeout=WAIT_S) as response:
            header = response.headers.get("Content-Type", "")
            content = response.read(PAGE_BYTES + 1)
            url = response.geturl()
    except HTTPError as error:
        error.close()
        raise
    if not header.startswith(("text/html", "application/xhtml+xml")):
        return None
    if len(content) > PAGE_BYTES:
        raise OSError(f"longer than {PAGE_BYTES:,} bytes")
    return Page(id=url, content=content, options=InputOptions(), place=Place(url, 0), raw=None, content_type=header)


def store_new(index: LocalIndex, pages: Iterator[Page], folder: Path) -> Iterator[str]:
    """Store the pages that are new, and yield what became of each one."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages:
        record = extract(page)
        if not isinstance(record, Document):
            yield f"refused   {page.id}: {record.reason}"
            continue
        try:
            decision = index.claim(record.id, record.text or "")
        except EmptyDocument as error:
            yield f"refused   {page.id}: {error}"
            continue
        if not decision.is_original:
            yield f"seen      {page.id} is near {decision.of}, similarity {decision.similarity}"
            continue
        # As it was served: those who read the folder later decode it as `extract` does. The claim comes first, so that
        # of two crawlers one stores; after a crash the same address is the same original again, and is stored then.
        file = folder / f"{hashlib.sha256(page.id.encode()).hexdigest()[:16]}.html"
        is_known = file.exists() and file.read_bytes() == page.content
        if not is_known:
            file.write_bytes(page.content)
        yield f"{'known ' if is_known else 'stored'}    {page.id} as {file.name}"


if __name__ == "__main__":
    start_url, target_folder = sys.argv[1:]
    with create_index(os.environ.get("NEWS_INDEX", "file:news.index"), if_not_exists=True) as news:
        for line in store_new(news, crawl(start_url), Path(target_folder)):
            print(line, flush=True)
