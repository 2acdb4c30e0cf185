"""Members and document cells are read once for all parts of a search, up to a bound."""

import numpy as np
import pytest
from support.bruteforce import entries
from support.cost import NotingStore

from simhash_hbase.index import search
from simhash_hbase.index.index import Index
from simhash_hbase.index.search import Members, found_since
from simhash_hbase.profile import Profile
from simhash_hbase.rows.documentcells import DocumentState, Text, encode
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
    asked = np.array(simhashes, np.uint64)
    page = members.page(asked)
    members.know(map(page.id_digest, range(len(page.keys))))
    where = page.where(asked)
    ranges = zip(simhashes, page.first[where].tolist(), page.stop[where].tolist(), strict=True)
    found = [members.found(Text(simhash), page, at) for simhash, first, stop in ranges for at in range(first, stop)]
    return sorted(one[0].id for one in found if one)


def digests_of(page, simhash):
    [where] = page.where(np.array([simhash], np.uint64))
    return [page.qualifier(at) for at in range(page.first[where], page.stop[where])]


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
    monkeypatch.setattr(search, "HELD_MEMBERS", held)
    members = reader(store)

    assert names(members, 1) == names(members, 1) == ["a", "b", "c"]

    assert store.take_names() == calls


@pytest.mark.parametrize(("limit", "wide"), [(1, 1), (2, 2), (3, None)])
def test_members_above_the_limit_are_named_by_the_last_that_was_read(store, limit, wide):
    members = reader(store, limit)
    page = members.page(np.array([1, 2], np.uint64))
    digests = sorted(map(id_digest, "abc"))

    assert (digests_of(page, 1), digests_of(page, 2)) == (digests[:limit], [id_digest("d")])
    assert members.wide == ({1: digests[wide - 1]} if wide else {})
    behind = members.next_page(1, digests[limit - 1], 100)
    assert digests_of(behind, 1) == digests[limit:]


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
        (None, ["b", "c"]),
    ],
)
def test_a_member_stands_for_the_document_that_its_cell_names_under_its_fingerprint(store, cell, expected):
    if cell is None:
        store.delete(FAMILY_DOCUMENTS, [written("a", 1)._replace(timestamp=1 << 60)])
    else:
        store.put(FAMILY_DOCUMENTS, [cell])

    assert names(reader(store), 1) == expected


def test_members_that_are_read_later_stand_behind_those_before_them(store):
    members = reader(store)
    members.page(np.array([2], np.uint64))
    page = members.page(np.array([1, 2, 3], np.uint64))

    assert page.simhashes.tolist() == [1, 2, 3]
    assert (page.first.tolist(), page.stop.tolist()) == ([1, 0, 4], [4, 1, 5])
    assert (digests_of(page, 2), digests_of(page, 3)) == ([id_digest("d")], [id_digest("e")])
    assert page.sketches.words.shape == (5, 8)
