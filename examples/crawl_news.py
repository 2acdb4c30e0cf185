"""A crawler of news that asks before it stores, for pages in any encoding, such as UTF-8, GBK and Big5.

``python examples/crawl_news.py http://127.0.0.1:8000/ pages`` follows the links of a site, and stores a page into the
folder ``pages`` only if no near copy was crawled before. The index is ``file:news.index``; for many crawlers, set
NEWS_INDEX to a table: ``hbase://HOST:PORT/TABLE``. Run it again after a night: what is known is not stored twice.
"""

import hashlib
import os
import sys
from collections import deque
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urldefrag, urljoin, urlsplit
from urllib.request import Request, urlopen
from urllib.robotparser import RobotFileParser

from lxml.etree import LxmlError
from lxml.html import fromstring
from w3lib.url import safe_url_string

from simhash_hbase import EmptyDocument, LocalIndex, create_index
from simhash_hbase.inputs import Document, InputOptions, Page, Place, extract

AGENT = "news-example"
PAGES = 10_000
PAGE_BYTES = 4 << 20
WAIT_S = 30.0


def crawl(start: str) -> Iterator[Page]:
    """Yield the pages of a site that its robots.txt allows, and say on standard error which ones cannot be had."""
    robots = RobotFileParser(urljoin(start, "/robots.txt"))
    try:
        robots.read()
    except OSError as error:
        sys.exit(f"{start}: {error}")
    seen, waiting = {start}, deque([start])
    while waiting:
        url = waiting.popleft()
        try:
            page = fetch(url)
        except (OSError, HTTPException) as error:
            print(f"{url}: {error}", file=sys.stderr)
            if isinstance(error, HTTPError):
                error.close()
            continue
        if page is None:
            continue
        for target in links(page):
            is_here = urlsplit(target)[:2] == urlsplit(start)[:2]
            if is_here and target not in seen and len(seen) < PAGES and robots.can_fetch(AGENT, target):
                seen.add(target)
                waiting.append(target)
        yield page


def links(page: Page) -> Iterator[str]:
    """Yield the addresses that a page links to, absolute, as a browser sends them."""
    try:
        found = fromstring(page.content).xpath("//a/@href")
    except LxmlError:
        return
    for link in found:
        yield safe_url_string(urldefrag(urljoin(page.id, link.strip())).url)


def fetch(url: str) -> Page | None:
    """Fetch a page, as bytes and with its header: which encoding it has, `extract` finds out."""
    with urlopen(Request(url, headers={"User-Agent": AGENT}), timeout=WAIT_S) as response:
        header = response.headers.get("Content-Type", "")
        content = response.read(PAGE_BYTES + 1)
    if not header.startswith(("text/html", "application/xhtml+xml")):
        return None
    if len(content) > PAGE_BYTES:
        print(f"{url}: longer than {PAGE_BYTES:,} bytes", file=sys.stderr)
        return None
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
        # of two crawlers one stores; after a crash the same address is the same original again, and is stored again.
        name = hashlib.sha256(page.id.encode()).hexdigest()[:16]
        (folder / f"{name}.html").write_bytes(page.content)
        yield f"stored    {page.id} as {name}.html"


if __name__ == "__main__":
    start_url, target_folder = sys.argv[1:]
    with create_index(os.environ.get("NEWS_INDEX", "file:news.index"), if_not_exists=True) as news:
        for line in store_new(news, crawl(start_url), Path(target_folder)):
            print(line, flush=True)
