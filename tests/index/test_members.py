"""Members and document cells are read once for all parts of a search, up to a bound."""

import numpy as np
import pytest
from bruteforce import entries
from noting import NotingStore

from simhash_hbase.index import members as module
from simhash_hbase.index.index import Index
from simhash_hbase.index.members import Members
from simhash_hbase.index.search import found_since
from simhash_hbase.profile import Profile
from simhash_hbase.rows.documents import DocumentState, encode
from simhash_hbase.rows.keys import document_row, id_digest
from simhash_hbase.rows.layout import FAMILY_DOCUMENTS, STATE_QUALIFIER
from simhash_hbase.stores.base import Cell

PROFILE = Profile.resolve(analyzer="shingle", match="distance")
DOCUMENTS = {"a": 1, "b": 1, "c": 1, "d": 2, "e": 3}


@pytest.fixture
def store():
    made = NotingStore()
    Index.create(made, PROFILE).add_entries(entries(DOCUMENTS))
    made.take()
    return made


def reader(store, limit=100):
    return Members(store, PROFILE, found_since(0), limit=limit)


def names(members, *simhashes):
    """Read fingerprints, and give the ids that each page says."""
    page = members.page(np.array(simhashes, np.uint64))
    members.know(page.cells)
    owners = np.repeat(page.simhashes, np.diff(page.starts)).tolist()
    found = [members.found(owner, cell) for owner, cell in zip(owners, page.cells, strict=True)]
    return sorted(one[0].id for one in found if one)


def test_what_was_read_is_not_read_again(store):
    members = reader(store)

    assert [names(members, 1, 2), names(members, 2, 3), names(members, 1)] == [
        ["a", "b", "c", "d"],
        ["d", "e"],
        list("abc"),
    ]

    assert store.take_names() == ["get_rows", "get", "get_rows", "get"]


@pytest.mark.parametrize(("held", "calls"), [(3, ["get_rows", "get"]), (2, ["get_rows", "get"] * 2)])
def test_above_a_number_of_members_all_are_forgotten(store, monkeypatch, held, calls):
    monkeypatch.setattr(module, "HELD_MEMBERS", held)
    members = reader(store)

    assert names(members, 1) == names(members, 1) == ["a", "b", "c"]

    assert store.take_names() == calls


@pytest.mark.parametrize(("limit", "wide"), [(1, 1), (2, 2), (3, None)])
def test_members_above_the_limit_are_named_by_the_last_that_was_read(store, limit, wide):
    members = reader(store, limit)
    page = members.page(np.array([1, 2], np.uint64))
    digests = sorted(map(id_digest, "abc"))

    assert [cell.qualifier for cell in page.cells] == [*digests[:limit], id_digest("d")]
    assert members.wide == ({1: digests[wide - 1]} if wide else {})
    behind = members.next_page(1, digests[limit - 1], 100)
    assert [cell.qualifier for cell in behind.cells] == digests[limit:]


def test_a_member_counts_while_its_document_says_so(store):
    row = document_row(id_digest("a"))
    [cell] = store.get(FAMILY_DOCUMENTS, [(row, STATE_QUALIFIER)])
    store.delete(FAMILY_DOCUMENTS, [Cell(row, STATE_QUALIFIER, b"", cell.timestamp)])

    assert names(reader(store), 1) == ["b", "c"]


def written(name, simhash, state="added"):
    """Make a document cell; it lies where the document `a` has its own."""
    state = DocumentState(name, simhash, state, seen=0, stamp=9)
    return Cell(document_row(id_digest("a")), STATE_QUALIFIER, encode(state))


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (written("a", 1), ["a", "b", "c"]),
        (written("a", 7), ["b", "c"]),
        (written("a", 1, "removed"), ["b", "c"]),
        (written("a", 1, "duplicate"), ["b", "c"]),
        # Two ids with one digest.
        (written("z", 1), ["b", "c"]),
    ],
)
def test_a_member_stands_for_the_document_that_its_cell_names_under_its_fingerprint(store, cell, expected):
    store.put(FAMILY_DOCUMENTS, [cell])

    assert names(reader(store), 1) == expected


def test_the_members_of_a_fingerprint_begin_where_those_before_it_end(store):
    assert reader(store).page(np.array([1, 2, 3], np.uint64)).starts.tolist() == [0, 3, 4, 5]
