"""Tables get the passages that the command prints of the same rows as JSON lines, in the caller's own type."""

import runpy

import datasets
import pandas
import pyarrow as pa
import pytest
from support.corpus import write_jsonl
from support.fresh_clone import ROOT
from support.results import run
from support.serving import serving
from tables.test_tables import FEATURES, KINDS

from simhash_hbase import InvalidArgument, create_index, open_index
from simhash_hbase.tables import RefusedRows, mark_passages

ARTICLES = runpy.run_path(str(ROOT / "examples" / "articles.py"))
METRO, HEAT = ARTICLES["METRO"], ARTICLES["HEAT"]
QUOTE = METRO[METRO.index("交通局负责人") : METRO.index("工程费用")]
COLUMNS = ("passages", "share", "truncated")


@pytest.fixture(scope="module")
def rows():
    texts = {
        "quoting": f"记者注意到，市政府的会议纪要里还有一段话值得再读：{QUOTE}读者怎么看？",
        "metro": METRO,
        "missing": None,
        "empty": " ",
        "other": "今天的天气很好，我们去公园走走吧。",
        "both": f"𠮷{HEAT[:80]}此外，{QUOTE}",
        "short": "短。",
    }
    return [{"id": name, "kind": at % 2, "text": text} for at, (name, text) in enumerate(texts.items())]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Return the address of an index with passages of two articles and a copy of one, each with a kind."""
    made = f"file:{tmp_path_factory.mktemp('passages') / 'made.index'}"
    with create_index(made, analyzer="shingle", passages=30) as index:
        list(index.add_many([("metro", METRO, {"kind": 0}), ("heat", HEAT, {"kind": 1}), ("copy", METRO, {"kind": 1})]))
    return made


def printed(url, rows, folder, *words):
    """Return what the command prints of rows: the columns of each row that is not refused, by its id."""
    done = run("passages", url, write_jsonl(folder / "rows.jsonl", rows), *words)
    assert done.code == 3, done.err
    return {line["id"]: {name: line[name] for name in COLUMNS} for line in done.records}


def added(row):
    return {name: row[name] for name in COLUMNS}


NOTHING = dict.fromkeys(COLUMNS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "words", "counts"),
    [
        ({}, (), [1, 2]),
        ({"at_least": 2}, ("--at-least", 2), [2]),
        ({"same": "kind"}, ("--same", "kind", "--metadata-field", "kind"), [1, 1]),
    ],
    ids=["all", "of two", "same"],
)
def test_rows_of_every_type_get_the_passages_of_the_command(rows, url, tmp_path, options, words, counts):
    wanted = printed(url, rows, tmp_path, *words)

    for kind, (make, gives, read) in KINDS.items():
        table = make(rows)
        with pytest.warns(RefusedRows, match="2 rows have no passages; row 2: "):
            found = read(marked := mark_passages(table, id="id", index=url, **options))

        assert isinstance(marked, gives), kind
        assert [{name: row[name] for name in FEATURES} for row in found] == rows, kind
        assert [added(row) for row in found] == [wanted.get(row["id"], NOTHING) for row in rows], kind
    assert [span["documents"] for span in wanted["both"]["passages"]] == counts


def test_without_ids_every_document_of_the_index_counts(url):
    with open_index(url, readonly=True) as index:
        [alone] = mark_passages([METRO], index=index)
        [named] = mark_passages([{"text": METRO, "name": "metro"}], id="name", index=index)
    assert [span["documents"] for span in alone["passages"]] == [2]
    assert [(span["documents"], span["first"]) for span in named["passages"]] == [(1, "copy")]


def test_the_number_of_a_row_is_no_id_of_the_index():
    with create_index("memory:", analyzer="shingle", passages=30) as index:
        index.add("0", METRO)
        [row] = mark_passages([QUOTE], index=index)
    assert [span["first"] for span in row["passages"]] == ["0"]


@pytest.mark.server
def test_an_index_behind_a_service_gives_the_same_passages(rows, url, tmp_path, monkeypatch):
    with pytest.warns(RefusedRows):
        here = mark_passages(rows, id="id", index=url, same="kind")
    with serving(url, tmp_path) as server:
        monkeypatch.setenv("SIMHASH_HBASE_API_KEY", server.keys["read"])
        with pytest.warns(RefusedRows):
            assert mark_passages(rows, id="id", index=server.address, same="kind") == here
    assert any(row["passages"] for row in here)


@pytest.mark.server
def test_without_ids_an_index_behind_a_service_gives_the_same_passages(url, tmp_path, monkeypatch):
    many = [{"text": each} for each in (METRO, None, f"{HEAT}{QUOTE}", "!!!", "短。")]
    with pytest.warns(RefusedRows):
        here = mark_passages(many, index=url)
    with serving(url, tmp_path) as server:
        monkeypatch.setenv("SIMHASH_HBASE_API_KEY", server.keys["read"])
        with pytest.warns(RefusedRows, match="2 rows have no passages; row 1: "):
            there = mark_passages(many, index=server.address)
        [alone] = mark_passages([METRO], index=server.address)
    assert there == here
    assert (alone, [span["documents"] for span in alone["passages"]]) == (here[0], [2])


def test_a_row_without_letters_is_refused_for_that(url):
    with pytest.warns(RefusedRows, match="row 0: .* no letters, numbers or marks, so there is nothing to look for"):
        mark_passages(["!!!"], index=url)


def test_columns_without_a_row_have_their_types(url):
    empty = pa.table({"text": pa.array([], pa.string())})
    types = [str(kind) for kind in mark_passages(empty, index=url).select(COLUMNS).schema.types]

    assert types[0].startswith("list<item: struct<start: int64, stop: int64, documents: int64, at_least: bool, ")
    assert types[1:] == ["double", "bool"]
    assert mark_passages(empty.to_reader(), index=url).schema.names == ["text", *COLUMNS]
    features = mark_passages(datasets.Dataset.from_dict({"text": [QUOTE]}), index=url).features
    assert list(features["passages"].feature) == ["start", "stop", "documents", "at_least", "first", "most"]
    with pytest.warns(RefusedRows):
        frame = mark_passages(pandas.DataFrame({"text": [QUOTE, None]}), index=url)
    assert (str(frame["truncated"].dtype), frame["truncated"].isna().tolist()) == ("boolean", [False, True])


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ([{"text": "x", "share": 1}], {}, "the table has a column 'share' already: rename that"),
        (["x"], {"same": "site"}, "the table has no column 'site'; it has text"),
        (["x"], {"at_least": 0}, "at_least is 0: wanted 1 or more documents"),
        (["x"], {"workers": 2}, "mark_passages takes no workers: it takes at_least, id, max_document_bytes, "),
        (["x"], {"max_document_bytes": 0}, "max_document_bytes is 0: wanted a number from 1"),
    ],
)
def test_what_cannot_be_marked_is_refused_in_one_sentence(url, table, options, message):
    with pytest.raises(InvalidArgument, match=message):
        mark_passages(table, index=url, **options)


def test_an_index_without_passages_is_refused():
    index = create_index("memory:", analyzer="shingle")
    with pytest.raises(InvalidArgument, match="the index keeps no passages"):
        mark_passages(["x"], index=index)


def test_a_row_without_a_value_to_be_the_same_is_refused(url):
    rows = [{"text": QUOTE, "kind": None}, {"text": QUOTE, "kind": 0}]
    with pytest.warns(RefusedRows, match="row 0: .*has no metadata 'kind'"):
        found = mark_passages(rows, index=url, same="kind")
    assert [row["passages"] and row["passages"][0]["documents"] for row in found] == [None, 1]
