"""``load`` into a real HBase, killed in each of its phases and run again: the table is what one load makes."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from support.corpus import write_jsonl
from support.hbase_server import hbase_options, tables
from support.own_hbase import server_status
from support.patience import END_S
from support.results import finish, run, start
from support.rows import all_pairs, pairs_of

from simhash_hbase.bulk.spool import SCRATCH
from simhash_hbase.index.index import Index
from simhash_hbase.profile import Profile
from simhash_hbase.rows.keys import block_rows
from simhash_hbase.rows.table import TableSchema
from simhash_hbase.stores.hbase import HBaseStore

pytestmark = [pytest.mark.hbase, pytest.mark.slow]

PROFILE = Profile.resolve(analyzer="shingle", match="distance")
SIMHASHES = np.unique(np.random.default_rng(9).integers(0, 2**64, 8_000, dtype=np.uint64))


@pytest.fixture
def index():
    with Index.create(HBaseStore.create(hbase_options(2, tables().name()), TableSchema(regions=4)), PROFILE) as made:
        yield made


@pytest.fixture
def staging(tmp_path):
    return tmp_path / "staging"


@pytest.fixture
def words(index, staging, tmp_path):
    """Return the command."""
    status = server_status()
    records = ({"id": f"document {n}", "h": f"{h:016x}"} for n, h in enumerate(SIMHASHES.tolist()))
    own = ["--simhash-field", "h", "--workers", 1, "--work", tmp_path / "work"]
    there = ["--hbase-conf", status["conf"], "--jars", status["jars"], "--staging", staging]
    return ["load", index.store.url, write_jsonl(tmp_path / "own.jsonl", records), *own, *there]


PHASES = {
    "sorting": lambda index, folder: any((folder / "work" / SCRATCH).glob("cells-*")),
    "writing": lambda index, folder: any((folder / "staging").glob("*/*/family-d/d/*")),
    "taking over": lambda index, folder: any(index.store.scan_cells("d", b"", None, page=1)),
}


@pytest.mark.parametrize(("phase", "java_too"), [*((phase, True) for phase in PHASES), ("taking over", False)])
def test_a_load_that_was_killed_is_made_whole_by_the_same_command(index, words, staging, tmp_path, phase, java_too):
    process = start(*words)
    end = time.monotonic() + END_S
    while not reached(PHASES[phase], process, index, tmp_path):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.002)
    kill(process, children_too=java_too)

    done = run(*words)

    assert done.code == 0, done.err
    assert (done.record["documents"], done.record["resumed"]) == (len(SIMHASHES), len(SIMHASHES))
    assert all_pairs(index.store, page=99_999) == sorted(pairs_of(block_rows(PROFILE.blocks, SIMHASHES)))
    documents = {(stored.id, stored.simhash, stored.state) for stored in index.export()}
    assert documents == {(f"document {n}", h, "added") for n, h in enumerate(SIMHASHES.tolist())}
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
    finish(process)
