"""Rows of Parquet become documents, a batch at a time."""

import datetime
import json
import uuid
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simhash_hbase.errors import InvalidInput
from simhash_hbase.inputs import InputOptions, Progress, Reject, read, total_bytes
from simhash_hbase.inputs.parquet import batch_of, schema_of_rows

TEXTS = [f"文 {number}" for number in range(2_500)]


def write(path, columns, **options):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    pq.write_table(table, path, **options)
    return str(path)


def shown(records):
    return [(r.place.line, r.reason) if isinstance(r, Reject) else (r.place.line, r.id, r.text) for r in records]


def test_metadata_in_columns_of_bytes_is_text_or_else_base64(tmp_path):
    columns = {"text": ["a", "b"], "url": pa.array(["http://a.example/é".encode(), b"\xff\xfe"], pa.binary())}
    path = write(tmp_path / "a.parquet", columns)

    kept = [record.metadata for record in read([path], InputOptions(metadata_fields=("url",)))]
    agreed = [record.metadata for record in read([path], InputOptions(agree_field="url"))]

    assert kept == [{"url": "http://a.example/é"}, {"url": "//4="}]
    assert agreed == [{"url": "http://a.example/é"}, {"url": "\\xff\\xfe"}]


@pytest.mark.parametrize("group", [1, 7, 1_000_000])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_rows_come_back_in_order(tmp_path, group, compression):
    texts = TEXTS[: min(len(TEXTS), group * 50)]
    columns = {"text": texts, "id": range(len(texts)), "n": [None] * len(texts)}
    path = write(tmp_path / "a.parquet", columns, row_group_size=group, compression=compression)
    got = shown(read([path]))

    assert got == [(row, str(row - 1), text) for row, text in enumerate(texts, 1)]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_strings_of_every_kind_are_read(tmp_path, kind):
    path = write(tmp_path / "a.parquet", {"text": pa.array(["a", "b", "a"]).cast(kind)})
    assert shown(read([path])) == [(row, f"{path}:{row}", text) for row, text in enumerate("aba", 1)]


def overwrite(path, start):
    data = bytearray(path.read_bytes())
    data[start : start + 12] = b"\xff" * 12
    path.write_bytes(data)


def test_only_columns_that_options_name_are_read(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {"key": ["k1", "k2"], "picture": [b"\xab" * 5000] * 2, "body": ["eins", "zwei"]}
    write(path, columns, compression="none", use_dictionary=False)
    overwrite(path, pq.ParquetFile(path).metadata.row_group(0).column(1).data_page_offset)
    with pytest.raises((OSError, pa.ArrowException)):
        pq.read_table(path)

    got = shown(read([str(path)], InputOptions(id_field="key", text_field="body")))

    assert got == [(1, "k1", "eins"), (2, "k2", "zwei")]


def test_metadata_are_what_json_knows(tmp_path):
    columns = {
        "text": ["x"],
        "day": [datetime.date(2026, 1, 2)],
        "at": pa.array([1_700_000_000_123], pa.timestamp("ms", "UTC")),
        "price": [Decimal("1.50")], "tags": [["a", "b"]], "none": pa.array([None], pa.int64()),
    }  # fmt: skip
    path = write(tmp_path / "a.parquet", columns)

    (found,) = read([path], InputOptions(metadata_fields=("day", "at", "price", "tags", "none", "missing")))

    assert json.loads(json.dumps(found.metadata)) == {
        "day": "2026-01-02", "at": "2023-11-14T22:13:20.123000Z", "price": "1.50", "tags": ["a", "b"], "none": None,
    }  # fmt: skip


def test_own_fingerprints_and_features_are_read(tmp_path):
    columns = {"id": ["a"], "h": pa.array([2**64 - 1], pa.uint64()), "f": ['[["x", 2]]']}
    path = write(tmp_path / "a.parquet", columns)
    (by_simhash,) = read([path], InputOptions(simhash_field="h"))
    (by_features,) = read([path], InputOptions(features_field="f"))

    assert by_simhash.simhash == 2**64 - 1
    assert by_features.features == (("x", 2.0),)


def test_a_bad_row_is_refused_by_its_number(tmp_path):
    not_utf8 = pa.array([b"\xff\xfe"]).view(pa.string())
    text = pa.concat_arrays([pa.array(["good", None, " "]), not_utf8, pa.array(["last"])])
    path = write(tmp_path / "a.parquet", {"id": ["1", "2", "3", "4", None], "text": text, "other": range(5)})
    got = list(read([path]))

    assert shown(got) == [
        (1, "1", "good"), (2, "the field 'text' is not a string but null"), (3, "the text is empty"),
        (4, "the column 'text' is not utf-8"), (5, "the id is neither a string nor an integer but null"),
    ]  # fmt: skip
    assert json.loads(got[1].raw) == {"id": "2", "text": None}


def test_a_damaged_row_group_costs_its_own_rows_only(tmp_path):
    path = tmp_path / "a.parquet"
    write(path, {"id": range(9), "text": [f"text {n}" for n in range(9)]}, row_group_size=3, compression="zstd")
    overwrite(path, pq.ParquetFile(path).metadata.row_group(1).column(1).dictionary_page_offset)
    got = shown(read([str(path)]))

    assert [entry[0] for entry in got] == [1, 2, 3, 4, 7, 8, 9]
    assert got[3][1].startswith("rows 4 to 6 cannot be read: ")


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["id", "body", "x"], "has no column 'text'; it has id, body, x"),
        (["id", "text", "text"], "the column 'text' twice"),
    ],
)
def test_a_file_without_one_column_of_texts_is_one_reject(tmp_path, names, reason):
    (refused,) = read([write(tmp_path / "a.parquet", pa.table([["1"], ["x"], ["y"]], names=names))])

    assert refused.place.line == 0
    assert reason in refused.reason


