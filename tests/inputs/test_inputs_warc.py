"""Crawls are read as crawlers write them; a damaged record is refused by its place, and the rest goes on."""

import base64
import gzip
import hashlib
import lzma
import re
import zlib

import brotli
import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings, strategies as st
from support.crawls import DATE, HTML, Crawl, crawl_of, page, read_bytes, scan_bytes, shown, text_of, url

from simhash_hbase.features.chunks import BYTES_A_CHARACTER, Chunk
from simhash_hbase.inputs import Document, Page, Progress, Reject, scan, total_bytes
from simhash_hbase.inputs.options import PAGE_BYTES

RUSSIAN = "Сегодня хорошая погода, и мы пошли гулять в парк."


def test_an_answer_becomes_a_document_with_its_address_and_time(tmp_path):
    crawl = Crawl()
    crawl.info()
    crawl.request(url(1))
    crawl.answer(url(1), page(RUSSIAN, "Title"))

    (found,) = read_bytes(tmp_path, crawl.bytes())

    assert (found.id, found.text, found.place.line) == (url(1), RUSSIAN, 3)
    assert found.metadata == {"title": "Title", "time": DATE}


def test_what_is_no_page_is_counted_by_its_kind(tmp_path):
    crawl = Crawl()
    crawl.info()
    crawl.request(url(1))
    crawl.answer(url(1), page(RUSSIAN))
    crawl.answer(url(2), b"", kind="revisit")
    crawl.answer(url(3), page("Not here"), status="404 Not Found")
    crawl.answer(url(4), b"", [*HTML, ("Location", url(1))], status="301 Moved Permanently")
    crawl.answer(url(5), b"\x89PNG", [("Content-Type", "image/png")])
    crawl.answer(url(6), b"\x89PNG", [])
    crawl.other("dns:a.example", "response", b"20260304050607\na.example. IN A 127.0.0.1\n", "text/dns")
    crawl.other(url(7), "metadata", b"fetchTimeMs: 5", "application/warc-fields")
    progress = Progress()

    found = read_bytes(tmp_path, crawl.bytes(), progress=progress)

    assert shown(found) == [url(1)]
    assert progress.skipped == {
        "warcinfo record": 1, "request record": 1, "revisit record": 1, "status 404": 1, "status 301": 1,
        "content of type image/png": 1, "content without a type": 1, "content of type text/dns": 1,
        "metadata record": 1,
    }  # fmt: skip
    assert progress.bytes_read == total_bytes([str(tmp_path / "a.warc.gz")])


@pytest.mark.parametrize(
    "before", ["", "\ufeff", "\n", "<!-- a --> <!--b-->", '<?xml version="1.0"?>\n', "<!doctype html>"]
)
def test_an_answer_without_a_type_that_begins_as_a_page_is_one(tmp_path, before):
    crawl = Crawl()
    crawl.answer(url(1), before.encode() + page(RUSSIAN), [])
    assert shown(read_bytes(tmp_path, crawl.bytes(), "a.warc")) == [url(1)]


@pytest.mark.parametrize("comment", [b"<!-- a -->\n", b"<!--", b"<!-- -->\n<!--", b"<?xml >\n"])
def test_an_answer_without_a_type_is_judged_in_linear_time(tmp_path, comment):
    # Each comment more took twice the time.
    crawl, progress = Crawl(), Progress()
    crawl.answer(url(1), comment * 50_000 + b"<div>words</div>", [])
    assert shown(read_bytes(tmp_path, crawl.bytes(), "a.warc", progress=progress)) == []
    assert progress.skipped == {"content without a type": 1}


@pytest.mark.parametrize("content_type", ["text/html, text/html; charset=utf-8", '"text/html"', "TEXT/HTML ;x"])
def test_the_type_of_a_page_that_is_written_twice_or_in_quotes_is_known(tmp_path, content_type):
    crawl = Crawl()
    crawl.answer(url(1), page(RUSSIAN), [("Content-Type", content_type)])
    assert shown(read_bytes(tmp_path, crawl.bytes(), "a.warc")) == [url(1)]


