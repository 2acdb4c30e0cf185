"""Gzip and Zstandard are read as their tools write them; damage costs what it touches, and is named."""

import gzip
import io
import json
import struct
import zlib

import pytest
import zstandard
from support.crawls import crawl_of, read_bytes, shown, url

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs import Document, Reject
from simhash_hbase.inputs.compression import gunzip, unzstd


def lines(part, count=50):
    rows = (json.dumps({"id": f"{part}-{number}", "text": f"text {number} of {part}"}) for number in range(count))
    return "".join(f"{row}\n" for row in rows).encode()


def with_wrong_end(member, place):
    """Change a byte of the checksum, or of the length, of a gzip member."""
    changed = bytearray(member)
    changed[place] ^= 1
    return bytes(changed)


@pytest.mark.parametrize("place", [-8, -5, -4, -1], ids=["checksum", "its end", "length", "end of the length"])
@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("block", [100, 1 << 20])
def test_a_wrong_checksum_costs_no_line(tmp_path, place, number, block):
    members = [gzip.compress(lines(part), mtime=0) for part in "abc"]
    start = sum(map(len, members[:number]))
    members[number] = with_wrong_end(members[number], place)

    *good, refused = read_bytes(tmp_path, b"".join(members), "a.jsonl.gz", block_bytes=block)

    assert [record.id for record in good] == [f"{part}-{row}" for part in "abc" for row in range(50)]
    stop = start + len(members[number])
    assert refused.place.line == 151
    assert f"checksum is wrong of member {number + 1} (bytes {start:,} to {stop:,})" in refused.reason


def test_only_the_line_without_an_end_is_lost_to_a_wrong_checksum(tmp_path):
    data = with_wrong_end(gzip.compress(lines("a") + b'{"id":"last","text":"x"}', mtime=0), -8)
    *good, refused = read_bytes(tmp_path, data, "a.jsonl.gz")

    assert len(good) == 50
    assert (refused.place.line, refused.raw) == (51, b'{"id":"last","text":"x"}')


def test_a_wrong_checksum_before_another_fault_is_named_too(tmp_path):
    members = with_wrong_end(gzip.compress(lines("a")), -8), gzip.compress(lines("b", 5000))[:-20]
    *good, refused = read_bytes(tmp_path, b"".join(members), "a.jsonl.gz")

    assert all(isinstance(record, Document) for record in good)
    assert "checksum is wrong of member 1" in refused.reason
    assert refused.reason.endswith("; the gzip data is cut off")


def test_a_text_of_its_own_file_with_a_wrong_checksum_is_refused(tmp_path):
    (refused,) = read_bytes(tmp_path, with_wrong_end(gzip.compress(b"a text"), -8), "a.txt.gz", format="folder")
    assert isinstance(refused, Reject)


def member_with_header(content, *, extra=b"", name=b"", comment=b"", checksum=False):
    """Pack content as one gzip member with the optional parts of a header."""
    flags = 4 * bool(extra) | 8 * bool(name) | 16 * bool(comment) | 2 * checksum
    header = struct.pack("<2sBBLBB", b"\x1f\x8b", 8, flags, 0, 0, 255)
    header += struct.pack("<H", len(extra)) + extra if extra else b""
    header += b"".join(part + b"\0" for part in (name, comment) if part)
    header += struct.pack("<H", zlib.crc32(header) & 0xFFFF) if checksum else b""
    packer = zlib.compressobj(wbits=-15)
    end = struct.pack("<LL", zlib.crc32(content), len(content))
    return header + packer.compress(content) + packer.flush() + end


PARTS = [
    {},
    {"name": b"corpus.jsonl"},
    {"extra": b"BC\2\0\0\0", "comment": b"made by hand"},
    {"extra": b"x" * 65_535, "name": b"n" * 4_096, "comment": b"c", "checksum": True},
]


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_gzip_headers_of_all_kinds_are_read(parts, step):
    data = member_with_header(b"one", **parts) + member_with_header(b"", **parts) + member_with_header(b"two", **parts)
    chunks = [data[start : start + step] for start in range(0, len(data), step)]

    assert gzip.decompress(data) == b"onetwo"
    assert b"".join(gunzip(chunks, 1 << 10)) == b"onetwo"


