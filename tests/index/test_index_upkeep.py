"""What disagrees is told by ``verify`` and mended by ``repair``; what has ended is taken by ``vacuum``."""

import numpy as np
import pytest
from support.bruteforce import answered, entries
from support.server_doubles import TombstoneStore

from simhash_hbase import Index, Profile
from simhash_hbase.errors import StoreBusy
from simhash_hbase.index.documentrows import read_states
from simhash_hbase.index.indexrows import begin_load, end_load
from simhash_hbase.rows.documentcells import DocumentState, Member, encode
from simhash_hbase.rows.keys import BlockRows, block_rows, document_row, id_digest, member_row
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell

BASE = 0x9E3779B97F4A7C15
FAR = ~BASE & (1 << 64) - 1
DAY_MS = 86_400_000


@pytest.fixture
def index(make_index):
    """Return an index with two near documents and one far from them."""
    index = make_index(grace_s=0)
    index.add_entries(entries({"a": BASE, "b": BASE ^ 1, "far": FAR}))
    make_index.clock.advance(ms=10)
    return index


def member(name, simhash, ms):
    value = Member(id=name, added=ms, length=0, features=0, digest=b"", sketch=b"")
    return Cell(member_row(simhash), id_digest(name), encode(value), ms)


def rows_of(index, *simhashes):
    return block_rows(index.profile.blocks, np.array(simhashes, dtype=np.uint64))


def repaired(index, **wrong):
    """Check what is wrong, repair it, and check that nothing is left."""
    before = index.verify()
    assert {name: getattr(before, name) for name in wrong} == wrong
    assert before.wrong == sum(wrong.values())
    index.verify(repair=True)
    after = index.verify()
    assert after.wrong == 0
    return after


@pytest.mark.parametrize("name", ["far", "nobody"])
def test_a_member_that_no_document_names_is_left_over_but_not_wrong(index, make_index, name):
    index.store.put(FAMILY_DOCUMENTS, [member(name, BASE, make_index.clock() - 5)])

    # A writer puts its member before its document.
    found = index.verify(repair=True)

    assert (found.stale_members, found.wrong, found.repaired, found.members) == (1, 0, 0, 4)
    assert answered(index.query_simhash(BASE)) == [("a", 0), ("b", 1)]
    assert answered(index.query_simhash(FAR)) == [("far", 0)]
    assert index.vacuum().stale_members == 1
    assert (index.verify().stale_members, index.verify().members) == (0, 3)


def test_a_lost_member_is_put_back_without_its_sketch(index, make_index):
    index.store.delete(FAMILY_DOCUMENTS, [Cell(member_row(BASE), id_digest("a"), b"", make_index.clock())])

    assert answered(index.query_simhash(BASE)) == [("b", 1)]
    make_index.clock.advance(ms=10)
    repaired(index, missing_members=1)
    assert answered(index.query_simhash(BASE)) == [("a", 0), ("b", 1)]


def test_block_rows_under_a_wrong_prefix_are_deleted(index, make_index):
    strays = BlockRows(np.array([0xABCDEF01, 0xABCDEF63], dtype=np.uint64), np.array([BASE, BASE], dtype=np.uint64))
    index.store.put_rows(strays, timestamp=make_index.clock() - 5)

    assert repaired(index, malformed_rows=2).rows == 30


def test_block_rows_without_members_are_counted_but_not_wrong(index, make_index):
    index.store.put_rows(rows_of(index, 12345), timestamp=make_index.clock() - 5)

    verified = index.verify()

    assert (verified.orphan_rows, verified.wrong) == (10, 0)
    assert index.query_simhash(12345).matches == []
    make_index.clock.advance(ms=10)
    assert index.vacuum().rows == 10
    assert index.verify().rows == 30


def test_a_crowded_prefix_is_whole(make_index):
    index = make_index(max_rows_per_prefix=2)
    index.add_entries(entries({f"d{bit}": BASE ^ (1 << bit) for bit in range(8)}))

    found = index.verify()

    assert (found.documents, found.wrong) == (8, 0)


def test_a_document_cell_that_does_not_decode_is_removed_and_vacuum_takes_its_member(index, make_index):
    row = document_row(id_digest("a"))
    index.store.put(FAMILY_DOCUMENTS, [Cell(row, STATE_QUALIFIER, b"\xc1")])

    assert index.vacuum().removed == 0
    found = index.verify()
    assert (found.undecodable, found.documents, found.wrong) == (1, 2, 1)
    index.verify(repair=True)
    left = index.verify()
    assert (left.wrong, left.stale_members) == (0, 1)
    assert answered(index.query_simhash(BASE)) == [("b", 1)]
    make_index.clock.advance(ms=10)
    assert index.vacuum().stale_members == 1


def test_vacuum_is_refused_while_a_load_is_open(index):
    begin_load(index.store, "token")

    with pytest.raises(StoreBusy):
        index.vacuum()
    end_load(index.store, "token")
    assert index.vacuum().rows == 0


