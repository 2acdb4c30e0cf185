"""Tables of rarer kinds: rows with nulls, subclasses, odd names of columns; and the line that warnings name."""

from pathlib import Path

import datasets
import pandas
import polars
import pyarrow as pa
import pytest

import simhash_hbase.tables
from simhash_hbase import InvalidArgument
from simhash_hbase.tables import RefusedRows, drop_near_duplicates, mark_near_duplicates

ROWS = [{"id": name, "text": words} for name, words in (("a", "some words"), ("b", None), ("c", "some words"))]


def test_an_iterable_data_set_may_have_nulls_in_some_rows_only(tmp_path):
    rows = [{"text": words, "tags": tags} for words, tags in (("a text", []), (None, ["x"]), ("a text", None))]
    made = [datasets.IterableDataset.from_generator(lambda: iter(rows), features=features)
            for features in (None, datasets.Features(text=datasets.Value("string"),
                                                     tags=datasets.List(datasets.Value("string"))))]  # fmt: skip

    for given in (*made, made[0].map(lambda row: row)):
        with pytest.warns(RefusedRows):
            marked = list(mark_near_duplicates(given, analyzer="shingle"))
        assert [row["duplicate_of"] for row in marked] == [None, None, "0"]
        with pytest.warns(RefusedRows):
            mark_near_duplicates(given, analyzer="shingle").to_parquet(tmp_path / "marked.parquet")
        assert polars.read_parquet(tmp_path / "marked.parquet")["cluster"].to_list() == ["0", None, "0"]


def test_an_iterable_data_set_without_rows_and_features_is_refused():
    with pytest.raises(InvalidArgument, match=r"^the data set has neither rows nor features"):
        drop_near_duplicates(datasets.IterableDataset.from_generator(lambda: iter([])))


class Frame(pandas.DataFrame):
    """A subclass with a result of its own type, as geopandas has."""

    @property
    def _constructor(self):
        return Frame


@pytest.mark.filterwarnings("ignore::simhash_hbase.tables.RefusedRows")
def test_a_subclass_is_taken_for_what_it_extends():
    kept = drop_near_duplicates(Frame(ROWS), unreadable="drop", analyzer="shingle")

    assert isinstance(kept, Frame)
    assert kept["id"].tolist() == ["a"]


def test_a_column_of_ids_may_have_any_name():
    table = pa.table({"number of text": ["x", "y"], "text": ["some words"] * 2})

    marked = mark_near_duplicates(table, id="number of text", analyzer="shingle")

    assert marked["duplicate_of"].to_pylist() == [None, "x"]


def test_a_column_whose_name_is_no_string_is_not_found_by_its_digits():
    with pytest.raises(InvalidArgument, match=r"^the table has no column '0'; it has text$"):
        drop_near_duplicates(pandas.DataFrame({0: ["some words"], "text": ["some words"]}), text="0")


KINDS = {
    "pyarrow": (pa.Table.from_pylist, len),
    "reader": (lambda rows: pa.Table.from_pylist(rows).to_reader(), pa.RecordBatchReader.read_all),
    "pandas": (pandas.DataFrame, len),
    "iterable": (lambda rows: datasets.Dataset.from_list(rows).to_iterable_dataset(), list),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_warning_names_the_line_that_called(kind):
    make, read = KINDS[kind]

    with pytest.warns(RefusedRows) as warned:
        read(drop_near_duplicates(make(ROWS), unreadable="drop", analyzer="shingle"))

    assert not warned[0].filename.startswith(str(Path(simhash_hbase.tables.__file__).parent))


def test_the_limit_of_a_text_may_be_raised_and_lowered():
    table = pa.table({"text": ["some words", "some longer words"]})

    with pytest.warns(RefusedRows, match="row 1: the text is longer than 12 bytes; `max_document_bytes` raises"):
        kept = drop_near_duplicates(table, unreadable="drop", analyzer="shingle", max_document_bytes=12)

    assert kept["text"].to_pylist() == ["some words"]
    assert len(drop_near_duplicates(table, analyzer="shingle", max_document_bytes=1 << 30)) == len(table)
