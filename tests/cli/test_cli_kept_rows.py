"""``dedup --output`` of Parquet, with the same columns, and of rows by the name of another format: converted."""

import csv
import gzip
import io
import json
from datetime import UTC, datetime
from itertools import product

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.corpus import near_copies, write_jsonl

from simhash_hbase.corpus.writers import KeptRows

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("text", pa.large_string()),
        ("kind", pa.dictionary(pa.int32(), pa.string())),
        ("tags", pa.list_(pa.string())),
        ("view", pa.string_view()),
        ("at", pa.timestamp("ms", "UTC")),
        pa.field("picture", pa.binary(), metadata={"of": "the page"}),
    ],
    metadata={"made by": "a test"},
)


def table(groups, copies=3):
    rows = [
        {**record, "kind": f"kind {at % 2}", "tags": ["a"] * (at % 3), "view": "v" * at, "at": at, "picture": b"\xff"}
        for at, record in enumerate(near_copies(groups, copies))
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.fixture
def source(tmp_path):
    """Return a file of 60 rows in groups of 25, in whose 20 groups of three the first is kept."""
    path = tmp_path / "a.parquet"
    pq.write_table(table(20), path, row_group_size=25, compression={"text": "zstd", "picture": "none"})
    return path


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_the_kept_rows_come_back_with_their_columns_types_codecs_and_groups(cli, empty, source, tmp_path, keep):
    kept = tmp_path / "kept.parquet"

    done = cli("dedup", empty, source, "--output", kept, "--keep", keep)

    before, after = pq.ParquetFile(source), pq.ParquetFile(kept)
    whole = before.read()
    assert len(done.originals) == 20
    assert done.err.startswith("--output keeps rows, schema, codecs and row groups")
    assert after.read().to_pylist() == [row for row in whole.to_pylist() if row["id"] in done.originals]
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    assert after.schema_arrow.metadata == SCHEMA.metadata
    assert after.metadata.num_row_groups == 3
    for at in range(7):
        wanted, column = (file.metadata.row_group(0).column(at) for file in (before, after))
        assert column.compression == wanted.compression


def test_rows_of_several_files_come_into_one(cli, empty, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    rows = table(8)
    pq.write_table(rows[:5], folder / "1.parquet")
    pq.write_table(rows[5:9].replace_schema_metadata({"made by": "another"}), folder / "2.parquet")
    (folder / "3.parquet").write_bytes(b"no Parquet")
    pq.write_table(rows[9:], folder / "4.parquet")

    done = cli("dedup", empty, folder, "--output", tmp_path / "kept.parquet", "--rejects", tmp_path / "rejects")

    assert done.code == 3
    assert pq.read_table(tmp_path / "kept.parquet")["id"].to_pylist() == [f"group {n} copy 0" for n in range(8)]


def damage(path, start):
    data = bytearray(path.read_bytes())
    data[start : start + 12] = b"\xff" * 12
    path.write_bytes(data)


def test_only_rows_behind_damage_are_refused(cli, empty, tmp_path):
    path, rows = tmp_path / "a.parquet", table(12, 1)
    pq.write_table(rows, path, row_group_size=4, compression="zstd", use_dictionary=False)
    damage(path, pq.ParquetFile(path).metadata.row_group(1).column(1).data_page_offset)

    done = cli("dedup", empty, path, "--output", tmp_path / "kept.parquet", "--quiet")

    assert done.code == 3
    assert pq.read_table(tmp_path / "kept.parquet").to_pylist() == [*rows[:4].to_pylist(), *rows[8:].to_pylist()]


def test_damage_in_a_column_that_was_not_read_before_ends_in_a_sentence(cli, empty, source, tmp_path):
    damage(source, pq.ParquetFile(source).metadata.row_group(1).column(6).dictionary_page_offset)

    done = cli("dedup", empty, source, "--output", tmp_path / "kept.parquet", "--quiet")

    assert (done.code, len(done.records)) == (1, 60)
    assert f"{source}: rows to be kept cannot be copied" in done.sentence
    assert not list(tmp_path.glob("kept*"))


@pytest.mark.parametrize("name", ["kept.parquet", "kept.jsonl"])
def test_rows_of_a_file_that_was_replaced_meanwhile_are_not_kept(cli, empty, source, tmp_path, monkeypatch, name):
    finish = KeptRows.finish

    def replaced_before(self, listener):
        pq.write_table(table(20).slice(1), tmp_path / "other.parquet", row_group_size=25)
        (tmp_path / "other.parquet").replace(source)
        finish(self, listener)

    monkeypatch.setattr(KeptRows, "finish", replaced_before)
    done = cli("dedup", empty, source, "--output", tmp_path / name)

    assert done.code == 1
    assert "a.parquet was changed, replaced or removed while it was read" in done.err
    assert not (tmp_path / name).exists()


def test_a_large_row_group_becomes_several(cli, empty, source, tmp_path, monkeypatch):
    monkeypatch.setattr("simhash_hbase.inputs.parquet._GROUP_BYTES", 20_000)
    kept = tmp_path / "kept.parquet"

    done = cli("dedup", empty, source, "--output", kept)

    assert pq.read_table(kept)["id"].to_pylist() == done.originals
    assert 3 < pq.ParquetFile(kept).metadata.num_row_groups < 20


@pytest.fixture
def records():
    more = [
        {"n": 1, "share": 0.5, "is": True, "tags": [], "at": {"page": 1}, "mixed": 1, "big": 2**63},
        {"n": None, "share": 2, "tags": ["a", "b"], "at": {}, "mixed": "1", "note": 'a "quoted", \r two-\nline 汉字'},
    ]
    return [{**record, **more[at % 2]} for at, record in enumerate(near_copies(20, 3))]


SOURCES = ("a.jsonl", "a.jsonl.gz", "a.csv", "a.tsv", "a.parquet")
TARGETS = ("kept.parquet", "kept.csv", "kept.tsv.gz", "kept.jsonl")


def as_csv(records, delimiter=","):
    out = io.StringIO()
    writer = csv.DictWriter(out, ["id", "text", "n", "note"], delimiter=delimiter, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


def source_of(folder, records, name):
    path = folder / name
    if ".jsonl" in name:
        return write_jsonl(path, records)
    if name.endswith(".parquet"):
        rows = [{key: record.get(key) for key in ("id", "text", "n", "note")} for record in records]
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text(as_csv(records, "\t" if ".tsv" in name else ","), encoding="utf-8", newline="")
    return path


def rows_of(path):
    """Read a file by another library than the package's."""
    if path.name.endswith(".parquet"):
        return pq.read_table(path).to_pylist()
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    if ".jsonl" in path.name:
        return [json.loads(line) for line in text.split("\n")[:-1]]
    delimiter = "\t" if ".tsv" in path.name else ","
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))


@pytest.mark.parametrize("names", list(product(SOURCES, TARGETS)), ids=" ".join)
def test_the_name_of_the_output_says_its_format(cli, empty, tmp_path, records, names):
    source, target = names
    file = source_of(tmp_path, records, source)

    done = cli("dedup", empty, file, "--output", tmp_path / target, "--keep", "longest")

    assert done.code == 0, done.err
    chosen = {record["id"]: record for record in records}
    kept = rows_of(tmp_path / target)
    assert [row["id"] for row in kept] == done.originals
    assert [row["text"] for row in kept] == [chosen[name]["text"] for name in done.originals]
    assert [row.get("note") or None for row in kept] == [chosen[name].get("note") for name in done.originals]
    assert {str(row.get("n") or "") for row in kept} == {"1", ""}
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source, target, "some.index"])


