"""Batches of writes that are gathered in one transaction of a folder."""

import gc
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from threading import Thread

import numpy as np
import pytest
from support.bruteforce import entries
from support.patience import END_S

from simhash_hbase import create_index
from simhash_hbase.errors import InvalidArgument, StoreBusy, StoreFull
from simhash_hbase.index import gathering
from simhash_hbase.index.gathering import WriteGroups
from simhash_hbase.rows.keys import BlockRows, document_key, id_digest
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.embedded import EmbeddedOptions, EmbeddedStore, environment, records
from simhash_hbase.testing.rows import all_cells, all_pairs, pairs_of, rows_of, uint64s

QUICK = EmbeddedOptions(durable=False)


@pytest.fixture
def index(tmp_path):
    with create_index(f"file:{tmp_path / 'index'}", analyzer="shingle", match="distance") as made:
        yield made


def decide(index, groups, *ids):
    """Decide a batch of documents that are far from each other."""
    batch = entries({name: 0x9E3779B97F4A7C15 * (number + 1) % 2**64 for number, name in enumerate(ids)})
    with groups.batch():
        return index.dedup_entries(batch, index.deduplicator())


def held(index):
    """Return what others see of an index, in a thread of their own."""
    seen = []
    thread = Thread(target=lambda: seen.extend(stored.id for stored in index.export()))
    thread.start()
    thread.join()
    return sorted(seen)


def test_batches_are_seen_by_others_when_their_group_ends(index):
    with WriteGroups(index.store) as groups:
        assert groups.is_durable
        decide(index, groups, "a")
        decided = decide(index, groups, "b", "c")
        assert not groups.is_durable
        assert held(index) == []

    assert [(decision.id, decision.is_original) for decision in decided] == [("b", False), ("c", True)]
    assert groups.is_durable
    assert held(index) == ["a", "b", "c"]
    assert index.verify().wrong == 0


def test_a_group_ends_when_it_takes_long(index, monkeypatch):
    monkeypatch.setattr(gathering, "GROUP_S", 0.0)
    groups = WriteGroups(index.store)

    decide(index, groups, "a", "b")

    assert groups.is_durable
    assert held(index) == ["a", "b"]


def test_a_group_ends_when_it_takes_its_memory(index, monkeypatch):
    monkeypatch.setattr(gathering, "GROUP_S", 1e12)
    groups = WriteGroups(index.store, memory_mb=1e-6)

    decide(index, groups, "a", "b")

    assert groups.is_durable
    assert held(index) == ["a", "b"]


@pytest.mark.parametrize("gathers", [True, False])
def test_what_has_no_pages_to_spare_or_may_wait_for_input_gathers_nothing(index, gathers):
    with create_index("memory:", analyzer="shingle", match="distance") as memory:
        for each in (memory, index) if not gathers else (memory,):
            groups = WriteGroups(each.store, gathers=gathers)
            decide(each, groups, "a")
            assert groups.is_durable
            assert held(each) == ["a"]


def test_an_error_undoes_its_whole_group_alone(index):
    groups = WriteGroups(index.store)

    def fail():
        decide(index, groups, "a")
        with groups.batch():
            index.add_entries(entries({"b": 7}))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    groups.commit()
    assert held(index) == []

    with WriteGroups(index.store) as groups:
        decide(index, groups, "c")
    assert held(index) == ["c"]


def test_an_error_between_batches_keeps_them(index):
    with suppress(KeyboardInterrupt), WriteGroups(index.store) as groups:
        decide(index, groups, "a")
        raise KeyboardInterrupt

    assert held(index) == ["a"]


def test_a_signal_waits_for_the_end_of_a_batch(index):
    reached = []
    groups = WriteGroups(index.store)

    def decide_interrupted():
        with groups.batch():
            signal.raise_signal(signal.SIGINT)
            reached.append("the rest of the batch")
            index.add_entries(entries({"a": 7}))
        reached.append("more")

    with pytest.raises(KeyboardInterrupt):
        decide_interrupted()
    groups.commit()

    assert reached == ["the rest of the batch"]
    assert not groups.is_undone
    assert held(index) == ["a"]


def test_a_part_of_a_failed_transaction_is_not_kept_by_the_rest_of_its_group(tmp_path):
    with closing(EmbeddedStore.create(str(tmp_path / "index"), QUICK)) as store:

        def write_and_go_on():
            with store.gathered():
                with suppress(ZeroDivisionError), store.transaction():
                    store.put_rows(rows_of((1, 1)), timestamp=1)
                    raise ZeroDivisionError
                store.put_rows(rows_of((2, 2)), timestamp=1)

        with pytest.raises(StoreBusy, match="a batch failed"):
            write_and_go_on()

        assert all_pairs(store) == []


def until_awaited(store):
    """Wait until somebody waits to write."""
    end = time.monotonic() + END_S
    while not store.is_awaited():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_group_ends_for_another_thread_that_waits_to_write(index):
    groups = WriteGroups(index.store)
    decide(index, groups, "a")
    assert not index.store.is_awaited()
    waiting = Thread(target=lambda: list(index.add_many([("b", "a text of some words")])))
    waiting.start()
    until_awaited(index.store)

    decide(index, groups, "c")

    assert groups.is_durable
    waiting.join()
    assert held(index) == ["a", "b", "c"]


