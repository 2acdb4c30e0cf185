"""Bulk load into a real HBase: files of all families, taken over by the region servers."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

import numpy as np
import pytest
from support.hbase_server import hbase_options, tables
from support.own_hbase import server_status
from support.patience import END_S
from support.region_admin import RegionAdmin
from support.rows import contents

from simhash_hbase.bulk import HFileWriter, Spool, StoreWriter, begin, load
from simhash_hbase.bulk.hfiles import run_loader
from simhash_hbase.bulk.places import find_tools, staging_folder
from simhash_hbase.errors import StoreRefused
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.index.local import LocalIndex
from simhash_hbase.inputs import Document, Place
from simhash_hbase.profile import Profile
from simhash_hbase.stores.hbase import HBaseStore
from simhash_hbase.stores.hbase.launcher import cache_folder
from simhash_hbase.stores.hbase.table import TableSchema
from simhash_hbase.stores.memory import MemoryStore

pytestmark = pytest.mark.hbase
PROFILE = Profile.resolve(analyzer="shingle", match="distance")
SIMHASHES = np.random.default_rng(8).integers(0, 2**64, 1_000, dtype=np.uint64)


@pytest.fixture(scope="module")
def tools():
    return find_tools(jars=Path(server_status()["jars"]), cache=cache_folder() / "classes")


@pytest.fixture
def index():
    """An empty index in a table of seven regions with compression."""
    table = hbase_options(2, tables().name())
    with LocalIndex.create(HBaseStore.create(table, TableSchema(regions=7, compression="SNAPPY")), PROFILE) as made:
        yield made


def staging_of(table):
    return staging_folder(Path(server_status()["conf"]), None, table)


@pytest.fixture
def make_writer(tools):
    def make(table):
        return HFileWriter(tools.program(Path(server_status()["conf"])), table, staging_of(table))

    return make


def documents(simhashes=SIMHASHES):
    for number, simhash in enumerate(simhashes.tolist()):
        yield Document(f"document {number}", None, simhash, None, {"n": number}, Place("input", number), None)


def filled(index, folder):
    spool = Spool(folder, index.store.url, index.profile)
    begin(index, spool)
    list(spool.fill(documents(), Analysis(index.profile)))
    return spool


def table_of(index):
    return index.store.url.rpartition("/")[2]


def test_files_that_are_loaded_again_equal_puts(index, make_writer, tmp_path):
    spool = filled(index, tmp_path / "hbase")
    writer = make_writer(table_of(index))
    model = LocalIndex.create(MemoryStore(), PROFILE)
    same = filled(model, tmp_path / "memory")
    same.manifest.stamp = spool.manifest.stamp
    load(model, same, StoreWriter(model.store))

    load(index, spool, writer)

    assert contents(index.store) == contents(model.store)
    assert {name: files.cells for name, files in writer.done.items()} == {"d": 2_000, "b": 10_000}
    assert [files.files for files in writer.done.values()] == [7, 7]
    load(index, spool, make_writer(table_of(index)))
    assert contents(index.store) == contents(model.store)


class WithOtherPrefixes(TableSchema):
    """A table in which an operator has given the family of documents a setting that the family of blocks has, too."""

    @property
    def families(self):
        blocks, documents, own = super().families
        return blocks, replace(documents, configuration={name: "3" for name in blocks.configuration}), own


def test_files_of_a_family_have_its_own_settings(make_writer, tmp_path):
    table = hbase_options(2, tables().name())
    with LocalIndex.create(HBaseStore.create(table, WithOtherPrefixes(regions=1)), PROFILE) as index:
        load(index, filled(index, tmp_path / "work"), make_writer(table_of(index)))
        files = list(Path(server_status()["folder"]).glob(f"**/data/default/{table_of(index)}/*/b/*"))

    # The parameter of the bloom filter as the file says it: the length of a prefix, in four bytes.
    assert [b"BLOOM_FILTER_PARAM\x12\x04\0\0\0\x05" in file.read_bytes() for file in files] == [True]


class Twice:
    """Writes by two attempts at once: the older one ends while the newer one is in the middle of it."""

    way = "HFiles"

    def __init__(self, old, new):
        self._old = old
        self._new = new

    def write(self, cells, rows, *, timestamp):
        cells, rows = list(cells), list(rows)
        is_under_way, may_end = Event(), Event()

        def first():
            yield from cells
            is_under_way.set()
            assert may_end.wait(END_S)

        def second():
            yield from cells
            may_end.set()
            ended.result()

        with ThreadPoolExecutor(1) as threads:
            ended = threads.submit(self._old.write, first(), rows, timestamp=timestamp)
            assert is_under_way.wait(END_S)
            self._new.write(second(), rows, timestamp=timestamp)


def test_an_attempt_that_outlives_its_command_does_not_disturb_the_next_one(index, make_writer, tmp_path):
    old, new = make_writer(table_of(index)), make_writer(table_of(index))
    load(index, filled(index, tmp_path / "work"), Twice(old, new))

    # The bytes of the files may differ: they hold the time, compressed.
    counts = [[(files.cells, files.files) for files in each.done.values()] for each in (old, new)]
    assert counts == [[(2_000, 7), (10_000, 7)]] * 2
    assert not index.verify().wrong
    assert index.stats(exact=True).documents == len(SIMHASHES)


class SplittingBetween:
    """Writes files, splits a region, then loads the files, as a Spark job does whose table has grown meanwhile."""

    way = "HFiles"

    def __init__(self, program, table, staging):
        self._program, self._table, self._staging = program, table, staging

    def write(self, cells, rows, *, timestamp):
        part = HFileWriter([*self._program, "write"], self._table, f"{self._staging}/part")
        part.write(cells, rows, timestamp=timestamp)
        RegionAdmin(self._table).split(b"\x80")
        run_loader([*self._program, "load", self._table, self._staging], [b"part"], self._table)


def test_files_of_a_region_that_is_split_meanwhile_go_into_both_halves(index, tools, tmp_path):
    table = table_of(index)
    writer = SplittingBetween(tools.program(Path(server_status()["conf"])), table, staging_of(table))

    load(index, filled(index, tmp_path / "work"), writer)

    assert not index.verify().wrong
    assert index.stats(exact=True).documents == len(SIMHASHES)


def test_loaded_documents_can_be_moved_and_removed_at_once(index, make_writer, tmp_path):
    load(index, filled(index, tmp_path / "work"), make_writer(table_of(index)))
    free = int(SIMHASHES[1]) ^ (2**64 - 1)
    index.add_entries(Analysis(PROFILE).fingerprints(["document 1"], [free]).entries)
    removed = dict(index.remove_many(["document 2"]))

    assert index.query_simhash(free).matches[0].id == "document 1"
    assert not index.query_simhash(int(SIMHASHES[1])).matches
    assert removed == {"document 2": True}
    assert not index.query_simhash(int(SIMHASHES[2])).matches
    assert index.query_simhash(int(SIMHASHES[3])).matches[0].id == "document 3"


def test_a_stream_that_breaks_off_loads_nothing(index, make_writer):
    writer = make_writer(table_of(index))

    def broken():
        yield from ()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        writer.write(broken(), [], timestamp=1)

    assert contents(index.store) == ([], [])
    assert not Path(urlsplit(staging_of(table_of(index))).path).exists()


def test_java_says_why_in_a_sentence(index, make_writer):
    with pytest.raises(StoreRefused, match="TableNotFound"):
        make_writer("no_such_table").write([], [], timestamp=1)
