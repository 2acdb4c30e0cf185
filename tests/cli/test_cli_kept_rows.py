"""``dedup --output`` of Parquet: the kept rows in a file with the same columns."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.corpus import near_copies

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


def test_refused_rows_are_not_among_the_kept(cli, empty, tmp_path):
    rows, kept = table(4, 1), tmp_path / "kept.parquet"
    first = [{**rows[:1].to_pylist()[0], "text": words} for words in (None, "…", "an other text")]
    pq.write_table(pa.concat_tables([pa.Table.from_pylist(first, SCHEMA), rows]), tmp_path / "b.parquet")

    done = cli("dedup", empty, tmp_path / "b.parquet", "--output", kept, "--quiet")

    assert done.code == 3
    assert pq.read_table(kept)["id"].to_pylist() == [record["id"] for record in done.records]
    assert pq.read_table(kept)["text"][0].as_py() == "an other text"


def damage(path, start):
    data = bytearray(path.read_bytes())
    data[start : start + 12] = b"\xff" * 12
    path.write_bytes(data)


def test_rows_behind_damage_are_refused_and_those_before_it_are_kept(cli, empty, tmp_path):
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


def test_a_large_row_group_becomes_several(cli, empty, source, tmp_path, monkeypatch):
    monkeypatch.setattr("simhash_hbase.inputs.parquet._GROUP_BYTES", 20_000)
    kept = tmp_path / "kept.parquet"

    done = cli("dedup", empty, source, "--output", kept)

    assert pq.read_table(kept)["id"].to_pylist() == done.originals
    assert 3 < pq.ParquetFile(kept).metadata.num_row_groups < 20
