"""Readers who may not write the files of a folder: they get every answer, beside writers who cannot see them."""

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from stores.test_embedded_folders import finish
from support.imported import IMPORT_ALL

from simhash_hbase import create_index
from simhash_hbase.errors import StoreBusy
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore, environment
from simhash_hbase.stores.embedded.environment import undisturbed

pytestmark = pytest.mark.slow


QUICK = EmbeddedOptions(durable=False)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes to another user, which only root may")


@pytest.fixture
def folder():
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
    whole = IMPORT_ALL + textwrap.dedent(prelude) + textwrap.dedent(code)
    return subprocess.Popen([sys.executable, "-c", whole, *words], stdout=subprocess.PIPE, text=True)


@needs_root
def test_a_reader_who_may_write_nothing_can_query_count_export_and_verify(folder):
    text = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理，出任CEO，走上人生巅峰。"
    with create_index(f"file:{folder}") as index:
        index.add("a", text)
    close_to_others(folder)
    code = """
        url, text = sys.argv[1:]
        for words in (["query", "--text", text], ["get", "a"], ["stats"], ["export"], ["verify"]):
            print(words[0], run(words[0], url, *words[1:], "--quiet").exit_code)
        print("remove", run("remove", url, "a").exit_code)
    """
    told = finish(as_nobody(code, f"file:{folder}", text))

    assert told.split("\n") == ["query 0", "get 0", "stats 0", "export 0", "verify 0", "remove 1"]


@needs_root
def test_a_user_who_may_read_or_make_nothing_is_told_so(folder):
    EmbeddedStore.create(folder, QUICK).close()
    close_to_others(folder)
    os.chmod(os.path.join(folder, "data.mdb"), 0o600)
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

    told = finish(as_nobody(code, folder)).splitlines()

    assert ["it may not be read" in line for line in told] == [True, True, True, False]
    assert told[3] == "/nobodys: permission denied"


@needs_root
def test_a_reader_whom_writers_cannot_see_gets_whole_answers_while_they_write(folder):
    store = EmbeddedStore.create(folder, QUICK)
    store.put("m", [Cell(b"%03d" % n, b"v", b"0" * 500) for n in range(300)])
    close_to_others(folder)
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
    reader = as_nobody(code, folder)
    assert reader.stdout.readline() == "ready\n"
    number = 0
    while reader.poll() is None:
        number += 1
        store.put("m", [Cell(b"%03d" % n, b"v", b"%d" % number * 100) for n in range(300)])
    store.close()

    assert finish(reader) == "whole"


@needs_root
def test_a_reader_who_may_write_the_lock_file_alone_is_seen_by_writers(folder):
    EmbeddedStore.create(folder, QUICK).close()
    close_to_others(folder)
    os.chmod(os.path.join(folder, "lock.mdb"), 0o666)
    code = """
        store = EmbeddedStore.open(sys.argv[1], readonly=True)
        print(store._environment()._unseen)
    """
    assert finish(as_nobody(code, folder)) == "False"


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
def no_pause(monkeypatch):
    now = [0.0]
    sleep = lambda seconds: now.__setitem__(0, now[0] + seconds)  # noqa: E731
    monkeypatch.setattr(environment, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    return now


@pytest.mark.parametrize(("commits", "reads"), [([0], 1), ([1], 1), ([2, 1], 2), ([5, 2, 0], 3)])
def test_a_read_beside_which_pages_may_have_been_reused_is_made_again(no_pause, commits, reads):
    pages = Pages(commits)

    assert undisturbed(pages, lambda transaction: pages.reads) == reads


def test_an_error_counts_only_when_pages_stood_still(no_pause):
    pages = Pages([2, 1])

    def look(transaction):
        raise ValueError(pages.reads)

    with pytest.raises(ValueError, match="2"):
        undisturbed(pages, look)


def test_a_read_that_is_always_disturbed_ends(no_pause):
    with pytest.raises(StoreBusy, match="writers kept changing"):
        undisturbed(Pages([]), lambda transaction: 1)
    assert environment.UNDISTURBED_S <= no_pause[0] < environment.UNDISTURBED_S + 1
