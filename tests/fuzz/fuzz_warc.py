"""Crawlers' files: the same pages come however the bytes arrive, and each page is a document or is refused."""

import gzip

import zstandard
from support.crawls import Crawl, page, url

from fuzz import by_atheris
from simhash_hbase.inputs import Document, InputOptions, Page, ReadRequest, Reject, Source, extract
from simhash_hbase.inputs.warc import read_warc

NAMES = ("a.warc", "a.warc.gz", "a.warc.zst", "a.warc.wet")
BLOCKS = (7, 1 << 16)
"""Bytes that arrive at a time."""


class Given(ReadRequest):
    """A source whose bytes are given."""

    data = b""

    def chunks(self):
        size = self.options.block_bytes
        for at in range(0, len(self.data), size):
            yield self.data[at : at + size]


def records(name, data, size):
    """Read a file that arrives in blocks of a size."""
    request = Given(Source(name, None, name), InputOptions(block_bytes=size))
    request.data = data
    return list(read_warc(request))


def pages(found):
    """Return the pages; how many refusals a damaged place makes may depend on how its bytes arrive."""
    return [(each.id, each.content) for each in found if isinstance(each, Page)]


def TestOneInput(data: bytes) -> None:
    """Read a file, whose kind is the first byte."""
    name, content = NAMES[data[0] % len(NAMES) if data else 0], data[1:]
    small, found = (records(name, content, size) for size in BLOCKS)
    assert pages(small) == pages(found)
    for record in found:
        assert isinstance(record, Page | Reject)
        assert isinstance(extract(record), Document | Reject)


CODINGS = ("gzip", "deflate", "br", "zstd", "gzip, br")


def _plain(coding, body):
    """Return a record of an answer by HTTP, whose body need not be what its header says."""
    answer = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {coding}\r\n\r\n".encode() + body
    head = "WARC/1.0\r\nWARC-Type: response\r\nContent-Type: application/http; msgtype=response\r\n"
    return f"{head}Content-Length: {len(answer)}\r\n\r\n".encode() + answer + b"\r\n\r\n"


def _seeds():
    crawl = Crawl(compressed=False)
    crawl.info()
    crawl.request(url(1))
    crawl.answer(url(1), page("The council has approved the new metro line. " * 3))
    coded = [("Content-Type", "text/html"), ("Content-Encoding", "gzip")]
    crawl.answer(url(2), gzip.compress(page("市政府今天批准了新的地铁线路。" * 3), mtime=0), coded)
    crawl.answer(url(3), b"5\r\n<html\r\n1\r\n>\r\n0\r\n\r\n", [*coded[:1], ("Transfer-Encoding", "chunked")])
    crawl.other(url(4), "conversion", "Погода хорошая.".encode(), "text/plain")
    whole = crawl.bytes()
    members = Crawl()
    members.answer(url(1), page("The council has approved the new metro line. " * 3))
    members.answer(url(2), page("Another one. " * 9))
    return [
        b"\0" + whole,
        b"\1" + members.bytes(),
        b"\1" + gzip.compress(whole, mtime=0),
        b"\2" + zstandard.compress(whole),
        b"\3" + whole,
        b"\0WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 2\r\n\r\nab\r\n\r\n",
        # Without digests, so that what is changed in a body is read.
        *(b"\0" + _plain(coding, gzip.compress(page("Another one. " * 9), mtime=0) + b"!" * 9) for coding in CODINGS),
    ]


SEEDS = _seeds()

if __name__ == "__main__":
    by_atheris(TestOneInput)
