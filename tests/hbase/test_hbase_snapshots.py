"""The backup for HBase in docker/README.md: a snapshot of a table in use is an index, whole after a repair."""

from threading import Event, Thread

import numpy as np
import pytest
from support.bruteforce import answered, entries
from support.fresh_clone import blocks, with_names
from support.hbase_server import address, hbase_options, tables
from support.own_hbase import server_status
from support.patience import END_S
from support.results import run
from support.shell_lines import shell_lines

from simhash_hbase import Index, Profile
from simhash_hbase.rows.table import TableSchema
from simhash_hbase.stores.hbase import HBaseStore

pytestmark = pytest.mark.hbase

SIMHASHES = np.random.default_rng(21).integers(0, 2**64, 1_500, dtype=np.uint64).tolist()


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Return what carries lines of the HBase shell out."""
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
    index = Index.create(store, Profile.resolve(analyzer="shingle", match="distance"))
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
            if enough.is_set():
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

    done = [run(*words) for words in commands]
    shell(f"delete_snapshot '{name}_snapshot'")
    index.close()

    assert [one.code for one in done] == [0] * len(done), [one.err for one in done]
    with Index(HBaseStore.open(hbase_options(2, copy))) as restored:
        assert restored.verify().wrong == 0
        queries = entries([("", simhash) for simhash in SIMHASHES[:300]])
        found = [answered(answer) for answer in restored.query_entries(queries)]
    assert found == [[(f"before {number}", 0)] for number in range(300)]
