"""The command line on a real HBase: lines as on one machine, rows that a stranger finds, backups, and killed loads."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread

import happybase
import numpy as np
import pytest
from support import results
from support.bruteforce import answered, entries
from support.corpus import write_jsonl
from support.fresh_clone import ROOT, blocks, clone, provide, run as run_script, with_names
from support.hbase_server import address, hbase_options, tables
from support.own_hbase import server_status
from support.patience import END_S
from support.shell_lines import shell_lines

from simhash_hbase import LocalIndex, Profile, Scheme, row_keys
from simhash_hbase.api import open_index
from simhash_hbase.bulk.spool import SCRATCH
from simhash_hbase.rows.keys import block_rows
from simhash_hbase.stores.hbase import HBaseStore
from simhash_hbase.stores.hbase.table import TableSchema
from simhash_hbase.testing.rows import all_pairs, pairs_of

pytestmark = pytest.mark.hbase

# Times differ from one run to the next, and the digests of secrets.
TIMES = re.compile(rb'"(added|seen|secret)":"[^"]*"')


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "corpus.jsonl"
    made = subprocess.run([sys.executable, ROOT / "examples" / "demo.py"], stdout=subprocess.PIPE, check=True).stdout
    path.write_bytes(b"".join(made.splitlines(keepends=True)[:150]))
    return path


@pytest.fixture
def run(cli):
    """Return what runs a command that must not fail, and gives what it prints."""

    def call(*words):
        done = cli(*words)
        assert done.code == 0, done.err
        return TIMES.sub(rb'"\1":""', done.out)

    return call


def conversation(run, url, corpus, more):
    """Yield what every command prints, one after the other on one index."""
    ids = [json.loads(line)["id"] for line in corpus.read_bytes().splitlines()]
    yield run("create", url, "--learn-from", corpus)
    yield run("dedup", url, corpus)
    yield run("add", url, more, "--verbose")
    yield run("query", url, corpus)
    yield run("query", url, corpus, "--match", "distance")
    yield run("get", url, *ids[:50])
    yield run("remove", url, *ids[5:25], "nobody")
    yield run("query", url, "--id", ids[0])
    yield run("verify", url)
    yield run("export", url)


def test_every_command_prints_the_same_lines_as_on_one_machine(run, demo, tmp_path):
    documents = map(json.loads, demo.read_text(encoding="utf-8").splitlines()[:40])
    more = write_jsonl(tmp_path / "more.jsonl", ({**each, "id": f"more/{i}"} for i, each in enumerate(documents)))
    here = list(conversation(run, f"file:{tmp_path / 'index'}", demo, more))

    for version in (1, 2):
        there = list(conversation(run, f"hbase://{address(version)}/{tables().name()}", demo, more))
        assert there == here, version


@pytest.mark.parametrize(
    "command", [["create"], ["dedup", "--create", "--simhash-field", "h", "--simhash-format", "hex"]]
)
def test_what_thrift_1_could_not_make_is_said(tmp_path, command):
    files = [write_jsonl(tmp_path / "own.jsonl", [{"id": "a", "h": "1"}])] if command[0] == "dedup" else []
    told = {}

    for version in (1, 2):
        url = f"hbase://{address(version)}/{tables().name()}"
        done = results.run(command[0], url, *files, *command[1:], "--analyzer", "shingle")
        assert done.code == 0
        told[version] = done.err

    assert "warning: the gateway could not set everything" in told[1]
    assert "\n  the table has 1 regions instead of 4, or at other keys\n" in told[1]
    assert "warning" not in told[2]


def test_the_commands_for_hbase_are_carried_out_as_they_are_printed(tmp_path):
    folder = clone(tmp_path / "clone")
    provide(folder, "")
    table = {"$(./scripts/hbase status | tail -n 1)/news ": f"{address(2)}/{tables().name()} "}
    lines = [line.removeprefix("$ ") for line in with_names(blocks()["hbase"], table).splitlines()]

    done = run_script(folder, "\n".join(["./scripts/install", *lines]))

    assert done.returncode == 0, done.stderr
    first = json.loads((folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()[0])
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["query"] == first["id"]
    assert [match["id"].startswith(f"{first['id']}#") for match in answer["matches"]] == [True]


def test_the_quickstart_finds_a_document_in_its_table(tmp_path):
    folder = clone(tmp_path / "clone")
    provide(folder, "")
    (folder / "scripts" / "hbase").write_text(f"#!/bin/sh\necho {address(2)}\n")

    done = run_script(folder, "./scripts/quickstart --hbase")

    [url] = re.findall(r"the index is (hbase://\S+)\.\n", done.stdout)
    tables().adopt(url.rpartition("/")[2])
    assert done.returncode == 0, done.stderr
    [answer] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"query":')]
    assert answer["matches"]
    with open_index(url, readonly=True) as index:
        assert index.verify().wrong == 0


@pytest.fixture
def filled(run, tmp_path):
    """Return an index in HBase with ready fingerprints, and their table as happybase sees it."""
    name = tables().name()
    rng = np.random.default_rng(3)
    bases = rng.integers(0, 2**64, 40, dtype=np.uint64).tolist()
    near = [base ^ (1 << i) ^ (1 << 63 - i) for i, base in enumerate(bases[:20])]
    simhashes = [*bases, *near, 0, 2**64 - 1, 1]
    records = ({"id": f"{i}", "h": f"{h:016x}"} for i, h in enumerate(simhashes))
    path = write_jsonl(tmp_path / "own.jsonl", records)
    url = f"hbase://{address(2)}/{name}"
    run("create", url, "--analyzer", "shingle", "--match", "distance")
    run("add", url, path, "--simhash-field", "h")
    host, _, port = address(1).rpartition(":")
    connection = happybase.Connection(host, int(port))
    with open_index(url) as index:
        yield index, connection.table(name), simhashes
    connection.close()


def near(index: LocalIndex, simhash: int) -> set[int]:
    """Return the fingerprints that the index finds, by way of the documents."""
    found = [match.id for match in index.query_simhash(simhash).matches]
    return {stored.simhash for stored in index.get_many(found) if stored is not None}


def test_the_recipe_of_the_readme_finds_the_same_neighbours_in_ten_rows_each(filled):
    index, table, simhashes = filled
    rows = [row for row, _ in table.scan(columns=[b"b"])]
    assert rows == sorted({key for simhash in simhashes for key in row_keys(Scheme.parse("5x2"), simhash)})
    names: dict = {}
    exec(blocks("python")["recipe"], names)

    found = [names["neighbours"](table, simhash) for simhash in simhashes]

    assert found == [near(index, simhash) for simhash in simhashes]
    assert sum(map(len, found)) > len(simhashes)
    news = index.in_collection("news: 新闻")
    news.add_entries(entries({f"{number}": simhash for number, simhash in enumerate(simhashes[::2])}))
    for view in (index, news):
        name = view.collection.name
        found = [names["neighbours"](table, simhash, collection=name) for simhash in simhashes]
        assert found == [near(view, simhash) for simhash in simhashes]


# the backup for HBase in docker/README.md: a snapshot of a table in use is an index, whole after a repair

SIMHASHES = np.random.default_rng(21).integers(0, 2**64, 1_500, dtype=np.uint64).tolist()
# Between two documents: the server, which makes the snapshot meanwhile, is not to be busy with them alone.
PAUSE_S = 0.01


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    with shell_lines(server_status(), tmp_path_factory.mktemp("shell")) as made:
        yield made


def readme_lines(names):
    """Return the lines of the recipe for the HBase shell and for the command line, with names of our own."""
    block = with_names(blocks()["snapshot"], names)
    lines = [line.partition("  #")[0].strip() for line in block.splitlines()]
    shell = [line.removeprefix("hbase> ") for line in lines if line.startswith("hbase> ")]
    commands = [line.removeprefix("$ simhash-hbase ").split() for line in lines if line.startswith("$ simhash-hbase ")]
    return shell, commands


def test_a_snapshot_of_a_table_in_use_is_an_index_with_all_that_was_acknowledged(shell):
    name = tables().name()
    store = HBaseStore.create(hbase_options(2, name), TableSchema(regions=4))
    index = LocalIndex.create(store, Profile.resolve(analyzer="shingle", match="distance"))
    index.add_entries(entries([(f"before {number}", simhash) for number, simhash in enumerate(SIMHASHES[:300])]))
    copy = tables().name()
    (take, restore), commands = readme_lines(
        {
            "news_restored": copy,
            "'news'": f"'{name}'",
            "/news --taken": f"/{name} --taken",
            "news-2026-11-21": f"{name}_snapshot",
            "127.0.0.1:9091": address(2),
        }
    )
    writing, enough = Event(), Event()

    def write():
        for number, simhash in enumerate(SIMHASHES[300:]):
            if enough.wait(PAUSE_S):
                return
            index.add_entries(entries({f"meanwhile {number}": simhash}))
            writing.set()

    writer = Thread(target=write)
    writer.start()
    assert writing.wait(END_S)
    shell(take)
    enough.set()
    writer.join()
    list(index.remove_many(f"before {number}" for number in range(300)))
    shell(restore)

    done = [results.run(*words) for words in commands]
    shell(f"delete_snapshot '{name}_snapshot'")
    index.close()

    assert [one.code for one in done] == [0] * len(done), [one.err for one in done]
    with LocalIndex(HBaseStore.open(hbase_options(2, copy))) as restored:
        assert restored.verify().wrong == 0
        queries = entries([("", simhash) for simhash in SIMHASHES[:300]])
        found = [answered(answer) for answer in restored.query_entries(queries)]
    assert found == [[(f"before {number}", 0)] for number in range(300)]


# ``load``, killed in each of its phases and run again: the table is what one load makes

PROFILE = Profile.resolve(analyzer="shingle", match="distance")
LOADED = np.unique(np.random.default_rng(9).integers(0, 2**64, 2_000, dtype=np.uint64))


@pytest.fixture
def index():
    with LocalIndex.create(
        HBaseStore.create(hbase_options(2, tables().name()), TableSchema(regions=4)), PROFILE
    ) as made:
        yield made


@pytest.fixture
def staging(tmp_path):
    return tmp_path / "staging"


@pytest.fixture
def words(index, staging, tmp_path, monkeypatch):
    status = server_status()
    # Only --hbase-conf leads to its configuration.
    monkeypatch.setenv("SIMHASH_HBASE_HOME", str(tmp_path / "nothing"))
    records = ({"id": f"document {n}", "h": f"{h:016x}"} for n, h in enumerate(LOADED.tolist()))
    own = ["--simhash-field", "h", "--workers", 1, "--work", tmp_path / "work"]
    there = ["--hbase-conf", status["conf"], "--jars", status["jars"], "--staging", staging]
    return ["load", index.store.url, write_jsonl(tmp_path / "own.jsonl", records), *own, *there]


PHASES = {
    # The folder stays until the end, so that a slow look does not miss it.
    "sorting": lambda index, folder: (folder / "work" / SCRATCH).exists(),
    "writing": lambda index, folder: any((folder / "staging").glob("*/*/family-d/d/*")),
    "taking over": lambda index, folder: any(index.store.scan_cells("d", b"", None, page=1)),
}


@pytest.mark.slow
@pytest.mark.parametrize(("phase", "java_too"), [*((phase, True) for phase in PHASES), ("taking over", False)])
def test_a_load_that_was_killed_is_made_whole_by_the_same_command(index, words, staging, tmp_path, phase, java_too):
    process = results.start(*words)
    end = time.monotonic() + END_S
    while not reached(PHASES[phase], process, index, tmp_path):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    kill(process, children_too=java_too)

    done = results.run(*words)

    assert done.code == 0, done.err
    assert (done.record["documents"], done.record["resumed"]) == (len(LOADED), len(LOADED))
    assert all_pairs(index.store, page=99_999) == sorted(pairs_of(block_rows(PROFILE.blocks, LOADED)))
    documents = {(stored.id, stored.simhash, stored.state) for stored in index.export()}
    assert documents == {(f"document {n}", h, "added") for n, h in enumerate(LOADED.tolist())}
    assert not index.verify().wrong
    assert list(staging.iterdir()) == []
    assert not (tmp_path / "work").exists()


def reached(phase, process, index, folder):
    """Look while the command stands still, or it might end between the look and the kill."""
    process.send_signal(signal.SIGSTOP)
    try:
        found = phase(index, folder)
    except BaseException:
        process.kill()
        raise
    if not found:
        process.send_signal(signal.SIGCONT)
    return found


def kill(process, *, children_too):
    threads = Path(f"/proc/{process.pid}/task").glob("*/children")
    children = " ".join(path.read_text() for path in threads).split()
    for pid in [process.pid, *map(int, children if children_too else [])]:
        os.kill(pid, signal.SIGKILL)
    results.finish(process)
