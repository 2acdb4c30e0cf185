"""A spider for the pages of one site: ``scrapy crawl site -a start=http://127.0.0.1:8000/ -o articles.jsonl``."""

from collections.abc import Iterator

import scrapy
from scrapy.http import HtmlResponse, Request, Response


class SiteSpider(scrapy.Spider):
    """Follows all links of a site and yields its pages."""

    name = "site"

    def __init__(self, start: str = "", **options: str) -> None:
        super().__init__(**options)
        self.start_urls = [start]

    def parse(self, response: Response) -> Iterator[dict[str, str] | Request]:
        """Yield a page, or the requests for those of a listing."""
        if not isinstance(response, HtmlResponse):
            return
        if response.url.endswith(".html"):
            yield {"url": response.url, "html": response.text}
        else:
            yield from response.follow_all(css="a::attr(href)")
