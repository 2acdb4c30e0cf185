"""``dedup --output`` of lines, in the encoding and the format that they came in, and of whole files, in a folder."""

import codecs
import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from support.corpus import near_copies, text, write_jsonl
from support.crawls import Crawl, crawl_of_copies, page

from simhash_hbase.inputs import read

MARKS = {"utf-8": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-32-be": codecs.BOM_UTF32_BE}
TEXTS = [f"{text(i // 2, changed=i % 2)} 第{i}號" for i in range(6)]
ROWS = ["id,text", *(f'{i},"{words}"' for i, words in enumerate(TEXTS))]


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("encoding", MARKS)
@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_kept_lines_stay_in_their_encoding(cli, empty, tmp_path, name, encoding, marked):
    lines, wanted = (ROWS, [ROWS[0], *ROWS[1::2]]) if name == "a.csv" else (TEXTS, TEXTS[::2])
    mark = MARKS[encoding] if marked else b""
    kept = tmp_path / f"kept {name}"
    (tmp_path / name).write_bytes(mark + "".join(f"{line}\r\n" for line in lines).encode(encoding))
    words = ("dedup", empty, tmp_path / name, "--output", kept, "--results", tmp_path / "results")
    words += () if marked else ("--encoding", encoding)

    for more in ([], ["--resume"]):
        assert cli(*words, *more).code == 0
        assert kept.read_bytes() == mark + "".join(f"{line}\r\n" for line in wanted).encode(encoding)


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


@pytest.mark.parametrize("name", ["a.csv", "a.warc", "a.parquet"])
def test_what_comes_from_standard_input_is_kept_as_of_a_file(cli, empty, tmp_path, standard_input, name):
    source = tmp_path / name
    if name == "a.csv":
        source.write_bytes(codecs.BOM_UTF16_LE + "".join(f"{line}\n" for line in ROWS).encode("utf-16-le"))
    elif name == "a.warc":
        source.write_bytes(crawl_of_copies(3).bytes())
    else:
        pq.write_table(pa.Table.from_pylist(near_copies(3, 3)), source)
    standard_input(source.read_bytes())
    of_file, piped = tmp_path / f"of-file-{name}", tmp_path / f"piped-{name}"

    wanted = cli("dedup", source, "--analyzer", "shingle", "--output", of_file)
    done = cli("dedup", empty, "-", "--input-format", name[2:], "--output", piped)

    assert (wanted.code, done.code) == (0, 0)
    assert done.out == wanted.out
    assert piped.read_bytes() == of_file.read_bytes()


SENTENCE = "今天的天气很好，我们去公园。\n" * 9
DATA = {
    "a.jsonl": b'{"text": "x"}\n',
    "a.txt": SENTENCE.encode(),
    "b.txt": SENTENCE.encode("gb18030"),
    "a.csv": b"id,text\n1,x\n",
    "b.csv": b"id,text,more\n1,x,y\n",
    "a.tsv": b"id\ttext\n1\tx\n",
}


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["a.jsonl", "a.txt"], "are jsonl and text"),
        (["a.csv", "a.tsv"], "are csv and tsv"),
        (["b.txt", "a.txt"], "are in gb18030 and utf-8"),
        (["a.csv", "b.csv"], "differ"),
        (["folder", "a.csv"], "are not alike"),
        (["a.parquet", "a.jsonl"], "are not alike"),
        (["a.parquet", "b.parquet"], "same columns"),
    ],
)
def test_documents_that_are_not_alike_do_not_go_into_one_place(cli, url, tmp_path, names, sentence):
    for name, data in DATA.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text(text(1))
    for name, columns in (("a.parquet", ("id", "text")), ("b.parquet", ("id", "text", "more"))):
        pq.write_table(pa.table({column: ["x"] for column in columns}), tmp_path / name)
    words = ("--create", "--encoding", "auto", "--output", tmp_path / "kept")

    assert sentence in cli("dedup", url, *(tmp_path / name for name in names), *words).usage_error
    assert not (tmp_path / "new.index").exists()
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("name", ["kept.jsonl.zst", "kept.jsonl.GZ"])
def test_kept_lines_are_compressed_as_the_name_says_over_several_batches(cli, empty, tmp_path, monkeypatch, name):
    monkeypatch.setattr("simhash_hbase.features.chunks.CHUNK_DOCUMENTS", 7)
    documents = near_copies(10, 2)
    file, kept = write_jsonl(tmp_path / "a.jsonl", documents), tmp_path / name

    assert cli("dedup", empty, file, "--output", kept, "--workers", 1).code == 0

    with (zstandard if name.endswith("zst") else gzip).open(kept, "rt", encoding="utf-8") as lines:
        assert [json.loads(line) for line in lines] == documents[::2]


