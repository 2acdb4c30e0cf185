"""The embedded store in folders that are not as they should be, and its options."""

import os
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import lmdb
import numpy as np
import pytest
from support.patience import END_S
from support.results import with_helpers

from simhash_hbase.errors import (
    IndexClosed,
    IndexExists,
    IndexMissing,
    InvalidArgument,
    NotAnIndex,
    StoreBusy,
    StoreFull,
)
from simhash_hbase.rows.keys import BlockRows
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore, environment, records
from simhash_hbase.stores.embedded.folder import holds_index
from simhash_hbase.testing.rows import all_cells, all_pairs, found_by, pairs_of, rows_of, uint64s

QUICK = EmbeddedOptions(durable=False)


@pytest.fixture
def store(folder):
    """Return a store of one row."""
    with closing(EmbeddedStore.create(folder, QUICK)) as made:
        made.put_rows(rows_of((1, 1)), timestamp=1)
        yield made


@pytest.fixture
def index(store, folder):
    """Return the folder of a store of one row, which nobody has open."""
    store.close()
    return folder


@pytest.fixture
def small_store(folder):
    """Return a store whose map must grow soon."""
    with closing(EmbeddedStore.create(folder, EmbeddedOptions(durable=False, map_bytes=1 << 18))) as made:
        yield made


def start(code, *words):
    """Run code in a process of its own, so that what kills it does not kill the tests."""
    program = [sys.executable, "-c", textwrap.dedent(code), *words]
    return subprocess.Popen(program, env=with_helpers(), stdout=subprocess.PIPE, text=True)


def finish(process):
    """Wait for a process; return what it printed."""
    with process:
        out, _ = process.communicate(timeout=END_S)
    assert process.returncode == 0, out
    return out.strip()


def random_rows(count, seed=1):
    numbers = np.random.default_rng(seed).integers(0, 1 << 40, count, dtype=np.uint64)
    return BlockRows(np.sort(numbers), numbers)


def test_create_refuses_where_an_index_is(index):
    with pytest.raises(IndexExists, match="already"):
        EmbeddedStore.create(index)
    with closing(EmbeddedStore.open(index)), pytest.raises(IndexExists, match="already"):
        EmbeddedStore.create(index)


def test_create_takes_an_empty_folder_or_makes_it_with_its_parents(tmp_path):
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "a" / "b"):
        EmbeddedStore.create(str(path), QUICK).close()

        assert holds_index(str(path))