@pytest.mark.parametrize("name", ["a.warc.gz", "CC-MAIN-1.warc.wet.gz"])
def test_pages_without_http_texts_and_pages_without_a_type_are_read(tmp_path, name):
    typed, said = [("Content-Type", "x/y")], {"WARC-Identified-Payload-Type": "text/html"}
    crawl = Crawl()
    crawl.other(url(1), "resource", page("a saved page"), "text/html")
    crawl.other(url(2), "conversion", f"{RUSSIAN}\nmore".encode(), "text/plain")
    crawl.answer(url(3), b"plain <b>words</b>", [("Content-Type", "text/plain")])
    crawl.answer(url(4), b"\n<!-- x --><!DOCTYPE html>" + page("no type"), [])
    crawl.answer(url(5), page("it says XML"), [("Content-Type", "application/xhtml+xml")])
    crawl.answer(url(6), page("it says bytes"), typed, more=said)

    found = read_bytes(tmp_path, crawl.bytes(), name)

    texts = ["a saved page", f"{RUSSIAN}\nmore", "plain <b>words</b>", "no type", "it says XML", "it says bytes"]
    assert [(record.id, record.text) for record in found] == [(url(n), text) for n, text in enumerate(texts, 1)]


PACKS = {
    "as it is": lambda crawl: crawl.bytes(),
    "plain": lambda crawl: gzip.decompress(crawl.bytes()),
    "one member": lambda crawl: gzip.compress(gzip.decompress(crawl.bytes())),
    "members across records": lambda crawl: cut_in_members(gzip.decompress(crawl.bytes()), 700),
    "zstd": lambda crawl: zstandard.compress(gzip.decompress(crawl.bytes())),
    "padded": lambda crawl: crawl.bytes() + b"\0" * 5000,
    "blank lines": lambda crawl: gzip.decompress(crawl.bytes()).replace(b"\r\n\r\nWARC/", b"\r\n\r\n\r\n\r\nWARC/"),
}


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
@pytest.mark.parametrize("block", [1, 997, 1 << 20])
def test_a_crawl_is_read_however_it_is_compressed(tmp_path, pack, name, block):
    found = read_bytes(tmp_path, PACKS[pack](crawl_of(12)), name, block_bytes=block)
    assert shown(found) == [url(number) for number in range(12)]


def cut_in_members(data, size):
    return b"".join(gzip.compress(data[at : at + size]) for at in range(0, len(data), size))


def cut_in_chunks(data, size):
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""])


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data, wbits=-15)),
        ("br", brotli.compress),
        ("zstd", zstandard.compress),
        ("identity", bytes),
        ("gzip, br", lambda data: brotli.compress(gzip.compress(data))),
        # Decoded when it was stored, under the server's own headers.
        *((coding, bytes) for coding in ("gzip", "br", "deflate")),
    ],
)
@pytest.mark.parametrize("chunked", [False, True, "only in name"])
def test_codings_of_http_are_undone(tmp_path, coding, pack, chunked):
    body = pack(page(RUSSIAN * 50))
    headers = [*HTML, ("Content-Encoding", coding)] + [("Transfer-Encoding", "chunked")] * bool(chunked)
    crawl = Crawl()
    crawl.answer(url(1), cut_in_chunks(body, 99) if chunked is True else body, headers)

    (found,) = read_bytes(tmp_path, crawl.bytes())

    assert found.text == RUSSIAN * 50


NO_CODINGS = [
    "utf-8", "UTF8", "none", "binary", "8bit", "7bit", "text", "text/html", "gb2312", "identity", "", '"utf-8"',
    "utf-8, none", "Binary;q=1", "lzma",
]  # fmt: skip


@pytest.mark.parametrize("coding", NO_CODINGS)
@pytest.mark.parametrize("name", ["Content-Encoding", "Transfer-Encoding", "content-encoding"])
@pytest.mark.parametrize("body", [page(RUSSIAN * 50), page(RUSSIAN * 50).decode().encode("utf-16")])
def test_what_is_no_coding_costs_no_plain_page(tmp_path, coding, name, body):
    crawl = Crawl()
    crawl.answer(url(1), body, [("Content-Type", "text/html"), (name, coding)])

    (found,) = read_bytes(tmp_path, crawl.bytes())

    assert found.text == RUSSIAN * 50


@pytest.mark.parametrize("coding", ["br", "deflate", "utf-8"])
@pytest.mark.parametrize(
    "text", [RUSSIAN, "今天的天气很好，我们去公园。\n" * 9, "Hello", "Cool words, kept as they are. " * 9]
)
@pytest.mark.parametrize("codec", ["utf-8", "windows-1251", "gb18030"])
def test_a_plain_text_under_the_name_of_a_coding_comes_back(tmp_path, coding, text, codec):
    crawl = Crawl()
    body = text.encode(codec, "ignore").strip() or b"none"
    crawl.answer(url(1), body, [("Content-Type", f"text/plain; charset={codec}"), ("Content-Encoding", coding)])

    (found,) = read_bytes(tmp_path, crawl.bytes())

    assert found.text == body.decode(codec)


