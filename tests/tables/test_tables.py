"""Tables get the decisions of `dedup` on the same rows as JSON lines, in the caller's own type."""

import re
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import datasets
import duckdb
import pandas
import polars
import pyarrow as pa
import pytest
from support.corpus import forms, near_copies, text, write_jsonl
from support.results import python, run

import simhash_hbase.tables
from simhash_hbase import InvalidArgument, InvalidProfile, create_index, open_index
from simhash_hbase.tables import RefusedRows, drop_near_duplicates, mark_near_duplicates, progress
from simhash_hbase.tables.dedup import DedupRequest

FEATURES = datasets.Features(
    {"id": datasets.Value("string"), "kind": datasets.ClassLabel(names=["a", "b"]), "text": datasets.Value("string")}
)
# What makes a table of rows, and what makes rows of a result, each with the type that is given back.
KINDS = {
    "list": (list, list, list),
    "pyarrow": (pa.Table.from_pylist, pa.Table, pa.Table.to_pylist),
    "batch": (pa.RecordBatch.from_pylist, pa.Table, pa.Table.to_pylist),
    "reader": (lambda rows: pa.Table.from_pylist(rows).to_reader(7), pa.RecordBatchReader,
               lambda found: found.read_all().to_pylist()),
    "polars": (polars.DataFrame, polars.DataFrame, polars.DataFrame.to_dicts),
    "lazy": (polars.LazyFrame, polars.LazyFrame, lambda found: found.collect().to_dicts()),
    "polars stream": (lambda rows: pa.RecordBatchReader.from_stream(polars.DataFrame(rows)), pa.RecordBatchReader,
                      lambda found: found.read_all().to_pylist()),
    "pandas": (pandas.DataFrame, pandas.DataFrame,
               lambda found: pa.Table.from_pandas(found, preserve_index=False).to_pylist()),
    "duckdb": (lambda rows: duckdb.from_arrow(pa.Table.from_pylist(rows)), pa.Table, pa.Table.to_pylist),
    "dataset": (lambda rows: datasets.Dataset.from_list(rows, features=FEATURES), datasets.Dataset, list),
    "iterable": (lambda rows: datasets.Dataset.from_list(rows, features=FEATURES).to_iterable_dataset(),
                 datasets.IterableDataset, list),
}  # fmt: skip
MARKS = ("duplicate_of", "distance", "similarity", "cluster")


@pytest.fixture(scope="module")
def rows():
    made = [{**record, "kind": at % 2} for at, record in enumerate(near_copies(12, 3))]
    made[4]["text"] += " one more word, so that this one is longer"
    return [{name: record[name] for name in FEATURES} for record in made]


def dedup(folder, rows, *words, index="made.index"):
    """Decide rows as JSON lines by the command; return its decisions by ids."""
    done = run("dedup", f"file:{folder / index}", write_jsonl(folder / "rows.jsonl", rows), *words)
    assert done.code in (0, 3), done.err
    return {line["id"]: line for line in done.records}


@pytest.fixture(scope="module")
def decided(rows, tmp_path_factory):
    """Return the decisions of the command with either choice of what is kept."""
    return {
        keep: dedup(tmp_path_factory.mktemp("decided"), rows, "--create", "--keep", keep)
        for keep in ("first", "longest")
    }


def of_command(decision):
    names = decision["of"], decision["distance"], decision["similarity"]
    return dict(zip(MARKS, (*names, decision["of"] or decision["id"]), strict=True))


