"""Records that are written in each format, encoding and compression are read back equal."""

import csv
import gzip
import io
import json
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings, strategies as st
from support.corpora import first_texts
from support.crawls import crawl_of, page, text_of, url

from simhash_hbase.errors import InvalidArgument, InvalidInput
from simhash_hbase.inputs import Document, InputOptions, Place, Progress, extract, parse_simhash, read, total_bytes
from simhash_hbase.inputs.encodings import detect
from simhash_hbase.inputs.reading import scan_lines
from simhash_hbase.inputs.records import JsonLines

PLAIN = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
TEXTS = st.text(PLAIN, min_size=1, max_size=30).filter(lambda text: not text.isspace())
# A text file is split at \n, and \r before it belongs to the line end; U+2028 and \v stay.
LINES = TEXTS.map(lambda text: text.replace("\n", "/").replace("\r", "/")).filter(
    lambda text: not text.isspace() and not text.startswith("\ufeff")
)
CODECS = st.sampled_from(["utf-8", "utf-8-sig", "gb18030", "utf-16", "utf-16-be", "utf-32"])
FILES = st.tuples(CODECS, st.sampled_from(["", ".gz", ".zst"]), st.integers(1, 40))
QUICK = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
COMPRESS = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}
WRONG = ["", "ff", "-1", "0x", "0x10000000000000000", "1" * 21, "１", " 1", -1, 2**64, True]


def written(folder, name, text, codec="utf-8", packer=""):
    path, data = folder / (name + packer), text.encode(codec)
    cut, pack = len(data) // 2, COMPRESS[packer]
    path.write_bytes(pack(data[:cut]) + pack(data[cut:]))
    return str(path)


def texts_of(path, **options):
    return [record.text for record in read([path], InputOptions(**options))]


@pytest.mark.slow
@QUICK
@given(st.lists(TEXTS), FILES, st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_json_lines_come_back(tmp_path, texts, file, ascii_only, end):
    codec, packer, block = file
    rows = [json.dumps({"id": str(i), "text": t}, ensure_ascii=ascii_only) for i, t in enumerate(texts)]
    path = written(tmp_path, "a.jsonl", end.join(rows), codec, packer)

    assert texts_of(path, encoding=codec, block_bytes=block) == texts


@pytest.mark.slow
@QUICK
@given(st.lists(LINES), FILES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_text_lines_come_back_with_their_bytes(tmp_path, lines, file, end, ended):
    codec, packer, block = file
    path = written(tmp_path, "a.txt", end.join(lines) + end * ended, codec, packer)
    got = list(read([path], InputOptions(encoding=codec, block_bytes=block, keep_raw=True)))

    assert [d.text for d in got] == lines
    assert [d.id for d in got] == [f"{path}:{n}" for n in range(1, len(lines) + 1)]
    assert [d.raw.decode(codec) for d in got] == lines


@pytest.mark.slow
@QUICK
@given(st.lists(LINES), FILES, st.sampled_from([",", "\t"]))
def test_csv_comes_back_with_the_line_where_each_row_starts(tmp_path, lines, file, delimiter):
    codec, packer, block = file
    texts, starts, out = [line.replace("/", '\n"') for line in lines], [], io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["id", "text"])
    for number, text in enumerate(texts):
        starts.append(out.getvalue().count("\n") + 1)
        writer.writerow([number, text])
    path = written(tmp_path, "a.csv" if delimiter == "," else "a.tsv", out.getvalue(), codec, packer)

    got = list(read([path], InputOptions(encoding=codec, block_bytes=block)))

    assert [(d.text, d.place.line) for d in got] == list(zip(texts, starts, strict=True))


@QUICK
@given(TEXTS.filter(lambda t: not t.startswith("\ufeff")), FILES)
def test_a_file_of_a_folder_comes_back_whole(tmp_path, text, file):
    codec, packer, block = file
    path = written(tmp_path, "a.txt", text, codec, packer)
    assert texts_of(path, encoding=codec, block_bytes=block, format="folder") == [text]


def test_a_pattern_is_expanded_sorted(tmp_path):
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_text(name)
    assert texts_of(str(tmp_path / "*.txt")) == ["a.txt", "b.txt"]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (None, '{"id":7,"text":"天"}\n\n{"text":"地"}'.encode(), [("7", "天"), ("-:3", "地")]),
        ("html", page("今天的天气很好").decode().encode("gbk"), [("-", "今天的天气很好")]),
        ("warc", crawl_of(2).bytes(), [(url(number), text_of(number)) for number in range(2)]),
    ],
)
def test_standard_input_is_json_lines_unless_a_format_is_named(monkeypatch, name, content, expected):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert [(d.id, d.text) for d in read(["-"], InputOptions(format=name))] == expected


