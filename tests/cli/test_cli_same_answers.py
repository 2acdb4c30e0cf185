"""The same documents give the same answers in every format and encoding."""

import csv
import gzip
import io
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from demo import chinese, reworded
from support.corpus import text, write_jsonl
from support.crawls import Crawl

RUSSIAN = "Сегодня хорошая погода, и мы пошли гулять в парк номер {}. Дети кормили уток и катались на лодке."
JAPANESE = "今日は天気がいいので、{}番の公園へ散歩に行きました。子供たちは池の鴨にえさをやりました。"
# What a page of each language declares that is not in UTF-8.
CHARSETS = {
    "zh-Hans": ("gb2312", "gb18030"),
    "zh-Hant": ("big5", "big5hkscs"),
    "ru": ("windows-1251", "cp1251"),
    "ja": ("shift_jis", "cp932"),
    "en": ("iso-8859-1", "cp1252"),
}


def texts():
    """Yield texts of two paragraphs in five languages."""
    of = {lang: [text.text for text in chinese() if text.lang == lang] for lang in ("zh-Hans", "zh-Hant")}
    yield from (("zh-Hans", words) for words in of["zh-Hans"][:10])
    yield from (("zh-Hant", words) for words in of["zh-Hant"][:4])
    for number in range(4):
        yield "ru", " ".join(RUSSIAN.format(f"{number}{part}") for part in range(9))
        yield "ja", "".join(JAPANESE.format(f"{number}{part}") for part in range(9))
        yield "en", text(number, count=150)


def documents():
    """Return each text and a near copy of it, with the language."""
    found = []
    for number, (lang, words) in enumerate(texts()):
        first = "\n".join(" ".join(line.split()) for line in words.splitlines() if line.strip())
        copy = reworded(first, lang, random.Random(number).random) if lang[:2] in ("zh", "en") else first + " 2026"
        for at, said in enumerate((first, copy)):
            found.append((f"site/{number:02} {at}", lang, f"{said}\nNo {number}."))
    return found


DOCUMENTS = documents()


def json_lines(folder, packed=bytes, codec="utf-8", name="a.jsonl"):
    data = write_jsonl(folder / "utf-8.jsonl", [{"id": key, "text": words} for key, _, words in DOCUMENTS])
    (folder / name).write_bytes(packed(data.read_text(encoding="utf-8").encode(codec)))
    return folder / name


def table(folder, codec="utf-8", delimiter=",", name="a.csv"):
    held = io.StringIO()
    csv.writer(held, delimiter=delimiter).writerows([("id", "text"), *((key, words) for key, _, words in DOCUMENTS)])
    (folder / name).write_bytes(held.getvalue().encode(codec))
    return folder / name


def parquet(folder, **options):
    columns = {"id": [key for key, _, _ in DOCUMENTS], "text": [words for _, _, words in DOCUMENTS]}
    pq.write_table(pa.table(columns), folder / "a.parquet", **options)
    return folder / "a.parquet"


def files(folder, content):
    """Write a file a document, whose name is the id."""
    for key, lang, words in DOCUMENTS:
        path = folder / "files" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(lang, words))
    return folder / "files"


def html(lang, words, *, legacy=True):
    label, codec = CHARSETS[lang] if legacy else ("utf-8", "utf-8")
    lines = "".join(f"<p>{line}</p>" for line in words.splitlines())
    return f"<html><head><meta charset={label}></head><body>{lines}</body></html>".encode(codec)


def warc(folder, *, compressed, declared):
    """Write answers whose server declares the encoding, or whose page does."""
    crawl = Crawl(compressed=compressed)
    crawl.info()
    for key, lang, words in DOCUMENTS:
        header = f"text/html; charset={CHARSETS[lang][0]}" if declared else "text/html"
        page = html(lang, words).replace(b"<meta charset", b"<meta not" if declared else b"<meta charset")
        crawl.answer(key, page, [("Content-Type", header)])
    (folder / "a.warc.gz").write_bytes(crawl.bytes())
    return folder / "a.warc.gz"


def wet(folder, *, compressed):
    crawl = Crawl(compressed=compressed)
    crawl.info()
    for key, _, words in DOCUMENTS:
        crawl.other(key, "conversion", words.encode(), "text/plain")
    path = folder / ("a.warc.wet.gz" if compressed else "a.warc.wet")
    path.write_bytes(crawl.bytes())
    return path


FORMATS = {
    "JSON lines, gzip": (lambda folder: json_lines(folder, gzip.compress, name="a.jsonl.gz"), []),
    "JSON lines, zstd": (lambda folder: json_lines(folder, zstandard.compress, name="a.jsonl.zst"), []),
    "JSON lines, GB18030": (lambda folder: json_lines(folder, codec="gb18030"), ["--encoding", "gb18030"]),
    "JSON lines, UTF-16": (lambda folder: json_lines(folder, codec="utf-16"), []),
    "CSV": (table, []),
    "CSV, GB18030": (lambda folder: table(folder, "gb18030"), ["--encoding", "gb18030"]),
    "TSV, a mark": (lambda folder: table(folder, "utf-8-sig", "\t", "a.tsv"), []),
    "Parquet": (parquet, []),
    "Parquet, small row groups": (lambda folder: parquet(folder, row_group_size=7, compression="zstd"), []),
    "folder of texts": (lambda folder: files(folder, lambda _, words: words.encode()), []),
    "folder of texts, GB18030": (
        lambda folder: files(folder, lambda _, words: words.encode("gb18030")),
        ["--encoding", "gb18030"],
    ),
    "folder of pages": (
        lambda folder: files(folder, lambda lang, words: html(lang, words, legacy=False)),
        ["--input-format", "html"],
    ),
    "folder of pages, each in its encoding": (lambda folder: files(folder, html), ["--input-format", "html"]),
    "WARC, pages declare": (lambda folder: warc(folder, compressed=False, declared=False), []),
    "WARC, gzip, servers declare": (lambda folder: warc(folder, compressed=True, declared=True), []),
    "WET": (lambda folder: wet(folder, compressed=False), []),
    "WET, gzip": (lambda folder: wet(folder, compressed=True), []),
}


def answers(cli, folder, source, options):
    """Return ids with fingerprints, and the decisions."""
    printed = cli("fingerprint", source, "--workers", 1, *options)
    decided = cli("dedup", f"file:{folder / 'index'}", source, "--create", "--workers", 1, *options)
    assert (printed.code, decided.code) == (0, 0), printed.err + decided.err
    return printed.records, decided.records


@pytest.fixture(scope="module")
def expected():
    """Hold the answers to JSON lines, once they were asked for."""
    return {}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_and_encoding_answers_as_json_lines_do(cli, tmp_path, expected, name):
    if not expected:
        (tmp_path / "first").mkdir()
        expected["answers"] = answers(cli, tmp_path / "first", json_lines(tmp_path), [])
    write, options = FORMATS[name]

    fingerprints, decisions = answers(cli, tmp_path, write(tmp_path), options)

    assert (fingerprints, decisions) == expected["answers"]
    assert len(fingerprints) == len(DOCUMENTS) == 52
    assert 10 <= sum(decision["status"] == "duplicate" for decision in decisions) <= 26
