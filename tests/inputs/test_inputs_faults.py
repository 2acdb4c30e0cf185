"""Bad input is refused one by one, with its place and bytes, and the rest goes on."""

import base64
import bz2
import csv
import gzip
import json
import lzma

import pytest
import zstandard
from support.crawls import read_bytes

from simhash_hbase.corpus.refusals import write_rejects
from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs import Document, Reject, read
from simhash_hbase.inputs.compression import gunzip

GOOD = b'{"id":"good","text":"x"}'
NO_FEATURES = (
    b"5", b"[]", b'["a"]', b'[["a"]]', b"[[null,1]]", b'[["a","1"]]', b'[["a",true]]', b"[[-1,1]]",
    b"[[18446744073709551616,1]]",
)  # fmt: skip
FOLDER, FEATURES = {"format": "folder"}, {"features_field": "f"}
PACKED = ("jsonl.gz", "jsonl.zst", "txt.gz", "warc.gz", "warc.zst", "html.gz")
NO_CRAWL = b"something else\n" * 100_000
NO_FINGERPRINTS = (b'"xyz"', b"-1", b"1.0", b"true", b"null", b"18446744073709551616")
LONG = "文" * 400_000
COMPRESS = {".gz": gzip.compress, "zst": zstandard.compress}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"id":"a","text":"\xff"}', "not utf-8"),
        (b'{"id":"a","text":"x","other":"\xff"}', "not utf-8"),
        (b'{"id":"a","text":', "broken JSON"),
        (b'{"id":"a","text":"a\0b"}', "broken JSON"),
        (b'{"id":"a","text":"a\\u0000b"}', "NUL"),
        (b'{"id":"a","text":"\\ud800"}', "half of a surrogate pair: \\ud800"),
        (b'{"id":"a","text":"x","other":"\\udc01"}', "half of a surrogate pair: \\udc01"),
        (b'{"id":"a","text":NaN}', "the field 'text' is NaN"),
        (b'{"id":Infinity,"text":"x"}', "the field 'id' is NaN"),
        (b'{"id":"a","text":"x"} {"id":"b"}', "broken JSON"),
        (b'["a"]', "not a JSON object"),
        (b'{"id":"a"}', "'text' is missing"),
        (b'{"id":"a","text":null}', "null"),
        (b'{"id":"a","text":5}', "a number"),
        (b'{"id":"a","text":" \\n\\u3000"}', "empty"),
        (b'{"id":"","text":"x"}', "id is empty"),
        (b'{"id":1.0,"text":"x"}', "the id is neither a string nor an integer but the number 1.0"),
        (b'{"id":true,"text":"x"}', "a boolean"),
        (b'{"id":"' + b"i" * 65537 + b'","text":"x"}', "longer than 65536"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested"),
    ],
)
def test_a_bad_json_line_is_refused_with_its_bytes(tmp_path, line, reason):
    got = read_bytes(tmp_path, b"\n".join([GOOD, line, b"", GOOD]), "a.jsonl")

    assert [type(r) for r in got] == [Document, Reject, Document]
    assert got[1].place.line == 2
    assert got[1].raw == line
    assert reason in got[1].reason
    assert got[2].place.line == 4


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.txt"])
@pytest.mark.parametrize("lines", [['["a", "x"]', '["b", "y"]'], ["", '[{"text": "x"}]', '[{"text": "y"}]'] * 2])
def test_lines_of_json_arrays_are_one_refusal_with_the_line(tmp_path, name, lines):
    (tmp_path / name).write_text("\n".join(lines))
    (got,) = read([str(tmp_path)])

    assert str(got.place) == f"{tmp_path / name}:{1 + (lines[0] == '')}"
    assert got.reason.startswith("the lines of the file are JSON arrays; one object a line is read, which jq -c ")


def test_one_array_among_objects_costs_its_own_line(tmp_path):
    got = read_bytes(tmp_path, b"\n".join([b'["id", "text"]', GOOD, b'["a"]', b'["b"]']), "a.jsonl")
    assert [(r.place.line, isinstance(r, Document)) for r in got] == [(1, False), (2, True), (3, False), (4, False)]


