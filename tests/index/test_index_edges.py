"""Edges that a flipped comparison would move: expiry to the millisecond, claims under way, rows that come back."""

import numpy as np
import pytest
from support.bruteforce import answered, entries
from support.cost import NotingStore
from support.server_doubles import TombstoneStore

from simhash_hbase import Index, Profile
from simhash_hbase.index.documentrows import read_states
from simhash_hbase.index.upkeep.verify import _unchanged
from simhash_hbase.rows.documents import DocumentState, encode
from simhash_hbase.rows.keys import block_rows, document_row, id_digest, member_row
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell

BASE = 0x9E3779B97F4A7C15
DAY_MS = 86_400_000


def ids(index, simhash=BASE):
    return [name for name, _ in answered(index.query_simhash(simhash))]


def put_state(index, state):
    cell = Cell(document_row(id_digest(state.id)), STATE_QUALIFIER, encode(state))
    index.store.put(FAMILY_DOCUMENTS, [cell])


@pytest.mark.parametrize(("late_ms", "found"), [(0, ["a"]), (1, [])])
def test_a_document_is_found_until_its_time_to_live_has_passed_and_not_a_millisecond_longer(
    make_index, clock, late_ms, found
):
    index = make_index(ttl_days=1)
    index.add_entries(entries({"a": BASE}))
    seen = index.get("a").seen
    clock.advance(ms=DAY_MS + late_ms)

    assert index.get("a") is None or index.get("a").seen == seen
    assert ids(index) == found


@pytest.mark.parametrize(("late_ms", "swept"), [(0, 0), (1, 1)])
def test_vacuum_takes_what_no_query_finds_any_more(make_index, clock, late_ms, swept):
    index = make_index(ttl_days=1, grace_s=0)
    index.add_entries(entries({"a": BASE}))
    clock.advance(ms=DAY_MS + late_ms)

    assert index.vacuum().expired == swept


@pytest.mark.parametrize("state", ["pending", "yielded", "aborted", "removed", "duplicate"])
def test_a_query_beside_a_document_that_does_not_count_finds_the_others(make_index, clock, state):
    index = make_index()
    index.add_entries(entries({"a": BASE, "b": BASE}))
    put_state(index, DocumentState("a", BASE, state, seen=clock(), stamp=clock()))

    assert ids(index) == ["b"]


def test_a_member_of_another_fingerprint_does_not_count(make_index, clock):
    index = make_index()
    index.add_entries(entries({"a": BASE, "b": BASE}))
    put_state(index, DocumentState("a", BASE ^ 1, "added", seen=clock(), stamp=clock()))

    assert ids(index) == ["b"]


@pytest.fixture
def hiding(clock):
    """Return an index in a store whose deletes hide later writes."""
    Index.create(store := TombstoneStore(clock), Profile.resolve(analyzer="shingle", match="distance"), clock=clock)
    return Index(store, clock=clock)


def test_vacuum_puts_rows_back_whose_members_appear_behind_its_first_look(hiding, clock, monkeypatch):
    rows = block_rows(hiding.profile.blocks, np.array([BASE, ~BASE & (1 << 64) - 1], dtype=np.uint64))
    hiding.store.put_rows(rows, timestamp=clock())
    clock.advance(days=1)
    delete = hiding.store.delete_rows

    def delete_late(doomed, *, timestamp):
        # A writer finds the rows there, and writes nothing but its member and its document cell.
        hiding.store.put(FAMILY_DOCUMENTS, [Cell(member_row(BASE), id_digest("a"), b"", clock())])
        delete(doomed, timestamp=timestamp)

    monkeypatch.setattr(hiding.store, "delete_rows", delete_late)

    swept = hiding.vacuum()

    assert swept.rows == 10
    assert hiding.store.has_rows(block_rows(hiding.profile.blocks, np.array([BASE], dtype=np.uint64))).all()


@pytest.mark.parametrize(("age_ms", "swept"), [(3_599_999, 0), (3_600_000, 1)])
def test_vacuum_leaves_rows_alone_that_are_younger_than_the_grace_period(hiding, clock, age_ms, swept):
    rows = block_rows(hiding.profile.blocks, np.array([BASE], dtype=np.uint64))
    hiding.store.put_rows(rows, timestamp=clock())
    clock.advance(ms=age_ms)

    assert hiding.vacuum().rows == 10 * swept


