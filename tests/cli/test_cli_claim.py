"""``claim``, and ``--collection``: commands of one collection see and change nothing of another."""

import random
import time
from collections import Counter

import pytest
from support.corpus import text, write_jsonl
from support.hbase_server import address, tables
from support.results import finish, start


def test_claims_are_told_in_input_order_as_dedup_decides(cli, tmp_path, empty, corpus_file):
    other = f"file:{tmp_path / 'other.index'}"

    claimed, again = cli("claim", empty, corpus_file), cli("claim", empty, corpus_file)

    decided = cli("dedup", other, corpus_file, "--create", "--analyzer", "shingle")
    assert claimed.code == 0
    assert claimed.out == again.out == decided.out
    assert "claim: 60 documents, 20 originals, 40 duplicates" in claimed.err


def test_a_repeated_id_gets_the_first_one_s_decision(cli, empty, tmp_path):
    lines = [{"id": "a", "text": text(1)}, {"id": "b", "text": text(1)}, {"id": "a", "text": text(1)}]

    claimed = cli("claim", empty, write_jsonl(tmp_path / "in.jsonl", lines))

    assert [(record["id"], record["of"]) for record in claimed.records] == [("a", None), ("b", "a"), ("a", None)]


@pytest.mark.parametrize("command", ["add", "claim"])
def test_shards_whose_ids_begin_anew_are_told_of_with_the_way_out(cli, empty, tmp_path, command):
    shards = [
        write_jsonl(tmp_path / f"{n}.jsonl", [{"id": "0", "text": text(n)}, {"id": f"own {n}", "text": text(9 + n)}])
        for n in range(3)
    ]

    done, one, apart = (cli(command, empty, *files) for files in (shards, shards[:1], [*shards, "--id-prefix", "file"]))

    assert "warning: 2 documents came with the id of one in an earlier file, the first is '0' at " in done.err
    assert f"{shards[1]}:1; that one is replaced where the text is another; if ids begin anew in each" in done.err
    assert "--id-prefix file" in done.err
    assert "warning" not in one.err + apart.err


def test_the_warning_of_repeated_ids_says_how_many_were_looked_at(cli, empty, tmp_path, monkeypatch):
    monkeypatch.setattr("simhash_hbase.corpus.documents.LOOKED_AT", 3)
    shards = [write_jsonl(tmp_path / f"{n}.jsonl", [{"id": str(i), "text": text(i)} for i in range(2)]) for n in "ab"]

    done = cli("add", empty, *shards)

    assert "warning: of the first 3 documents 1 document came with the id of one" in done.err


def race(url, simhash_file, *, groups, processes):
    """Let processes claim one near copy each of every group, in the same order; check their answers."""
    chosen = random.Random(groups)
    middles = [chosen.getrandbits(64) for _ in range(groups)]
    files = [
        simhash_file(f"{i}.jsonl", {f"group {n} copy {i}": middle ^ 1 << i for n, middle in enumerate(middles)})
        for i in range(processes)
    ]

    started = [start("claim", url, file, "--simhash-field", "simhash", "--workers", "1") for file in files]
    results = [finish(process) for process in started]

    assert [result.code for result in results] == [0] * processes
    records = [record for result in results for record in result.records]
    originals = {record["id"] for record in records if record["status"] == "original"}
    assert Counter(name.split(" copy")[0] for name in originals) == {f"group {n}": 1 for n in range(groups)}
    assert all(record["of"] in originals for record in records if record["status"] == "duplicate")


@pytest.mark.slow
def test_processes_that_claim_near_copies_at_once_make_one_original_of_each_group(cli, empty, simhash_file):
    race(empty, simhash_file, groups=4_000, processes=3)

    assert cli("verify", empty).code == 0


@pytest.mark.hbase
@pytest.mark.parametrize(("version", "groups"), [(1, 40), (2, 300)])
def test_processes_that_claim_at_once_in_a_table_make_one_original_of_each_group(cli, simhash_file, version, groups):
    url = f"hbase://{address(version)}/{tables().name()}"
    assert cli("create", url, "--analyzer", "shingle", "--regions", "1").code == 0

    race(url, simhash_file, groups=groups, processes=2)

    assert cli("verify", url).code == 0


