"""``dedup --output`` of lines: in the encoding and the format that they came in."""

import codecs
import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from support.corpus import near_copies, text, write_jsonl
from support.crawls import Crawl, crawl_of, crawl_of_copies, page

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


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("name", ["a.csv", "a.warc", "a.parquet"])
def test_what_comes_from_standard_input_is_kept_as_of_a_file(cli, empty, tmp_path, standard_input, name, create):
    source = tmp_path / name
    if name == "a.csv":
        source.write_bytes(codecs.BOM_UTF16_LE + "".join(f"{line}\n" for line in ROWS).encode("utf-16-le"))
    elif name == "a.warc":
        source.write_bytes(crawl_of_copies(3).bytes())
    else:
        pq.write_table(pa.Table.from_pylist(near_copies(3, 3)), source)
    standard_input(source.read_bytes())
    url, words = (f"file:{tmp_path / 'i'}", ["--create", "--analyzer", "shingle"]) if create else (empty, [])

    of_file = cli("dedup", source, "--analyzer", "shingle", "--output", tmp_path / f"of-file-{name}")
    done = cli("dedup", url, "-", "--input-format", name[2:], *words, "--output", tmp_path / f"piped-{name}")

    assert (of_file.code, done.code) == (0, 0)
    assert done.out == of_file.out
    assert (tmp_path / f"piped-{name}").read_bytes() == (tmp_path / f"of-file-{name}").read_bytes()


SENTENCE = "今天的天气很好，我们去公园。\n" * 9
DATA = {
    "a.jsonl": b'{"text": "x"}\n',
    "a.txt": SENTENCE.encode(),
    "b.txt": SENTENCE.encode("gb18030"),
    "a.csv": b"id,text\n1,x\n",
    "b.csv": b"id,text,more\n1,x,y\n",
    "a.tsv": b"id\ttext\n1\tx\n",
    "a.warc": crawl_of(1, compressed=False).bytes(),
}


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["a.jsonl", "a.txt"], "are jsonl and text"),
        (["a.csv", "a.tsv"], "are csv and tsv"),
        (["b.txt", "a.txt"], "are in gb18030 and utf-8"),
        (["a.csv", "b.csv"], "differ"),
        (["folder", "a.csv"], "are not alike"),
        (["a.warc", "a.jsonl"], "are not alike"),
        (["a.parquet", "a.jsonl"], "are not alike"),
        (["a.parquet", "b.parquet"], "same columns"),
    ],
)
def test_documents_that_are_not_alike_do_not_go_into_one_place(cli, tmp_path, names, sentence):
    for name, data in DATA.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text(text(1))
    for name, columns in (("a.parquet", ("id", "text")), ("b.parquet", ("id", "text", "more"))):
        pq.write_table(pa.table({column: ["x"] for column in columns}), tmp_path / name)
    files = [tmp_path / name for name in names]
    words = ("--create", "--analyzer", "shingle", "--encoding", "auto", "--output", tmp_path / "kept")

    refused = cli("dedup", f"file:{tmp_path / 'i'}", *files, *words)

    assert sentence in refused.usage_error
    assert not (tmp_path / "i").exists()
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("name", ["kept.jsonl.zst", "kept.jsonl.GZ"])
def test_kept_lines_are_compressed_as_the_name_says_over_several_batches(cli, empty, tmp_path, monkeypatch, name):
    monkeypatch.setattr("simhash_hbase.features.chunks.CHUNK_DOCUMENTS", 7)
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
