"""Several processes on one folder: forks, writers side by side, and processes that are killed."""

import os
import signal
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import lmdb
import pytest
from stores.test_embedded_folders import finish, random_rows, start
from support.rows import all_cells, all_pairs, found_by, pairs_of, rows_of

from simhash_hbase.errors import StoreBusy
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore, environment

pytestmark = pytest.mark.slow


SMALL = EmbeddedOptions(durable=False, map_bytes=1 << 18)
ROWS = 20_000  # More than such a map has room for.
HEAD = """
import sys
from simhash_hbase.stores.base import *
from simhash_hbase.stores.embedded import *
from support.rows import *
from stores.test_embedded_folders import random_rows
store = EmbeddedStore.open({folder!r}, EmbeddedOptions(durable=False, map_bytes=1 << 18))
"""


@pytest.fixture
def store(folder):
    with closing(EmbeddedStore.create(folder, SMALL)) as made:
        yield made


def start_on(folder, code):
    return start(HEAD.format(folder=folder) + textwrap.dedent(code))


def outgrow(folder, *, seed=1):
    """Write so much in another process that it gives the folder a larger map."""
    finish(start_on(folder, f"store.put_rows(random_rows({ROWS}, seed={seed}), timestamp=1)"))


def in_child(act):
    """Fork, run a function in the child, and return its exit status."""
    child = os.fork()
    if not child:
        status = 1
        try:
            act()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_parent_and_child_both_use_a_store_after_a_fork_also_where_another_process_grew_its_map(store, folder):
    store.put_rows(rows_of((1, 1)), timestamp=1)
    outgrow(folder)

    def act():
        assert found_by(store, 1) == [(1, 1)]
        store.put_rows(rows_of((2, 2)), timestamp=1)
        store.close()

    assert in_child(act) == 0
    assert found_by(store, 1, 2) == [(1, 1), (2, 2)]
    store.put_rows(rows_of((3, 3)), timestamp=1)
    assert len(all_pairs(store)) == ROWS + 3


def test_a_parent_that_has_read_reads_on_after_its_child_has_ended(store):
    store.put_rows(rows_of((1, 1)), timestamp=1)
    assert all_pairs(store) == [(1, 1)]

    for act in (store.close, lambda: all_pairs(store), lambda: None):
        assert in_child(act) == 0
        assert all_pairs(store) == [(1, 1)]


def test_a_child_forked_within_a_transaction_ends_nothing_of_its_parent(store):
    store.put_rows(rows_of((1, 1)), timestamp=1)

    with store.transaction():
        store.put_rows(rows_of((2, 2)), timestamp=1)
        assert in_child(store.close) == 0
        store.put_rows(rows_of((3, 3)), timestamp=1)

    assert len(all_pairs(store)) == 3


def test_three_processes_write_and_read_side_by_side(store, folder):
    code = """
        for n in range(100):
            store.put_rows(rows_of(({me}, n)), timestamp=1)
            done = False
            while not done:
                [cell] = store.get("d", [(b"row", b"s")])
                old = cell and cell.value
                [done] = store.compare_and_set([Swap(b"row", b"s", old, b"%d" % (int(old or 0) + 1))])
            assert len(found_by(store, {me})) == n + 1
    """
    for process in [start_on(folder, code.replace("{me}", str(me))) for me in (1, 2, 3)]:
        finish(process)

    assert all_pairs(store) == [(me, n) for me in (1, 2, 3) for n in range(100)]
    assert store.get("d", [(b"row", b"s")])[0].value == b"300"


def test_a_map_grown_by_another_process_is_followed_by_readers_and_writers(store, folder):
    store.put_rows(rows_of((1, 1)), timestamp=1)
    outgrow(folder)

    assert len(all_pairs(store)) == ROWS + 1
    outgrow(folder, seed=2)
    store.put_rows(rows_of((1, 2)), timestamp=1)
    assert len(all_pairs(store)) == 2 * ROWS + 2


def once_before(monkeypatch, step, act):
    """Do something before an environment takes a step of its opening."""
    real, left = getattr(environment.Environment, step), [act]

    def acting(self):
        while left:
            left.pop()()
        return real(self)

    monkeypatch.setattr(environment.Environment, step, acting)


@pytest.mark.parametrize("step", ["_fill_up", "open_databases"])
def test_a_folder_that_outgrows_the_map_while_it_is_opened_is_opened_all_the_same(store, folder, monkeypatch, step):
    store.close()
    once_before(monkeypatch, step, lambda: outgrow(folder))

    with closing(EmbeddedStore.open(folder, SMALL)) as again:
        assert len(all_pairs(again)) == ROWS