@pytest.fixture
def few(tmp_path):
    """Return a file of two documents, the second one a copy of the first."""
    return write_jsonl(tmp_path / "few.jsonl", [{"id": "a", "text": text(1)}, {"id": "b", "text": text(1)}])


def ids(called):
    return [record["id"] for record in called.records]


@pytest.mark.parametrize("command", ["claim", "dedup"])
def test_a_text_is_an_original_in_every_collection(cli, empty, few, command):
    first = cli(command, empty, few)
    news = cli(command, empty, few, "--collection", "news")

    assert news.records == first.records
    assert [record["status"] for record in news.records] == ["original", "duplicate"]
    assert cli("copies", empty, "a", "--collection", "news").records[0]["count"] == 1
    assert cli("copies", empty, "a", "--collection", "blogs").code == 1


def test_what_is_added_to_a_collection_is_there_alone(cli, empty, few):
    added = cli("add", empty, few, "--verbose", "--collection", "a/b: 新闻")
    query = ("query", empty, "--text", text(1))

    assert added.records == cli("fingerprint", few, "--profile-of", empty).records
    matches = cli(*query, "--collection", "a/b: 新闻").record["matches"]
    assert [match["id"] for match in matches] == ["a", "b"]
    assert cli(*query, "--simhash", added.records[0]["simhash"]).records[1]["matches"] == []
    assert cli("get", empty, "a").code == 1
    assert ids(cli("get", empty, "a", "--collection", "a/b: 新闻")) == ["a"]
    assert cli("export", empty).records == []
    assert cli("remove", empty, "a").records == [{"id": "a", "removed": False}]
    assert cli("remove", empty, "a", "--collection", "a/b: 新闻").records == [{"id": "a", "removed": True}]
    assert ids(cli("export", empty, "--collection", "a/b: 新闻")) == ["b"]
    assert cli("verify", empty).code == 0


def test_a_load_goes_into_its_collection(cli, empty, few, tmp_path):
    words = ("load", empty, few, "--into-existing", "--work", tmp_path / "work", "--collection")

    loaded = [cli(*words, name).record for name in ("news", "blogs", "news")]

    assert [(record["documents"], record["known"]) for record in loaded] == [(2, 0), (2, 0), (2, 2)]
    assert cli("export", empty).records == []
    assert sorted(ids(cli("export", empty, "--collection", "blogs"))) == ["a", "b"]


def test_explain_knows_the_ids_of_a_collection(cli, empty, few):
    cli("add", empty, few, "--collection", "news")

    assert cli("explain", empty, "a", "b", "--collection", "news").record["distance"] == 0
    assert "taken as a text" in cli("explain", empty, "a", "b").err


def test_a_run_is_not_resumed_in_another_collection(cli, empty, few, tmp_path):
    words = ("dedup", empty, few, "--results", tmp_path / "results.jsonl", "--collection")
    assert cli(*words, "news").code == 0

    assert cli(*words, "blogs", "--resume").usage_error
    assert cli("export", empty, "--collection", "blogs").records == []


@pytest.mark.parametrize("command", [("spark", "dedup", "a.jsonl"), ("explain", "one text", "another text")])
def test_a_collection_of_no_index_is_refused(cli, command):
    assert "a collection is part of an index: name the index by" in cli(*command, "--collection", "news").usage_error


@pytest.mark.parametrize("command", ["claim", "dedup"])
def test_a_clock_by_which_everything_has_expired_is_a_warning(cli, url, corpus_file, monkeypatch, command):
    cli("create", url, "--analyzer", "shingle", "--ttl", 7)
    first = cli(command, url, corpus_file)
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 8 * 86_400 * 10**9)

    ahead = cli(command, url, corpus_file)

    assert "warning" not in first.err
    assert ahead.code == 0
    assert "warning: all 60 documents" in ahead.err
    assert "if the clock is right" in ahead.err