def test_repairing_beside_a_writer_changes_nothing(make_index):
    """Pages are read, then documents move away, then the pages are checked: the check has to look again."""
    index = make_index()
    index.add_entries(entries({f"d{number}": BASE ^ number for number in range(20)}))
    read = index.store.scan_cells

    def scan_then_move(*args, **options):
        pages = list(read(*args, **options))
        index.add_entries(entries({f"d{number}": FAR ^ number for number in range(20)}))
        yield from pages

    index.store.scan_cells = scan_then_move
    beside = index.verify(repair=True)
    index.store.scan_cells = read

    assert (beside.repaired, beside.wrong) == (0, 0)
    assert index.verify().wrong == 0


@pytest.mark.parametrize("count", [1, 9, 10])
def test_a_document_that_lacks_some_of_its_rows_counts_once_and_gets_them_back(make_index, count):
    index = make_index()
    index.add_entries(entries({"a": BASE, "b": BASE, "c": BASE ^ 1}))
    rows = rows_of(index, BASE)
    index.store.delete_rows(BlockRows(rows.prefixes[:count], rows.simhashes[:count]), timestamp=1)

    found, mended, again = index.verify(), index.verify(repair=True), index.verify()

    assert (found.incomplete, found.wrong, found.repaired) == (2, 2, 0)
    assert (mended.incomplete, mended.repaired, mended.not_repaired) == (2, 2, 0)
    assert (again.incomplete, again.rows) == (0, 20)


def put_state(index, state):
    cell = Cell(document_row(id_digest(state.id)), STATE_QUALIFIER, encode(state))
    index.store.put(FAMILY_DOCUMENTS, [cell])


@pytest.mark.parametrize(("late_ms", "found"), [(0, [("a", 0)]), (1, [])])
def test_a_document_is_found_until_its_time_to_live_has_passed_and_then_taken(make_index, clock, late_ms, found):
    index = make_index(ttl_days=1, grace_s=0)
    index.add_entries(entries({"a": BASE}))
    seen = index.get("a").seen
    clock.advance(ms=DAY_MS + late_ms)

    assert index.get("a") is None or index.get("a").seen == seen
    assert answered(index.query_simhash(BASE)) == found
    assert index.vacuum().expired == 1 - len(found)


@pytest.fixture
def hiding(clock):
    """Return an index in a store whose deletes hide later writes."""
    Index.create(store := TombstoneStore(clock), Profile.resolve(analyzer="shingle", match="distance"), clock=clock)
    return Index(store, clock=clock)


def test_vacuum_puts_rows_back_whose_members_appear_behind_its_first_look(hiding, clock, monkeypatch):
    rows = rows_of(hiding, BASE, FAR)
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
    assert hiding.store.has_rows(rows_of(hiding, BASE)).all()


@pytest.mark.parametrize(("age_ms", "swept"), [(3_599_999, 0), (3_600_000, 1)])
def test_vacuum_gives_up_claims_and_takes_removals_and_rows_after_the_grace_period(hiding, clock, age_ms, swept):
    now = clock()
    hiding.store.put_rows(rows_of(hiding, FAR), timestamp=now)
    for name, state in (("p", "pending"), ("y", "yielded"), ("r", "removed"), ("x", "aborted")):
        cell = encode(DocumentState(name, BASE, state, seen=now, stamp=now))
        hiding.store.put(FAMILY_DOCUMENTS, [Cell(document_row(id_digest(name)), STATE_QUALIFIER, cell, now)])
    hiding.store.put(FAMILY_DOCUMENTS, [Cell(member_row(BASE), id_digest("gone"), b"stale", now)])
    clock.advance(ms=age_ms)

    found = hiding.vacuum()

    assert (found.abandoned, found.removed, found.stale_members) == (2 * swept, 2 * swept, swept)
    assert found.rows == 10 * swept
    assert [held is None for held in read_states(hiding.store, ["r", "x"])] == [swept == 1] * 2


@pytest.mark.parametrize("seen_ms", [0, 1])
def test_vacuum_leaves_a_claim_alone_that_its_writer_renewed_within_the_grace_period(hiding, clock, seen_ms):
    now = clock()
    cell = encode(DocumentState("p", BASE, "pending", seen=now + seen_ms, stamp=now))
    # A claim's first cell has a timestamp that is no time.
    hiding.store.put(FAMILY_DOCUMENTS, [Cell(document_row(id_digest("p")), STATE_QUALIFIER, cell, 7)])
    clock.advance(ms=3_600_000)

    assert hiding.vacuum().abandoned == 1 - seen_ms


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


def test_a_document_that_is_gone_meanwhile_lacks_no_member(hiding, clock, monkeypatch):
    gone = DocumentState("gone", BASE, "added", seen=clock(), stamp=clock())
    cell = Cell(document_row(id_digest("gone")), STATE_QUALIFIER, encode(gone))
    monkeypatch.setattr(hiding.store, "scan_cells", lambda *_, **__: iter([[cell]]))

    assert hiding.verify().missing_members == 0