def small_zstd_blocks(data):
    """Pack as a program does that flushes after each few lines."""
    packer = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    parts = (data[at : at + 100] for at in range(0, len(data), 100))
    blocks = [packer.compress(part) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for part in parts]
    return b"".join(blocks) + packer.flush()


def pieces_of(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


def before_damage(blocks):
    """Return what comes before a decompressor refuses its data."""
    whole = []
    with pytest.raises(InvalidInput):
        whole.extend(blocks)
    return b"".join(whole)


SIZES = ((1 << 20, 1 << 20), (1 << 20, 1), (1, 1 << 20), (1, 1), (7, 7), (300, 64))
"""How many bytes come at a time, and how many are decompressed at a time."""
UNPACK = {
    "gzip": (lambda data: gzip.compress(data, mtime=0), gunzip, lambda: zlib.decompressobj(31)),
    "gzip without compression": (lambda data: gzip.compress(data, 0, mtime=0), gunzip, lambda: zlib.decompressobj(31)),
    "zstd": (small_zstd_blocks, lambda chunks, _: unzstd(chunks), lambda: zstandard.ZstdDecompressor().decompressobj()),
}


@pytest.mark.parametrize("kind", UNPACK)
def test_all_before_a_damaged_place_comes_in_blocks_of_any_size(kind):
    pack, unpack, unpacker = UNPACK[kind]
    packed = pack(lines("a", 60))
    for place in range(20, len(packed), len(packed) // 25):
        damaged = packed[:place] + bytes(byte ^ 0xFF for byte in packed[place : place + 9]) + packed[place + 9 :]

        first, *others = (before_damage(unpack(pieces_of(damaged, size), block)) for size, block in SIZES)

        assert all(other == first for other in others)
        assert first.startswith(unpacker().decompress(packed[:place]))


# Blocks of one letter, repeated, behind which stands the beginning of a block of no known kind.
DAMAGED_BLOCKS = {
    "4a4c1c05830b00fc": 402,
    "ecc1010d000000c2a0acef5fc21c6e4001" + "00" * 19 + "17e6": 20_548,
    "ecc181000000008020d6fd2516a90a" + "00" * 20 + "fe": 21_157,
}


@pytest.mark.parametrize("block", DAMAGED_BLOCKS)
def test_content_that_ends_in_the_damaged_byte_comes_too(block):
    damaged = gzip.compress(b"", mtime=0)[:10] + bytes.fromhex(block)
    found = [before_damage(gunzip(pieces_of(damaged, size), most)) for size, most in SIZES]
    assert [len(content) for content in found] == [DAMAGED_BLOCKS[block]] * len(SIZES)


DICTIONARY = zstandard.train_dictionary(4096, [lines(str(part), 3) for part in range(500)])
SKIPPED = b"\x50\x2a\x4d\x18\x04\0\0\0size"  # As pzstd writes it before each frame.


def framed(dictionary):
    return b"\x5d\x2a\x4d\x18" + struct.pack("<L", len(dictionary)) + dictionary


def zstd_frames(data, size, dictionary=None, *, before=b""):
    packer = zstandard.ZstdCompressor(dict_data=dictionary, write_checksum=True)
    return b"".join(before + packer.compress(data[at : at + size]) for at in range(0, len(data), size))


ZSTD = {
    "by pzstd": lambda data: zstd_frames(data, 1000, before=SKIPPED),
    "with a dictionary": lambda data: framed(DICTIONARY.as_bytes()) + zstd_frames(data, 1000, DICTIONARY),
    "with a compressed one": lambda data: (
        framed(zstandard.compress(DICTIONARY.as_bytes())) + zstd_frames(data, 1000, DICTIONARY)
    ),
    "with another thing in its place": lambda data: framed(b"no dictionary") + zstd_frames(data, 1000),
    "with an empty frame": lambda data: zstandard.compress(b"") + zstd_frames(data, 1000) + SKIPPED,
    "two files": lambda data: zstd_frames(data[:500], 1000) + ZSTD["with a compressed one"](data[500:]),
}


@pytest.mark.parametrize("pack", ZSTD)
@pytest.mark.parametrize("name", ["a.warc.zst", "a.warc", "a.warc.gz"])
@pytest.mark.parametrize("block", [1, 997, 1 << 20])
def test_a_crawl_in_zstd_is_read_as_tools_write_it(tmp_path, pack, name, block):
    data = ZSTD[pack](crawl_of(12, compressed=False).bytes())
    assert shown(read_bytes(tmp_path, data, name, block_bytes=block)) == [url(number) for number in range(12)]


@pytest.mark.parametrize("pack", ZSTD)
def test_lines_in_zstd_are_read_as_tools_write_them(tmp_path, pack):
    records = read_bytes(tmp_path, ZSTD[pack](lines("a")), "a.jsonl.zst")
    assert [record.id for record in records] == [f"a-{number}" for number in range(50)]


MISSING = "the zstd data needs a dictionary that the file does not have: decompress it first, with `zstd -d -D"
BROKEN = "the dictionary at the beginning of the zstd data is damaged"
OTHER = zstandard.train_dictionary(4096, [lines(str(part), 3) for part in range(500, 1000)])
DICTIONARIES = {
    "none": (b"", MISSING),
    "another": (framed(OTHER.as_bytes()), MISSING),
    "one with a wrong beginning": (framed(b"x" + DICTIONARY.as_bytes()[1:]), MISSING),
    "a broken one": (framed(DICTIONARY.as_bytes()[:8] + b"\xff" * 500), BROKEN),
    "a compressed one that is cut off": (framed(zstandard.compress(DICTIONARY.as_bytes())[:-9]), BROKEN),
    "one that the file cuts off": (framed(DICTIONARY.as_bytes())[:-9], None),
}


@pytest.mark.parametrize("kind", DICTIONARIES)
@pytest.mark.parametrize("name", ["a.warc.zst", "a.jsonl.zst"])
def test_a_dictionary_that_is_missing_or_broken_is_told_in_one_sentence(tmp_path, kind, name):
    before, reason = DICTIONARIES[kind]
    data = crawl_of(3, compressed=False).bytes() if "warc" in name else lines("a")
    packed = before + zstd_frames(data, 1000, DICTIONARY) if reason else before

    (refused,) = read_bytes(tmp_path, packed, name)

    assert (reason or "the zstd data is cut off") in refused.reason


def long_window(data, log):
    """Pack as ``zstd --long`` does what it reads from a pipe: without the size, so that the window stays."""
    parameters = zstandard.ZstdCompressionParameters(window_log=log, enable_ldm=True)
    file = io.BytesIO()
    with zstandard.ZstdCompressor(compression_params=parameters).stream_writer(file, closefd=False) as writer:
        writer.write(data)
    return file.getvalue()


def test_windows_as_large_as_zstd_writes_them_are_read(tmp_path):
    data = bytearray(long_window(lines("a"), 10))
    for log in (27, 28, 31):
        data[5] = (log - 10) << 3  # The window in the frame's header.
        assert zstandard.get_frame_parameters(bytes(data)).window_size == 1 << log

        records = read_bytes(tmp_path, bytes(data), "a.jsonl.zst")

        assert len(records) == 50
        assert all(isinstance(record, Document) for record in records)


def test_a_window_that_zstd_does_not_write_is_refused_with_the_way_out(tmp_path):
    data = bytearray(long_window(lines("a"), 10))
    data[5] = (32 - 10) << 3

    (refused,) = read_bytes(tmp_path, bytes(data), "a.jsonl.zst")

    assert refused.reason == "the zstd data needs a window above 2 GiB: write it with `zstd --long=31` at most"


def test_zstd_without_its_suffix_is_named_even_by_pzstd(tmp_path):
    (refused,) = read_bytes(tmp_path, SKIPPED + zstandard.compress(lines("a")), "a.jsonl")
    assert "compressed by zstd: add .zst to its name" in refused.reason