def test_fingerprints_features_and_metadata_are_read(tmp_path):
    line = '{"id":"a","s":"00000000000000ff","f":[["x",1],[2,0.5]],"lang":"zh","n":{"k":1}}\n'
    path, table = written(tmp_path, "a.jsonl", line), written(tmp_path, "a.csv", 'id,f\n1,"[[""x"", 2]]"\n')
    (by_simhash,) = read([path], InputOptions(simhash_field="s", metadata_fields=("lang", "n", "no")))
    by_features = read([path, table], InputOptions(features_field="f"))

    assert by_simhash == Document("a", None, 255, None, {"lang": "zh", "n": {"k": 1}}, Place(path, 1), None)
    assert [document.features for document in by_features] == [(("x", 1.0), (2, 0.5)), (("x", 2.0),)]


def test_progress_ends_at_the_total(tmp_path):
    paths = [written(tmp_path, "a.txt", "天\n地", packer=".gz"), written(tmp_path, "b.txt", "x")]
    progress = Progress()
    list(read(paths, progress=progress))

    assert progress.bytes_read == total_bytes(paths) > 0
    assert total_bytes(["-"]) is None


@pytest.mark.parametrize("name", ["ftp://me:secret@a.example/b.jsonl", "S3://bucket/a.jsonl"])
def test_an_address_of_another_kind_is_refused_without_its_password(name):
    with pytest.raises(InvalidInput, match=f"^{name.partition(':')[0]}:// is not read: wanted a file, s3://"):
        read([name])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no.txt", "does not exist"), ("*.none", "no file matches"), ("a.odd", "`format="),
        ("a.parquet.gz", "decompress it first"),
    ],
)  # fmt: skip
def test_a_source_that_cannot_be_read_is_refused_before_any_reading(tmp_path, name, message):
    good = written(tmp_path, "good.txt", "x")
    if name.startswith("a."):
        (tmp_path / name).write_bytes(b"x")

    with pytest.raises(InvalidInput, match=message):
        read([good, str(tmp_path / name)])


@pytest.mark.parametrize(
    "wrong",
    [
        *({"encoding": name} for name in ("klingon", "cp037", "base64")),
        {"simhash_field": "s", "features_field": "f"}, {"id_field": ""}, {"text_field": "id"},
        {"metadata_fields": "lang"}, {"simhash_format": "hex"}, {"simhash_field": "s", "simhash_format": "octal"},
        {"block_bytes": 0}, {"max_record_bytes": 0}, {"format": "xml"},
    ],
)  # fmt: skip
def test_options_are_checked_on_construction(wrong):
    with pytest.raises(InvalidArgument):
        InputOptions(**wrong)


@given(st.integers(0, 2**64 - 1))
def test_a_fingerprint_is_read_in_every_form(value):
    forms = [value, f"{value:016x}", f"{value:016X}", hex(value)]
    # Sixteen digits are hexadecimal.
    forms += [str(value)] if len(str(value)) != 16 else []
    assert {parse_simhash(form) for form in forms} == {value}


@pytest.mark.parametrize("wrong", [*WRONG, pytest.param(10**5000, id="huge")])
def test_anything_else_is_no_fingerprint(wrong):
    with pytest.raises(InvalidArgument):
        parse_simhash(wrong)


LARGE = [0xF2A74DE452E6B438, 0x6513270E269E0D37, 0x0C5C7FD0A6A3A450, 1234567890123456, 42, 2**64 - 1, 0x20000000000001]
WRITTEN = {
    "hex": lambda value: f"{value:x}",
    "capitals": lambda value: f"0X{value:X}",
    "padded": lambda value: f"{value:016x}",
    "decimal": str,
    "signed": lambda value: str(value - 2**64 if value >> 63 else value),
}


def fingerprints_of(folder, kind, values, form=None):
    """Write values in a kind of file, and return the fingerprints read, and the reasons of those that were refused."""
    path = folder / f"a.{kind.partition(' ')[0]}"
    if kind == "csv":
        path.write_text("id,fp\n" + "".join(f"{number},{value}\n" for number, value in enumerate(values)))
    elif kind == "parquet":
        pq = pytest.importorskip("pyarrow.parquet")
        rows = [{"id": str(number), "fp": value} for number, value in enumerate(values)]
        pq.write_table(pytest.importorskip("pyarrow").Table.from_pylist(rows), path)
    else:
        values = [int(value) for value in values] if kind == "jsonl of integers" else values
        path.write_text("".join(json.dumps({"id": str(n), "fp": value}) + "\n" for n, value in enumerate(values)))
    records = list(read([str(path)], InputOptions(simhash_field="fp", simhash_format=form)))
    return (
        [record.simhash for record in records if isinstance(record, Document)],
        [record.reason for record in records if not isinstance(record, Document)],
    )


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("written_as", WRITTEN)
def test_fingerprints_in_strings_are_read_as_the_format_says(tmp_path, kind, written_as):
    values = [WRITTEN[written_as](value) for value in LARGE]
    form = "hex" if written_as in ("padded", "capitals") else written_as
    assert fingerprints_of(tmp_path, kind, values, form) == (LARGE, [])


@pytest.mark.parametrize("form", [None, "decimal"])
def test_whole_decimals_of_a_table_are_fingerprints(tmp_path, form):
    assert fingerprints_of(tmp_path, "parquet", [Decimal(value) for value in LARGE], form) == (LARGE, [])
    assert fingerprints_of(tmp_path, "parquet", [Decimal("1.5")], form)[0] == []


@pytest.mark.parametrize("form", ["decimal", "signed"])
def test_fingerprints_in_integers_are_read_as_the_format_says(tmp_path, form):
    values = [WRITTEN[form](value) for value in LARGE]
    assert fingerprints_of(tmp_path, "jsonl of integers", values, form) == (LARGE, [])


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("written_as", WRITTEN)
@pytest.mark.parametrize("turned", [False, True])
def test_without_a_format_no_string_is_read_as_another_number(tmp_path, kind, written_as, turned):
    values = LARGE[::-1] if turned else LARGE
    got, reasons = fingerprints_of(tmp_path, kind, [WRITTEN[written_as](value) for value in values])

    assert set(got) <= set(values)
    assert all("give `simhash_format=" in reason for reason in reasons)
    assert len(got) + len(reasons) == len(values)
    assert (got == values) == (not reasons)
    assert written_as != "padded" or len(got) >= len(values) - 2