def marks(row):
    return {name: round(row[name], 4) if isinstance(row[name], float) else row[name] for name in MARKS}


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["first", "longest"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_every_type_get_the_decisions_of_the_command(rows, decided, kind, keep):
    make, gives, read = KINDS[kind]

    dropped = drop_near_duplicates(make(rows), id="id", keep=keep)
    marked = mark_near_duplicates(make(rows), id="id", keep=keep)

    assert isinstance(dropped, gives)
    assert isinstance(marked, gives)
    wanted = decided[keep]
    assert read(dropped) == [row for row in rows if wanted[row["id"]]["status"] == "original"]
    assert 0 < len(read(drop_near_duplicates(make(rows), id="id", keep=keep))) < len(rows)
    found = read(marked)
    assert [{name: row[name] for name in FEATURES} for row in found] == rows
    assert [marks(row) for row in found] == [of_command(wanted[row["id"]]) for row in rows]


@pytest.mark.parametrize("kind", ["dataset", "iterable"])
def test_features_of_data_sets_stay(rows, kind):
    make = KINDS[kind][0]

    dropped = drop_near_duplicates(make(rows), analyzer="shingle")
    marked = mark_near_duplicates(make(rows), analyzer="shingle")

    assert dropped.features == FEATURES
    assert {name: marked.features[name] for name in FEATURES} == FEATURES
    assert set(marked.features) - set(FEATURES) == set(MARKS)


@pytest.mark.parametrize("opened", [False, True])
def test_an_iterable_data_set_is_decided_anew_each_time(rows, opened):
    options = {"index": create_index("memory:", analyzer="shingle")} if opened else {"analyzer": "shingle"}
    stream = drop_near_duplicates(KINDS["iterable"][0](rows), id="id", **options)

    assert list(stream) == list(stream)
    assert 0 < len(list(stream)) < len(rows)


def test_the_index_of_a_data_frame_stays(rows):
    frame = pandas.DataFrame(rows).set_index(pandas.Index(range(100, 100 + len(rows))))

    kept = drop_near_duplicates(frame, analyzer="shingle")

    assert all(frame.loc[name, "id"] == kept.loc[name, "id"] for name in kept.index)
    assert mark_near_duplicates(frame, analyzer="shingle").index.equals(frame.index)


@pytest.mark.slow
def test_the_idf_is_learned_from_the_same_texts_as_by_the_command(tmp_path):
    rows = [{"id": str(at), "text": text(at, count=5)} for at in range(4_000)]
    dedup(tmp_path, [*rows, {"id": "empty", "text": " "}], "--create", "--workers", "1")
    with open_index(f"file:{tmp_path / 'made.index'}", readonly=True) as index:
        wanted = index.profile

    table = pa.Table.from_pylist(rows)
    request = DedupRequest("text", "raise", {"id": "id", "keep": "first", "index": None})
    with request.opened(lambda: table.to_batches(max_chunksize=999)) as index:
        assert index.profile.idf == wanted.idf


@pytest.mark.slow
def test_near_text_leaves_out_pages_of_one_template():
    pages = forms(30)

    assert len(drop_near_duplicates(pages, near="text")) < 5
    assert len(drop_near_duplicates(pages, near="subject")) == len(drop_near_duplicates(pages)) > 10
    with pytest.raises(InvalidProfile, match="near text decides"):
        drop_near_duplicates(pages, near="text", free_distance=10)


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("kind", ["polars", "reader"])
def test_rows_are_compared_with_an_index_that_holds_earlier_ones(tmp_path, rows, kind, opened):
    make, _, read = KINDS[kind]
    url = f"file:{tmp_path / 'mine.index'}"
    create_index(url, analyzer="shingle").close()
    dedup(tmp_path, rows[:10], "--create", "--analyzer", "shingle")
    wanted = dedup(tmp_path, rows[10:])
    index = open_index(url) if opened else url

    read(drop_near_duplicates(make(rows[:10]), id="id", index=index))
    found = read(mark_near_duplicates(make(rows[10:]), id="id", index=index))

    assert [marks(row) for row in found] == [of_command(wanted[row["id"]]) for row in rows[10:]]
    assert found[0]["duplicate_of"] == rows[9]["id"]
    if opened:
        assert index.get(rows[0]["id"]) is not None
        index.close()


@pytest.mark.parametrize("kind", KINDS)
def test_no_row_is_left_out_unasked(rows, kind):
    make, _, read = KINDS[kind]
    repeated = [{**row, "id": "the same 7"} for row in rows[::3]]
    empty = [rows[0], {**rows[1], "text": " "}, rows[6]]

    for bad, reason in (
        (repeated, "row 1: the id 'the same 7' came before in this input;"),
        (empty, "row 1: the text is empty;"),
    ):
        with pytest.raises(InvalidArgument, match=f"^{reason}.* unreadable='keep' keeps .*, 'drop' leaves them out$"):
            read(drop_near_duplicates(make(bad), id="id", analyzer="shingle"))
        with pytest.warns(RefusedRows):
            kept = read(drop_near_duplicates(make(bad), id="id", unreadable="keep", analyzer="shingle"))
        assert [row["text"] for row in kept] == [row["text"] for row in bad]


def test_the_column_of_texts_may_be_the_second_argument():
    table = pa.table({"body": ["some words", "some words"]})

    assert drop_near_duplicates(table, "body", analyzer="shingle").to_pylist() == [{"body": "some words"}]
    assert mark_near_duplicates(table, "body", analyzer="shingle")["duplicate_of"].to_pylist() == [None, "0"]
    with pytest.raises(InvalidArgument, match=r"^unreadable is 'skip': wanted 'raise', 'keep' or 'drop'$"):
        drop_near_duplicates(table, "body", unreadable="skip")


@pytest.mark.slow
def test_lists_of_strings_are_tables(rows, decided):
    texts = [row["text"] for row in rows]

    assert drop_near_duplicates(texts) == [
        row["text"] for row in rows if decided["first"][row["id"]]["status"] == "original"
    ]
    assert [row["text"] for row in mark_near_duplicates(texts)] == texts
    assert drop_near_duplicates([]) == []


def many(documents):
    return pa.Table.from_pylist([{"id": str(at), "text": text(at, count=20)} for at in range(documents)])


@pytest.mark.slow
def test_a_stream_is_read_no_further_than_the_next_decisions_need():
    table, batches_read = many(6_000), []

    def batches():
        for batch in table.to_batches(max_chunksize=250):
            batches_read.append(batch)
            yield batch

    with create_index("memory:", analyzer="shingle") as index:
        reader = pa.RecordBatchReader.from_batches(table.schema, batches())
        found = drop_near_duplicates(reader, id="id", index=index)
        assert batches_read == []

        found.read_next_batch()

        # A thousand documents are decided at once; the next chunk is read before the first is known to have ended.
        assert len(batches_read) <= 8
        assert len(found.read_all()) == 5_750


@pytest.mark.slow
@pytest.mark.parametrize("until", ["the end", "the first batch"])
def test_nothing_temporary_is_left(tmp_path, monkeypatch, until):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = drop_near_duplicates(many(3_000).to_reader(250), analyzer="shingle")

    found.read_next_batch()
    assert len(list(tmp_path.iterdir())) == 2
    if until == "the end":
        assert len(found.read_all()) == 2_750
    del found

    assert list(tmp_path.iterdir()) == []


def test_two_processes_decide_as_one(rows, decided):
    found = mark_near_duplicates(pa.Table.from_pylist(rows), id="id", workers=2).to_pylist()
    assert [marks(row) for row in found] == [of_command(decided["first"][row["id"]]) for row in rows]


@pytest.mark.parametrize(
    ("table", "wanted", "message"),
    [
        ({"a": ["x"]}, {}, "the table has no column 'text'; it has a"),
        ({"text": ["x"]}, {"id": "id"}, "the table has no column 'id'; it has text"),
        ({"text": ["x"]}, {"index": "file:some.index"},
         "index needs id=COLUMN: the row numbers of two tables are the same"),
        ({"text": ["x"]}, {"keep": "last"}, "keep is 'last': wanted 'first', 'longest', 'best:FIELD', "
         "'best:-FIELD' or 'rank:FIELD=A,B'"),
        ({"text": ["x"], "id": ["x"]}, {"id": "id", "index": "memory:", "similarity": 0.9},
         "the index has its own profile: leave out similarity"),
        ({"text": ["x"]}, {"keep": "best:score"}, "the table has no column 'score'; it has text"),
        ({"text": ["x"]}, {"workers": 0}, "workers is 0: wanted a number from 1"),
        ({"text": ["x"]}, {"workers": "2"}, "workers is '2': wanted a number from 1"),
        ({"text": ["x"], "cluster": [1]}, {}, "the table has a column 'cluster' already: rename that"),
        ({"text": ["x"]}, {"text": 0}, "text is 0: wanted the name of a column"),
        ({"text": ["x"]}, {"contained": 0}, "contained is 0: wanted a share above 0 and up to 1"),
        ({"text": ["x"]}, {"contained": 1.5}, "contained is 1.5: wanted a share above 0 and up to 1"),
        ({"text": ["x"]}, {"contained": "half"}, "contained is 'half': wanted a share above 0 and up to 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_anything_is_read(table, wanted, message):
    for make in (pa.table, polars.DataFrame, pandas.DataFrame, datasets.Dataset.from_dict):
        with pytest.raises(InvalidArgument) as refused:
            mark_near_duplicates(make(table), **wanted)
        assert str(refused.value) == message


WORDS = ["some words", "other things"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *((make(WORDS), r"an? \w+\.\w+ is no table: wanted one of pyarrow, ")
          for make in (pandas.Series, polars.Series, lambda words: pa.chunked_array([words]), tuple)),
        ([1, 2], "a list of int is no table: wanted dictionaries or strings"),
        ([{"text": "a"}, "a"], "a list of dict and str is no table"),
        ([{"text": "a"}, {"text": 5}], "a column has values of several types"),
        ([{"body": "a"}], "the table has no column 'text'; it has body"),
        (datasets.IterableDataset.from_generator(lambda: iter([])), "the data set has neither rows nor features"),
    ],
)  # fmt: skip
def test_what_is_no_table_of_texts_is_refused(given, message):
    with pytest.raises(InvalidArgument, match=f"^{message}"):
        drop_near_duplicates(given)


@pytest.mark.parametrize("index", [None, "memory:"])
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pandas.DataFrame({"text": WORDS, "id": [1, None]}),
         "the column 'id' is of type double: wanted strings or integers; pandas makes floats of integers with gaps"),
        (polars.DataFrame({"text": WORDS, "id": [True, False]}), "the column 'id' is of type bool: wanted strings or"),
        (polars.DataFrame({"text": [1, 2], "id": WORDS}), "the column 'text' is of type int64: wanted strings"),
        (pa.table({"text": [1.5, 2], "id": WORDS}).to_reader(), "the column 'text' is of type double: wanted strings"),
        (datasets.Dataset.from_dict({"text": [WORDS], "id": ["a"]}), "the column 'text' is of type list"),
        (pandas.DataFrame({"text": ["words", 5], "id": WORDS}), "a column has values of several types: .* text with"),
        (pandas.DataFrame({"text": pandas.Series(["words", "\ud800"], dtype=object), "id": WORDS}),
         r"row 2 of the column 'text' is not Unicode text, it has half of a surrogate pair: '\\ud800'; "),
        ([{"text": "1", "id": "a"}, {"text": "2 \udfff", "id": "b"}], "row 2 of the column 'text' is not Unicode text"),
        ([{"text": "one", "id": "a"}, {"text": "two", "id": "\ud800"}], "row 2 of the column 'id' is not Unicode text"),
        ([{"text": "one", "id": UUID(int=5)}],
         "the column 'id' is of type extension<arrow.uuid>: wanted strings or integers; convert them to strings"),
        ([{"text": "one", "id": Decimal(5)}],
         r"the column 'id' is of type decimal128\(1, 0\): wanted strings or integers; convert them to strings"),
        (polars.DataFrame({"text": WORDS, "id": polars.Series([1, 2], dtype=polars.Int128)}),
         "a column has a type that pyarrow does not know"),
        (pandas.DataFrame([["a", "b", "c"]], columns=["text", "id", "text"]), "the table has the column 'text' twice"),
        (pa.Table.from_arrays([pa.array(WORDS)] * 3, names=["id", "text", "id"]), "has the column 'id' twice"),
    ],
)  # fmt: skip
def test_columns_of_other_types_are_named(tmp_path, table, message, index):
    if index is not None:
        index = create_index(index, analyzer="shingle")
    with pytest.raises(InvalidArgument, match=message):
        drop_near_duplicates(table, id="id", index=index)
    assert index is None or list(index.export()) == []