@pytest.mark.parametrize(
    "coding",
    [*filter(None, NO_CODINGS), "gzip, deflate, br", "GZIP", '"gzip"', "gzip;q=1.0", "x-gzip, utf-8", "utf-8, gzip"],
)
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_bytes_tell_gzip_and_zstd_whatever_the_header_says(tmp_path, coding, pack):
    crawl = Crawl()
    crawl.answer(url(1), pack(page(RUSSIAN * 50)), [*HTML, ("Content-Encoding", coding), ("X-Other", "gzip")])

    (found,) = read_bytes(tmp_path, crawl.bytes())

    assert found.text == RUSSIAN * 50


def test_codings_of_two_headers_of_one_name_are_undone(tmp_path):
    crawl = Crawl()
    headers = [*HTML, ("Content-Encoding", "utf-8"), ("Content-Encoding", "br")]
    crawl.answer(url(1), brotli.compress(page(RUSSIAN)), headers)

    (found,) = read_bytes(tmp_path, crawl.bytes())

    assert found.text == RUSSIAN


@pytest.mark.parametrize("media", ["text/html", "text/plain"])
@pytest.mark.parametrize("pack", [gzip.compress, brotli.compress, zlib.compress, zstandard.compress])
def test_compressed_bytes_without_a_header_are_no_text(tmp_path, media, pack):
    crawl = Crawl()
    crawl.answer(url(1), pack(page(RUSSIAN * 50)), [("Content-Type", media)])

    (refused,) = read_bytes(tmp_path, crawl.bytes())

    assert "the page is binary" in refused.reason


@pytest.mark.parametrize(
    "body",
    [
        b"\r\n5\r\nhello\r\n6\r\n there\r\n0\r\n\r\n",
        b"5\nhello\n6\n there\n0\n\n",
        b"b;x=1\r\nhello there\r\n0\r\n",
        b"hello there",
    ],
)
def test_chunks_are_undone_however_their_lines_end(tmp_path, body):
    crawl = Crawl()
    crawl.answer(url(1), body, [("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")])

    (found,) = read_bytes(tmp_path, crawl.bytes())

    assert found.text == "hello there"


def test_a_text_that_only_begins_like_a_chunk_is_kept(tmp_path):
    crawl = Crawl()
    crawl.answer(
        url(1), b"12\r\nmonkeys, and what they did", [("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")]
    )

    (found,) = read_bytes(tmp_path, crawl.bytes())

    assert found.text == "12\r\nmonkeys, and what they did"


def test_a_page_is_as_long_before_it_is_extracted_as_its_text(tmp_path):
    """A crawl of small coded pages is read a thousand documents at a time, unless they are known to be long."""
    crawl, chunk = Crawl(), Chunk()
    headers = [("Content-Type", "text/plain"), ("Content-Encoding", "gzip")]
    for number in range(3):
        crawl.answer(url(number), gzip.compress(b"word " * 400_000), headers)

    for record in scan_bytes(tmp_path, crawl.bytes()):
        chunk.add(record)

    assert chunk.characters * BYTES_A_CHARACTER == 3 * 2_000_000


@pytest.mark.parametrize(
    ("coding", "body", "reason"),
    [
        ("gzip", gzip.compress(page(RUSSIAN * 50), mtime=0)[:-20], "gzip data is cut off"),
        ("gzip", gzip.compress(page(RUSSIAN * 50), mtime=0)[:-6] + b"\xff" * 6, "gzip data is damaged"),
        ("deflate", zlib.compress(page(RUSSIAN * 50))[:-20], "deflate data is cut off"),
        ("deflate", b"\xff" * 50, "deflate data is damaged"),
        ("br", brotli.compress(page(RUSSIAN * 50))[:-20], "brotli data is cut off"),
        ("br", b"\xff" * 50, "brotli data is damaged"),
        ("zstd", zstandard.compress(page(RUSSIAN * 50))[:-20], "zstd data is cut off"),
        ("chunked", b"5\r\nhello\r\n5\r\nwor", "chunks are damaged or cut off"),
        ("lzma", lzma.compress(page(RUSSIAN)), "coded as lzma, which is unknown"),
        ("utf-8", brotli.compress(page(RUSSIAN * 50)), "coded as utf-8, which is unknown"),
        ("gzip", brotli.compress(page(RUSSIAN * 50)), "coded as gzip, which it is not"),
        ("gzip", gzip.compress(b" " * (PAGE_BYTES + 1), mtime=0), "longer than"),
        ("br", brotli.compress(b" " * (PAGE_BYTES + 1)), "longer than"),
        ("deflate", zlib.compress(b" " * (PAGE_BYTES + 1)), "longer than"),
        ("identity", b" " * (PAGE_BYTES + 1), "longer than"),
        ("identity", b" " * (PAGE_BYTES + (1 << 20)), "longer than"),
    ],
)
def test_a_damaged_page_is_refused_by_its_address(tmp_path, coding, body, reason):
    header = "Transfer-Encoding" if coding == "chunked" else "Content-Encoding"
    crawl = Crawl()
    crawl.answer(url(1), body, [*HTML, (header, coding)])
    crawl.answer(url(2), page(RUSSIAN))

    first, second = read_bytes(tmp_path, crawl.bytes())

    assert isinstance(first, Reject)
    assert (first.id, first.place.line) == (url(1), 1)
    assert reason in first.reason
    assert isinstance(second, Document)