def test_a_short_file_that_outgrows_the_map_while_it_is_opened_is_filled_up(store, folder, monkeypatch):
    data, sizes = os.path.join(folder, "data.mdb"), []

    def outgrow_and_shorten():
        outgrow(folder)
        sizes.append(os.path.getsize(data))
        os.truncate(data, sizes[0] - 1)

    store.close()
    once_before(monkeypatch, "_fill_up", outgrow_and_shorten)

    with closing(EmbeddedStore.open(folder, SMALL)):
        assert [os.path.getsize(data)] == sizes


def test_a_map_that_is_outgrown_within_the_driver_s_own_opening_is_opened_again(store, folder, monkeypatch):
    real, calls = environment.lmdb.open, []

    def outgrown_once(*words, **options):
        calls.append(options["map_size"])
        if len(calls) == 1:
            raise lmdb.MapResizedError
        return real(*words, **options)

    store.put_rows(rows_of((1, 1)), timestamp=1)
    store.close()
    monkeypatch.setattr(environment.lmdb, "open", outgrown_once)

    with closing(EmbeddedStore.open(folder, SMALL)) as again:
        assert all_pairs(again) == [(1, 1)]
    assert len(calls) == 2


def test_a_writer_killed_at_any_moment_leaves_whole_commits_and_no_lock(store, folder):
    code = """
        for n in range(1_000_000):
            with store.transaction():
                store.put_rows(rows_of((7, n), (8, n)), timestamp=1)
                store.put("d", [Cell(b"row", b"s", b"%d" % n, n)])
            print(n, flush=True)
    """
    for _ in range(3):
        process = start_on(folder, code)
        acknowledged = int(process.stdout.readline())
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        acknowledged = max([acknowledged, *map(int, process.stdout.read().split("\n")[:-1])])
        process.wait()
        process.stdout.close()

        sevens, eights = ([simhash for _, simhash in found_by(store, p, limit=10**7)] for p in (7, 8))
        assert sevens == eights
        assert sevens[-1] >= acknowledged
        assert store.compare_and_set([Swap(b"free", b"s", None, b"x")]) in ([True], [False])


HOLDS_A_SLOT = """
    import time
    store._environment().read(lambda transaction: (print("reads", flush=True), time.sleep(3600)))
"""


@pytest.fixture
def full(tmp_path):
    """Return a store whose slots are all taken, and the readers that have them."""
    folder = str(tmp_path / "few")
    with closing(EmbeddedStore.create(folder, EmbeddedOptions(durable=False, max_readers=2))) as made:
        readers = [start_on(folder, HOLDS_A_SLOT) for _ in range(2)]
        assert [reader.stdout.readline() for reader in readers] == ["reads\n"] * 2
        yield made, readers
        kill(readers)


def kill(readers):
    for reader in readers:
        with reader:
            reader.kill()


def test_slots_of_readers_that_are_killed_beside_an_open_folder_are_taken_back(full):
    store, readers = full
    kill(readers)

    assert all_pairs(store) == []


def test_where_living_readers_have_all_slots_a_read_is_refused(full):
    store, readers = full

    with pytest.raises(StoreBusy, match="max_readers"):
        all_pairs(store)

    kill(readers[:1])
    assert all_pairs(store) == []


def test_a_folder_that_is_opened_keeps_no_pages_for_a_reader_that_was_killed(store, folder):
    # LMDB itself forgets all readers when nobody has the folder open: this process has.
    reader = start_on(folder, HOLDS_A_SLOT)
    reader.stdout.readline()
    kill([reader])

    finish(start_on(folder, """
        for _ in range(50):
            store.put("m", [Cell(b"row", b"v", bytes(20_000))])
    """))  # fmt: skip

    assert os.path.getsize(os.path.join(folder, "data.mdb")) < 500_000


def test_a_reader_in_the_middle_of_a_range_does_not_stop_the_map_from_growing(store):
    store.put_rows(rows_of(*((1, simhash) for simhash in range(10))), timestamp=1)
    pages = store.scan_range(0, 2, page=3)
    first = pairs_of(next(pages))
    rows = random_rows(ROWS)
    store.put_rows(rows, timestamp=1)

    assert first + [pair for page in pages for pair in pairs_of(page)] == [(1, simhash) for simhash in range(10)]


def test_threads_read_while_the_map_grows(store):
    stop, answers = [], set()

    def look():
        while not stop:
            answers.add(tuple(found_by(store, 1)))
            # The driver lets go of the interpreter's lock at every row it writes: a busy reader would starve it.
            time.sleep(0.001)

    store.put_rows(rows_of((1, 1)), timestamp=1)
    with ThreadPoolExecutor(2) as threads:
        looks = [threads.submit(look) for _ in range(2)]
        try:
            for seed in range(4):
                store.put_rows(random_rows(10_000, seed), timestamp=1)
            store.put("d", [Cell(b"r", b"s", b"v")])
        finally:
            stop.append(True)

    assert [look.result() for look in looks] == [None, None]
    assert answers == {((1, 1),)}
    assert len(all_cells(store)) == 1