@pytest.mark.parametrize("features", NO_FEATURES)
def test_bad_features_are_refused(tmp_path, features):
    (got,) = read_bytes(tmp_path, b'{"id":"a","f":%s}' % features, "a.jsonl", features_field="f")
    assert (type(got), got.id) == (Reject, "a")


def test_metadata_above_one_kilobyte_is_refused(tmp_path):
    # {"m":"…"} has eight bytes around the value.
    lines = [json.dumps({"text": "x", "m": "m" * n}).encode() for n in (1016, 1017)]
    got = read_bytes(tmp_path, b"\n".join(lines), "a.jsonl", metadata_fields=("m",))
    assert [type(r) for r in got] == [Document, Reject]
    assert (got[1].place.line, got[1].reason) == (2, "the metadata takes more than 1024 bytes as JSON")


@pytest.mark.parametrize("block", [1, 3, 7, 1000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_only_a_line_above_the_limit_is_refused(tmp_path, block, end):
    data = end.join([b"12345678", b"123456789", b"x", b"1234567890123", b"y"])
    got = read_bytes(tmp_path, data, "a.txt", max_record_bytes=8, block_bytes=block)

    assert [r.raw if isinstance(r, Reject) else r.text for r in got] == [
        "12345678", b"12345678", "x", b"12345678", "y",
    ]  # fmt: skip
    assert [r.place.line for r in got] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("block", [1, 50, 1 << 20])
@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_a_cut_off_file_keeps_what_came_before(tmp_path, suffix, compress, block):
    first = compress(GOOD + b"\n" + GOOD + b"\n" + GOOD[:5])
    second = compress(b"more" * 5000)[:-6]
    got = read_bytes(tmp_path, first + second, f"a.jsonl.{suffix}", block_bytes=block)

    assert [type(r) for r in got] == [Document, Document, Reject]
    assert "cut off" in got[2].reason
    assert got[2].place.line == 3
    assert got[2].raw.startswith(GOOD[:5])


def test_an_empty_chunk_is_not_the_end_of_gzip():
    packed = gzip.compress(b"one") + gzip.compress(b"two")
    chunks = [piece for byte in packed for piece in (b"", bytes([byte]))]
    assert b"".join(gunzip(chunks, 1 << 20)) == b"onetwo"


def test_a_bad_csv_row_does_not_spoil_its_neighbours(tmp_path):
    rows = [b"id,text", b'1,"a\n\xff"', b"2,b", b'3,"c"d', b"4", b"", b"5,e"]
    got = read_bytes(tmp_path, b"\n".join(rows), "a.csv")

    assert [r.place.line for r in got] == [2, 4, 5, 6, 8]
    assert [isinstance(r, Document) for r in got] == [False, True, False, False, True]
    assert got[0].raw == b'1,"a\n\xff"'


GOOD_ROW = '3,"a good row, whole"'
REMAINDERS = {
    "a stray quote": ['7,"he said "hi", and', 'left, "quietly"'],
    "three lines": ['7,"he said "hi", and', "left, quietly", 'then gone"'],
    "more lines": ['7,"he said "hi", and', "left, quietly", 'said "so", again', "and, more", 'then gone"'],
    "a closing quote far off": ['7,"he said hi" and', 'then, gone"'],
    "backslashes": ['7,"first \\"line', 'two, \\"said\\" he', 'three, and out"'],
    "backslashes on one line": ['7,"he said: \\"tomorrow\\", then left"'],
    "a quote left open": ['7,"never closed', "left, quietly"],
    "too many columns": ['7,one,two "three"', 'left, "quietly"'],
}


@pytest.mark.parametrize("lines", REMAINDERS.values(), ids=REMAINDERS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_remainder_of_a_broken_csv_row_is_no_document(tmp_path, lines, end):
    rows = ["id,text", '1,"before"', *lines, GOOD_ROW, GOOD_ROW]
    got = read_bytes(tmp_path, end.join(rows).encode(), "a.csv")
    refused = [r for r in got if isinstance(r, Reject)]

    assert {r.id for r in got if isinstance(r, Document)} == {"1", "3"}
    assert b"\n".join(r.raw for r in refused).decode().replace("\r\n", "\n").startswith("\n".join(lines))
    assert any("\\" in line for line in lines) == ("a backslash before a quote" in refused[0].reason)


EVEN_REMAINDERS = {
    "two lines": ['7,"he said "hi there', 'left, quietly"'],
    "lines like rows": ['7,"he said "hi there', "left, quietly", "and, more", 'then, gone"'],
    "a short line among them": ['7,"he said "hi there', "left, quietly", "alone", 'then gone"'],
    "two pairs": ['7,"he "said" "hi', "left, quietly", 'then, gone"'],
    "a tail of twenty lines": ['7,"he said "hi there', *["left, quietly"] * 20, 'then, gone"'],
}


@pytest.mark.parametrize("lines", EVEN_REMAINDERS.values(), ids=EVEN_REMAINDERS)
@pytest.mark.parametrize("good", ["3,plain", GOOD_ROW])
def test_rows_between_a_broken_row_and_its_closing_quote_are_no_documents(tmp_path, lines, good):
    rows = ["id,text", "1,before", *lines, good, good]
    got = read_bytes(tmp_path, "\n".join(rows).encode(), "a.csv")

    assert [r.id for r in got if isinstance(r, Document)] == ["1", "3", "3"]
    assert [r.raw.decode() for r in got if isinstance(r, Reject)] == lines
    assert [r.place.line for r in got] == list(range(2, len(rows) + 1))


@pytest.mark.parametrize("after", [[GOOD_ROW], ['9,"c"d'], [], ["3,plain"] * 200 + ['then, gone"']])
def test_rows_after_a_broken_row_without_a_closing_quote_are_documents(tmp_path, after):
    rows = ["id,text", '7,"c"d', "2,plain", "2,plain", *after]
    got = read_bytes(tmp_path, "\n".join(rows).encode(), "a.csv")

    assert [isinstance(r, Document) for r in got[:3]] == [False, True, True]
    assert [r.place.line for r in got] == list(range(2, len(rows) + 1))


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt", "a.csv"])
def test_a_byte_order_mark_within_joined_files_is_dropped(tmp_path, name):
    lines = {"a.jsonl": b'{"id":"%d","text":"x"}\n', "a.txt": b"x\n", "a.csv": b"%d,x\n"}[name]
    lines = [lines % number if b"%" in lines else lines for number in (1, 2)]
    data = b"\xef\xbb\xbf" + (b"id,text\n" if name == "a.csv" else b"") + b"\xef\xbb\xbf".join(lines)
    got = read_bytes(tmp_path, data, name)

    assert [r.text for r in got] == ["x", "x"]
    assert not any("\ufeff" in r.id for r in got)


@pytest.mark.parametrize("lines", [["x,said,so", "2,plain"], ["2,plain", "x", "4,plain"], ['x,"c"d', "2,plain"]])
def test_rows_without_quotes_around_a_wrong_one_are_documents(tmp_path, lines):
    got = read_bytes(tmp_path, "\n".join(["id,text", *lines]).encode(), "a.csv")
    assert [isinstance(r, Document) for r in got] == [not line.startswith("x") for line in lines]


def test_a_second_header_in_a_table_is_no_document(tmp_path):
    got = read_bytes(tmp_path, b"id,text\n1,a\n\xef\xbb\xbfid,text\n2,b\n", "a.csv")
    assert [r.id for r in got if isinstance(r, Document)] == ["1", "2"]
    assert got[1].reason == "the row repeats the header: two tables were joined"


@pytest.mark.parametrize(
    ("name", "data", "length"),
    [
        pytest.param("a.csv", b"id,text\n1," + b"x" * 200_000, 200_000, id="a field above the module's default"),
        pytest.param("a.jsonl.gz", gzip.compress(GOOD, mtime=0) + b"\0" * 512, 1, id="zeros behind gzip"),
    ],
)
def test_what_is_no_fault_is_read(tmp_path, name, data, length):
    (got,) = read_bytes(tmp_path, data, name)
    assert len(got.text) == length


def test_utf_16_lines_are_refused_one_by_one(tmp_path):
    lone = b"a\0\x00\xd8b\0"
    data = b"\xff\xfe" + b"x\0\n\0" + lone + b"\n\0y\0"
    got = read_bytes(tmp_path, data, "a.txt")

    assert [isinstance(r, Document) for r in got] == [True, False, True]
    assert got[1].raw == lone


def test_a_file_that_vanishes_is_a_reject(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("x")
    records = read([str(tmp_path)])
    (tmp_path / "a.txt").unlink()

    assert [type(r) for r in records] == [Reject, Document]


def test_rejects_are_written_whole(tmp_path):
    _, refused = read_bytes(tmp_path, b"ok\n\xff\xfe\xfd\n", "a.txt")
    with write_rejects(str(tmp_path / "rejects.jsonl")) as write:
        write(refused)

    row = json.loads((tmp_path / "rejects.jsonl").read_text())
    assert (row["file"], row["line"]) == (str(tmp_path / "a.txt"), 2)
    assert base64.b64decode(row["raw_base64"]) == b"\xff\xfe\xfd"


@pytest.mark.parametrize(
    ("name", "data", "options", "reason"),
    [
        ("a.json", b'[\n{"id":1,"text":"x"}]', {}, "jq"),
        ("a.json", b'[{"id":1}]', {}, "jq"),
        ("a.json", b'{\n"id":1\n}', {}, "jq"),
        *((f"a.{name}", b"", {}, "the file is empty") for name in PACKED),
        ("a.jsonl.gz", GOOD, {}, "is not"),
        ("a.jsonl.zst", GOOD, {}, "is not"),
        ("a.jsonl", gzip.compress(GOOD, mtime=0), {}, "compressed by gzip: add .gz to its name, or decompress it"),
        ("a.jsonl", zstandard.compress(GOOD), {}, "compressed by zstd: add .zst to its name"),
        ("a.csv", bz2.compress(GOOD), {}, "compressed by bzip2: decompress it first"),
        ("a.txt", lzma.compress(GOOD), FOLDER, "compressed by xz: decompress it first"),
        ("a.csv", b"id;text\n1;x\n", {}, "the separator seems to be ';': write it with ','"),
        ("a.csv", b"id|text\n1|x\n", {}, "the separator seems to be '|': write it with ','"),
        ("a.csv", b'"id";"text"\n"1";"x, y"\n', {}, "the separator seems to be ';': write it with ','"),
        ("a.csv", b"id;text, whole;c\n1;x;y\n", {}, "the separator seems to be ';': write it with ','"),
        ("a.csv", b"id|text|a,b\n1|x|y\n", {}, "the separator seems to be '|': write it with ','"),
        ("a.html", gzip.compress(b"<html><p>x</p></html>", mtime=0), {}, "compressed by gzip: add .gz to its name"),
        ("a.html", lzma.compress(b"<html><p>x</p></html>"), {}, "compressed by xz: decompress it first"),
        ("a.csv", b"id\ttext\n1\tx\n", {}, "the separator seems to be '\\t': give `format=tsv`"),
        ("a.tsv", b"id,text\n1,x\n", {}, "the separator seems to be ',': give `format=csv`"),
        ("a.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\n" * 100, {}, "binary"),
        ("a.csv", b"id,text\r1,x\r", {}, r"a carriage return without a line feed: make line ends \n or \r\n"),
        ("a.parquet", b"", {}, "cannot be read as Parquet"),
        ("a.parquet", b"no Parquet at all, but long enough", {}, "cannot be read as Parquet"),
        ("a.warc", NO_CRAWL, {}, "the record is damaged: no WARC record begins here"),
        ("a.warc.gz", NO_CRAWL, {}, "the record is damaged: the file has data outside its gzip members"),
        ("a.jsonl", '{"id":"文","text":"ab'.encode() + b'\xff"}', {}, "the bytes are not utf-8: 0xff at byte 23"),
        ("a.jsonl", '{"id":"文","text":x}'.encode(), {}, "invalid character at character 18"),
        ("a.jsonl", '{"id":"文","text":x}'.encode("gbk"), {"encoding": "gbk"}, "invalid character at character 18"),
        ("a.jsonl", '{"id":"文","text":x}'.encode("utf-16"), {}, "invalid character at character 18"),
        *(("a.jsonl", b'{"s":%s}' % value, {"simhash_field": "s"}, "fingerprint") for value in NO_FINGERPRINTS),
        ("a.jsonl", b'{"f":[%s]}' % b",".join([b'["feature",1]'] * 100), FEATURES | {"max_document_bytes": 1_000},
         "the record with its features is longer than 1,000 bytes"),
        ("a.jsonl.gz", gzip.compress(GOOD, mtime=0)[:-6] + b"\xff" * 6, {}, "damaged"),
        ("a.csv", b'id,text\n1,"x\ny\xff"\n', {}, "the bytes are not utf-8: 0xff at byte 2 of line 3"),
        ("a.csv", b'id,text\n2,"open\n' + b"3,row\n" * 2_000, {}, "takes all lines to the last, 2,001 in all"),
        ("a.dat", b"\xef\xbb\xbfabc\xff", FOLDER, "the bytes are not utf-8: 0xff at byte 7"),
        ("a.txt", "ab\ud800c".encode("utf-16", "surrogatepass"), {}, "not utf-16-le: half of a surrogate"),
    ],
)  # fmt: skip
def test_a_file_with_one_fault_is_one_reject_that_says_where_it_is(tmp_path, name, data, options, reason):
    (got,) = read_bytes(tmp_path, data, name, **options)
    assert isinstance(got, Reject)
    assert reason in got.reason


def test_whatever_a_library_trips_over_costs_the_rest_of_its_file_only(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("odd\n bytes")

    (tmp_path / "a.csv").write_bytes(b"id,text\n1,x\n")
    (tmp_path / "b.jsonl").write_bytes(GOOD)
    monkeypatch.setattr(csv, "reader", broken)

    refused, good = read([str(tmp_path)])

    assert refused.place == (str(tmp_path / "a.csv"), 0)
    assert refused.reason == "reading stopped, the rest is lost: ZeroDivisionError: odd bytes"
    assert good.id == "good"


@pytest.mark.parametrize(
    ("record", "listed"),
    [
        ("{}", "none"),
        ('{"a":1,"' + "b" * 100 + '":2}', "a, " + "b" * 40 + "…"),
        (json.dumps(dict.fromkeys(map(str, range(15)))), ", ".join(map(str, range(12))) + " and 3 more"),
    ],
)
@pytest.mark.parametrize("given", ["text_field", "simhash_field", "features_field"])
def test_the_fields_of_a_record_without_the_one_are_listed_in_bounds(tmp_path, record, listed, given):
    first, second = read_bytes(tmp_path, f"{record}\n{record}".encode(), "a.jsonl", **{given: "x"})
    assert first.reason == f"the field 'x' is missing; it has {listed}: name the right one with `{given}`"
    assert second.reason == "the field 'x' is missing"


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("a.jsonl", '{"text":"%s"}\n'),
        ("a.jsonl.gz", '{"text":"%s"}\n'),
        ("a.jsonl.zst", '{"text":"%s"}\n'),
        ("a.csv", 'text\n"%s"\n'),
        ("a.tsv", "text\n%s\n"),
        ("a.txt", "%s\n"),
        ("a.html", "<html><body><p>%s</p><p>x</p></body></html>"),
        ("a.dat", "%s"),
    ],
)
def test_a_text_above_the_limit_is_refused(tmp_path, name, record):
    data = COMPRESS.get(name[-3:], bytes)((record % LONG).encode())
    options = FOLDER if name == "a.dat" else {}
    (refused,) = read_bytes(tmp_path, data, name, max_document_bytes=1_199_999, **options)
    (good,) = read_bytes(tmp_path, data, name, max_document_bytes=1_200_010, **options)

    assert refused.reason == "the text is longer than 1,199,999 bytes; `max_document_bytes` raises the limit"
    assert LONG in good.text


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt", "a.csv", "a.dat"])
def test_a_record_far_above_the_limit_is_not_held(tmp_path, name):
    options = FOLDER if name == "a.dat" else {}
    data = (b"text\n" if name == "a.csv" else b"") + b"x" * 5_000
    (refused,) = read_bytes(tmp_path, data, name, max_document_bytes=1_000, block_bytes=100, **options)

    assert "is longer than 4,000 bytes; " in refused.reason
    assert "`max_document_bytes` raises the limit" in refused.reason
    assert len(refused.raw) <= 4_200


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.txt"])
def test_a_wide_file_without_a_mark_is_refused_with_the_option_that_reads_it(tmp_path, codec, name):
    data = {"a.jsonl": '{"id":"a","text":"x"}\n', "a.csv": "id,text\na,x\n", "a.txt": "x\n"}[name].encode(codec)
    (refused,) = read_bytes(tmp_path, data, name)
    (good,) = read_bytes(tmp_path, data, name, encoding=codec)

    assert refused.reason.endswith(f"give `encoding={codec}`")
    assert good.text == "x"


@pytest.mark.parametrize("value", ["NaN", "-Infinity", '[1, {"b": NaN}]', "1e400"])
def test_a_number_that_is_none_costs_no_document_in_a_field_that_nobody_reads(tmp_path, value):
    line = f'{{"id": "a", "text": "x", "score": {value}}}'.encode()
    (good,) = read_bytes(tmp_path, line, "a.jsonl")
    (refused,) = read_bytes(tmp_path, line, "a.jsonl", metadata_fields=("score",))

    assert (good.id, good.text) == ("a", "x")
    assert refused.reason == "the field 'score' is NaN or an infinite number"


@pytest.mark.parametrize("suffix", [".xz", ".bz2", ".lz4", ".zip"])
@pytest.mark.parametrize("in_folder", [False, True])
def test_other_compressions_are_refused_by_name_with_the_way_out(tmp_path, suffix, in_folder):
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(lzma.compress(GOOD))
    if in_folder:
        (refused,) = read([str(tmp_path)])
        sentence = f"{refused.place}: {refused.reason}"
    else:
        with pytest.raises(InvalidInput) as raised:
            list(read([str(path)]))
        sentence = str(raised.value)

    assert sentence.count(path.name) == 1
    assert f"a.jsonl{suffix}: {suffix} is not decompressed: pack it as .gz or .zst, or pass what `" in sentence


POINTERS = {
    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 12345\n": "Git LFS, which `git lfs pull` gets",
    "/annex/objects/SHA256E-s12345--4d7a21.txt\n": "git-annex, which `git annex get` gets",
}
POINTER_NAMES = ["a.txt", "b.jsonl", "c.jsonl.gz", "d.csv", "e.parquet", "f.html", "g.warc.gz", "h.md", "i.json.zst"]


@pytest.mark.parametrize("pointer", POINTERS)
def test_a_file_that_stands_for_its_content_in_a_clone_is_no_document(tmp_path, pointer):
    for name in POINTER_NAMES:
        (tmp_path / name).write_text(pointer)
    named = [str(tmp_path / name) for name in POINTER_NAMES if name != "h.md"]

    for sources in ([str(tmp_path)], named):
        reasons = {record.reason for record in read(sources)}
        assert reasons == {f"the file is a pointer to content of {POINTERS[pointer]}"}
