"""Spark finds the passages that one machine finds, whatever is cut where."""

import random
from contextlib import nullcontext

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.results import run
from support.spark import SOCKETS, cells_of_load, corpus, write_lines

from simhash_hbase.api import create_index
from simhash_hbase.cli.app import main
from simhash_hbase.cli.exits import SOME_REFUSED
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.index.arguments import PassageSearch
from simhash_hbase.inputs import InputOptions
from simhash_hbase.rows.keys import unpack_rows
from simhash_hbase.spark import find_passages
from simhash_hbase.spark.dedup import IndexPlace
from simhash_hbase.spark.input import Input, numbered, without_repeats
from simhash_hbase.spark.load import _cells as cells_of
from simhash_hbase.testing.rows import pairs_of

pytestmark = [pytest.mark.slow, SOCKETS]


@pytest.fixture(scope="module")
def records():
    """Return documents of which some quote others, with a site each, and records that are refused."""
    chance = random.Random(3)
    made = [{**record, "site": f"s{at % 3}"} for at, record in enumerate(corpus(families=30))]
    for record in made[:40]:
        quoted = chance.choice(made)
        record["text"] = f"{record.get('text', '')}。{quoted.get('text', '')[:90]}"
    return made


@pytest.fixture(scope="module")
def place(records, tmp_path_factory):
    """Return a collection of half of the documents, beside another one with all of them."""
    url = f"file:{tmp_path_factory.mktemp('index') / 'made.index'}"
    known = [record for record in records if record.get("text", "").strip() and "id" in record][::2]
    with create_index(url, analyzer="shingle", passages=30) as index:
        for name, some in (("news", known), ("others", records)):
            given = {
                each["id"]: (each["text"], {"site": each["site"]}) for each in some if "id" in each and "text" in each
            }
            dict(index.in_collection(name).add_many((name, *each) for name, each in given.items()))
    return IndexPlace(url, "news")


def counts(err):
    """Return the summary of a run without its time, and what was found of each suite."""
    [line] = [line for line in err.splitlines() if line.startswith("passages: ") and "; " in line]
    return [line.rpartition("; ")[0], *(line for line in err.splitlines() if " items in " in line)]


@pytest.fixture
def ask(spark, monkeypatch, capfd):
    """Return what carries out the command in this process, on a session that is there."""
    monkeypatch.setattr("simhash_hbase.spark.session", lambda _: nullcontext(spark))

    def act(*words):
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["spark", "passages", *map(str, words)])
        told = capfd.readouterr()
        return ended.value.code, told.out, told.err

    return act


def written_in(folder):
    """Return what Spark wrote into a folder, in parts."""
    return "".join(part.read_text("utf-8") for part in sorted(folder.glob("part-*")))


def test_lines_of_many_splits_are_those_of_the_command(spark, ask, place, records, tmp_path):
    source = write_lines(tmp_path / "corpus.jsonl", records)
    words = [place.url, source, "--collection", place.collection, "--at-least", "2"]
    wanted = run("passages", *words)

    code, out, err = ask(*words)

    assert code == wanted.code == SOME_REFUSED, err
    assert out == wanted.out.decode()
    assert counts(err) == counts(wanted.err)
    assert len(Input.of(spark, [source], InputOptions()).order.splits) > 3
    assert {bool(line["passages"]) for line in wanted.records} == {False, True}


def test_texts_are_cut_or_marked_as_by_the_command(ask, place, records, tmp_path):
    source = write_lines(tmp_path / "corpus.jsonl", records[:60])
    words = [place.url, source, "--collection", place.collection, "--longest"]
    alone = run("passages", *words, "--cut", tmp_path / "cut.jsonl", "--mark", tmp_path / "mark.jsonl")

    places = ("--cut", tmp_path / "cut", "--mark", tmp_path / "mark", "--results", tmp_path / "lines")
    code, out, err = ask(*words, *places)

    assert (code, out) == (alone.code, ""), err
    assert written_in(tmp_path / "lines") == alone.out.decode()
    assert max(len(line["passages"]) for line in alone.records) == 1
    for name in ("cut", "mark"):
        assert written_in(tmp_path / name) == (tmp_path / f"{name}.jsonl").read_text("utf-8"), name
    assert "⟦" in written_in(tmp_path / "mark")


