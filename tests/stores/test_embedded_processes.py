"""Several processes on one folder: forks, writers side by side, killed ones, and readers who may not write."""

import os
import shutil
import signal
import tempfile
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from types import SimpleNamespace
from unittest.mock import DEFAULT, Mock

import lmdb
import pytest
from stores.test_embedded_folders import finish, random_rows, start
from support.imported import IMPORT_ALL

from simhash_hbase import create_index
from simhash_hbase.errors import StoreBusy
from simhash_hbase.stores.base import Cell, Swap
from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore, environment
from simhash_hbase.stores.embedded.environment import undisturbed
from simhash_hbase.testing.rows import all_cells, all_pairs, found_by, pairs_of, rows_of

pytestmark = pytest.mark.slow


QUICK = EmbeddedOptions(durable=False)
SMALL = EmbeddedOptions(durable=False, map_bytes=1 << 18)
ROWS = 20_000  # More than such a map has room for.
HEAD = """
import sys
from simhash_hbase.stores.base import *
from simhash_hbase.stores.embedded import *
from simhash_hbase.testing.rows import *
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


def test_parent_and_child_use_a_store_after_a_fork_even_if_its_map_has_grown(store, folder):
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


@pytest.mark.parametrize(("step", "missing"), [("_fill_up", 0), ("_fill_up", 1), ("open_databases", 0)])
def test_a_folder_that_outgrows_the_map_while_it_is_opened_is_opened(store, folder, monkeypatch, step, missing):
    data, sizes = os.path.join(folder, "data.mdb"), []

    def outgrow_and_shorten():
        outgrow(folder)
        sizes.append(os.path.getsize(data))
        os.truncate(data, sizes[0] - missing)

    store.close()
    once_before(monkeypatch, step, outgrow_and_shorten)

    with closing(EmbeddedStore.open(folder, SMALL)) as again:
        assert len(all_pairs(again)) == ROWS
        assert [os.path.getsize(data)] == sizes


def test_a_map_that_is_outgrown_within_the_driver_s_own_opening_is_opened_again(store, folder, monkeypatch):
    opening = Mock(wraps=lmdb.open, side_effect=[lmdb.MapResizedError, DEFAULT])
    store.put_rows(rows_of((1, 1)), timestamp=1)
    store.close()
    monkeypatch.setattr(environment.lmdb, "open", opening)

    with closing(EmbeddedStore.open(folder, SMALL)) as again:
        assert all_pairs(again) == [(1, 1)]
    assert opening.call_count == 2


def test_a_writer_killed_at_any_moment_leaves_whole_commits(store, folder):
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


def kill(readers):
    for reader in readers:
        with reader:
            reader.kill()


def test_only_the_slots_of_killed_readers_are_taken_back(tmp_path):
    folder = str(tmp_path / "few")
    with closing(EmbeddedStore.create(folder, EmbeddedOptions(durable=False, max_readers=2))) as store:
        readers = [start_on(folder, HOLDS_A_SLOT) for _ in range(2)]
        assert [reader.stdout.readline() for reader in readers] == ["reads\n"] * 2

        with pytest.raises(StoreBusy, match="max_readers"):
            all_pairs(store)
        kill(readers[:1])
        assert all_pairs(store) == []
        kill(readers[1:])


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
    rows = random_rows(5 * ROWS)
    store.put_rows(rows, timestamp=1)

    assert all_pairs(store, start=2) == pairs_of(rows)
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


# readers who may not write get every answer, beside writers who cannot see them

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes to another user, which only root may")


@pytest.fixture
def shared_folder():
    """Return a folder that other users may read; pytest's own temporary folders are closed to them."""
    above = tempfile.mkdtemp(prefix="simhash-hbase-readers-")
    os.chmod(above, 0o755)
    yield os.path.join(above, "index")
    shutil.rmtree(above)


def close_to_others(folder):
    os.chmod(folder, 0o755)
    for name in os.listdir(folder):
        os.chmod(os.path.join(folder, name), 0o644)


def as_nobody(code, *words):
    """Run code as a user who owns nothing, after it has imported what root alone may be able to read."""
    prelude = """
        import os, sys, json
        from click.testing import CliRunner
        from simhash_hbase.cli.app import cli
        from simhash_hbase import open_index
        from simhash_hbase.errors import *
        from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore
        def run(*words):
            return CliRunner().invoke(cli, list(words))
        run("fingerprint", "--text", "warm up 中文")
        os.chdir("/")
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
    """
    return start(IMPORT_ALL + textwrap.dedent(prelude) + textwrap.dedent(code), *words)


