"""Rows that do not agree are told by ``verify``, counted in no answer, and completed or removed by ``repair``."""

import numpy as np
import pytest
from support.bruteforce import answered, entries

from simhash_hbase.errors import StoreBusy
from simhash_hbase.index.indexrows import begin_load, end_load
from simhash_hbase.rows.documents import Member, encode
from simhash_hbase.rows.keys import BlockRows, block_rows, document_row, id_digest, member_row
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell

BASE = 0x9E3779B97F4A7C15
FAR = ~BASE & (1 << 64) - 1


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


def rows_of(index, simhash):
    return block_rows(index.profile.blocks, np.array([simhash], dtype=np.uint64))


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


def test_lost_block_rows_are_put_back(index, make_index):
    rows = rows_of(index, BASE)
    index.store.delete_rows(BlockRows(rows.prefixes[:4], rows.simhashes[:4]), timestamp=make_index.clock())

    make_index.clock.advance(ms=10)
    assert repaired(index, incomplete=1).rows == 30
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


def test_bytes_that_do_not_decode_are_told(index):
    index.store.put(FAMILY_DOCUMENTS, [Cell(document_row(id_digest("x")), STATE_QUALIFIER, b"\xc1 no state")])

    verified = index.verify()

    assert (verified.undecodable, verified.documents) == (1, 3)
    assert verified.wrong == 1


def test_a_crowded_prefix_is_whole(make_index):
    index = make_index(max_rows_per_prefix=2)
    index.add_entries(entries({f"d{bit}": BASE ^ (1 << bit) for bit in range(8)}))

    found = index.verify()

    assert (found.documents, found.wrong) == (8, 0)


def test_a_member_that_was_made_anew_can_be_removed(index, make_index):
    index.store.delete(FAMILY_DOCUMENTS, [member("a", BASE, make_index.clock() + 5)])
    repaired(index, missing_members=1)

    removed = list(index.remove_many(["a"]))

    assert removed == [("a", True)]
    assert index.verify().wrong == 0


def test_a_document_cell_that_does_not_decode_is_removed_and_vacuum_takes_its_member(index, make_index):
    row = document_row(id_digest("a"))
    index.store.put(FAMILY_DOCUMENTS, [Cell(row, STATE_QUALIFIER, b"\xc1")])

    assert index.vacuum().removed == 0
    assert index.verify().undecodable == 1
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
