"""Spark decides as one machine does, whatever is cut where."""

import gzip
import re
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.results import run
from support.spark import SOCKETS, corpus, decisions_of_one_machine, write_lines

from simhash_hbase.api import create_index, open_index, resolve_profile
from simhash_hbase.cli.app import main
from simhash_hbase.cli.exits import SOME_REFUSED
from simhash_hbase.corpus.options import RunListener
from simhash_hbase.corpus.refusals import Refusals
from simhash_hbase.corpus.sample import texts_of
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.features.idf import LEARN_FROM
from simhash_hbase.index.candidates import asked_prefixes
from simhash_hbase.inputs import InputOptions, Place
from simhash_hbase.inputs.preference import Preference
from simhash_hbase.profile import Profile
from simhash_hbase.profile.matching import Sketches
from simhash_hbase.rows.analysed import Entries
from simhash_hbase.rows.keys import NO_PREFIX
from simhash_hbase.spark import deduplicate, points as deciding
from simhash_hbase.spark.dedup import IndexPlace
from simhash_hbase.spark.input import Input, documents_batch, first_unnamed, report_refused, signed
from simhash_hbase.spark.load import LoadCounts, _cells as cells_of
from simhash_hbase.spark.points import MEETING, Groups
from simhash_hbase.spark.records import batch_of

pytestmark = [pytest.mark.slow, SOCKETS]
# The package's own `session` is the function.
session = import_module("simhash_hbase.spark.session")


def decided(spark, sources, settings=None, *, analysis=None, **options):
    source = Input.of(spark, sources, settings or InputOptions())
    done = deduplicate(spark, source, analysis or Analysis(*resolve_profile(source.texts())).probed(), **options)
    refused = []
    report_refused(done.refused, source.order, Refusals(lambda _: None, refused.append, 0))
    return [row.value for row in done.lines.collect()], done, refused


# With the option every prefix that more than two points share is divided.
@pytest.mark.parametrize(("keep", "options"), [("first", {"hot": 2}), ("longest", {}), ("rank:source=paper,wire", {})])
def test_splits_and_hot_prefixes_decide_as_one_machine_in_every_order_of_preference(spark, tmp_path, keep, options):
    sources = ("wire", "paper", "blog")
    records = [{**record, "source": sources[at % 3]} for at, record in enumerate(corpus())]
    source = write_lines(tmp_path / "corpus.jsonl", records)
    settings = InputOptions(preference=Preference.parse(keep))
    expected, summary = decisions_of_one_machine([source], keep=keep)

    lines, done, refused = decided(spark, [source], settings, **options)

    assert len(Input.of(spark, [source], settings).order.splits) > 3
    assert lines == expected
    assert (done.documents, done.originals, len(refused)) == (summary.documents, summary.originals, summary.refused)
    assert 100 < done.originals < done.documents - 50
    assert (lines == decisions_of_one_machine([source])[0]) == (keep == "first")


def test_the_sample_of_lines_of_which_many_are_refused_is_that_of_one_machine(spark, tmp_path):
    lines = [{"id": f"d{at}", "text" if at % 3 else "body": f"文档 {at}"} for at in range(2 * LEARN_FROM)]
    source = write_lines(tmp_path / "corpus.jsonl", lines)
    # The bytes of ASCII are read as those of UTF-8, which it is a part of.
    settings = InputOptions(encoding="ascii")

    texts = Input.of(spark, [source], settings).texts()

    assert texts == list(texts_of([source], settings, RunListener()))
    assert LEARN_FROM / 2 < len(texts) < LEARN_FROM


def test_of_originals_around_a_point_those_are_listed_that_a_copy_may_have_to_name():
    targets, sources = np.array([8, 8, 8, 8, 9, 9]), np.array([5, 2, 7, 4, 6, 3])
    distances, dissimilarities = np.array([1, 2, 1, 2, 3, 3], np.int32), np.array([0.5, 0.5, 0.2, 0.1, -0.1, 0.0])
    same = np.zeros(1000)
    chosen = deciding.nameable(targets, sources, distances, dissimilarities)

    # The best, then the best of those before it, and so on: a copy between 2 and 4 can name the first alone.
    assert [(targets[at], sources[at]) for at in chosen] == [(8, 7), (8, 5), (8, 4), (8, 2), (9, 6), (9, 3)]
    assert deciding.nameable(same.astype(np.int64), np.arange(1000), same.astype(np.int32), same).tolist() == [0]


def test_rows_of_parquet_and_packed_text_in_the_order_of_their_files(spark, tmp_path):
    records = [record for record in corpus() if len(record.get("text", "")) > 9 and "id" in record][:150]
    rows = [str(tmp_path / name) for name in ("b.parquet", "a.parquet")]
    for path, some in zip(rows, (records[:75], records[75:]), strict=True):
        pq.write_table(pa.Table.from_pylist(some), path, row_group_size=20)
    packed = tmp_path / "lines.txt.gz"
    packed.write_bytes(gzip.compress("\n".join(record["text"] for record in records).encode()))

    for sources in (rows, [str(packed)]):
        assert decided(spark, sources)[0] == decisions_of_one_machine(sources)[0]


