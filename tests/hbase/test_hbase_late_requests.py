"""A gateway that stands still over a request, and executes it long after it was given up and repeated."""

import pytest
from support.bruteforce import entries
from support.faulty_proxy import HeldRequest, proxied_options
from support.hbase_server import tables
from support.late_writers import CHANGES, FIRST, SECOND, WRITERS, beside, found_at

from simhash_hbase import Index, Profile
from simhash_hbase.rows.keys import copies_row, document_row, id_digest
from simhash_hbase.stores.hbase import HBaseStore

pytestmark = pytest.mark.hbase

# A request is given up after the time-out; a machine that is so slow gives up others, too, and repeats them.
PATIENCE = {"timeout_s": 5.0, "deadline_s": 60.0}
METHODS = (b"mutateRows", b"putMultiple", b"checkAndPut")
FEW, MANY = 0, 40


@pytest.fixture
def index(version, proxy):
    store = HBaseStore.open(proxied_options(version, tables().take(), proxy, **PATIENCE))
    made = Index.create(store, Profile.resolve(analyzer="shingle", match="distance"))
    yield made
    made.close()


def hold(proxy, name, row_of=document_row):
    """Let the gateway stand still over the next change of a document's cell."""
    row = row_of(id_digest(name))
    proxy.held = HeldRequest(lambda piece: row in piece and any(method in piece for method in METHODS))
    return proxy.held


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("writer", "count"), [("add", FEW), ("add", MANY), ("dedup", FEW), ("dedup", MANY), ("load", MANY)]
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


def test_the_entry_of_a_copy_undoes_nothing_when_it_is_late(index, proxy):
    index.claim_entries(entries({"a": FIRST, "far": SECOND}))
    held = hold(proxy, "a", copies_row)
    assert [decision.of for decision in index.claim_entries(entries({"b": FIRST ^ 1}))] == ["a"]
    assert held.gateway is not None
    assert [decision.of for decision in index.claim_entries(entries({"b": SECOND ^ 1}))] == ["far"]

    held.execute()

    assert [[copy.id for copy in index.copies(name).copies] for name in ("a", "far")] == [[], ["b"]]
    assert [decision.of for decision in index.claim_entries(entries({"b": FIRST}))] == ["a"]
    assert [[(copy.id, copy.distance) for copy in index.copies(name).copies] for name in ("a", "far")] == [
        [("b", 0)],
        [],
    ]