def test_the_servers_encoding_goes_first_then_the_pages(tmp_path):
    meta = page(RUSSIAN).decode().replace("<head>", "<head><meta charset=koi8-r>")
    crawl = Crawl()
    crawl.answer(url(1), meta.encode("cp1251"), [("Content-Type", "text/html; charset=windows-1251")])
    crawl.answer(url(2), meta.encode("koi8-r"), [("Content-Type", "text/html")])
    crawl.answer(url(3), page(RUSSIAN).decode().encode("cp1251"), [("Content-Type", "text/html")])
    crawl.answer(url(4), RUSSIAN.encode("cp1251"), [("Content-Type", "text/plain; charset=windows-1251")])

    assert [record.text for record in read_bytes(tmp_path, crawl.bytes())] == [RUSSIAN] * 4


def test_the_name_of_the_file_may_stand_before_addresses(tmp_path):
    found = scan_bytes(tmp_path, crawl_of(2).bytes(), id_prefix="file")
    assert [page.id for page in found] == [f"{tmp_path / 'a.warc.gz'}#{url(number)}" for number in range(2)]


def test_a_whole_record_is_kept_byte_for_byte(tmp_path):
    data = crawl_of(3, compressed=False).bytes()
    records = scan_bytes(tmp_path, data, "a.warc", keep_raw=True)

    assert len(records) == 3
    assert b"".join(record.raw for record in records) == data


@pytest.mark.parametrize("compressed", [True, False])
def test_a_long_record_is_passed_over_without_being_held(tmp_path, compressed):
    crawl = Crawl(compressed=compressed)
    crawl.answer(url(1), page("before"))
    crawl.answer(url(2), bytes(PAGE_BYTES * 3), [("Content-Type", "video/mp4")])
    crawl.answer(url(3), page("after"))
    progress = Progress()

    assert shown(read_bytes(tmp_path, crawl.bytes(), "a.warc", progress=progress)) == [url(1), url(3)]
    assert progress.skipped == {"content of type video/mp4": 1}


def middle(record):
    return len(record) // 2


EDITS = {
    "a length too long": (rb"Content-Length: (\d+)", rb"Content-Length: 9\1"),
    "a length too short": (rb"Content-Length: \d(\d+)", rb"Content-Length: \1"),
    "no length": (rb"Content-Length: \d+\r\n", b""),
    "no beginning": (rb"^WARC/", b"WORC/"),
    "no answer": (rb"HTTP/1.1 200", b"HTTQ/1.1 200"),
}
LONG_EDITS = {
    "a length far too long": (rb"Content-Length: (\d+)", rb"Content-Length: 99999\1"),
    "a length of 20 digits": (rb"Content-Length: \d", b"Content-Length: " + b"9" * 20),
    "a length of 5,000 digits": (rb"Content-Length: \d", b"Content-Length: " + b"9" * 5000),
    "a length that is none": (rb"Content-Length: \d", b"Content-Length: x"),
}
BYTES = {
    "a flipped byte": lambda r: r[: middle(r)] + bytes([r[middle(r)] ^ 0x55]) + r[middle(r) + 1 :],
    "missing bytes": lambda r: r[: middle(r)] + r[middle(r) + 40 :],
    "inserted bytes": lambda r: r[: middle(r)] + b"\xee" * 40 + r[middle(r) :],
    "its second half": lambda r: r[: middle(r)],
    "zeros": lambda r: r[: middle(r)] + bytes(len(r) - middle(r)),
}
MEMBERS = {
    "a wrong checksum": lambda r: r[:-6] + bytes([r[-6] ^ 1]) + r[-5:],
    "a wrong header": lambda r: b"\xff" + r[1:],
}