def test_items_of_suites_are_those_of_the_command(ask, records, tmp_path):
    url = f"file:{tmp_path / 'items.index'}"
    texts = [record["text"] for record in records if record.get("text", "").strip()]
    with create_index(url, analyzer="shingle", passages=20) as items:
        list(items.in_collection("quotes").add_many((f"q{at}", text[:90]) for at, text in enumerate(texts[:20])))
        items.in_collection("absent").add("a", "没有一篇文档里有这么一道题目，所以它不会出现在任何一行里面。")
    source = write_lines(tmp_path / "corpus.jsonl", records[:60])
    words = [url, source, "--against", "quotes", "--against", "absent", "--against", url.replace("items", "others")]
    with create_index(url.replace("items", "others"), analyzer="shingle", passages=30) as others:
        others.add("whole", texts[3])
    alone = run("passages", *words, "--at-share", "0.4", "--suites", tmp_path / "alone.jsonl")

    code, out, err = ask(*words, "--at-share", "0.4", "--suites", tmp_path / "suites.jsonl")

    assert (code, out) == (alone.code, alone.out.decode()), err
    assert counts(err) == counts(alone.err)
    reported = (tmp_path / "suites.jsonl").read_text("utf-8")
    assert reported == (tmp_path / "alone.jsonl").read_text("utf-8")
    assert '"suite":"absent","items":1,"found":0,"texts":0' in reported
    assert {bool(line["items"]) for line in alone.records} == {False, True}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--against", "nobody"), "--against nobody: there are no documents to look for"),
        (("--against", "others", "--cut", "x"), "--cut cannot be combined with --against"),
        (("--suites", "x"), "--suites goes with --against COLLECTION"),
        (("--cut", "x", "--results", "x"), "--results, --cut and --mark need a folder each"),
    ],
)
def test_what_spark_cannot_be_asked_is_one_sentence(ask, place, tmp_path, options, message):
    source = write_lines(tmp_path / "corpus.jsonl", [{"id": "a", "text": "x"}], others=())
    code, out, err = ask(place.url, source, *options)
    assert (code, out) == (2, "")
    assert message in err


def test_rows_of_parquet_and_those_that_lack_the_field_are_answered_as_by_the_command(spark, place, records, tmp_path):
    rows = [record for record in records if record.get("text", "").strip() and "id" in record][:90]
    source = str(tmp_path / "rows.parquet")
    pq.write_table(
        pa.Table.from_pylist([{**row, "site": None if at % 9 == 0 else row["site"]} for at, row in enumerate(rows)]),
        source,
        row_group_size=20,
    )
    words = ("--same", "site", "--metadata-field", "site", "--collection", place.collection)
    wanted = run("passages", place.url, source, *words)
    corpus_of = Input.of(spark, [source], InputOptions(metadata_fields=("site",)))

    found = find_passages(corpus_of, place, PassageSearch(same="site"))

    assert [row.value for row in found.lines.collect()] == wanted.out.decode().splitlines()
    refused = [row.reason for row in found.refused.collect()]
    assert (len(refused), found.documents) == (10, 80)
    assert "has no metadata 'site'" in refused[0]
    assert found.found == sum(bool(line["passages"]) for line in wanted.records)


def test_an_index_without_passages_is_refused(tmp_path):
    url = f"file:{tmp_path / 'made.index'}"
    create_index(url, analyzer="shingle").close()
    with pytest.raises(InvalidArgument, match="the index keeps no passages"):
        find_passages(None, IndexPlace(url), PassageSearch())


def test_the_cells_of_a_load_have_the_passages_of_one_machine(spark, records, tmp_path):
    source = write_lines(tmp_path / "corpus.jsonl", records)
    with create_index("memory:", analyzer="shingle", passages=30) as index:
        rows, cells = cells_of_load(index, source, 5, tmp_path / "alone")
        read = Input.of(spark, [source], InputOptions())
        whole, _ = without_repeats(read.documents(index.analysis), read.order)

        made = numbered(whole, "position").coalesce(1).toArrow().combine_chunks().to_batches()
        parts = list(cells_of(index.profile, index.collection, [b""], 5, None)(made))

    keys = {key for part in parts for key, value in zip(part["key"], part["value"], strict=True) if not value.is_valid}
    packed = b"".join(sorted(key.as_py() for key in keys))
    assert pairs_of(unpack_rows(packed)) == rows
    values = [value.as_py() for part in parts for value in part["value"] if value.is_valid]
    assert sorted(values) == sorted(cell.value for cell in cells)
    with create_index("memory:", analyzer="shingle") as plain:
        fewer, _ = cells_of_load(plain, source, 5, tmp_path / "plain")
    assert len(rows) > len(fewer) + 1_000