@pytest.mark.parametrize("unnamed", [[], [170]], ids=["none", "one"])
def test_a_document_that_is_stored_as_its_file_and_line_is_noticed(spark, tmp_path, unnamed):
    records = [({} if at in unnamed else {"id": f"a:{at}"}) | {"text": f"text {at} " * 9} for at in range(200)]
    source = write_lines(tmp_path / "a.jsonl", records, others=())
    read = Input.of(spark, [source], InputOptions())

    place = first_unnamed(read.documents(Analysis(Profile.resolve(analyzer="shingle"))), read.order)

    assert place == (Place(source, 171) if unnamed else None)


def test_load_by_the_command_warns_of_ids_that_are_file_and_line(tmp_path, monkeypatch, capfd):
    done = LoadCounts(2, resumed=False, cells=9, unnamed=Place("a.jsonl", 2))
    monkeypatch.setattr("simhash_hbase.spark.load", lambda *_, **__: done)
    # No cluster and no HBase: it is the command that warns.
    for name in ("spark.session", "spark.measured", "bulk.places.find_tools", "api.open_local_index"):
        monkeypatch.setattr(f"simhash_hbase.{name}", MagicMock())
    monkeypatch.setattr(import_module("simhash_hbase.spark.load"), "WorkPlace", MagicMock())
    monkeypatch.setattr(import_module("simhash_hbase.spark.load"), "Loader", MagicMock())
    (tmp_path / "hbase-site.xml").write_text("<configuration/>")
    place = ["--hbase-conf", str(tmp_path), "--staging", "staging", "--work", str(tmp_path / "work")]

    with pytest.raises(SystemExit) as ended:
        main(["spark", "load", "hbase://127.0.0.1:1/a", "a.jsonl", *place])

    told = capfd.readouterr().err
    assert not ended.value.code, told
    assert "warning: documents without an id are stored as file and line, such as a.jsonl:2: the next file" in told


@pytest.mark.parametrize(("collection", "keep"), [(None, "first"), ("news", "best:score")])
def test_an_index_with_recorded_moved_and_removed_documents(spark, tmp_path, collection, keep):
    records = [record for record in corpus() if "text" in record and "id" in record and record["text"].strip()]
    records = [{**record, "score": at * 7 % 5 if at % 50 else None} for at, record in enumerate(records)]
    url = f"file:{tmp_path / 'index'}"
    known, new = records[::2], records[1::2]
    # Half of what the index knows comes again, some of it with the text of another family.
    again = [{**record, "text": known[at]["text"]} if at % 5 == 0 else record for at, record in enumerate(known[-40:])]
    source = write_lines(tmp_path / "corpus.jsonl", [*new[:60], *again, *new[60:]])
    with create_index(url, analyzer="shingle") as whole:
        made = whole.in_collection(collection)
        # The same ids and texts in another collection are none of the input's business.
        dict(whole.in_collection("others").add_many((record["id"], record["text"]) for record in records))
        every = made.dedup_many((record["id"], record["text"]) for record in known)
        # An id that comes again has no second decision.
        decided_before = {name: decision for name, decision in every if decision is not None}
        named = {decided_before[record["id"]].of for record in known[-40:]} - {record["id"] for record in again}
        made.remove_many(sorted(named - {None})[:5])
    with open_index(url, collection=collection, readonly=True) as index:
        expected, _ = decisions_of_one_machine([source], index=index, keep=keep)
        in_their_order, _ = decisions_of_one_machine([source], index=index)
        analysis = index.analysis

    settings = InputOptions(preference=Preference.parse(keep))
    lines, _, _ = decided(spark, [source], settings, analysis=analysis, against=IndexPlace(url, collection))

    assert lines == expected
    assert (expected == in_their_order) == (keep == "first")
    assert any('"of_removed":true' in line for line in lines)