def hurt(record, kind, *, compressed):
    """Damage the bytes of a record; its text is edited below the compression."""
    if kind in BYTES | MEMBERS:
        return (BYTES | MEMBERS)[kind](record)
    plain = gzip.decompress(record) if compressed else record
    edited = re.sub(*(EDITS | LONG_EDITS)[kind], plain, count=1)
    return gzip.compress(edited) if compressed else edited


@pytest.mark.parametrize(
    ("kind", "compressed"),
    [*((kind, True) for kind in BYTES | MEMBERS | EDITS), *((kind, False) for kind in BYTES | EDITS | LONG_EDITS)],
)
@pytest.mark.parametrize("number", [0, 3, 6])
@pytest.mark.parametrize("block", [101, 1 << 20])
def test_damage_costs_one_record(tmp_path, kind, compressed, number, block):
    crawl = crawl_of(7, compressed=compressed)
    start, stop = crawl.place(number)
    data = crawl.bytes()
    data = data[:start] + hurt(data[start:stop], kind, compressed=compressed) + data[stop:]

    found = scan_bytes(tmp_path, data, "a.warc.gz" if compressed else "a.warc", block_bytes=block)

    [refused] = [record for record in found if isinstance(record, Reject)]
    assert [record.id for record in found if isinstance(record, Page)] == [url(n) for n in range(7) if n != number]
    assert refused.place.line == number + 1
    assert refused.id == (None if kind in ("a wrong header", "no beginning") else url(number))


def test_the_first_segment_of_a_record_is_no_page(tmp_path):
    crawl = Crawl()
    crawl.answer(url(0), page("the beginning")[:-9], more=[("WARC-Segment-Number", "1")])
    crawl.answer(url(1), page(RUSSIAN))

    refused, whole = scan_bytes(tmp_path, crawl.bytes())

    assert (refused.id, whole.id) == (url(0), url(1))
    assert refused.reason == "the record is cut into segments, which are not put together"


CRAWLS = {packed: crawl_of(6, compressed=packed) for packed in (True, False)}


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(False, 0.25, 364, bytes(5))
@given(st.booleans(), st.floats(0, 1), st.integers(0, 900), st.one_of(st.binary(max_size=64), st.just(bytes(500))))
def test_damage_anywhere_costs_no_record_that_it_does_not_touch(tmp_path, packed, place, length, by):
    crawl = CRAWLS[packed]
    data = crawl.bytes()
    # Not where it is seen what kind of a file it is.
    start = max(int(place * len(data)), 16)
    path = tmp_path / ("a.warc.gz" if packed else "a.warc")
    path.write_bytes(data[:start] + by + data[start + length :])
    progress = Progress()

    found = list(scan([str(path)], None, progress))

    spans = map(crawl.place, range(6))
    whole = {url(n) for n, (a, b) in enumerate(spans) if b <= start or a >= start + length}
    read = {record.id: record.content for record in found if isinstance(record, Page)}
    assert whole <= set(read), (packed, start, length, by)
    assert all(content == page(text_of(n)) for n in range(6) if (content := read.get(url(n))) is not None)
    if len(read) < 6:
        assert progress.skipped or any(isinstance(record, Reject) for record in found)