def test_columns_of_json_lines_get_the_types_that_their_values_have(cli, empty, tmp_path, records):
    done = cli("dedup", empty, source_of(tmp_path, records, "a.jsonl"), "--output", tmp_path / "kept.parquet")

    table = pq.read_table(tmp_path / "kept.parquet")
    assert done.err.startswith("--output converts JSON lines to Parquet: ")
    assert {field.name: str(field.type) for field in table.schema} == {
        "id": "string", "text": "string", "n": "int64", "share": "double", "is": "bool", "at": "string",
        "tags": "list<element: string>", "mixed": "string", "big": "string", "note": "string",
    }  # fmt: skip
    by_id = {record["id"]: record for record in records}
    for row in table.to_pylist():
        record = by_id[row["id"]]
        assert json.loads(row["at"]) == record["at"]
        assert (row["mixed"], row["tags"]) == ("1", record["tags"])
        # Above 64 bits with a sign pyarrow infers no type.
        assert row["big"] == ("9223372036854775808" if "big" in record else None)


def test_values_of_parquet_that_json_does_not_know_are_written_as_text(cli, empty, tmp_path, records):
    row = {"id": "a", "text": records[0]["text"], "at": datetime.fromtimestamp(1, UTC), "raw": b"\xff"}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")

    cli("dedup", empty, tmp_path / "a.parquet", "--output", tmp_path / "kept.jsonl")

    assert rows_of(tmp_path / "kept.jsonl") == [{**row, "at": "1970-01-01T00:00:01Z", "raw": "/w=="}]


@pytest.mark.parametrize(
    "case",
    [
        ("a.parquet", "kept.parquet.gz", "Parquet compresses inside of the file: name it .parquet"),
        ("a.jsonl", "kept.warc.gz", "a crawl by its name, and the input is JSON lines: name it .jsonl, .csv, "),
        ("a.txt", "kept.parquet", "Parquet by its name, and the input is text: name it .txt"),
        ("twice.csv", "kept.jsonl", "the column 'n' is there twice"),
        ("folder", "kept.jsonl", "JSON lines by its name, and the input is files: name a folder"),
        ("a.jsonl", "s3://bucket/kept.parquet", "is written to this machine: name a path, then copy it"),
    ],
)  # fmt: skip
def test_what_cannot_be_converted_is_refused_before_the_work(cli, tmp_path, records, monkeypatch, case):
    source, target, message = case
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "a.csv", "a.parquet"):
        source_of(tmp_path, records, name)
    (tmp_path / "a.txt").write_text("a line\nanother line\n")
    (tmp_path / "twice.csv").write_text("id,text,n,n\n1,a text,1,2\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("some text")
    before = sorted(tmp_path.iterdir())

    refused = cli("dedup", "file:new.index", source, "--create", "--analyzer", "shingle", "--output", target)

    assert refused.usage_error.startswith(f"--output {target}")
    assert message in refused.sentence
    assert sorted(tmp_path.iterdir()) == before


def test_csv_in_another_encoding_is_converted_from_it(cli, empty, tmp_path, records):
    (tmp_path / "a.csv").write_bytes(as_csv(records).encode("gb18030"))

    cli("dedup", empty, tmp_path / "a.csv", "--encoding", "gb18030", "--output", tmp_path / "kept.jsonl")

    assert {row["note"] for row in rows_of(tmp_path / "kept.jsonl")} == {"", records[1]["note"]}


def test_a_name_that_says_no_format_keeps_what_came(cli, empty, tmp_path, corpus_file):
    assert cli("dedup", empty, corpus_file, "--output", tmp_path / "kept.out").code == 0

    assert set((tmp_path / "kept.out").read_bytes().splitlines()) <= set(corpus_file.read_bytes().splitlines())