@pytest.mark.parametrize(("age_ms", "swept"), [(3_599_999, 0), (3_600_000, 1)])
def test_vacuum_gives_up_claims_and_takes_removals_after_the_grace_period(hiding, clock, age_ms, swept):
    now = clock()
    for name, state in (("p", "pending"), ("y", "yielded"), ("r", "removed"), ("x", "aborted")):
        cell = encode(DocumentState(name, BASE, state, seen=now, stamp=now))
        hiding.store.put(FAMILY_DOCUMENTS, [Cell(document_row(id_digest(name)), STATE_QUALIFIER, cell, now)])
    hiding.store.put(FAMILY_DOCUMENTS, [Cell(member_row(BASE), id_digest("gone"), b"stale", now)])
    clock.advance(ms=age_ms)

    found = hiding.vacuum()

    assert (found.abandoned, found.removed, found.stale_members) == (2 * swept, 2 * swept, swept)


@pytest.mark.parametrize("seen_ms", [0, 1])
def test_vacuum_leaves_a_claim_alone_that_its_writer_renewed_within_the_grace_period(hiding, clock, seen_ms):
    now = clock()
    cell = encode(DocumentState("p", BASE, "pending", seen=now + seen_ms, stamp=now))
    # A claim's first cell has a timestamp that is no time.
    hiding.store.put(FAMILY_DOCUMENTS, [Cell(document_row(id_digest("p")), STATE_QUALIFIER, cell, 7)])
    clock.advance(ms=3_600_000)

    assert hiding.vacuum().abandoned == 1 - seen_ms


def test_what_vacuum_counts_is_gone(hiding, clock):
    now = clock()
    for name, state in (("r", "removed"), ("x", "aborted")):
        put_state(hiding, DocumentState(name, BASE, state, seen=now, stamp=now))
    clock.advance(days=1)

    assert hiding.vacuum().removed == 2
    assert read_states(hiding.store, ["r", "x"]) == [None, None]


def test_a_claim_that_is_older_than_the_time_to_live_is_given_up_and_does_not_expire(clock):
    Index.create(store := TombstoneStore(clock), Profile.resolve(analyzer="shingle", ttl_days=1), clock=clock)
    index = Index(store, clock=clock)
    put_state(index, DocumentState("p", BASE, "pending", seen=clock(), stamp=clock()))
    clock.advance(days=2)

    swept = index.vacuum()

    assert (swept.abandoned, swept.expired) == (1, 0)
    assert read_states(store, ["p"])[0][0].state == "aborted"


def test_verify_counts_documents_and_duplicates_apart(make_index):
    index = make_index()
    index.add_entries(entries({"a": BASE}))
    index.claim_entries(entries({"b": BASE, "c": BASE ^ 1, "d": ~BASE & (1 << 64) - 1}))

    found = index.verify()

    assert (found.documents, found.duplicates, found.members, found.rows) == (2, 2, 2, 20)


def test_a_document_that_is_gone_meanwhile_lacks_nothing(hiding, clock):
    gone = DocumentState("gone", BASE, "added", seen=clock(), stamp=clock())

    assert _unchanged(hiding.store, [gone]) == []


@pytest.mark.parametrize("repair", [False, True])
def test_a_repair_reads_each_page_again_in_a_transaction_and_a_check_holds_nothing(repair):
    store = NotingStore()
    index = Index.create(store, Profile.resolve(analyzer="shingle", match="distance"))
    index.add_entries(entries({"a": BASE}))
    store.take()

    index.verify(repair=repair)

    names = store.take_names()
    assert names.count("transaction") == (1 if repair else 0)
    # Each transaction begins by reading what the page held once more.
    assert names[:4] == (["scan_cells", "transaction", "get", "get"] if repair else ["scan_cells", "get", "get", "get"])
    assert "put" not in names


def test_one_folder_or_process_has_one_clock_and_is_not_asked_for_it():
    store = NotingStore()
    index = Index.create(store, Profile.resolve(analyzer="shingle", match="distance"))
    store.take()

    index.vacuum()
    index.verify(repair=True)
    index.add_entries(entries({"a": BASE}))

    assert [arguments[0] for name, arguments in store.take() if name == "put"] == ["d", "d"]