def test_progress_ends_at_the_total(tmp_path):
    path = write(tmp_path / "a.parquet", {"text": TEXTS}, row_group_size=1_000)
    progress = Progress()
    records = read([path], progress=progress)
    next(records)
    begun = progress.bytes_read
    list(records)

    assert begun < total_bytes([path]) // 2
    assert progress.bytes_read == total_bytes([path])


@pytest.mark.slow
def test_memory_does_not_grow_with_a_row_group(tmp_path):
    columns = {"text": [f"{number} " * 8_000 for number in range(1_000, 1_800)]}
    path = write(tmp_path / "a.parquet", columns, use_dictionary=False, compression="none", write_batch_size=10)
    before = pa.total_allocated_bytes()
    held = max(pa.total_allocated_bytes() - before for _ in read([path]))

    assert total_bytes([path]) > 30 << 20
    assert held < 16 << 20


def test_only_a_value_in_an_unknown_time_zone_is_refused(tmp_path):
    times = pa.array([datetime.datetime(2026, 1, 1), None]).cast(pa.timestamp("us", "Mars/Phobos"))
    path = write(tmp_path / "a.parquet", {"text": ["a", "b"], "time": times})
    refused, read_one = read([path], InputOptions(metadata_fields=("time",)))

    assert refused.place.line == 1
    assert "Mars/Phobos" in refused.reason
    assert read_one.text == "b"


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_text_in_columns_of_bytes_is_read_in_its_encoding(tmp_path, encoding):
    texts = pa.array(["一二".encode(encoding), b"\xff"], pa.binary())
    path = write(tmp_path / "a.parquet", {"text": texts, "id": pa.array([b"k1", b"k2"], pa.large_binary())})
    one, refused = read([path], InputOptions(encoding=encoding))

    assert (one.id, one.text) == ("k1", "一二")
    assert refused.reason == f"the column 'text': the bytes are not {encoding}: 0xff at byte 1"


def test_parquet_of_standard_input_is_refused():
    with pytest.raises(InvalidInput, match="from standard input"):
        read(["-"], InputOptions(format="parquet"))


def test_a_column_whose_lists_differ_in_kind_from_batch_to_batch_is_one_of_json():
    batches = [[{"tags": ["a"]}], [{"tags": [1]}]]
    tables = [batch_of(rows, schema_of_rows(batches)).to_pylist() for rows in batches]
    assert tables == [[{"tags": '["a"]'}], [{"tags": "[1]"}]]


@pytest.mark.parametrize(
    ("column", "ids"),
    [
        (pa.array([uuid.UUID(int=5).bytes], pa.uuid()), ["00000000-0000-0000-0000-000000000005"]),
        (pa.array([Decimal(12345678901234567890), Decimal(7)], pa.decimal128(20, 0)), ["12345678901234567890", "7"]),
    ],
)
def test_ids_may_be_uuids_and_decimals(tmp_path, column, ids):
    path = write(tmp_path / "a.parquet", {"id": column, "text": ["x"] * len(ids)})
    assert [record.id for record in read([path])] == ids