@pytest.mark.parametrize(
    "kind", [pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int8(), pa.string())], ids=str
)
def test_every_type_of_strings_is_read(kind):
    table = pa.table({"text": pa.array(WORDS).cast(kind), "id": pa.array(["a", "b"]).cast(kind)})
    assert len(drop_near_duplicates(table, id="id", analyzer="shingle")) == len(WORDS)


@pytest.mark.slow
def test_only_pyarrow_is_needed():
    program = "import sys; from simhash_hbase.tables import drop_near_duplicates; import pyarrow as pa; "
    program += "drop_near_duplicates(pa.table({'text': ['a text']}), analyzer='shingle'); "
    assert python(f"{program} print({{'polars', 'duckdb', 'datasets'}} & set(sys.modules))").out == b"set()\n"


@pytest.mark.slow
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


class Frame(pandas.DataFrame):
    """A subclass with a result of its own type, as geopandas has."""

    @property
    def _constructor(self):
        return Frame


def test_a_subclass_is_taken_for_what_it_extends():
    kept = drop_near_duplicates(Frame({"text": ["some words"] * 2}), analyzer="shingle")
    assert isinstance(kept, Frame)
    assert kept["text"].tolist() == ["some words"]


def test_a_column_of_ids_may_have_any_name_and_integers():
    table = pa.table({"number of text": [70, 71], "text": ["some words"] * 2})

    marked = mark_near_duplicates(table, id="number of text", analyzer="shingle")

    assert marked["duplicate_of"].to_pylist() == [None, "70"]


