"""Vacuum, loads and late requests on a real HBase, where other clocks than those of writers stamp the cells."""

from contextlib import ExitStack

import pytest
from support.bruteforce import answered, entries
from support.faulty_proxy import HeldRequest, proxied_options
from support.hbase_server import hbase_options, tables
from support.late_writers import CHANGES, FIRST, WRITERS, beside, found_at
from support.places import index_at

from simhash_hbase import LocalIndex, Profile
from simhash_hbase.rows.documentcells import DocumentState, encode
from simhash_hbase.rows.keys import document_row, id_digest, member_row
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell
from simhash_hbase.stores.hbase import HBaseStore

pytestmark = pytest.mark.hbase

BASE = 0x9E3779B97F4A7C15
FAR = ~BASE & (1 << 64) - 1
# A request is given up after the time-out; a machine that is so slow gives up others, too, and repeats them.
PATIENCE = {"timeout_s": 5.0, "deadline_s": 60.0}
METHODS = (b"mutateRows", b"putMultiple", b"checkAndPut")
FEW, MANY = 0, 40
WAYS = {1: "thrift1", 2: "thrift2", "rpc": "rpc"}


@pytest.fixture(params=WAYS, ids=WAYS.get)
def version(request):
    """Return each of HBase's Thrift interfaces, and ``rpc``."""
    return request.param


@pytest.fixture
def make(version, clock):
    """Return what makes an index, in each of these ways."""
    with ExitStack() as stack:

        def make(**options):
            store = HBaseStore.open(hbase_options(version, tables().take()))
            profile = Profile.resolve(analyzer="shingle", match="distance", **options)
            LocalIndex.create(store, profile)
            return stack.enter_context(index_at(store, clock))

        yield make


def assert_all_found(index, simhashes):
    answers = index.query_entries(entries({f"near {name}": simhash for name, simhash in simhashes.items()}))
    assert [answered(answer) for answer in answers] == [[(name, 0)] for name in simhashes]
    assert index.verify().wrong == 0


@pytest.mark.parametrize("ahead_ms", [5_000, 60_000])
def test_what_vacuum_deletes_does_not_hide_what_is_loaded_at_once(make, clock, tmp_path, ahead_ms):
    index = make(grace_s=0)
    index.add_entries(entries({"a": BASE, "b": FAR}))
    list(index.remove_many(["a"]))
    clock.advance(ms=ahead_ms)
    index.vacuum()

    WRITERS["load"](index, tmp_path / "load", {"a": BASE, "c": BASE ^ 0xFFFF})

    assert_all_found(index, {"a": BASE, "b": FAR, "c": BASE ^ 0xFFFF})


def test_a_removal_by_a_clock_that_is_ahead_is_kept_until_its_deletes_are_old(make, clock, tmp_path):
    index = make(grace_s=0)
    # The server stamped the cell a minute ago; the member was deleted up to the time of the writer's clock.
    removed = DocumentState("a", BASE, "removed", seen=clock() - 1_000, stamp=clock() - 1_000)
    row, digest = document_row(id_digest("a")), id_digest("a")
    index.store.put(FAMILY_DOCUMENTS, [Cell(row, STATE_QUALIFIER, encode(removed, checksum=True), clock() - 61_000)])
    index.store.delete(FAMILY_DOCUMENTS, [Cell(member_row(BASE), digest, b"", removed.stamp)])
    clock.advance(ms=60_000)
    index.vacuum()

    WRITERS["load"](index, tmp_path / "load", {"a": BASE})

    assert_all_found(index, {"a": BASE})


# a gateway, or the way to a region server, that stands still over a request, which is executed long after it was given
# up and repeated


@pytest.fixture
def index(version, proxy):
    store = HBaseStore.open(proxied_options(version, tables().take(), proxy, **PATIENCE))
    made = LocalIndex.create(store, Profile.resolve(analyzer="shingle", match="distance"))
    yield made
    made.close()


def hold(proxy, name):
    """Let the next change of a document's cell stand still on its way."""
    row = document_row(id_digest(name))
    # Region servers get it as a cell: row, length of the family's name, family and qualifier.
    cell = row + bytes([len(FAMILY_DOCUMENTS)]) + FAMILY_DOCUMENTS.encode() + STATE_QUALIFIER

    def is_meant(piece):
        return cell in piece or (row in piece and any(method in piece for method in METHODS))

    proxy.held = HeldRequest(is_meant)
    return proxy.held


FIRST_WRITES = [("add", FEW), ("add", MANY), ("dedup", FEW), ("dedup", MANY), ("load", MANY)]
CASES = [(writer, count, change) for writer, count in FIRST_WRITES for change in CHANGES]


# Each takes a time-out, so two of the three ways take turns.
@pytest.mark.parametrize(
    ("version", "writer", "count", "change"),
    [
        pytest.param(way, *case, id=f"{name}-{'-'.join(map(str, case))}")
        for number, case in enumerate(CASES)
        for place, (way, name) in enumerate(WAYS.items())
        if place != number % len(WAYS)
    ],
    indirect=["version"],
)
def test_the_first_write_of_a_document_undoes_nothing_when_it_is_late(index, proxy, tmp_path, writer, count, change):
    held = hold(proxy, "a")
    WRITERS[writer](index, tmp_path / "work", beside("a", count))
    assert held.gateway is not None
    expected = CHANGES[change](index, "a")
    assert found_at(index, "a") == expected

    held.execute()

    assert found_at(index, "a") == expected


@pytest.mark.parametrize("late", CHANGES)
def test_a_change_undoes_nothing_when_it_is_late(index, proxy, late):
    WRITERS["add"](index, None, beside("a", FEW))
    held = hold(proxy, "a")
    CHANGES[late](index, "a")
    assert held.gateway is not None
    WRITERS["add"](index, None, beside("a", FEW))

    held.execute()

    assert found_at(index, "a") == FIRST