WRITER = """
import sys
from simhash_hbase import open_index
with open_index(sys.argv[1]) as index:
    list(index.add_many([("b", "a text of some words")]))
"""


def test_a_group_ends_for_another_process_that_waits_to_write(index):
    groups = WriteGroups(index.store)
    decide(index, groups, "a")
    process = subprocess.Popen([sys.executable, "-c", WRITER, index.address])
    until_awaited(index.store)

    decide(index, groups, "c")

    assert groups.is_durable
    assert process.wait(END_S) == 0
    assert held(index) == ["a", "b", "c"]


def test_a_map_without_room_for_a_group_grows_as_each_batch_stands_alone(tmp_path):
    small = EmbeddedOptions(durable=False, map_bytes=1 << 18)
    with closing(EmbeddedStore.create(str(tmp_path / "index"), small)) as store:
        with store.gathered():
            for prefix in range(2_000):
                store.put_rows(rows_of(*((prefix, n) for n in range(8))), timestamp=1)

        assert len(all_pairs(store)) == 16_000


def test_a_map_that_a_group_fills_grows_for_the_next_attempt(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "GATHERED_BYTES", 0)
    small = EmbeddedOptions(durable=False, map_bytes=1 << 18)
    with closing(EmbeddedStore.create(str(tmp_path / "index"), small)) as store:

        def write():
            with store.gathered():
                for prefix in range(10_000):
                    store.put_rows(rows_of((prefix, 1)), timestamp=1)

        with pytest.raises(StoreFull, match="the memory map was full and has grown"):
            write()
        assert all_pairs(store) == []
        with suppress(StoreFull):
            write()
        write()

        assert len(all_pairs(store)) == 10_000


def test_a_scan_in_a_group_is_cut_where_one_after_it_is(tmp_path):
    pairs = [(prefix, simhash) for prefix in (1, 2) for simhash in range(4)]
    for number, chosen in enumerate(range(0, 1 << len(pairs), 5)):
        is_held = [bool(chosen >> at & 1) for at in range(len(pairs))]
        with closing(EmbeddedStore.create(str(tmp_path / f"index{number}"), QUICK)) as store:
            within, after = [], []

            def scans(answers, *, asked=store):
                for limit in range(1, 6):
                    found = asked.scan(uint64s(1, 2, 3), limit=limit)
                    answers.append((pairs_of(found.rows), found.truncated.tolist()))

            store.put_rows(rows_of(*(pair for pair, held in zip(pairs, is_held, strict=True) if not held)), timestamp=1)
            with store.gathered():
                for pair, held in zip(pairs, is_held, strict=True):
                    if held:
                        store.put_rows(rows_of(pair), timestamp=1)
                scans(within)
            scans(after)
            assert within == after


def test_a_part_of_what_a_group_held_is_not_kept_when_writing_it_fails(tmp_path, monkeypatch):
    roomy = EmbeddedOptions(durable=False, map_bytes=1 << 33)
    with closing(EmbeddedStore.create(str(tmp_path / "index"), roomy)) as store:
        put_rows = records.put_rows

        def interrupted(*given):
            monkeypatch.setattr(records, "put_rows", put_rows)
            raise KeyboardInterrupt

        def write_and_go_on():
            with store.gathered():
                store.put_rows(rows_of((1, 1)), timestamp=1)
                monkeypatch.setattr(records, "put_rows", interrupted)
                with suppress(KeyboardInterrupt):
                    store.has_rows(rows_of((1, 1)))
                store.put_rows(rows_of((2, 2)), timestamp=1)

        with pytest.raises(StoreBusy, match="a batch failed"):
            write_and_go_on()

        assert all_pairs(store) == []


def test_of_cells_put_at_once_none_is_held_when_one_cannot_be(tmp_path):
    roomy = EmbeddedOptions(durable=False, map_bytes=1 << 33)
    with closing(EmbeddedStore.create(str(tmp_path / "index"), roomy)) as store:
        right = Cell(b"row", b"q", b"value", 7)
        with store.gathered():
            for wrong in (Cell(b"row", b"r", b"", -1), Cell(b"r" * 256, b"", b""), Cell(b"row", b"q" * 509, b"")):
                with pytest.raises(InvalidArgument):
                    store.put("d", [right, wrong])
        assert all_cells(store, "d") == []


@pytest.fixture
def asked(monkeypatch):
    """List the keys of cells that are read from a database."""
    keys, read_packed = [], records.read_packed

    def counted(transaction, database, some):
        keys.extend(some)
        return read_packed(transaction, database, some)

    monkeypatch.setattr(records, "read_packed", counted)
    return keys


def cell_of(name):
    """Return the key of the document cell of an id in the database."""
    return b"".join(document_key(id_digest(name)))


def test_a_batch_beside_other_writers_asks_the_database_once_for_each_cell(index, asked):
    index.add_entries(entries({"another": 7}))
    asked.clear()
    with WriteGroups(index.store) as groups:
        decide(index, groups, "a", "b", "c")

        assert len(asked) == len(set(asked)) == len(all_cells(index.store, "d")) - 2


