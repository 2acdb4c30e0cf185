"""``dedup --output`` of lines: in the encoding and the format that they came in."""

import codecs
import gzip

import pytest
import zstandard
from support.corpus import near_copies, text, write_jsonl
from support.crawls import Crawl, page
from support.results import run

from simhash_hbase.inputs import InputOptions, read

MARKS = {"utf-8": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-32-be": codecs.BOM_UTF32_BE}
TEXTS = [f"{text(i // 2, changed=i % 2)} 第{i}號" for i in range(6)]
ROWS = ["id,text", *(f'{i},"{words}"' for i, words in enumerate(TEXTS))]


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("encoding", MARKS)
@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_kept_lines_stay_in_their_encoding(cli, empty, tmp_path, name, encoding, marked):
    lines = ROWS if name == "a.csv" else TEXTS
    mark = MARKS[encoding] if marked else b""
    kept = tmp_path / "kept" / name
    kept.parent.mkdir()
    (tmp_path / name).write_bytes(mark + "".join(f"{line}\r\n" for line in lines).encode(encoding))
    words = ("dedup", empty, tmp_path / name, "--output", kept, "--results", tmp_path / "results")
    words += () if marked else ("--encoding", encoding)
    wanted = [lines[0], *lines[1::2]] if name == "a.csv" else lines[::2]

    done = cli(*words)
    before = kept.read_bytes()
    again = cli(*words, "--resume")

    assert (done.code, again.code) == (0, 0)
    assert before == mark + "".join(f"{line}\n" for line in wanted).encode(encoding)
    assert kept.read_bytes() == before
    found = read([str(kept)], InputOptions(encoding="utf-8" if marked else encoding))
    assert [document.text for document in found] == TEXTS[::2]


@pytest.mark.parametrize("encoding", MARKS)
def test_whole_files_keep_their_byte_order_mark(cli, empty, tmp_path, encoding):
    source, data = tmp_path / "source", MARKS[encoding] + TEXTS[0].encode(encoding)
    source.mkdir()
    (source / "a.txt").write_bytes(data)
    (source / "b.txt.gz").write_bytes(gzip.compress(MARKS[encoding] + text(9).encode(encoding)))

    assert cli("dedup", empty, source, "--output", tmp_path / "kept").code == 0

    assert (tmp_path / "kept" / "a.txt").read_bytes() == data
    assert gzip.decompress((tmp_path / "kept" / "b.txt.gz").read_bytes()).startswith(MARKS[encoding])


def test_an_empty_file_has_no_encoding(cli, empty, tmp_path):
    data = codecs.BOM_UTF16_LE + f"{TEXTS[0]}\n".encode("utf-16-le")
    (tmp_path / "a.txt").touch()
    (tmp_path / "b.txt").write_bytes(data)

    assert cli("dedup", empty, tmp_path / "a.txt", tmp_path / "b.txt", "--output", tmp_path / "kept.txt").code == 0

    assert (tmp_path / "kept.txt").read_bytes() == data


def test_lines_in_an_encoding_come_from_standard_input_too(empty, tmp_path):
    data = codecs.BOM_UTF16_LE + "".join(f"{line}\n" for line in TEXTS).encode("utf-16-le")
    kept = tmp_path / "kept.txt"

    done = run("dedup", empty, "-", "--input-format", "text", "--output", kept, data=data)

    assert done.code == 0
    assert kept.read_bytes() == codecs.BOM_UTF16_LE + "".join(f"{x}\n" for x in TEXTS[::2]).encode("utf-16-le")


@pytest.mark.parametrize(
    ("names", "encodings", "sentence"),
    [
        (["a.jsonl", "b.txt"], ["utf-8", "utf-8"], "are jsonl and text"),
        (["a.csv", "b.tsv"], ["utf-8", "utf-8"], "are csv and tsv"),
        (["a.txt", "b.txt"], ["gb18030", "utf-8"], "are in gb18030 and utf-8"),
    ],
)
def test_lines_that_differ_do_not_go_into_one_file(cli, tmp_path, names, encodings, sentence):
    files = [tmp_path / name for name in names]
    for file, encoding in zip(files, encodings, strict=True):
        data = "id,text\tid\n" if file.suffix in (".csv", ".tsv") else "今天的天气很好，我们去公园。\n" * 9
        file.write_bytes(data.encode(encoding))
    words = ("--create", "--analyzer", "shingle", "--encoding", "auto", "--output", tmp_path / "kept")

    refused = cli("dedup", f"file:{tmp_path / 'i'}", *files, *words)

    assert (refused.code, refused.out) == (2, b"")
    assert f"{files[0]} and {files[1]} {sentence}" in refused.sentence
    assert not (tmp_path / "i").exists()
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("name", ["kept.jsonl.zst", "kept.jsonl.GZ"])
def test_kept_lines_are_compressed_as_the_name_says_over_several_batches(cli, empty, tmp_path, monkeypatch, name):
    monkeypatch.setattr("simhash_hbase.pipeline.analyse.CHUNK_DOCUMENTS", 7)
    documents = near_copies(10, 2)
    file, kept = write_jsonl(tmp_path / "a.jsonl", documents), tmp_path / name

    assert cli("dedup", empty, file, "--output", kept, "--workers", 1).code == 0

    with (zstandard if name.endswith("zst") else gzip).open(kept, "rb") as lines:
        assert lines.read(1) == b"{"
    assert [document.id for document in read([str(kept)])] == [document["id"] for document in documents[::2]]


def test_a_kept_crawl_is_compressed_by_zstd_where_its_name_says_so(cli, empty, tmp_path):
    crawl = Crawl()
    for number in range(3):
        crawl.answer(f"https://a.example/{number}", page(text(number // 2, changed=number % 2)))
    (tmp_path / "a.warc.gz").write_bytes(crawl.bytes())
    kept = tmp_path / "kept.warc.zst"

    assert cli("dedup", empty, tmp_path / "a.warc.gz", "--output", kept).code == 0

    assert kept.read_bytes().startswith(zstandard.FRAME_HEADER)
    assert [found.id for found in read([str(kept)])] == ["https://a.example/0", "https://a.example/2"]
