"""Spark finds the passages that one machine finds, whatever is cut where."""

import random
from contextlib import nullcontext

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.results import run
from support.spark import QUICK, SOCKETS, cells_of_load, corpus, quiet_session, write_lines

from simhash_hbase.api import create_index
from simhash_hbase.cli.app import main
from simhash_hbase.cli.exits import SOME_REFUSED
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.index.arguments import PassageSearch
from simhash_hbase.inputs import InputOptions
from simhash_hbase.rows.keys import unpack_rows
from simhash_hbase.spark import SparkOptions, find_passages
from simhash_hbase.spark.dedup import IndexPlace
from simhash_hbase.spark.input import Input, numbered, without_repeats
from simhash_hbase.spark.load import _cells as cells_of
from simhash_hbase.testing.rows import pairs_of

pytestmark = [pytest.mark.slow, SOCKETS]


@pytest.fixture(scope="module")
def spark():
    # Splits of some kilobytes: a small corpus has many.
    settings = {**QUICK, "spark.sql.files.maxPartitionBytes": "20000", "spark.sql.files.openCostInBytes": "1000"}
    with quiet_session(SparkOptions(master="local[2]", partitions=3, settings=settings)) as begun:
        yield begun


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
    """Return the summary of a run without its time."""
    [line] = [line for line in err.splitlines() if "with passages" in line]
    return line.rpartition("; ")[0]


def test_lines_of_many_splits_are_those_of_the_command(spark, place, records, tmp_path, monkeypatch, capfd):
    source = write_lines(tmp_path / "corpus.jsonl", records)
    words = [place.url, source, "--collection", place.collection, "--at-least", "2"]
    wanted = run("passages", *words)
    monkeypatch.setattr("simhash_hbase.spark.session", lambda _: nullcontext(spark))

    with pytest.raises(SystemExit) as ended:
        main(["spark", "passages", *words])

    told = capfd.readouterr()
    assert ended.value.code == wanted.code == SOME_REFUSED, told.err
    assert told.out == wanted.out.decode()
    assert counts(told.err) == counts(wanted.err)
    assert len(Input.of(spark, [source], InputOptions()).order.splits) > 3
    assert {bool(line["passages"]) for line in wanted.records} == {False, True}


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
    assert found.with_passages == sum(bool(line["passages"]) for line in wanted.records)


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