@needs_root
def test_a_reader_without_rights_to_write_can_query_count_export_and_verify(shared_folder):
    text = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理，出任CEO，走上人生巅峰。"
    with create_index(f"file:{shared_folder}") as index:
        index.add("a", text)
    close_to_others(shared_folder)
    code = """
        url, text = sys.argv[1:]
        for words in (["query", "--text", text], ["get", "a"], ["stats"], ["export"], ["verify"]):
            print(words[0], run(words[0], url, *words[1:], "--quiet").exit_code)
        print("remove", run("remove", url, "a").exit_code)
        print("unseen", open_index(url, readonly=True).store._environment()._unseen)
    """
    told = ["query 0", "get 0", "stats 0", "export 0", "verify 0", "remove 1"]

    assert finish(as_nobody(code, f"file:{shared_folder}", text)).split("\n") == [*told, "unseen True"]
    os.chmod(os.path.join(shared_folder, "lock.mdb"), 0o666)
    assert finish(as_nobody(code, f"file:{shared_folder}", text)).split("\n") == [*told, "unseen False"]


@needs_root
def test_a_user_who_may_read_or_make_nothing_is_told_so(shared_folder):
    EmbeddedStore.create(shared_folder, QUICK).close()
    close_to_others(shared_folder)
    os.chmod(os.path.join(shared_folder, "data.mdb"), 0o600)
    code = """
        folder = sys.argv[1]
        for use in (
            lambda: open_index("file:" + folder, readonly=True),
            lambda: EmbeddedStore.open(folder),
            lambda: EmbeddedStore.create(folder),
            lambda: EmbeddedStore.create("/nobodys"),
        ):
            try:
                use()
            except StoreRefused as error:
                print(error)
    """

    told = finish(as_nobody(code, shared_folder)).splitlines()

    assert ["it may not be read" in line for line in told] == [True, True, True, False]
    assert told[3] == "/nobodys: permission denied"


@needs_root
def test_a_reader_whom_writers_cannot_see_gets_whole_answers_while_they_write(shared_folder):
    store = EmbeddedStore.create(shared_folder, QUICK)
    store.put("m", [Cell(b"%03d" % n, b"v", b"0" * 500) for n in range(300)])
    close_to_others(shared_folder)
    code = """
        store = EmbeddedStore.open(sys.argv[1], readonly=True)
        print("ready", flush=True)
        seen, busy = set(), 0
        while len(seen) < 5:
            try:
                values = [cell.value for page in store.scan_cells("m", b"", None, page=1000) for cell in page]
            except StoreBusy:
                busy += 1
                continue
            assert len(values) == 300 and len(set(values)) == 1, len(set(values))
            seen.add(values[0])
        print("whole")
    """
    reader = as_nobody(code, shared_folder)
    assert reader.stdout.readline() == "ready\n"
    number = 0
    while reader.poll() is None:
        number += 1
        store.put("m", [Cell(b"%03d" % n, b"v", b"%d" % number * 100) for n in range(300)])
    store.close()

    assert finish(reader) == "whole"


class Pages:
    """An environment in which a number of commits happens during each read."""

    def __init__(self, commits):
        self._commits = list(commits)
        self.reads = 0
        self._last = 10

    @contextmanager
    def begin(self):
        began = self._last
        self.reads += 1
        self._last += self._commits.pop(0) if self._commits else 2
        yield SimpleNamespace(id=lambda: began)

    def info(self):
        return {"last_txnid": self._last}

    def path(self):
        return "folder"


@pytest.fixture
def no_pause(clock, monkeypatch):
    def sleep(seconds):
        clock.now += seconds

    monkeypatch.setattr(environment, "time", SimpleNamespace(monotonic=clock, sleep=sleep))


@pytest.mark.parametrize(("commits", "reads"), [([0], 1), ([1], 1), ([2, 1], 2), ([5, 2, 0], 3)])
def test_a_read_whose_pages_may_have_been_reused_is_made_again_even_if_it_succeeded(no_pause, commits, reads):
    pages, failing = Pages(commits), Pages(commits)

    def fail(transaction):
        raise ValueError(failing.reads)

    assert undisturbed(pages, lambda transaction: pages.reads) == reads
    with pytest.raises(ValueError, match=f"^{reads}$"):
        undisturbed(failing, fail)


def test_a_read_that_is_always_disturbed_ends(no_pause, clock):
    began = clock.now
    with pytest.raises(StoreBusy, match="writers kept changing"):
        undisturbed(Pages([]), lambda transaction: 1)
    assert environment.UNDISTURBED_S <= clock.now - began < environment.UNDISTURBED_S + 1