def test_damage_in_a_file_that_is_one_member_costs_the_rest_of_it(tmp_path):
    whole = gzip.compress(gzip.decompress(crawl_of(200).bytes()))
    data = whole[: len(whole) // 2] + b"\xff" * 64 + whole[len(whole) // 2 + 64 :]
    found = read_bytes(tmp_path, data)

    # By chance the damaged bytes decode to some that are no record: these are refused before.
    pages = [record for record in found if not isinstance(record, Reject)]
    assert [record.id for record in pages] == [url(number) for number in range(len(pages))]
    assert 50 < len(pages) < 150
    assert "the gzip data is damaged" in found[-1].reason


def in_one_zstd_frame(data):
    packer = zstandard.ZstdCompressor().compressobj()
    records = re.split(rb"(?=WARC/1)", data)
    return b"".join(packer.compress(each) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for each in records)


@pytest.mark.parametrize("pack", [lambda data: gzip.compress(data, mtime=0), in_one_zstd_frame], ids=["gzip", "zstd"])
def test_the_pages_before_damage_in_the_middle_come_in_blocks_of_any_size(tmp_path, pack):
    crawl = crawl_of(40, compressed=False)
    packed = pack(crawl.bytes())
    for place in range(100, len(packed), len(packed) // 30):
        damaged = packed[:place] + b"\xff" * 64 + packed[place + 64 :]

        found = [scan_bytes(tmp_path, damaged, block_bytes=size) for size in (1 << 20, 1 << 16, 7)]

        first, *others = ([(each.id, each.content) for each in some if isinstance(each, Page)] for some in found)
        assert all(other == first for other in others)
        unpacker = (
            zlib.decompressobj(31) if packed.startswith(b"\x1f") else zstandard.ZstdDecompressor().decompressobj()
        )
        right = len(unpacker.decompress(packed[:place]))
        # A page is known to be whole where more follows it.
        read = [url(number) for number in range(40) if crawl.place(number)[1] < right]
        assert [address for address, _ in first[: len(read)]] == read


DIGEST_FORMS = {
    "hex": bytes.hex,
    "HEX": lambda digest: digest.hex().upper(),
    "base32": lambda digest: base64.b32encode(digest).decode(),
    "base32 without padding": lambda digest: base64.b32encode(digest).decode().rstrip("="),
    "small base32": lambda digest: base64.b32encode(digest).decode().lower(),
    "base64": lambda digest: base64.b64encode(digest).decode(),
    "base64 without padding": lambda digest: base64.b64encode(digest).decode().rstrip("="),
    "base64 of addresses": lambda digest: base64.urlsafe_b64encode(digest).decode(),
    "base64 of addresses without padding": lambda digest: base64.urlsafe_b64encode(digest).decode().rstrip("="),
}
DIGEST_NAMES = {
    "sha1": "sha1", "SHA-1": "sha1", "sha256": "sha256", "sha-256": "sha256", "SHA_512": "sha512", "sha384": "sha384",
    "md5": "md5", "MD5": "md5",
}  # fmt: skip
DIGEST_PACKS = {"a.warc": bytes, "a.warc.gz": gzip.compress, "a.warc.zst": zstandard.compress}


def with_digests(file, digests):
    """Pack pages, each with a digest that is made of its block."""
    records = []
    for number, digest in enumerate(digests):
        crawl = Crawl(compressed=False)
        crawl.answer(url(number), page(text_of(number)))
        head, block = crawl.bytes().split(b"\r\n\r\n", 1)
        noted = f"WARC-Block-Digest: {digest(block.removesuffix(bytes(2 * [13, 10])))}".encode()
        records.append(re.sub(rb"WARC-Block-Digest: [^\r]*", noted, head) + b"\r\n\r\n" + block)
    return b"".join(map(DIGEST_PACKS[file], records))


@pytest.mark.parametrize("file", DIGEST_PACKS)
@pytest.mark.parametrize("form", DIGEST_FORMS)
@pytest.mark.parametrize("more", [b"", b"x"])
def test_only_a_wrong_digest_in_any_form_is_damage(tmp_path, file, form, more):
    digests = [
        lambda block, name=name, kind=kind: f"{name}:{DIGEST_FORMS[form](hashlib.new(kind, block + more).digest())}"
        for name, kind in DIGEST_NAMES.items()
    ]

    found = shown(read_bytes(tmp_path, with_digests(file, digests), file))

    reason = "the record is damaged: its digest is not that of its block"
    places = enumerate(map(url, range(len(digests))), 1)
    assert found == [(number, reason, address) if more else address for number, address in places]


@pytest.mark.parametrize("file", DIGEST_PACKS)
def test_a_digest_of_an_unknown_kind_is_no_damage(tmp_path, file):
    unknown = ["blake3:abc", "xxh64:12345678", "sha1:", "sha1", "", "crc32:0"]
    digests = [lambda _, digest=digest: digest for digest in unknown]

    found = read_bytes(tmp_path, with_digests(file, digests), file)

    assert shown(found) == [url(number) for number in range(len(unknown))]


@pytest.mark.parametrize("junk", [b"junk", b"\x1f\x8b\x08junk" * 99])
def test_junk_behind_the_last_record_is_told(tmp_path, junk):
    found = read_bytes(tmp_path, crawl_of(2).bytes() + junk)

    assert shown(found)[:2] == [url(0), url(1)]
    assert "data outside its gzip members" in found[2].reason
    assert len(found) == 3