def test_the_example_of_help_decides_as_one_machine(spark, tmp_path, monkeypatch, capfd):
    [example] = import_module("simhash_hbase.cli.commands.spark").spark.examples
    program, *words, pattern, _, _ = example.split()
    assert (program, words, pattern) == ("simhash-hbase", ["spark", "dedup"], "crawl-*.jsonl.gz")
    lines = Path(write_lines(tmp_path / "crawl.jsonl", corpus())).read_bytes().splitlines(keepends=True)
    for number, some in enumerate((lines[:150], lines[150:]), 1):
        (tmp_path / f"crawl-{number}.jsonl.gz").write_bytes(gzip.compress(b"".join(some)))
    sources = sorted(map(str, tmp_path.glob(pattern)))
    monkeypatch.setattr("simhash_hbase.spark.session", lambda _: nullcontext(spark))
    monkeypatch.setattr("simhash_hbase.cli.commands.spark.LINE_EVERY_S", 0.0)
    monkeypatch.setattr(session, "POLL_S", 0.1)

    with pytest.raises(SystemExit) as ended:
        main([*words, *sources])

    told = capfd.readouterr()
    assert ended.value.code == SOME_REFUSED, told.err
    counts = [int(count) for count in re.findall(r"^spark dedup: (\d+) tasks", told.err, re.MULTILINE)]
    assert counts[-1] > 0
    assert counts == sorted(counts)
    assert told.out.splitlines() == decisions_of_one_machine(sources)[0]


def points(count, seed):
    """Make points of which most have neighbours, the rows of one made prefix each, in their order."""
    chance = np.random.default_rng(seed)
    simhashes = np.repeat(chance.integers(0, 2**64, count // 8, dtype=np.uint64), 8)
    for _ in range(2):
        simhashes ^= np.uint64(1) << chance.integers(0, 64, len(simhashes)).astype(np.uint64)
    return chance.permutation(simhashes)


def rows_of(simhashes, profile):
    entries = Entries.of_fingerprints([""] * len(simhashes), simhashes)
    prefixes = asked_prefixes(profile, entries, profile.rule)
    owners, columns = np.nonzero(prefixes != NO_PREFIX)
    order = np.lexsort((owners, prefixes[owners, columns]))
    owners, columns = owners[order], columns[order]
    sketches = Sketches.of_entries(entries).packed()
    return batch_of(
        MEETING,
        prefix=signed(prefixes[owners, columns]),
        cell=np.zeros(len(owners), np.int32),
        slot=np.full(len(owners), -1, np.int32),
        point=owners,
        simhash=signed(simhashes[owners]),
        sketch=[sketches[at] for at in owners],
    )


@pytest.mark.parametrize("witnesses", [1, 4])
def test_rounds_decide_what_going_through_the_points_in_order_decides(witnesses, monkeypatch):
    monkeypatch.setattr(deciding, "WITNESSES", witnesses)
    monkeypatch.setattr(deciding, "FIRST_SOURCES", 1)
    profile = Profile.resolve(analyzer="weighted", match="distance", distance=3)
    simhashes = points(400, seed=witnesses)
    kept = []
    for at, simhash in enumerate(simhashes):
        if not any(np.bitwise_count(simhash ^ simhashes[other]) <= 3 for other in kept):
            kept.append(at)
    batch, state, count, is_open = rows_of(simhashes, profile), deciding.PointStates(len(simhashes)), 0, True

    while is_open:
        original, duplicate = state.packed()
        known = deciding.looked_up(duplicate, np.asarray(batch["point"]))
        found = deciding.blockers_of(Groups(batch.filter(pa.array(~known)), profile), original)
        is_open = deciding.resolve(state, np.column_stack([found["target"], found["blocker"]]))
        count += 1

    assert np.flatnonzero(state.original[: len(simhashes)]).tolist() == kept
    assert len(kept) < len(simhashes) - 50
    assert count > 1 or witnesses > 1


@pytest.mark.parametrize(
    ("option", "sentence"),
    [({"match": "copied"}, "Spark cannot decide by rule copied"), ({"agree": "site"}, "must agree about 'site'")],
)
def test_what_depends_on_more_than_a_pair_is_refused_in_one_sentence(tmp_path, option, sentence):
    url = f"file:{tmp_path / 'posts.index'}"
    create_index(url, analyzer="shingle", **option).close()
    with open_index(url) as index, pytest.raises(InvalidArgument, match=sentence):
        deduplicate(MagicMock(), MagicMock(), index.analysis)


def test_the_cells_of_a_load_name_the_batch(tmp_path):
    with create_index("memory:", analyzer="shingle") as index:
        given = Entries.of_fingerprints(["a", "b"], np.array([1, 2], np.uint64))
        rows = documents_batch([0, 1], given, np.zeros(2)).append_column("number", pa.array([0, 1]))

        parts = list(cells_of(index.profile, index.collection, [b""], 5, "crawl 7")([rows]))

    values = [value for part in parts for value in part["value"].to_pylist() if value is not None]
    assert sum(b"crawl 7" in value for value in values) == 2
    assert len(values) == 4


@pytest.mark.parametrize("words", [["--exact"], ["--contained", "0.9"]])
def test_a_look_at_the_texts_is_refused_in_one_sentence(words):
    assert run("spark", "dedup", "x.jsonl", *words).usage_error == (
        "spark dedup judges near copies by their sketches, no worker has both texts: leave out "
        f"{words[0]}, or use dedup on one machine; see simhash-hbase spark dedup --help"
    )