def test_a_kept_crawl_is_compressed_by_zstd_where_its_name_says_so(cli, empty, tmp_path):
    crawl = Crawl()
    for number in range(3):
        crawl.answer(f"https://a.example/{number}", page(text(number // 2, changed=number % 2)))
    (tmp_path / "a.warc.gz").write_bytes(crawl.bytes())
    kept = tmp_path / "kept.warc.zst"

    assert cli("dedup", empty, tmp_path / "a.warc.gz", "--output", kept).code == 0

    assert kept.read_bytes().startswith(zstandard.FRAME_HEADER)
    assert [found.id for found in read([str(kept)])] == ["https://a.example/0", "https://a.example/2"]


PACKERS = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}


@pytest.fixture
def source(tmp_path):
    """Return a folder of texts in several folders and codecs; every second is a copy of the one before."""
    folder = tmp_path / "source"
    for number, suffix in enumerate(PACKERS):
        for copy in range(2):
            file = folder / f"part {number}" / f"{copy}.txt{suffix}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(PACKERS[suffix](text(number, changed=copy).encode()))
    return folder


def held(folder):
    opened = {"": bytes, ".gz": gzip.decompress, ".zst": zstandard.decompress}
    files = {path for path in folder.rglob("*") if path.is_file()}
    return {str(f.relative_to(folder)): opened[f.suffix.replace(".txt", "")](f.read_bytes()) for f in files}


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_the_kept_files_are_as_they_came_under_the_same_names(cli, empty, source, tmp_path, keep):
    done = cli("dedup", empty, source, "--output", tmp_path / "kept", "--keep", keep)

    assert done.code == 0
    assert len(done.originals) == 3
    assert held(tmp_path / "kept") == {name: data for name, data in held(source).items() if name in done.originals}


def set_back(results):
    """Leave a checkpoint as it was before the first batch."""
    checkpoint = Path(f"{results}.checkpoint")
    begun = json.loads(checkpoint.read_bytes())
    zeros = {name: 0 for name in ("records", "read", "originals", "refused", "result_bytes", "kept_bytes")}
    checkpoint.write_text(json.dumps(begun | zeros | {"finished": False}))


def test_a_restart_ends_with_the_same_files(cli, empty, source, tmp_path):
    results = tmp_path / "results"
    words = ("dedup", empty, source, "--output", tmp_path / "kept", "--resume", "--results", results)
    assert cli(*words).code == 0
    before = held(tmp_path / "kept")
    # As after a crash behind the first commit, with a file that was written since and is not whole.
    set_back(results)
    torn = next(path for path in (tmp_path / "kept").rglob("*.txt"))
    torn.write_bytes(torn.read_bytes()[:3])

    assert cli(*words).code == 0

    assert held(tmp_path / "kept") == before


def test_resume_without_an_earlier_run_writes_over_nothing(cli, empty, source, tmp_path):
    mine = tmp_path / "kept" / "part 0" / "0.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")

    done = cli("dedup", empty, source, "--output", tmp_path / "kept", "--results", tmp_path / "new", "--resume")

    assert "exists already and is not empty" in done.usage_error
    assert mine.read_text() == "mine"


def test_a_resumed_run_follows_no_link_in_its_folder(cli, empty, source, tmp_path):
    results, mine = tmp_path / "results", tmp_path / "mine"
    words = ("dedup", empty, source, "--output", tmp_path / "kept", "--resume", "--results", results)
    assert cli(*words).code == 0
    mine.write_text("mine")
    kept = next(path for path in (tmp_path / "kept").rglob("*.txt"))
    kept.unlink()
    kept.symlink_to(mine)
    set_back(results)

    assert cli(*words).code == 2
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("name", ["kept", "kept/mine"], ids=["a file", "a folder with something in it"])
def test_what_is_there_already_is_left_alone(cli, empty, source, tmp_path, name):
    mine = tmp_path / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")

    assert cli("dedup", empty, source, "--output", tmp_path / "kept").usage_error
    assert mine.read_text() == "mine"


def test_a_file_named_by_itself_is_kept_where_its_name_leads_below_the_folder(cli, source, tmp_path, monkeypatch):
    monkeypatch.chdir(source)
    words = ("--input-format", "folder", "--output", tmp_path / "kept")

    assert "leads elsewhere" in cli("dedup", source / "part 0" / "0.txt", *words).usage_error
    assert not (tmp_path / "kept").exists()
    assert cli("dedup", "part 0/0.txt", "part 0/1.txt", *words).code == 0
    assert list(held(tmp_path / "kept")) == ["part 0/0.txt"]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "txt"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_kept_lines_end_as_those_of_the_input(cli, tmp_path, suffix, end):
    rows = [f"{number},{text(number)}" for number in range(3)]
    if suffix == "jsonl":
        rows = [json.dumps({"id": number, "text": text(number)}) for number in range(3)]
    path, kept = tmp_path / f"a.{suffix}", tmp_path / f"kept.{suffix}"
    lines = ["id,text", *rows] if suffix == "csv" else rows
    path.write_bytes(("".join(line + end for line in lines)).encode())

    assert cli("dedup", path, "--output", kept).code == 0
    assert kept.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_value_of_csv_keeps_its_line_ends_in_the_output(cli, tmp_path, end):
    path, kept = tmp_path / "a.csv", tmp_path / "kept.csv"
    path.write_bytes(f'id,text\r\n1,"{text(1)}{end}{text(2)}"\r\n'.encode())

    assert cli("dedup", path, "--output", kept).code == 0
    assert kept.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("number", ["NaN", "1e999", "-Infinity"])
def test_a_number_that_is_none_is_null_in_another_format(cli, tmp_path, number):
    path, kept = tmp_path / "a.jsonl", tmp_path / "kept.csv"
    path.write_text(f'{{"id": "a", "text": "{text(1)}", "score": {number}}}\n')

    assert cli("dedup", path, "--output", kept).code == 0
    assert kept.read_text().splitlines() == ["id,text,score", f"a,{text(1)},"]