def test_a_column_whose_name_is_no_string_is_not_found_by_its_digits():
    with pytest.raises(InvalidArgument, match=r"^the table has no column '0'; it has text$"):
        drop_near_duplicates(pandas.DataFrame({0: ["some words"], "text": ["some words"]}), text="0")


@pytest.mark.parametrize("kind", ["pyarrow", "reader", "pandas", "iterable"])
def test_the_warning_names_the_line_that_called(rows, kind):
    make, _, read = KINDS[kind]
    with pytest.warns(RefusedRows) as warned:
        read(drop_near_duplicates(make([rows[0], {**rows[1], "text": None}]), unreadable="drop", analyzer="shingle"))

    assert not warned[0].filename.startswith(str(Path(simhash_hbase.tables.__file__).parent))


def test_the_limit_of_a_text_may_be_raised_and_lowered():
    table = pa.table({"text": ["some words", "some longer words"]})

    with pytest.warns(RefusedRows, match="row 1: the text is longer than 12 bytes; `max_document_bytes` raises"):
        kept = drop_near_duplicates(table, unreadable="drop", analyzer="shingle", max_document_bytes=12)

    assert kept["text"].to_pylist() == ["some words"]
    assert len(drop_near_duplicates(table, analyzer="shingle", max_document_bytes=1 << 30)) == len(table)


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_progress_is_shown_on_standard_error_when_it_is_asked_for(rows, capsys, keep):
    drop_near_duplicates(rows, id="id", keep=keep)
    assert capsys.readouterr().err == ""

    drop_near_duplicates(rows, id="id", keep=keep, progress=True)

    lines = re.sub(r"[\d.]+ s\n", "s\n", capsys.readouterr().err).splitlines()
    assert lines == [
        "learn: 36 of 36 rows, s",
        "dedup: 36 of 36 rows, s",
        *(["dedup: decide: 36 of 36 documents, s"] if keep == "longest" else []),
    ]