def test_a_column_of_both_is_refused_where_it_changes(tmp_path):
    got, reasons = fingerprints_of(tmp_path, "jsonl", ["f2a74de452e6b438", "17485029721327973432", "1234567890123456"])
    assert got == [0xF2A74DE452E6B438, 0x1234567890123456]
    assert reasons == ["17485029721327973432 is decimal, and those before are hex; give `simhash_format=hex|decimal`"]


def test_signed_integers_are_refused_with_the_format_that_reads_them(tmp_path):
    _, (reason,) = fingerprints_of(tmp_path, "jsonl of integers", [-1])
    assert reason == "the fingerprint -1 is negative; give `simhash_format=signed`"


@pytest.mark.parametrize(("form", "number"), [("hex", 42), ("signed", 2**63), ("decimal", -1)])
def test_a_refused_integer_is_shown_as_its_file_has_it(tmp_path, form, number):
    _, (reason,) = fingerprints_of(tmp_path, "jsonl of integers", [number], form)
    assert reason.startswith(f"{number} is not a fingerprint: ")


@pytest.mark.parametrize("block", [1, 7, 60, 200, 1 << 20])
@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "gb18030"])
def test_lines_of_json_that_are_decoded_later_give_the_same_documents_and_refusals(tmp_path, codec, block):
    texts = ['{"id": 1, "text": "一二三"}', "", '{"id": "b", "text": ""}\r', " \t\r", '{"text": "四", "n": 5}']
    mark = "\ufeff" if codec == "utf-8" else ""
    ends = ["{broken", f'{mark}{{"text": "五"}}', '["no"]', '{"text": "%s"}' % ("六" * 40), "{}", '{"text": "七"}']
    path = written(tmp_path, "a.jsonl", "\n".join([*texts, *ends]), codec)
    options = InputOptions(
        encoding="auto" if codec == "utf-16" else codec, metadata_fields=("n",), max_record_bytes=80, block_bytes=block
    )
    later = [
        extract(record)
        for run in scan_lines([path], options)
        for record in (map(run.line, range(len(run))) if isinstance(run, JsonLines) else [run])
    ]

    assert [replace(record, raw=None) for record in later] == [
        replace(record, raw=None) for record in read([path], replace(options, block_bytes=1 << 20))
    ]
    assert [record.place.line for record in later] == [1, 3, 5, 6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("utf-8", "今天的天气很好，我们去公园。"),
        ("gb18030", "今天的天气很好，我们和孩子们去公园散步，大家都很高兴。"),
        ("big5", "今天的天氣很好，我們和孩子們去公園散步，大家都很高興。"),
        ("cp932", "今日は天気がいいので、公園へ散歩に行きました。"),
        ("cp949", "오늘은 날씨가 좋아서 공원에 산책을 갔습니다."),
        ("cp1251", "Сегодня хорошая погода, и мы пошли гулять в парк."),
        ("cp1252", "Le café était très agréable, voilà l’été."),
    ],
)
def test_auto_reads_a_file_in_its_encoding(tmp_path, codec, text):
    assert texts_of(written(tmp_path, "a.txt", text, codec), encoding="auto") == [text]


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_sample_cut_inside_a_character_is_still_utf_8(cut):
    assert detect("今天的天气很好".encode()[:-cut]) == "utf-8"


@pytest.mark.slow
@pytest.mark.parametrize(("corpus", "codec"), [("lctt_zh_edit", "gb18030"), ("laws_tw_versions", "big5hkscs")])
@pytest.mark.parametrize("size", [200, 5000])
def test_corpus_documents_are_detected(corpus, codec, size):
    found = [detect(text.encode(codec, "ignore")[:size]) for text in first_texts(corpus, 100)]
    assert found.count(codec) >= 99
