"""Crawls made for the tests, written by warcio as crawlers do."""

import io
from uuid import NAMESPACE_URL, uuid5

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from simhash_hbase.inputs import InputOptions, Reject, read, scan
from support.corpus import text

DATE = "2026-03-04T05:06:07Z"
HTML = [("Content-Type", "text/html; charset=utf-8")]


class Crawl:
    """A WARC in memory, the same bytes each time; compressed, each record is a gzip member."""

    def __init__(self, *, compressed=True):
        self._file = io.BytesIO()
        self._writer = WARCWriter(self._file, gzip=compressed)
        self.starts = []
        """The places where records begin."""

    def info(self):
        content_type, more = "application/warc-fields", [("WARC-Filename", "a.warc.gz")]
        self._record("", "warcinfo", b"software: a test\r\n", warc_content_type=content_type, more=more)

    def answer(self, url, body, headers=HTML, *, status="200 OK", kind="response", more=()):
        http = StatusAndHeaders(status, list(headers), protocol="HTTP/1.1")
        self._record(url, kind, body, http_headers=http, more=more)

    def request(self, url):
        self._record(url, "request", b"", http_headers=StatusAndHeaders("GET / HTTP/1.1", [], is_http_request=True))

    def other(self, url, kind, body, content_type):
        """Write a record without HTTP."""
        self._record(url, kind, body, warc_content_type=content_type)

    def bytes(self):
        return self._file.getvalue()

    def place(self, number):
        """Return where a record of this number, from 0, begins and ends."""
        starts = [*self.starts, len(self.bytes())]
        return starts[number], starts[number + 1]

    def _record(self, url, kind, body, *, more=(), **options):
        self.starts.append(self._file.tell())
        # warcio itself takes a random id, and the time.
        number = uuid5(NAMESPACE_URL, f"record {len(self.starts)}")
        headers = {"WARC-Record-ID": f"<urn:uuid:{number}>", "WARC-Date": DATE, **dict(more)}
        record = self._writer.create_warc_record(
            url, kind, io.BytesIO(body), length=len(body), warc_headers_dict=headers, **options
        )
        self._writer.write_record(record)


def page(text, title="t"):
    return f"<html><head><title>{title}</title></head><body><p>{text}</p></body></html>".encode()


def read_bytes(folder, data, name="a.warc.gz", progress=None, **options):
    path = folder / name
    path.write_bytes(data)
    return list(read([str(path)], InputOptions(**options), progress))


def url(number):
    return f"https://a.example/{number}"


def text_of(number):
    return f"Page {number}: " + " ".join(f"{number}.{word}" for word in range(200))


def crawl_of(count, *, compressed=True):
    crawl = Crawl(compressed=compressed)
    for number in range(count):
        crawl.answer(url(number), page(text_of(number)))
    return crawl


def crawl_of_copies(groups=1):
    """Make a crawl of articles: one, the same bytes elsewhere, and an edited copy."""
    crawl = Crawl()
    for group in range(groups):
        for site, changed in (("a", 0), ("b", 0), ("c", 3)):
            crawl.request(f"https://{site}.example/{group}")
            crawl.answer(f"https://{site}.example/{group}", page(text(group, changed=changed)))
    return crawl


def scan_bytes(folder, data, name="a.warc.gz", **options):
    """Read a crawl without extracting its pages."""
    path = folder / name
    path.write_bytes(data)
    return list(scan([str(path)], InputOptions(**options)))


def shown(records):
    return [(r.place.line, r.reason, r.id) if isinstance(r, Reject) else r.id for r in records]