def test_progress_of_a_stream_counts_rows_without_a_total(rows, capsys, monkeypatch):
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.0)
    reader = pa.Table.from_pylist(rows).to_reader(7)

    drop_near_duplicates(reader, analyzer="shingle", progress=True).read_all()

    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in lines] == [f"dedup: {count} rows" for count in (*range(1, 37), 36)]


def test_progress_on_a_terminal_is_a_bar(rows, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")

    mark_near_duplicates(rows, analyzer="shingle", progress=True)

    shown = capsys.readouterr()
    assert shown.out == ""
    assert "36/36" in re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown.err)


def of_sites():
    """Return rows of two near copies of one site, one of another and one without a site, in this order."""
    copies = near_copies(1, 4)
    return [{**row, "site": site} for row, site in zip(copies, ("a", "a", "b", None), strict=True)]


@pytest.mark.parametrize("kind", ["list", "reader", "pandas"])
@pytest.mark.parametrize("place", ["temporary", "index", "address"])
def test_rows_of_two_sites_both_stay_where_near_copies_must_agree(tmp_path, kind, place):
    make, _, read = KINDS[kind]
    options = {"agree": "site", "analyzer": "shingle"}
    if place != "temporary":
        url = f"file:{tmp_path / 'mine.index'}"
        index = create_index(url, **options)
        options = {"index": index if place == "index" else url}

    found = read(drop_near_duplicates(make(of_sites()), id="id", **options))

    assert [row["site"] for row in found] == ["a", "b"]
    if place != "temporary":
        assert index.get(found[1]["id"]).metadata == {"site": "b"}
        with pytest.raises(InvalidArgument, match="must agree about 'site' in this index, and the table has no such"):
            read(drop_near_duplicates(make(near_copies(1, 1)), id="id", **options))
        index.close()


def test_rows_come_in_a_batch_that_the_index_takes_back():
    with create_index("memory:", analyzer="shingle") as index:
        rows = near_copies(3, 1)
        drop_near_duplicates(rows[:1], id="id", index=index)
        drop_near_duplicates(rows, id="id", index=index, batch="monday")

        assert sorted(index.remove_batch("monday", yes=True)) == [row["id"] for row in rows[1:]]
        with pytest.raises(InvalidArgument, match="batch='monday' needs an index"):
            drop_near_duplicates(rows, batch="monday")
        with pytest.raises(InvalidArgument, match="name"):
            drop_near_duplicates(rows, id="id", index=index, batch="")
