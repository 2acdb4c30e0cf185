"""The command claim."""

import random
from collections import Counter

import pytest
from support.corpus import text, write_jsonl
from support.hbase_server import address, tables
from support.results import finish, start


def test_claims_are_told_in_input_order_as_dedup_decides_and_again_alike(cli, tmp_path, empty, corpus_file):
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