def test_open_of_a_folder_without_an_index_writes_nothing(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("none", "empty"):
        assert not holds_index(str(tmp_path / name))
        with pytest.raises(IndexMissing, match=rf"^there is no index at .*{name}\b"):
            EmbeddedStore.open(str(tmp_path / name))

    assert os.listdir(tmp_path / "empty") == []


def test_create_repeats_what_was_interrupted(tmp_path):
    folder = str(tmp_path)
    lmdb.open(folder).close()

    with pytest.raises(IndexMissing, match=r"its making was interrupted$") as raised:
        EmbeddedStore.open(folder)
    assert raised.value.interrupted
    EmbeddedStore.create(folder).close()


@pytest.mark.parametrize("use", [EmbeddedStore.open, EmbeddedStore.create])
def test_what_others_wrote_is_no_index(tmp_path, use):
    (tmp_path / "file").write_text("mine")
    for name in ("full", "environment"):
        (tmp_path / name).mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with lmdb.open(str(tmp_path / "environment")) as other, other.begin(write=True) as transaction:
        transaction.put(b"mine", b"1")

    for name, words in {"file": None, "full": None, "environment": "another program"}.items():
        with pytest.raises(NotAnIndex, match=words):
            use(str(tmp_path / name))
    assert os.listdir(tmp_path / "full") == ["notes.txt"]


def test_a_data_file_with_other_content_is_no_index(index):
    path = Path(index, "data.mdb")
    # The version of LMDB is in both meta pages.
    of_another_version = bytearray(path.read_bytes())
    of_another_version[20] = of_another_version[4096 + 20] = 99
    contents = {b"garbage" * 10_000: NotAnIndex, b"x": NotAnIndex, b"": IndexMissing}

    for content, error in {**contents, bytes(of_another_version): NotAnIndex}.items():
        path.write_bytes(content)
        with pytest.raises(error):
            EmbeddedStore.open(index)


def test_a_store_opened_for_reading_refuses_to_write(index):
    with closing(EmbeddedStore.open(index, readonly=True)) as store:
        assert found_by(store, 1) == [(1, 1)]
        for write in (
            lambda: store.put_rows(rows_of((2, 2)), timestamp=1),
            lambda: store.put("d", [Cell(b"r", b"s", b"v")]),
            store.transaction,
        ):
            with pytest.raises(InvalidArgument, match="reading only"):
                write()


def test_two_stores_of_one_process_share_the_folder_by_any_path(index, tmp_path):
    os.symlink(index, tmp_path / "link")
    one, two = EmbeddedStore.open(index), EmbeddedStore.open(str(tmp_path / "link"))
    one.put_rows(rows_of((2, 2)), timestamp=1)

    assert found_by(two, 2) == [(2, 2)]
    one.close()
    assert found_by(two, 1) == [(1, 1)]
    two.close()
    with pytest.raises(IndexClosed, match="closed"):
        found_by(two, 1)


def test_options_out_of_range_or_unlike_those_of_the_same_process_are_refused(store, folder):
    for options in ({"map_bytes": 1}, {"max_readers": 0}, {"max_readers": 1 << 20}):
        with pytest.raises(InvalidArgument):
            EmbeddedOptions(**options)
    with pytest.raises(InvalidArgument, match="durable=False already"):
        EmbeddedStore.open(folder)


@pytest.mark.parametrize("durable", [False, True])
def test_options_reach_the_driver(folder, durable):
    options = EmbeddedOptions(durable=durable, max_readers=7, map_bytes=1 << 20)
    with closing(EmbeddedStore.create(folder, options)) as store:
        driver = store._environment()._env

        assert driver.flags()["sync"] is durable
        assert driver.info()["max_readers"] == 7


def test_the_size_of_a_folder_is_its_rows_and_bytes_on_disk(store):
    assert store.size().rows == {"b": 1, "d": 0, "m": 0}
    assert 4096 <= store.size().bytes < 1 << 20


def test_a_key_too_long_for_lmdb_is_refused(store):
    for cell in (Cell(b"r", b"q" * 511, b""), Cell(b"r" * 256, b"", b"")):
        with pytest.raises(InvalidArgument):
            store.put("d", [cell])
    store.put("d", [Cell(b"r", b"q" * 510, b"v" * 100_000, 1)])

    assert len(all_cells(store)) == 1


def test_a_hot_prefix_is_read_up_to_the_limit_only(store, monkeypatch):
    monkeypatch.setattr(records, "_HOT_ROWS", 1000)
    simhashes = np.sort(np.random.default_rng(1).integers(0, 1 << 64, 20_000, dtype=np.uint64))
    store.put_rows(BlockRows(np.full(20_000, 7, dtype=np.uint64), simhashes), timestamp=1)
    store.put_rows(rows_of((6, 1), (8, 1), (8, 2)), timestamp=1)
    read, unpack = [], records.rowkeys.unpack_rows
    monkeypatch.setattr(records.rowkeys, "unpack_rows", lambda packed: read.append(len(packed)) or unpack(packed))

    cut, whole = (store.scan(uint64s(6, 7, 8, 9), limit=limit) for limit in (50, 20_000))

    assert pairs_of(cut.rows) == [(6, 1), *((7, simhash) for simhash in simhashes[:50].tolist()), (8, 1), (8, 2)]
    assert cut.truncated.tolist() == [7]
    assert (len(whole.rows.prefixes), whole.truncated.tolist()) == (20_003, [])
    assert max(read) == 3 * 13


def test_a_backup_is_a_whole_index_a_crowded_prefix_included(store, tmp_path):
    store.put("d", [Cell(b"r", b"s", b"v", 1)])
    store.put_rows(rows_of(*((7, simhash) for simhash in range(5_000))), timestamp=1)
    target = str(tmp_path / "deep" / "copy")
    store.backup(target)
    store.put_rows(rows_of((2, 2)), timestamp=1)

    with closing(EmbeddedStore.open(target, QUICK)) as copy:
        assert all_pairs(copy) == [(1, 1), *((7, simhash) for simhash in range(5_000))]
        assert all_cells(copy) == [Cell(b"r", b"s", b"v", 1)]
    assert os.listdir(tmp_path / "deep") == ["copy"]
    with pytest.raises(InvalidArgument, match="already exists"):
        store.backup(target)


@pytest.mark.slow
@pytest.mark.parametrize("prefixes", [1 << 40, 150_000, 15_000])
def test_sorted_rows_fill_the_pages_also_where_some_share_a_prefix(folder, prefixes):
    numbers = np.random.default_rng(4).integers(0, [[prefixes], [1 << 63]], (2, 60_000), dtype=np.uint64)
    rows = BlockRows.merged(BlockRows(*numbers))
    with closing(EmbeddedStore.create(folder, QUICK)) as store:
        for first in range(0, len(rows.prefixes), 12_000):
            part = slice(first, first + 12_000)
            store.put_rows(BlockRows(rows.prefixes[part], rows.simhashes[part]), timestamp=1)

        assert all_pairs(store, page=50_000) == pairs_of(rows)
        assert store.size().bytes < 29 * len(rows.prefixes)


def test_a_map_grows_while_half_of_it_is_free(small_store):
    shared = small_store._environment()
    while shared.map_bytes == 1 << 18:
        used = shared._believed_bytes()
        small_store.put("m", [Cell(os.urandom(8), b"v", bytes(2_000))])

    assert used <= (1 << 17) + 16 * 4096


def outgrow(store):
    """Write more in one transaction than a small map has room for."""
    with store.transaction():
        store.put("m", [Cell(b"%04d" % n, b"v", bytes(1_000)) for n in range(400)])


def test_a_transaction_that_outgrows_the_map_can_be_repeated(small_store):
    refused = 0
    while refused < 10:
        try:
            outgrow(small_store)
            break
        except StoreBusy:
            refused += 1
            assert all_cells(small_store, "m") == []

    assert refused > 0
    assert len(all_cells(small_store, "m")) == 400


@pytest.mark.parametrize("granted", [True, False])
def test_a_transaction_after_one_that_outgrew_the_map_starts_afresh(small_store, monkeypatch, granted):
    if not granted:
        monkeypatch.setattr(environment, "_has_address_space", lambda size: False)
    with pytest.raises(StoreBusy if granted else StoreFull, match=r"whole transaction|grants no more"):
        outgrow(small_store)
    grown = small_store._environment().map_bytes
    with small_store.transaction():
        small_store.put("m", [Cell(b"row", b"v", b"1")])

    assert (grown > 1 << 18) == granted
    assert small_store._environment().map_bytes == grown
    assert [cell.value for cell in all_cells(small_store, "m")] == [b"1"]


@pytest.mark.slow
def test_a_full_disk_harms_nothing_committed(folder):
    # A limit on the size of files stands in for the disk: the write fails in the same place.
    code = f"""
        import resource
        from simhash_hbase.errors import StoreFull
        from simhash_hbase.testing.rows import all_pairs, rows_of, found_by
        from stores.test_embedded_folders import random_rows
        from simhash_hbase.stores.embedded import EmbeddedStore
        store = EmbeddedStore.create({folder!r})
        store.put_rows(rows_of((1, 1), (2, 2)), timestamp=1)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
        for attempt in range(2):
            try:
                store.put_rows(random_rows(200_000), timestamp=1)
            except StoreFull as error:
                print("full", len(all_pairs(store)))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        store.put_rows(random_rows(200_000), timestamp=1)
        print(len(all_pairs(store)))
    """
    assert finish(start(code)).split() == ["full", "2", "full", "2", "200002"]


def test_a_system_that_grants_no_address_space_at_all_is_reported(folder, monkeypatch):
    opening = Mock(side_effect=lmdb.MemoryError("no"))
    monkeypatch.setattr(lmdb, "open", opening)
    with pytest.raises(StoreFull, match="address space"):
        EmbeddedStore.create(folder, EmbeddedOptions(map_bytes=1 << 20))

    assert [call.kwargs["map_size"] for call in opening.mock_calls] == [1 << 20, 1 << 19, 1 << 18]