def test_groups_of_a_new_index_read_no_cell_that_is_not_there(index, asked):
    with WriteGroups(index.store) as groups:
        for ids in ("abc", "def", "ghi"):
            decide(index, groups, *ids)
            groups.commit()

    # Documents of the later groups are copies of those of the first one.
    assert set(asked) == {cell_of("a"), cell_of("b"), cell_of("c")}


def test_a_group_of_copies_keeps_the_filter_of_its_index(index, asked):
    with WriteGroups(index.store) as groups:
        decide(index, groups, "a")
        groups.commit()
        [copy] = decide(index, groups, "copy")
        groups.commit()
        decide(index, groups, "copy of the copy")

    assert not copy.is_original
    assert set(asked) == {cell_of("a")}


def test_a_group_knows_the_cells_of_the_group_before(index):
    with WriteGroups(index.store) as groups:
        decide(index, groups, "a", "b")
        groups.commit()
        again = decide(index, groups, "a", "b")

    assert [(decision.id, decision.is_original) for decision in again] == [("a", True), ("b", True)]
    assert index.verify().wrong == 0


def test_a_group_takes_the_pages_that_the_group_before_it_has_freed(tmp_path):
    prefixes = np.random.default_rng(1).integers(0, 1 << 40, (8, 20_000), dtype=np.uint64)
    path = tmp_path / "index"
    with closing(EmbeddedStore.create(str(path), QUICK)) as store:
        for some in prefixes:
            with store.gathered():
                store.put("d", [Cell(b"row", b"q", b"value", 7)])
                store.put_rows(BlockRows(np.sort(some), some), timestamp=1)
        store.backup(str(tmp_path / "backup"))

    # Each group replaces all pages: the file has those in force, and as many that are free.
    assert (path / "data.mdb").stat().st_size < 2.2 * (tmp_path / "backup" / "data.mdb").stat().st_size


def test_a_cell_that_was_missing_is_read_after_its_group_was_written(tmp_path):
    with closing(EmbeddedStore.create(str(tmp_path / "index"), QUICK)) as store, store.gathered():
        cell = Cell(b"row", b"q", b"value", 7)
        assert store.get("d", [(b"row", b"q")]) == [None]
        store.put("d", [cell])
        assert all_cells(store, "d") == [cell]

        assert store.get("d", [(b"row", b"q")]) == [cell]


def test_rows_of_one_held_cell_make_no_work_for_the_garbage_collector(tmp_path):
    with closing(EmbeddedStore.create(str(tmp_path / "index"), QUICK)) as store, store.gathered():
        gc.collect()
        before = len(gc.get_objects())
        store.put("d", [Cell(b"%d" % number, b"q", b"value", 7) for number in range(1000)])
        gc.collect()

        assert len(gc.get_objects()) - before < 100


OUTSIDE = Cell(b"another row", b"q", b"value", 7)


def put_outside(store):
    store.put_rows(rows_of((2, 2)), timestamp=1)
    store.put("d", [OUTSIDE])


def put_after_an_empty_group(store):
    with store.gathered():
        pass
    put_outside(store)


def put_after_a_failed_group(store):
    with suppress(InvalidArgument), store.gathered():
        store.put_rows(rows_of((3, 3)), timestamp=1)
        raise InvalidArgument("undone")
    put_outside(store)


def delete_and_put(store):
    with store.gathered():
        store.delete_rows(rows_of((1, 1)), timestamp=1)
        store.put_rows(rows_of((1, 1)), timestamp=1)
    put_outside(store)


@pytest.mark.parametrize("between", [put_outside, put_after_an_empty_group, put_after_a_failed_group, delete_and_put])
def test_a_group_finds_what_was_written_between_it_and_the_one_before(tmp_path, between):
    with closing(EmbeddedStore.create(str(tmp_path / "index"), QUICK)) as store:
        with store.gathered():
            store.put_rows(rows_of((1, 1)), timestamp=1)
        between(store)
        with store.gathered():
            found = store.scan(uint64s(1, 2, 3), limit=9).rows
            cells = store.get("d", [(OUTSIDE.row, OUTSIDE.qualifier), (b"row", b"q")])

        assert pairs_of(found) == [(1, 1), (2, 2)]
        assert cells == [OUTSIDE, None]


def test_groups_of_a_new_index_search_for_no_prefix_that_has_no_row(tmp_path, monkeypatch):
    asked, scan = [], records.scan

    def counted(transaction, blocks, hot, prefixes, limit):
        asked.append(prefixes.tolist())
        return scan(transaction, blocks, hot, prefixes, limit)

    monkeypatch.setattr(records, "scan", counted)
    with closing(EmbeddedStore.create(str(tmp_path / "index"), QUICK)) as store:
        for number in range(3):
            with store.gathered():
                store.scan(uint64s(*range(10)), limit=9)
                store.put_rows(rows_of((number, number)), timestamp=1)
                store.scan(uint64s(*range(10)), limit=9)

    assert asked == [[], [0], [0], [0, 1], [0, 1], [0, 1, 2]]
