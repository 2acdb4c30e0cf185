"""A damaged record of a crawl is refused by its place, and the rest goes on."""

import gzip
import re

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from support.crawls import crawl_of, page, read_bytes, scan_bytes, shown, text_of, url

from simhash_hbase.inputs import Page, Progress, Reject, scan


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
HEADLESS = {"a wrong header", "no beginning"}


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
    assert refused.id == (None if kind in HEADLESS else url(number))


CRAWLS = {packed: crawl_of(6, compressed=packed) for packed in (True, False)}


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    *before, last = read_bytes(tmp_path, data)

    assert [record.id for record in before] == [url(number) for number in range(len(before))]
    assert 50 < len(before) < 150
    assert "the gzip data is damaged" in last.reason


@pytest.mark.parametrize("junk", [b"junk", b"\x1f\x8b\x08junk" * 99])
def test_junk_behind_the_last_record_is_told(tmp_path, junk):
    found = read_bytes(tmp_path, crawl_of(2).bytes() + junk)

    assert shown(found)[:2] == [url(0), url(1)]
    assert "data outside its gzip members" in found[2].reason
    assert len(found) == 3
